"""What we write, DuckDB reads and continues; the catalogs are the same as if it had written."""

from __future__ import annotations

import pytest

import ducklake_spark
from support.catalogs import catalog_differences
from support.rows import same_rows

pytestmark = [pytest.mark.spark, pytest.mark.interop]

STATEMENTS = [
    "CREATE SCHEMA s1",
    'CREATE SCHEMA "odd name"',
    "CREATE TABLE t (id BIGINT NOT NULL, name VARCHAR DEFAULT 'none', ts TIMESTAMP DEFAULT now(), "
    "n INTEGER DEFAULT 42, s STRUCT(a INTEGER, b VARCHAR[]), m MAP(VARCHAR, DOUBLE))",
    'CREATE TABLE s1."quoted ""x""" (a DECIMAL(9,2), b BOOLEAN DEFAULT true)',
    "CREATE TABLE IF NOT EXISTS t (other INTEGER)",
    "INSERT INTO t VALUES (1, 'one', TIMESTAMP '2024-01-02 03:04:05.678', 7, "
    "{'a': 1, 'b': ['x', NULL]}, MAP {'k': 1.5}), (2, NULL, NULL, NULL, NULL, NULL)",
    "INSERT INTO t (id, n, ts) SELECT i, i * 2, NULL FROM range(100) r(i)",
    "INSERT INTO t (id, ts, n) VALUES (77, NULL, DEFAULT)",
    'INSERT INTO s1."quoted ""x""" SELECT 1.25, i % 2 = 0 FROM range(5) r(i)',
    "CREATE TABLE s1.copy AS SELECT id, name FROM t WHERE id > 50",
    "CREATE OR REPLACE TABLE s1.copy AS SELECT id FROM t WHERE id < 3",
    "DROP TABLE IF EXISTS missing",
    "INSERT INTO s1.copy SELECT 1 WHERE false",
    "CREATE TABLE gone (x INTEGER)",
    "DROP TABLE gone",
    'DROP SCHEMA "odd name"',
]


@pytest.mark.parametrize("limit", [0, 10], ids=["files", "inlined"])
def test_the_same_statements_make_the_same_catalog(spark, catalog_kind, make_lake_location, limit):
    ours = make_lake_location(catalog_kind, "ours")
    theirs = make_lake_location(catalog_kind, "theirs")
    options = {"data_inlining_row_limit": limit}
    with ducklake_spark.connect(
        ours.uri, spark=spark, alias="lake", data_path=ours.data_path, **options
    ) as con:
        for statement in STATEMENTS:
            con.sql(statement)
    with theirs.oracle(**options) as oracle:
        for statement in STATEMENTS:
            oracle.sql(statement)
    with ours.database() as left, theirs.database() as right:
        assert catalog_differences(left, right) == {}


def test_duckdb_reads_and_continues_our_lake(spark, location):
    with ducklake_spark.connect(
        location.uri, spark=spark, alias="lake", data_path=location.data_path
    ) as con:
        for statement in STATEMENTS:
            con.sql(statement)
        expected = con.sql("SELECT * FROM t").collect()
    with location.oracle() as oracle:
        assert same_rows(expected, oracle.sql("SELECT * FROM t"))
        oracle.sql("INSERT INTO t (id, name) VALUES (900, 'inlined'), (901, NULL)")
        oracle.sql("INSERT INTO t (id) SELECT i FROM range(1000, 1100) r(i)")
        oracle.sql("DELETE FROM t WHERE id IN (1, 5, 1007, 900)")
        oracle.sql("UPDATE t SET name = 'new' WHERE id BETWEEN 20 AND 60")
        oracle.sql("ALTER TABLE t RENAME COLUMN name TO label")
        rows = oracle.sql("SELECT *, rowid FROM t")
    with ducklake_spark.connect(location.uri, spark=spark, alias="lake") as con:
        assert same_rows(con.sql("SELECT *, rowid FROM t").collect(), rows)
        con.sql("INSERT INTO t (id, label) VALUES (5000, 'after')")
        expected = con.sql("SELECT *, rowid FROM t").collect()
    with location.oracle() as oracle:
        assert same_rows(expected, oracle.sql("SELECT *, rowid FROM t"))
        oracle.sql("CALL ducklake_flush_inlined_data('lake')")
        oracle.sql("CALL ducklake_merge_adjacent_files('lake')")
        assert same_rows(expected, oracle.sql("SELECT *, rowid FROM t"))
