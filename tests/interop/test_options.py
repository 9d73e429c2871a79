"""Options stored by us are those that the extension stores, and the other way round."""

from __future__ import annotations

import pytest

import ducklake_spark

pytestmark = pytest.mark.interop

CALLS = (
    "set_option('parquet_compression', 'ZSTD')",
    "set_option('parquet_compression', 'gzip', schema => 'depot')",
    "set_option('parquet_compression', 'lz4', schema => 'depot', table_name => 'crates')",
    "set_option('parquet_version', 2)",
    "set_option('parquet_compression_level', 3)",
    "set_option('parquet_row_group_size', '1000')",
    "set_option('parquet_row_group_size_bytes', '64MB')",
    "set_option('target_file_size', '1.5GB')",
    "set_option('target_file_size', '12 kib')",
    "set_option('data_inlining_row_limit', 7, schema => 'depot')",
    "set_option('require_commit_message', false)",
    "set_option('rewrite_delete_threshold', 0.25)",
    "set_option('hive_file_pattern', true)",
    "set_option('delete_older_than', '1 month 2 hours')",
    "set_option('expire_older_than', '')",
    "set_option('auto_compact', false, schema => 'depot')",
    "set_option('per_thread_output', 1)",
    "set_option('sort_on_insert', 'false')",
    "set_option('write_deletion_vectors', false)",
)
SETUP = ("CREATE SCHEMA lake.depot", "CREATE TABLE lake.depot.crates (id INTEGER)")
REFUSED = (
    "set_option('parquet_compression', 'lzo')",
    "set_option('parquet_version', 3)",
    "set_option('target_file_size', 12345)",
    "set_option('data_inlining_row_limit', -1)",
    "set_option('rewrite_delete_threshold', 1.5)",
    "set_option('expire_older_than', 'often')",
    "set_option('data_path', 'x/')",
    "set_option('no_such_option', 1)",
    "set_option('auto_compact', false, schema => 'nowhere')",
)


def stored(location) -> list[tuple]:
    with location.database(create=False) as db:
        rows = db.fetch(
            f'SELECT "key", "value", scope, scope_id FROM {db.table("ducklake_metadata")}'
        )
    return [row for row in rows if row[0] not in ("created_by", "data_path")]


def test_options_are_stored_as_the_extension_stores_them(catalog_kind, make_lake_location):
    ours, theirs = make_lake_location(catalog_kind, "ours"), make_lake_location(catalog_kind, "its")
    with ducklake_spark.connect(ours.uri, alias="lake", data_path=ours.data_path) as con:
        for text in (*SETUP, *(f"CALL lake.{call}" for call in CALLS)):
            con.sql(text)
        shown = [(*row[:1], *row[2:]) for row in con.sql("CALL lake.options()").collect()]
    with theirs.oracle() as duck:
        for text in (*SETUP, *(f"CALL lake.{call}" for call in CALLS)):
            duck.sql(text)
        expected = duck.sql("SELECT option_name, value, scope, scope_entry FROM lake.options()")
    assert stored(ours) == stored(theirs)
    own = ("created_by", "data_path")
    assert sorted(map(repr, (row for row in shown if row[0] not in own))) == sorted(
        map(repr, (row for row in expected if row[0] not in own))
    )


@pytest.mark.parametrize("catalog_kind", ["sqlite"], indirect=True)
@pytest.mark.parametrize("call", REFUSED)
def test_what_the_extension_refuses_is_refused_here(location, call):
    with location.oracle() as duck, pytest.raises(Exception, match=r".+"):
        duck.sql(f"CALL lake.{call}")
    with (
        ducklake_spark.connect(location.uri, alias="lake") as con,
        pytest.raises(ducklake_spark.errors.DuckLakeError),
    ):
        con.sql(f"CALL lake.{call}")


@pytest.mark.parametrize("catalog_kind", ["sqlite"], indirect=True)
def test_system_functions_show_what_duckdb_shows(location):
    with location.oracle() as duck:
        duck.sql("CREATE SCHEMA depot; CREATE TABLE depot.crates (id INTEGER NOT NULL, p DOUBLE)")
        duck.sql("COMMENT ON TABLE depot.crates IS 'wooden'")
        duck.sql("INSERT INTO depot.crates VALUES (1, 2.5), (2, NULL)")
        questions = {
            "duckdb_tables": "schema_name, table_name, comment, internal, temporary, "
            "has_primary_key, estimated_size, column_count, index_count, check_constraint_count",
            "duckdb_columns": "table_name, column_name, column_index, comment, is_nullable, "
            "data_type, numeric_precision, numeric_precision_radix, numeric_scale",
            "duckdb_schemas": "schema_name, comment, internal, sql",
            "duckdb_databases": "database_name, type, readonly, encrypted",
        }
        expected, columns = {}, {}
        for name, wanted in questions.items():
            expected[name] = duck.sql(
                f"SELECT {wanted} FROM {name}() WHERE database_name = 'lake' ORDER BY ALL"
            )
            shown = duck.connection.execute(f"FROM {name}() LIMIT 0").description
            columns[name] = [column[0] for column in shown]
    with ducklake_spark.connect(location.uri, alias="lake") as con:
        for name, wanted in questions.items():
            answer = con.sql(f"CALL {name}()")
            assert answer.columns == columns[name]
            rows = [tuple(row[c.strip()] for c in wanted.split(",")) for row in answer.collect()]
            assert sorted(map(repr, rows)) == sorted(map(repr, expected[name]))
