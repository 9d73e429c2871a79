"""Sorted tables: the same catalog and the same order of rows as DuckDB; clustering of our own."""

from __future__ import annotations

import pytest

import ducklake_spark
from ducklake_spark.errors import DuckLakeError
from support.catalogs import catalog_differences

pytestmark = [pytest.mark.spark, pytest.mark.interop]

STATEMENTS = [
    "CREATE TABLE t (a INTEGER, b VARCHAR)",
    "CREATE MACRO negative(x) AS x * -1",
    "ALTER TABLE t SET SORTED BY (a DESC, upper(b) NULLS FIRST)",
    "INSERT INTO t SELECT i % 7, 'x' || (i % 3) FROM range(30) r(i)",
    "ALTER TABLE t SET SORTED BY (A DESC)",
    "INSERT INTO t VALUES (1, 'q'), (5, 'r'), (NULL, 's'), (3, 't')",
    "ALTER TABLE t SET SORTED BY (negative(a))",
    "INSERT INTO t VALUES (1, 'q'), (5, 'r'), (NULL, 's'), (3, 't')",
    "INSERT INTO t SELECT i, 'm' FROM range(20) r(i)",
    "BEGIN",
    "ALTER TABLE t SET SORTED BY (a)",
    "ALTER TABLE t RESET SORTED BY",
    "COMMIT",
    "ALTER TABLE t RESET SORTED BY",
    "ALTER TABLE t SET SORTED BY (a, b DESC)",
    "BEGIN",
    "ALTER TABLE t SET PARTITIONED BY (b)",
    "ALTER TABLE t SET SORTED BY (b)",
    "ALTER TABLE t SET SORTED BY (a + 1)",
    "COMMIT",
]


def connect(spark, location, **options):
    return ducklake_spark.connect(
        location.uri, spark=spark, alias="lake", data_path=location.data_path, **options
    )


def test_the_same_statements_make_the_same_catalog_and_order(
    spark, catalog_kind, make_lake_location
):
    ours = make_lake_location(catalog_kind, "ours")
    theirs = make_lake_location(catalog_kind, "theirs")
    query = "SELECT rowid, a, b FROM t ORDER BY rowid"
    with connect(spark, ours) as con:
        for statement in STATEMENTS:
            con.sql(statement)
        rows = [tuple(row) for row in con.sql(query).collect()]
    with theirs.oracle() as oracle:
        for statement in STATEMENTS:
            oracle.sql(statement)
        assert rows == oracle.sql(query)
    with ours.database() as left, theirs.database() as right:
        assert catalog_differences(left, right) == {}


@pytest.mark.parametrize(
    "key", ["zz", "t.a", "random()", "now()", "sum(a)", "(SELECT 1)", "'x'", "no_function(a)",
            "zorder(a, b), a", "zorder(a)", "zorder(a, zz)"]
)  # fmt: skip
def test_a_key_is_refused_when_it_is_set(spark, make_lake_location, key):
    with connect(spark, make_lake_location("sqlite", "lake")) as con:
        con.sql("CREATE TABLE t (a INTEGER, b VARCHAR)")
        with pytest.raises(DuckLakeError):
            con.sql(f"ALTER TABLE t SET SORTED BY ({key})")


def test_duckdb_works_with_a_clustered_table(spark, location):
    with connect(spark, location) as con:
        con.sql("CREATE TABLE z (x INTEGER, y DOUBLE, s VARCHAR) SORTED BY (zorder(x, y))")
        con.sql("INSERT INTO z SELECT i % 97, (i * 37 % 1000) / 8, 's' || i FROM range(500) r(i)")
        expected = con.sql("SELECT count(*), sum(x), sum(y) FROM z").collect()[0]
        placed = [row[0] for row in con.sql("SELECT x FROM z ORDER BY rowid").collect()]
    assert placed != sorted(placed)
    assert max(placed[:100]) < 97 * 3 // 4  # the first part is a corner of the plane
    with location.oracle() as oracle:
        assert oracle.sql("SELECT count(*), sum(x), sum(y) FROM z") == [tuple(expected)]
        oracle.sql("INSERT INTO z SELECT i, i, 'k' FROM range(50) r(i)")
        oracle.sql("INSERT INTO z VALUES (1, 2, 'inlined')")
        oracle.sql("ALTER TABLE z RENAME COLUMN x TO column_x")
        oracle.sql("CALL ducklake_flush_inlined_data('lake')")
        oracle.sql("CALL ducklake_merge_adjacent_files('lake')")
        rows = oracle.sql("SELECT count(*) FROM z")
    with connect(spark, location) as con:
        con.sql("INSERT INTO z SELECT i, i, 'm' FROM range(50) r(i)")
        assert con.sql("SELECT count(*) FROM z").collect()[0][0] == rows[0][0] + 50
