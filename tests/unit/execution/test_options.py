"""set_option and options(): what is stored, and what is refused."""

from __future__ import annotations

import pytest

from ducklake_spark.errors import (
    InvalidInput,
    ReadOnlyLake,
    SchemaNotFound,
    TableNotFound,
    UnknownOption,
)
from ducklake_spark.options import OPTIONS, find_option, parse_size


def stored(con, name: str) -> list[tuple]:
    db = con.lake("lake").db
    return db.fetch(
        f'SELECT "value", scope, scope_id FROM {db.table("ducklake_metadata")} WHERE "key" = ?',
        (name,),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [("10MB", 10_000_000), ("1.5 kb", 1500), ("5KiB", 5120), ("1 byte", 1), ("2TiB", 2 * 2**40)],
)
def test_a_size_is_read_with_its_unit(text, expected):
    assert parse_size(text) == expected


@pytest.mark.parametrize("text", ["12345", "abc", "-1", "10 XB", "10 kiby", ""])
def test_a_size_without_a_known_unit_is_refused(text):
    with pytest.raises(ValueError, match=r".*"):
        parse_size(text)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("parquet_compression", "ZSTD", "zstd"),
        ("parquet_version", 2, "V2"),
        ("rewrite_delete_threshold", "0.25", "0.250000"),
        ("require_commit_message", True, "true"),
        ("delete_older_than", "7 days", "7 days"),
        ("expire_older_than", "", ""),
        ("data_inlining_row_limit", "7", "7"),
        ("TARGET_FILE_SIZE", "20MB", "20000000"),
    ],
)
def test_a_value_is_stored_as_the_extension_writes_it(name, value, expected):
    assert find_option(name).store(value) == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("parquet_compression", "lzo"),
        ("parquet_version", 3),
        ("parquet_row_group_size", 0),
        ("data_inlining_row_limit", -7),
        ("data_inlining_row_limit", None),
        ("rewrite_delete_threshold", 2),
        ("expire_older_than", "nonsense"),
        ("auto_compact", "maybe"),
        ("data_path", "elsewhere/"),
        ("version", "2.0"),
    ],
)
def test_a_value_that_an_option_does_not_take_is_refused(name, value):
    with pytest.raises(UnknownOption):
        find_option(name).store(value)


def test_an_unknown_option_is_refused_with_the_names_that_there_are(con):
    with pytest.raises(UnknownOption, match="target_file_size"):
        con.sql("CALL lake.set_option('target_filesize', '1MB')")


def test_an_option_is_replaced_when_it_is_set_again_and_no_snapshot_is_made(con):
    before = con.lake("lake").latest().snapshot_id
    con.sql("CALL lake.set_option('target_file_size', '1MB')")
    con.sql("CALL ducklake_set_option('lake', 'target_file_size', '2MB')")
    assert stored(con, "target_file_size") == [("2000000", None, None)]
    assert con.lake("lake").latest().snapshot_id == before


def test_an_option_belongs_to_the_object_that_it_was_set_for(con):
    con.sql("CREATE SCHEMA depot; CREATE TABLE depot.crates (id INTEGER)")
    con.sql("CALL lake.set_option('parquet_compression', 'gzip', schema => 'depot')")
    con.sql("CALL lake.set_option('parquet_compression', 'zstd', schema => 'depot', "
            "table_name => 'crates')")  # fmt: skip
    rows = [tuple(row) for row in con.sql("CALL lake.options()").collect()]
    own = {(row[2], row[3], row[4]) for row in rows if row[0] == "parquet_compression"}
    assert own == {("gzip", "SCHEMA", "depot"), ("zstd", "TABLE", "depot.crates")}
    with con.reading(con.lake("lake")) as tx:
        schema = tx.local.find_schema("depot")
        table = tx.local.find_table(schema.schema_id, "crates")
    assert ("zstd", "table", table.table_id) in stored(con, "parquet_compression")
    assert ("gzip", "schema", schema.schema_id) in stored(con, "parquet_compression")


def test_options_lists_what_every_lake_has(con):
    names = {row.option_name for row in con.sql("CALL ducklake_options('lake')").collect()}
    assert {"version", "created_by", "data_path", "encrypted"} <= names
    assert names <= set(OPTIONS)


def test_an_option_of_a_missing_table_or_schema_is_refused(con):
    with pytest.raises(TableNotFound):
        con.sql("CALL lake.set_option('target_file_size', '1MB', table_name => 'nothing')")
    with pytest.raises(SchemaNotFound):
        con.sql("CALL lake.set_option('target_file_size', '1MB', schema => 'nowhere')")


def test_inlining_is_refused_for_a_table_with_a_reserved_column(con):
    con.sql("CALL lake.set_option('data_inlining_row_limit', 0)")
    con.sql("CREATE TABLE marks (row_id INTEGER)")
    with pytest.raises(InvalidInput, match="row_id"):
        con.sql("CALL lake.set_option('data_inlining_row_limit', 5, table_name => 'marks')")


def test_an_option_of_a_lake_attached_for_reading_is_refused(con, tmp_path):
    con.sql(f"ATTACH 'ducklake:sqlite:{tmp_path}/lake.sqlite' AS other (READ_ONLY)")
    with pytest.raises(ReadOnlyLake):
        con.sql("CALL other.set_option('auto_compact', false)")
