"""duckdb_tables() and its kin, SHOW, and the catalog's own tables, without Spark."""

from __future__ import annotations

import datetime as dt

import pytest

from ducklake_spark.errors import TableNotFound
from ducklake_spark.execution.system import system_table
from ducklake_spark.operations.metadata import metadata_name, read_metadata_table


def rows(con, text: str, *columns: str) -> list[tuple]:
    return [tuple(row[column] for column in columns) for row in con.sql(text).collect()]


@pytest.fixture
def stocked(con):
    con.sql("CREATE SCHEMA depot")
    con.sql(
        "CREATE TABLE crates (id INTEGER NOT NULL, price DECIMAL(5,2), note VARCHAR DEFAULT 'x')"
    )
    con.sql("CREATE TABLE depot.shelves (id BIGINT)")
    con.sql("COMMENT ON TABLE crates IS 'wooden'; COMMENT ON COLUMN crates.id IS 'burnt in'")
    con.sql("INSERT INTO crates VALUES (1, 2.50, 'nails'), (2, 3, 'bolts')")
    return con


def test_duckdb_tables_shows_tables_with_their_comment_size_and_statement(stocked):
    found = rows(stocked, "CALL duckdb_tables()", "schema_name", "table_name", "comment",
                 "estimated_size", "column_count", "sql")  # fmt: skip
    assert found == [
        ("main", "crates", "wooden", 2, 3, "CREATE TABLE crates(id INTEGER NOT NULL, "
         "price DECIMAL(5,2), note VARCHAR DEFAULT('x'));"),
        ("depot", "shelves", None, 0, 1, "CREATE TABLE depot.shelves(id BIGINT);"),
    ]  # fmt: skip


def test_duckdb_columns_shows_types_and_comments(stocked):
    found = rows(stocked, "CALL duckdb_columns()", "table_name", "column_name", "column_index",
                 "data_type", "is_nullable", "column_default", "comment",
                 "numeric_precision", "numeric_scale")  # fmt: skip
    assert found == [
        ("crates", "id", 1, "INTEGER", False, None, "burnt in", 32, 0),
        ("crates", "price", 2, "DECIMAL(5,2)", True, None, None, 5, 2),
        ("crates", "note", 3, "VARCHAR", True, "'x'", None, None, None),
        ("shelves", "id", 1, "BIGINT", True, None, None, 64, 0),
    ]


def test_duckdb_schemas_and_databases_show_every_lake(stocked, tmp_path):
    stocked.sql(f"ATTACH 'ducklake:{tmp_path}/second.ducklake' AS second (READ_ONLY false)")
    found = rows(stocked, "CALL duckdb_schemas()", "database_name", "schema_name")
    assert sorted(found) == [("lake", "depot"), ("lake", "main"), ("second", "main")]
    databases = rows(stocked, "CALL duckdb_databases()", "database_name", "type", "readonly")
    assert databases == [("lake", "ducklake", False), ("second", "ducklake", False)]


def test_what_an_open_transaction_made_is_shown(stocked):
    stocked.sql("BEGIN; CREATE TABLE pallets (id INTEGER)")
    assert ("pallets",) in rows(stocked, "CALL duckdb_tables()", "table_name")
    stocked.sql("ROLLBACK")
    assert ("pallets",) not in rows(stocked, "CALL duckdb_tables()", "table_name")


def test_show_all_tables_is_sorted(stocked):
    assert rows(stocked, "SHOW ALL TABLES", "database", "schema", "name", "column_names") == [
        ("lake", "depot", "shelves", ["id"]),
        ("lake", "main", "crates", ["id", "price", "note"]),
    ]


def test_the_catalog_tables_are_described(stocked):
    found = rows(stocked, "DESCRIBE __ducklake_metadata_lake.main.ducklake_schema",
                 "column_name", "column_type")  # fmt: skip
    assert found == [
        ("schema_id", "BIGINT"),
        ("schema_uuid", "UUID"),
        ("begin_snapshot", "BIGINT"),
        ("end_snapshot", "BIGINT"),
        ("schema_name", "VARCHAR"),
        ("path", "VARCHAR"),
        ("path_is_relative", "BOOLEAN"),
    ]


def test_catalog_rows_come_in_their_types(stocked):
    lake = stocked.lake("lake")
    assert metadata_name(lake) == "__ducklake_metadata_lake"
    first = read_metadata_table(lake, "DuckLake_Snapshot").rows[0]
    assert first[0] == 0
    assert isinstance(first[1], dt.datetime)
    [schema, *_] = read_metadata_table(lake, "ducklake_schema").rows
    assert schema[4:] == ("main", "main/", True)


def test_tables_of_inlined_rows_are_read_with_the_types_of_the_database(stocked):
    lake = stocked.lake("lake")
    names = [row[1] for row in read_metadata_table(lake, "ducklake_inlined_data_tables").rows]
    [found] = [
        table for name in names if len((table := read_metadata_table(lake, name)).columns) == 6
    ]
    assert found.columns[:4] == (
        *(("row_id", "BIGINT"), ("begin_snapshot", "BIGINT"), ("end_snapshot", "BIGINT")),
        ("id", "BIGINT"),
    )
    assert [row[3] for row in found.rows] == [1, 2]


def test_a_table_that_the_catalog_does_not_have_is_not_found(stocked):
    with pytest.raises(TableNotFound, match="ducklake_snapshots") as caught:
        stocked.sql("DESCRIBE __ducklake_metadata_lake.ducklake_snapshots")
    assert "ducklake_snapshot" in caught.value.hint
    with pytest.raises(TableNotFound):
        stocked.sql("DESCRIBE __ducklake_metadata_lake.sqlite_master")


def test_the_catalog_is_called_as_attach_said(con, tmp_path):
    con.sql(f"ATTACH 'ducklake:{tmp_path}/b.ducklake' AS b (METADATA_CATALOG 'ledger')")
    assert len(con.sql("DESCRIBE ledger.ducklake_snapshot").collect()) == 5
    assert system_table(con, ("__ducklake_metadata_b", "ducklake_snapshot")) is None
