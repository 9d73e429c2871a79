"""CREATE TABLE, CREATE TABLE AS and their kin in Spark's SQL."""

from __future__ import annotations

import datetime as dt
import re

import pytest

from ducklake_spark.errors import DuckLakeError, NotSupported, UnknownOption

pytestmark = [pytest.mark.spark, pytest.mark.interop]


def test_every_type_is_that_of_the_lake(lake, table):
    lake.sql(
        f"CREATE TABLE lake.main.{table} (a BOOLEAN, b TINYINT, c SMALLINT, d INT, e BIGINT, "
        "f FLOAT, g DOUBLE, h DECIMAL(12, 3), i STRING, j BINARY, k DATE, l TIMESTAMP, "
        "m TIMESTAMP_NTZ, n ARRAY<INT>, o MAP<STRING, BIGINT>, p STRUCT<x: INT, y: ARRAY<DATE>>, "
        "q VARCHAR(10)) USING ducklake"
    )
    with lake.location.oracle() as duck:
        types = [row[1] for row in duck.sql(f"DESCRIBE {table}")]
    assert types == [
        *("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE"),
        *("DECIMAL(12,3)", "VARCHAR", "BLOB", "DATE", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP"),
        *("INTEGER[]", "MAP(VARCHAR, BIGINT)", "STRUCT(x INTEGER, y DATE[])", "VARCHAR"),
    ]


def test_rules_and_comments_are_kept_for_duckdb_too(lake, table):
    made = lake.snapshots_of(
        lambda: lake.sql(
            f"CREATE TABLE lake.main.{table} (id BIGINT NOT NULL COMMENT 'the key', "
            "n INT DEFAULT 40 + 2, s STRING DEFAULT 'it\\'s', d DATE DEFAULT DATE '2024-02-29', "
            "moment TIMESTAMP DEFAULT TIMESTAMP '2024-01-01 12:00:00+02:00', "
            "ok BOOLEAN DEFAULT true, p DECIMAL(5,2) DEFAULT 1.5, "
            "now TIMESTAMP DEFAULT current_timestamp()) "
            "COMMENT 'all of it' TBLPROPERTIES (parquet_compression = 'zstd')"
        )
    )
    assert made == 1
    with lake.location.oracle() as duck:
        duck.sql(f"INSERT INTO {table} (id) VALUES (1)")
        row = duck.sql(f"SELECT id, n, s, d, moment, ok, p, now IS NOT NULL FROM {table}")[0]
        comments = duck.sql(
            f"SELECT comment FROM duckdb_columns() WHERE table_name = '{table}' AND "
            "comment IS NOT NULL"
        )
        comment = duck.sql(f"SELECT comment FROM duckdb_tables() WHERE table_name = '{table}'")
        options = duck.sql(
            "SELECT value FROM ducklake_options('lake') WHERE "
            f"option_name = 'parquet_compression' AND scope_entry = 'main.{table}'"
        )
        with pytest.raises(Exception, match="NOT NULL"):
            duck.sql(f"INSERT INTO {table} (n) VALUES (1)")
    at = dt.datetime(2024, 1, 1, 10, tzinfo=dt.timezone.utc)
    assert row[:4] == (1, 42, "it's", dt.date(2024, 2, 29))
    assert row[4].astimezone(dt.timezone.utc) == at
    assert (row[5], str(row[6]), row[7]) == (True, "1.50", True)
    assert comments == [("the key",)] and comment == [("all of it",)] and options == [("zstd",)]


def test_a_default_that_duckdb_may_read_otherwise_is_refused(lake, table):
    with pytest.raises(NotSupported, match="may mean something else"):
        lake.sql(f"CREATE TABLE lake.main.{table} (d INT DEFAULT weekday(current_date()))")


@pytest.mark.parametrize(
    ("key", "stored"),
    [
        ("region", [("identity", "region")]),
        ("bucket(8, id)", [("bucket(8)", "id")]),
        ("years(at)", [("year", "at")]),
        ("months(at)", [("year", "at"), ("month", "at")]),
        ("days(at)", [("year", "at"), ("month", "at"), ("day", "at")]),
        ("hours(at)", [("year", "at"), ("month", "at"), ("day", "at"), ("hour", "at")]),
        ("day(at)", [("day", "at")]),
    ],
)
def test_partitions_divide_as_spark_means_them(lake, table, key, stored):
    columns = "id BIGINT, region STRING, at TIMESTAMP_NTZ"
    lake.sql(f"CREATE TABLE lake.main.{table} ({columns}) PARTITIONED BY ({key})")
    with lake.location.database(create=False) as db:
        found = db.fetch(
            "SELECT p.transform, c.column_name FROM ducklake_partition_column p "
            "JOIN ducklake_table t ON t.table_id = p.table_id JOIN ducklake_column c "
            "ON c.table_id = p.table_id AND c.column_id = p.column_id "
            "WHERE t.table_name = ? ORDER BY p.partition_key_index",
            (table,),
        )
    assert [tuple(row) for row in found] == stored
    shown = lake.sql(f"SHOW CREATE TABLE lake.main.{table}")[0][0]
    copy = f"{table}_copy"
    lake.sql(shown.replace(f"{lake.name}.main.{table}", f"{lake.name}.main.{copy}"))
    again = lake.sql(f"SHOW CREATE TABLE lake.main.{copy}")[0][0]
    assert _less_snapshot(again) == _less_snapshot(shown.replace(table, copy))


def _less_snapshot(text):
    return re.sub(r"'snapshot' = '\d+'", "", text)


@pytest.mark.parametrize(
    ("clause", "hint"),
    [
        ("(a INT) LOCATION '/tmp/elsewhere'", "data path"),
        ("(a INT) USING csv", "USING ducklake"),
        ("(a INT, s STRUCT<x: INT>) PARTITIONED BY (truncate(4, a))", "no such key"),
        ("(a INT) TBLPROPERTIES (colour = 'red')", "no option"),
    ],
)
def test_what_a_lake_does_not_have_is_refused_with_a_hint(lake, table, clause, hint):
    with pytest.raises((NotSupported, UnknownOption), match=hint):
        lake.sql(f"CREATE TABLE lake.main.{table} {clause}")
    assert not lake.spark.catalog.tableExists(f"{lake.name}.main.{table}")


def test_cluster_by_is_a_sort_order(lake, table):
    lake.sql(f"CREATE TABLE lake.main.{table} (a INT, `odd name` INT) CLUSTER BY (`odd name`, a)")
    with lake.location.database(create=False) as db:
        keys = db.fetch(
            "SELECT expression FROM ducklake_sort_expression s JOIN ducklake_table t "
            "ON t.table_id = s.table_id WHERE table_name = ? ORDER BY sort_key_index",
            (table,),
        )
    assert [row[0] for row in keys] == ['"odd name"', "a"]


def test_create_as_is_one_snapshot_with_its_rows(lake, table):
    made = lake.snapshots_of(
        lambda: lake.sql(
            f"CREATE TABLE lake.main.{table} PARTITIONED BY (part) "
            "TBLPROPERTIES (data_inlining_row_limit = '0', parquet_compression = 'gzip') "
            "COMMENT 'from a query' AS SELECT id, id % 3 AS part FROM range(100)"
        )
    )
    assert made == 1
    with lake.location.oracle() as duck:
        assert duck.sql(f"SELECT count(*), sum(id) FROM {table}") == [(100, 4950)]
        files = duck.sql(f"SELECT data_file FROM ducklake_list_files('lake', '{table}')")
        assert len(files) == 3
        codecs = duck.sql(f"SELECT DISTINCT compression FROM parquet_metadata('{files[0][0]}')")
    assert codecs == [("GZIP",)]
    assert lake.sql(f"SELECT count(*) FROM lake.main.{table} WHERE part = 1") == [(33,)]


def test_create_as_that_fails_leaves_nothing(lake, table):
    before = lake.last_snapshot()
    with pytest.raises(Exception, match=r"ZERO|zero"):
        lake.sql(f"CREATE TABLE lake.main.{table} AS SELECT 1 / (id - 5) AS x FROM range(10)")
    assert lake.last_snapshot() == before
    assert not lake.spark.catalog.tableExists(f"{lake.name}.main.{table}")


def test_a_table_is_replaced_by_a_query_over_itself_in_one_snapshot(lake, table):
    lake.sql(f"CREATE TABLE lake.main.{table} AS SELECT id FROM range(10)")
    replacing = (
        f"CREATE OR REPLACE TABLE lake.main.{table} AS "
        f"SELECT id, id * 2 AS twice FROM lake.main.{table} WHERE id > 6"
    )
    assert lake.snapshots_of(lambda: lake.sql(replacing)) == 1
    assert lake.sql(f"SELECT * FROM lake.main.{table} ORDER BY id") == [(7, 14), (8, 16), (9, 18)]
    with pytest.raises(Exception, match=r"ZERO|zero"):
        lake.sql(f"REPLACE TABLE lake.main.{table} AS SELECT 1 / (id - 5) AS x FROM range(10)")
    assert lake.sql(f"SELECT count(*) FROM lake.main.{table}") == [(3,)]
    lake.sql(f"REPLACE TABLE lake.main.{table} (other STRING)")
    assert lake.spark.table(f"{lake.name}.main.{table}").columns == ["other"]


def test_replacing_a_table_that_is_not_there_is_an_error_of_spark(lake, table):
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        lake.sql(f"REPLACE TABLE lake.main.{table} AS SELECT 1 AS a")
    with pytest.raises(Exception, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        lake.sql(f"CREATE TABLE lake.main.{table} (a INT)")
        lake.sql(f"CREATE TABLE lake.main.{table} (a INT)")
    lake.sql(f"CREATE TABLE IF NOT EXISTS lake.main.{table} (b INT)")
    lake.sql(f"CREATE TABLE IF NOT EXISTS lake.main.{table} AS SELECT 1 AS b")
    assert lake.spark.table(f"{lake.name}.main.{table}").columns == ["a"]


def test_types_of_the_lake_and_no_defaults_come_along_with_a_query(lake, table):
    with lake.location.oracle() as duck:
        duck.sql(f"CREATE TABLE {table} (u UUID, n UTINYINT, d INT DEFAULT 7)")
    lake.sql(f"CREATE TABLE lake.main.{table}_copy AS SELECT * FROM lake.main.{table}")
    with lake.location.oracle() as duck:
        told = duck.sql(f"DESCRIBE {table}_copy")
    assert [row[1] for row in told] == ["UUID", "UTINYINT", "INTEGER"]
    assert [row[4] for row in told] == ["NULL", "NULL", "NULL"]


def test_drop_and_rename(lake, table):
    lake.sql(f"CREATE TABLE lake.main.{table} (a INT)")
    lake.sql(f"ALTER TABLE lake.main.{table} RENAME TO {table}_new")
    assert lake.snapshots_of(lambda: lake.sql(f"DROP TABLE lake.main.{table}_new PURGE")) == 1
    lake.sql(f"DROP TABLE IF EXISTS lake.main.{table}_new")
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        lake.sql(f"DROP TABLE lake.main.{table}_new")
    lake.sql(f"CREATE TABLE lake.main.{table} (a INT)")
    with pytest.raises(NotSupported, match="stays in its"):
        lake.sql(f"ALTER TABLE lake.main.{table} RENAME TO other.{table}")


def test_schemas_come_and_go(lake, table):
    lake.sql("CREATE NAMESPACE lake.sales")
    lake.sql(f"CREATE TABLE lake.sales.{table} (a INT)")
    assert ("sales",) in lake.sql(f"SHOW NAMESPACES IN {lake.name}")
    with pytest.raises(DuckLakeError, match="depend on it"):
        lake.sql("DROP NAMESPACE lake.sales")
    with pytest.raises(NotSupported, match="comment"):
        lake.sql("COMMENT ON NAMESPACE lake.sales IS 'no'")
    lake.sql("DROP NAMESPACE lake.sales CASCADE")
    assert ("sales",) not in lake.sql(f"SHOW NAMESPACES IN {lake.name}")
    lake.sql("CREATE NAMESPACE IF NOT EXISTS lake.main")
    lake.sql("DROP NAMESPACE IF EXISTS lake.sales")


def test_a_table_like_another(lake, table):
    if not lake.spark.version.startswith("4.3"):
        pytest.skip("catalogs have it from 4.3 on")
    lake.sql(
        f"CREATE TABLE lake.main.{table} (id BIGINT NOT NULL, n INT DEFAULT 5, at DATE) "
        "PARTITIONED BY (days(at)) TBLPROPERTIES (parquet_compression = 'zstd')"
    )
    lake.sql(f"CREATE TABLE lake.main.{table}_copy LIKE lake.main.{table}")
    one, other = (
        lake.sql(f"SHOW CREATE TABLE lake.main.{name}")[0][0] for name in (table, f"{table}_copy")
    )
    assert _less_snapshot(other) == _less_snapshot(one.replace(table, f"{table}_copy"))


def test_explain_makes_nothing(lake, table):
    lake.sql(f"CREATE TABLE lake.main.{table} AS SELECT 1 AS a")
    before = lake.last_snapshot()
    for text in (
        f"CREATE TABLE lake.main.{table}_b AS SELECT 1 AS a",
        f"CREATE OR REPLACE TABLE lake.main.{table} AS SELECT 2 AS a",
        f"ALTER TABLE lake.main.{table} ADD COLUMN b INT",
        f"DROP TABLE lake.main.{table}",
    ):
        lake.sql(f"EXPLAIN {text}")
    assert lake.last_snapshot() == before


@pytest.mark.parametrize("kind", ["STRING COLLATE UTF8_LCASE", "ARRAY<STRING COLLATE UNICODE_CI>"])
def test_a_collation_that_a_lake_would_forget_is_refused(lake, table, kind):
    with pytest.raises(NotSupported, match="byte by byte"):
        lake.sql(f"CREATE TABLE lake.main.{table} (v {kind})")
    lake.sql(f"CREATE TABLE lake.main.{table} (v STRING COLLATE UTF8_BINARY, w VARCHAR(3))")
