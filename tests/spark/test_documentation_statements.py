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


def snapshot(con: Connection) -> int:
    return rows(con, "FROM garden.current_snapshot()")[0][0]


def test_schema_evolution(con):
    con.sql("CREATE TABLE beds (size INTEGER, soil STRUCT(ph INTEGER))")
    con.sql("INSERT INTO beds VALUES (1, {'ph': 6})")
    con.sql("ALTER TABLE beds ADD COLUMN shade INTEGER")
    con.sql("ALTER TABLE beds ADD COLUMN owner VARCHAR DEFAULT 'nobody'")
    con.sql("ALTER TABLE beds ADD COLUMN soil.depth INTEGER")
    assert rows(con, "FROM beds") == [(1, (6, None), None, "nobody")]
    con.sql("ALTER TABLE beds RENAME shade TO sun; ALTER TABLE beds RENAME soil.depth TO deep")
    con.sql("ALTER TABLE beds ALTER size SET TYPE BIGINT")
    con.sql("ALTER TABLE beds ALTER soil.deep SET TYPE BIGINT")
    con.sql("INSERT INTO beds VALUES (5000000000, {'ph': 7, 'deep': 6000000000}, 3, 'Rosa')")
    assert rows(con, "SELECT size, soil.deep, sun, owner FROM beds ORDER BY size") == [
        (1, None, None, "nobody"),
        (5000000000, 6000000000, 3, "Rosa"),
    ]
    con.sql("ALTER TABLE beds DROP COLUMN sun; ALTER TABLE beds DROP COLUMN soil.deep")
    con.sql("ALTER TABLE beds RENAME TO plots")
    assert rows(con, "FROM plots ORDER BY size LIMIT 1") == [(1, (6,), "nobody")]
    with pytest.raises(ducklake_spark.errors.InvalidInput):
        con.sql("ALTER TABLE plots ALTER size SET TYPE TINYINT")


def test_constraints_of_tables_that_exist(con):
    con.sql("CREATE TABLE beds (a INTEGER); ALTER TABLE beds ALTER a SET NOT NULL")
    with pytest.raises(NotNullViolation):
        con.sql("INSERT INTO beds VALUES (NULL)")
    con.sql("ALTER TABLE beds ALTER a DROP NOT NULL; INSERT INTO beds VALUES (NULL)")
    assert rows(con, "FROM beds") == [(None,)]


def test_upserting(con):
    con.sql("CREATE TABLE staff (id INTEGER, name VARCHAR, wage FLOAT)")
    con.sql("INSERT INTO staff VALUES (1, 'Rosa', 30_000.0), (2, 'Basil', 40_000.0)")
    con.sql("""MERGE INTO staff
        USING (SELECT unnest([3, 1]) AS id, unnest(['Iris', 'Rosa']) AS name,
                      unnest([35_000.0, 45_000.0]) AS wage) AS news
        ON (news.id = staff.id)
        WHEN MATCHED THEN UPDATE
        WHEN NOT MATCHED THEN INSERT""")
    everybody = "SELECT id, wage FROM staff ORDER BY id"
    assert rows(con, everybody) == [(1, 45000.0), (2, 40000.0), (3, 35000.0)]
    con.sql("""MERGE INTO staff USING (SELECT 1 AS id, 38_000.0 AS wage) AS news
               ON (news.id = staff.id) WHEN MATCHED THEN UPDATE SET wage = news.wage""")
    assert rows(con, everybody)[0] == (1, 38000.0)
    con.sql("MERGE INTO staff USING (SELECT 1 AS id) AS gone USING (id) WHEN MATCHED THEN DELETE")
    con.sql("""MERGE INTO staff USING (SELECT unnest([3, 2]) AS id) AS gone ON (gone.id = staff.id)
               WHEN MATCHED AND staff.wage >= 40_000.0 THEN DELETE""")
    assert rows(con, everybody) == [(3, 35000.0)]


