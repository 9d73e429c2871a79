"""Every statement that DuckLake's documentation shows, page by page, on data of our own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import ducklake_spark
from ducklake_spark.connection import Connection
from ducklake_spark.errors import NotNullViolation, ReadOnlyLake

pytestmark = pytest.mark.spark


@pytest.fixture
def con(spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    monkeypatch.chdir(tmp_path)
    with ducklake_spark.connect(spark=spark) as connection:
        connection.sql("ATTACH 'ducklake:garden.ducklake' AS garden; USE garden")
        yield connection


def rows(con: Connection, text: str, **options) -> list[tuple]:
    return [tuple(row) for row in con.sql(text, **options).collect()]


def test_connecting(con, tmp_path):
    con.sql("ATTACH 'ducklake:plain.ducklake'")
    con.sql("CREATE TABLE plain.seeds (id INTEGER); INSERT INTO plain.seeds VALUES (1)")
    assert con.lake("plain").data_path.endswith("/plain.ducklake.files/")
    con.sql("ATTACH 'ducklake:placed.ducklake' (DATA_PATH 'beds/')")
    assert con.lake("placed").data_path == "beds/"
    con.sql("DETACH placed")
    con.sql("ATTACH 'ducklake:placed.ducklake' (DATA_PATH 'pots/', OVERRIDE_DATA_PATH true)")
    assert con.lake("placed").data_path == "pots/"
    con.sql("ATTACH 'ducklake:garden.ducklake' AS quiet (READ_ONLY)")
    with pytest.raises(ReadOnlyLake):
        con.sql("CREATE TABLE quiet.t (a INTEGER)")


def test_connecting_with_secrets(con):
    con.sql("CREATE SECRET (TYPE ducklake, METADATA_PATH 'first.duckdb', DATA_PATH 'first_files/')")
    con.sql("ATTACH 'ducklake:' AS unnamed")
    con.sql("""CREATE SECRET shed (TYPE ducklake, METADATA_PATH 'shed.db', DATA_PATH 'shed_files/',
               METADATA_PARAMETERS MAP {'TYPE': 'sqlite'})""")
    con.sql("ATTACH 'ducklake:shed' AS shed_lake")
    con.sql("CREATE TABLE shed_lake.tools AS SELECT 'rake' AS name")
    assert rows(con, "FROM shed_lake.tools") == [("rake",)]
    kinds = rows(con, "SELECT catalog_type FROM shed_lake.settings()")
    assert kinds == [("sqlite",)]


def test_connecting_to_postgres_with_secrets(con, postgres_database, tmp_path):
    from psycopg.conninfo import conninfo_to_dict

    words = conninfo_to_dict(postgres_database)
    keys = {"host": "HOST", "port": "PORT", "user": "USER", "dbname": "DATABASE",
            "password": "PASSWORD"}  # fmt: skip
    options = ", ".join(f"{keys[key]} '{value}'" for key, value in words.items() if key in keys)
    con.sql(f"CREATE SECRET pg (TYPE postgres, {options})")
    con.sql(f"""CREATE SECRET yard (TYPE ducklake, METADATA_PATH '', DATA_PATH '{tmp_path}/yard/',
                METADATA_PARAMETERS MAP {{'TYPE': 'postgres', 'SECRET': 'pg'}})""")
    con.sql("ATTACH 'ducklake:yard' AS yard; CREATE TABLE yard.t AS SELECT 5 AS a")
    assert rows(con, "FROM yard.t") == [(5,)]


def test_snapshots(con):
    con.sql("CREATE TABLE garden.beds (a INTEGER, b VARCHAR)")
    con.sql("INSERT INTO garden.beds VALUES (1, 'north')")
    found = rows(con, "SELECT * FROM garden.snapshots()")
    assert [row[0] for row in found] == [0, 1, 2]
    assert found[1][3] == {"tables_created": ["main.beds"]}
    assert rows(con, "FROM garden.current_snapshot()") == [(2,)]
    assert rows(con, "FROM garden.last_committed_snapshot()") == [(2,)]
    con.sql("""BEGIN;
        INSERT INTO garden.beds VALUES (2, 'south');
        CALL garden.set_commit_message('Rosa', 'A second bed', extra_info => '{''rows'': 1}');
        COMMIT;""")
    said = "SELECT author, commit_message, commit_extra_info FROM garden.snapshots()"
    assert rows(con, f"{said} WHERE snapshot_id = 3") == [("Rosa", "A second bed", "{'rows': 1}")]


def test_time_travel(con):
    con.sql(
        "CREATE TABLE beds (a INTEGER); INSERT INTO beds VALUES (1); INSERT INTO beds VALUES (2)"
    )
    assert rows(con, "SELECT * FROM beds AT (VERSION => 2)") == [(1,)]
    con.sql("SET VARIABLE seen = (SELECT snapshot_time FROM garden.snapshots() "
            "WHERE snapshot_id = 2)")  # fmt: skip
    assert rows(con, "SELECT * FROM beds AT (TIMESTAMP => getvariable('seen'))") == [(1,)]
    later = "AT (TIMESTAMP => now() + INTERVAL '1 week')"
    assert rows(con, f"SELECT count(*) FROM beds {later}") == [(2,)]
    with pytest.raises(ducklake_spark.errors.NotFound):
        con.sql("SELECT * FROM beds AT (TIMESTAMP => now() - INTERVAL '1 week')").collect()
    con.sql("ATTACH 'ducklake:garden.ducklake' AS past (SNAPSHOT_VERSION 2)")
    assert rows(con, "FROM past.beds") == [(1,)]
    con.sql("ATTACH 'ducklake:garden.ducklake' AS later (SNAPSHOT_TIME '2999-05-26 00:00:00')")
    assert len(rows(con, "FROM later.beds")) == 2


def test_configuration(con):
    con.sql("SET ducklake_default_data_inlining_row_limit = 50; SET ducklake_max_retry_count = 5")
    con.sql("SET ducklake_retry_backoff = 2; SET ducklake_retry_wait_ms = 20")
    setting = (
        "current_setting('ducklake_retry_backoff') + current_setting('ducklake_retry_wait_ms')"
    )
    assert rows(con, f"SELECT {setting}") == [(22.0,)]
    con.sql("CREATE SCHEMA east; CREATE TABLE beds (a INTEGER)")
    con.sql("CALL garden.set_option('parquet_compression', 'zstd')")
    con.sql("CALL garden.set_option('parquet_compression', 'gzip', schema => 'east')")
    con.sql("CALL garden.set_option('parquet_compression', 'lz4', table_name => 'beds')")
    found = rows(
        con,
        """SELECT value, scope, scope_entry FROM garden.options()
                         WHERE option_name = 'parquet_compression' ORDER BY scope""",
    )
    assert found == [("zstd", "GLOBAL", None), ("gzip", "SCHEMA", "east"),
                     ("lz4", "TABLE", "main.beds")]  # fmt: skip
    assert rows(con, "SELECT catalog_type FROM ducklake_settings('garden')") == [("duckdb",)]
    assert rows(con, "FROM garden.settings()")[0][0] == "duckdb"


def test_catalog_tables(con):
    con.sql("CREATE TABLE beds (a INTEGER); INSERT INTO beds VALUES (7)")
    found = rows(
        con,
        """SELECT t.table_name, c.column_name, c.column_type
                         FROM __ducklake_metadata_garden.ducklake_table t
                         JOIN __ducklake_metadata_garden.main.ducklake_column c USING (table_id)""",
    )
    assert found == [("beds", "a", "int32")]
    [(name,)] = rows(con, "SELECT table_name FROM "
                          "__ducklake_metadata_garden.ducklake_inlined_data_tables")  # fmt: skip
    assert rows(con, f"SELECT a FROM __ducklake_metadata_garden.{name}") == [(7,)]


def test_constraints(con):
    con.sql("CREATE TABLE beds (a INTEGER NOT NULL)")
    with pytest.raises(NotNullViolation):
        con.sql("INSERT INTO beds VALUES (NULL)")
    shown = "SELECT is_nullable FROM information_schema.columns WHERE table_name = 'beds'"
    assert rows(con, shown) == [("NO",)]


def test_transactions(con):
    con.sql("BEGIN TRANSACTION; CREATE TABLE beds (a INTEGER); INSERT INTO beds VALUES (1)")
    assert rows(con, "SELECT count(*) FROM beds") == [(1,)]
    con.sql("COMMIT; BEGIN TRANSACTION; INSERT INTO beds VALUES (2); ROLLBACK")
    con.sql("BEGIN; INSERT INTO beds VALUES (3); ABORT")
    assert rows(con, "FROM beds") == [(1,)]
    assert rows(con, "SELECT max(snapshot_id) FROM garden.snapshots()") == [(1,)]


def test_macros(con):
    con.sql("CREATE TABLE plants (name VARCHAR, height INTEGER)")
    con.sql("INSERT INTO plants VALUES ('rose', 90), ('tulip', 40)")
    con.sql("CREATE MACRO plus(a, b) AS a + b; CREATE MACRO plus_ten(a, b := 10) AS a + b")
    assert rows(con, "SELECT plus(40, 2), plus_ten(5), plus_ten(5, b := 1)") == [(42, 15, 6)]
    con.sql("CREATE MACRO tall(least) AS TABLE SELECT name FROM plants WHERE height > least")
    assert rows(con, "SELECT * FROM tall(50)") == [("rose",)]
    con.sql("CREATE MACRO typed_plus(a INTEGER, b INTEGER) AS a + b")
    con.sql("DROP MACRO plus; DROP MACRO TABLE tall")
    with pytest.raises(ducklake_spark.errors.DuckLakeError):
        con.sql("SELECT plus(1, 2)").collect()


def test_views_and_comments(con):
    con.sql("CREATE TABLE plants (name VARCHAR); INSERT INTO plants VALUES ('rose')")
    con.sql("CREATE VIEW flowers AS SELECT * FROM plants")
    con.sql("COMMENT ON TABLE plants IS 'all of them'; COMMENT ON COLUMN plants.name IS 'in Latin'")
    con.sql("COMMENT ON VIEW flowers IS 'the pretty ones'")
    assert rows(con, "FROM flowers") == [("rose",)]
    assert rows(con, "SELECT comment FROM duckdb_tables() WHERE table_name = 'plants'") == [
        ("all of them",)
    ]
    assert rows(con, "SELECT comment FROM duckdb_columns() WHERE table_name = 'plants'") == [
        ("in Latin",)
    ]
    found = rows(con, "SELECT view_name, comment, sql FROM duckdb_views()")
    assert found == [("flowers", "the pretty ones", "CREATE VIEW flowers AS SELECT * FROM plants;")]
    assert rows(con, "SELECT table_name, table_type FROM information_schema.tables "
                     "ORDER BY ALL") == [("flowers", "VIEW"), ("plants", "BASE TABLE")]  # fmt: skip
    assert rows(con, "DESCRIBE flowers")[0][:2] == ("name", "VARCHAR")


def test_list_files(con):
    con.sql("CALL garden.set_option('data_inlining_row_limit', 0)")
    con.sql(
        "CREATE TABLE beds (a INTEGER); INSERT INTO beds VALUES (1); INSERT INTO beds VALUES (2)"
    )
    assert len(rows(con, "FROM ducklake_list_files('garden', 'beds')")) == 2
    assert len(rows(con, "FROM ducklake_list_files('garden', 'beds', snapshot_version => 2)")) == 1
    late = "snapshot_time => '2999-06-16 15:24:30'"
    assert len(rows(con, f"FROM ducklake_list_files('garden', 'beds', {late})")) == 2
    found = rows(con, "FROM ducklake_list_files('garden', 'beds', schema => 'main')")
    assert {Path(row[0]).suffix for row in found} == {".parquet"}
    listed = rows(con, "SELECT count(*) FROM glob('garden.ducklake.files/**/*.parquet')")
    assert listed == [(2,)]


def test_data_types_and_defaults(con):
    con.sql("""CREATE TABLE kinds (b BOOLEAN, t TINYINT, u UBIGINT, h HUGEINT, f FLOAT,
               n DECIMAL(9,2), d DATE, ts TIMESTAMP, z TIMESTAMPTZ, v VARCHAR DEFAULT 'none',
               x BLOB, i UUID, l INTEGER[], s STRUCT(a INTEGER), m MAP(VARCHAR, INTEGER))""")
    con.sql("""INSERT INTO kinds VALUES (true, 1, 18446744073709551615, 5, 1.5, 2.25,
               DATE '2024-02-29', TIMESTAMP '2024-02-29 01:02:03', NULL, DEFAULT, 'ab'::BLOB,
               'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', [1, 2], {'a': 3}, MAP {'k': 4})""")
    [row] = con.sql("FROM kinds").collect()
    assert (row.u, row.v, row.l, row.s.a, row.m) == (2**64 - 1, "none", [1, 2], 3, {"k": 4})
    kinds = rows(con, "SELECT column_type FROM (DESCRIBE kinds) WHERE column_name IN ('u', 'm')")
    assert kinds == [("UBIGINT",), ("MAP(VARCHAR, INTEGER)",)]