def test_data_change_feed(con):
    con.sql("CREATE TABLE beds (id INTEGER, plant VARCHAR)")
    con.sql("INSERT INTO beds VALUES (1, 'rose'), (2, 'fern'); DELETE FROM beds WHERE id = 1")
    con.sql("UPDATE beds SET plant = concat(plant, plant, plant)")
    assert sorted(rows(con, "FROM garden.table_changes('beds', 2, 2)")) == [
        (2, 0, "insert", 1, "rose"),
        (2, 1, "insert", 2, "fern"),
    ]
    later = rows(con, "FROM garden.table_changes('beds', 3, 4) ORDER BY snapshot_id, change_type")
    assert later == [
        (3, 0, "delete", 1, "rose"),
        (4, 1, "update_postimage", 2, "fernfernfern"),
        (4, 1, "update_preimage", 2, "fern"),
    ]
    week = "FROM garden.table_changes('beds', now() - INTERVAL '1 week', now())"
    assert len(rows(con, week)) == 5
    assert rows(con, "FROM garden.table_deletions('beds', 3, 3)") == [(1, "rose")]
    assert len(rows(con, "FROM garden.table_insertions('beds', 2, 2)")) == 2


def test_data_inlining(con):
    con.sql("ATTACH 'ducklake:small.duckdb' AS small (DATA_INLINING_ROW_LIMIT 10); USE small")
    con.sql("CREATE TABLE beds (a INTEGER); INSERT INTO beds VALUES (1), (2), (3)")
    files = "SELECT count(*) FROM glob('small.duckdb.files/**')"
    assert rows(con, files) == [(0,)]
    con.sql("INSERT INTO beds FROM range(100)")
    assert rows(con, files) == [(1,)]
    con.sql("DELETE FROM beds WHERE a > 97")
    assert rows(con, "SELECT count(*) FROM glob('small.duckdb.files/**/*.parquet') "
                     "WHERE file LIKE '%-delete.parquet'") == [(0,)]  # fmt: skip
    con.sql("DELETE FROM beds WHERE a = 2 AND rowid < 3; CREATE SCHEMA east")
    con.sql("CALL ducklake_flush_inlined_data('small', schema_name => 'east')")
    flushed = "SELECT schema_name, table_name, rows_flushed FROM ducklake_flush_inlined_data"
    assert rows(con, f"{flushed}('small', schema_name => 'main', table_name => 'beds')")
    assert rows(con, f"{flushed}('small')") == []
    assert rows(con, "SELECT count(*) FROM beds AT (VERSION => 2)") == [(3,)]
    assert rows(con, "SELECT count(*) FROM beds") == [(100,)]
    con.sql("CALL small.set_option('data_inlining_row_limit', 0, table_name => 'beds')")
    con.sql("INSERT INTO beds VALUES (500)")
    assert rows(con, flushed + "('small')") == []


def test_partitioning(con):
    con.sql("CREATE TABLE visits (bed INTEGER, came TIMESTAMP, who BIGINT)")
    con.sql("CALL garden.set_option('data_inlining_row_limit', 0)")
    for keys in (
        "bed",
        "year(came), month(came)",
        "bucket(8, who)",
        "bucket(8, who), month(came)",
    ):
        con.sql(f"ALTER TABLE visits SET PARTITIONED BY ({keys})")
    con.sql("ALTER TABLE visits SET PARTITIONED BY (year(came), month(came))")
    con.sql("INSERT INTO visits VALUES (1, '2024-01-05', 7), (2, '2024-02-06', 8)")
    con.sql("ALTER TABLE visits RESET PARTITIONED BY")
    con.sql("INSERT INTO visits VALUES (3, '2024-03-07', 9)")
    paths = [Path(row[0]) for row in rows(con, "FROM ducklake_list_files('garden', 'visits')")]
    assert sorted(path.parent.name for path in paths) == ["month=1", "month=2", "visits"]
    assert rows(con, "SELECT who FROM visits WHERE visits.came < '2024-02-01'") == [(7,)]


def test_sorted_tables(con):
    con.sql("CREATE TABLE visits (came TIMESTAMP, kind VARCHAR, length DOUBLE)")
    con.sql("CREATE MACRO day_of(t) AS date_trunc('day', t)")
    for keys in ("came ASC", "came ASC, kind DESC", "came ASC NULLS LAST", "day_of(came) ASC",
                 "date_trunc('hour', came) ASC"):  # fmt: skip
        con.sql(f"ALTER TABLE visits SET SORTED BY ({keys})")
    con.sql("INSERT INTO visits VALUES ('2024-01-01 09:00:00', 'late', 1)")
    con.sql("INSERT INTO visits VALUES ('2024-01-01 07:30:00', 'early', 2)")
    con.sql("CALL ducklake_flush_inlined_data('garden', table_name => 'visits')")
    [(path,)] = rows(con, "SELECT data_file FROM ducklake_list_files('garden', 'visits')")
    import pyarrow.parquet as pq

    assert pq.read_table(path).column("kind").to_pylist() == ["early", "late"]
    con.sql("CALL garden.set_option('sort_on_insert', false, table_name => 'visits')")
    con.sql("CALL ducklake_merge_adjacent_files('garden', 'visits')")
    con.sql("ALTER TABLE visits RESET SORTED BY")
    assert rows(con, "SELECT kind FROM visits ORDER BY visits.came DESC") == [
        ("late",),
        ("early",),
    ]


def test_merge_adjacent_files(con):
    con.sql("CALL garden.set_option('data_inlining_row_limit', 0); CREATE SCHEMA east")
    con.sql("CREATE TABLE beds (a INTEGER); CREATE TABLE east.beds (a INTEGER)")
    for number in range(3):
        con.sql(f"INSERT INTO beds VALUES ({number}); INSERT INTO east.beds VALUES ({number})")
    con.sql("CALL garden.set_option('auto_compact', false, schema => 'east')")
    con.sql("CALL garden.set_option('auto_compact', true, schema => 'east', table_name => 'beds')")
    con.sql("CALL garden.set_option('auto_compact', false, table_name => 'beds')")
    assert rows(con, "CALL ducklake_merge_adjacent_files('garden')") == [("east", "beds", 3, 1)]
    con.sql("CALL garden.set_option('auto_compact', true, table_name => 'beds')")
    big = "min_file_size => 10485760, max_file_size => 67108864"
    con.sql("CALL ducklake_set_option('garden', 'target_file_size', '128MB')")
    assert rows(con, f"CALL ducklake_merge_adjacent_files('garden', {big})") == []
    assert rows(con, """SELECT schema_name, table_name, sum(files_created) AS made
                        FROM ducklake_merge_adjacent_files('garden')
                        GROUP BY schema_name, table_name""") == [("main", "beds", 1)]  # fmt: skip
    con.sql("CALL ducklake_merge_adjacent_files('garden', 'beds', schema => 'east')")
    con.sql("CALL ducklake_merge_adjacent_files('garden', 'beds', max_compacted_files => 10)")
    assert rows(con, "FROM beds ORDER BY a") == [(0,), (1,), (2,)]


def test_expire_snapshots_and_cleanup(con, tmp_path):
    con.sql("CALL garden.set_option('data_inlining_row_limit', 0)")
    con.sql("CREATE TABLE beds AS SELECT 1 AS a; DROP TABLE beds; CREATE TABLE pots (a INTEGER)")
    week = "older_than => now() - INTERVAL '1 week'"
    assert rows(con, f"CALL ducklake_expire_snapshots('garden', dry_run => true, {week})") == []
    con.sql(f"CALL ducklake_expire_snapshots('garden', {week})")
    expired = rows(con, "CALL ducklake_expire_snapshots('garden', versions => [1])")
    assert [row[0] for row in expired] == [1]
    con.sql("CALL garden.set_option('expire_older_than', '1 month')")
    con.sql("CALL garden.set_option('delete_older_than', '1 week')")
    dry = f"CALL ducklake_cleanup_old_files('garden', dry_run => true, {week})"
    assert rows(con, dry) == []
    con.sql(f"CALL ducklake_cleanup_old_files('garden', {week})")
    assert len(rows(con, "CALL ducklake_cleanup_old_files('garden', cleanup_all => true)")) == 1
    stray = tmp_path / "garden.ducklake.files" / "stray.parquet"
    stray.parent.mkdir(exist_ok=True)
    stray.write_bytes(b"")
    assert rows(con, f"CALL ducklake_delete_orphaned_files('garden', {week})") == []
    assert (
        rows(con, f"CALL ducklake_delete_orphaned_files('garden', dry_run => true, {week})") == []
    )
    assert rows(con, "CALL ducklake_delete_orphaned_files('garden', cleanup_all => true)") == [
        (str(stray),)
    ]


def test_rewrite_heavily_deleted_files(con):
    con.sql("CREATE TABLE beds AS SELECT i AS a FROM range(100) r(i)")
    con.sql("CREATE TABLE pots AS SELECT i AS a FROM range(100) r(i)")
    con.sql("CREATE SCHEMA east; DELETE FROM beds WHERE a < 60; DELETE FROM pots WHERE a < 99")
    assert rows(con, "CALL ducklake_rewrite_data_files('garden', 'beds')") == []
    half = "CALL ducklake_rewrite_data_files('garden', 'beds', delete_threshold => 0.5)"
    assert rows(con, half) == [("main", "beds", 1, 1)]
    con.sql("CALL garden.set_option('rewrite_delete_threshold', 0.5)")
    con.sql("CALL garden.set_option('rewrite_delete_threshold', 0.5, schema => 'east')")
    con.sql("CALL garden.set_option('rewrite_delete_threshold', 0.5, table_name => 'pots')")
    found = """SELECT schema_name, table_name, sum(files_created) AS made
               FROM ducklake_rewrite_data_files('garden') GROUP BY schema_name, table_name"""
    assert rows(con, found) == [("main", "pots", 1)]
    assert rows(con, "SELECT count(*), min(a) FROM beds") == [(40, 60)]


def test_checkpoint(con):
    con.sql("CREATE TABLE beds (a INTEGER); INSERT INTO beds VALUES (1), (2)")
    con.sql("CHECKPOINT")
    assert len(rows(con, "FROM ducklake_list_files('garden', 'beds')")) == 1
    assert rows(con, "FROM beds ORDER BY a") == [(1,), (2,)]


def test_adding_files(con):
    con.sql("CREATE SCHEMA east; CREATE TABLE plants (id INTEGER, name VARCHAR)")
    con.sql("CREATE TABLE east.plants (id INTEGER, name VARCHAR)")
    con.sql("COPY (SELECT 1 AS id, 'rose' AS name) TO 'whole.parquet' (FORMAT parquet)")
    con.sql("COPY (SELECT 2 AS id) TO 'less.parquet' (FORMAT parquet)")
    con.sql("COPY (SELECT 3 AS id, 'fern' AS name, 9 AS age) TO 'more.parquet' (FORMAT parquet)")
    con.sql("CALL ducklake_add_data_files('garden', 'plants', 'whole.parquet')")
    con.sql("CALL ducklake_add_data_files('garden', 'plants', 'less.parquet', "
            "allow_missing => true)")  # fmt: skip
    con.sql("CALL ducklake_add_data_files('garden', 'plants', 'more.parquet', "
            "ignore_extra_columns => true)")  # fmt: skip
    con.sql("CALL ducklake_add_data_files('garden', 'plants', 'whole.parquet', schema => 'east')")
    assert rows(con, "FROM plants ORDER BY id") == [(1, "rose"), (2, None), (3, "fern")]
    assert rows(con, "FROM east.plants") == [(1, "rose")]
    with pytest.raises(ducklake_spark.errors.DuckLakeError, match="name"):
        con.sql("CALL ducklake_add_data_files('garden', 'plants', 'less.parquet', "
                "schema => 'east')")  # fmt: skip


def test_migrating_from_duckdb(con):
    import duckdb

    with duckdb.connect("old.duckdb") as old:
        old.execute("CREATE TABLE plants AS SELECT 1 AS id, 'rose' AS name")
    con.sql("ATTACH 'old.duckdb' AS old; COPY FROM DATABASE old TO garden")
    assert rows(con, "FROM garden.plants") == [(1, "rose")]


def test_first_steps(con):
    """The example of the introduction, from a file here instead of one on the web."""
    Path("stations.csv").write_text("code,name_long\nASB,Amsterdam Bijlmer\nUT,Utrecht\n")
    con.sql("CREATE TABLE stations AS FROM 'stations.csv'")
    con.sql("CALL garden.set_option('data_inlining_row_limit', 0)")
    con.sql("UPDATE stations SET name_long = 'Johan Cruijff ArenA' WHERE code = 'ASB'")
    name = "SELECT name_long FROM stations{} WHERE code = 'ASB'"
    assert rows(con, name.format("")) == [("Johan Cruijff ArenA",)]
    files = rows(con, "FROM glob('garden.ducklake.files/**/*')")
    assert files
    now = snapshot(con)
    assert rows(con, name.format(f" AT (VERSION => {now - 1})")) == [("Amsterdam Bijlmer",)]
    con.sql("USE memory; DETACH garden")


def test_logging(con):
    con.sql("CREATE TABLE beds (a INTEGER); CALL enable_logging('DuckLakeMetadata')")
    con.sql("INSERT INTO beds VALUES (1)")
    found = rows(
        con, "SELECT catalog, elapsed_ms, query FROM duckdb_logs_parsed('DuckLakeMetadata')"
    )
    assert any("ducklake_snapshot" in row[2] for row in found)
