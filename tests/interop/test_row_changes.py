"""DELETE, UPDATE and TRUNCATE: the catalog is the one that DuckDB would have made."""

from __future__ import annotations

import pytest

import ducklake_spark
from support.catalogs import catalog_differences, inlined_rows
from support.rows import same_rows

pytestmark = [pytest.mark.spark, pytest.mark.interop]

CREATE = "CREATE TABLE t (i INTEGER, s VARCHAR)"


def insert(count: int, start: int = 0) -> str:
    return f"INSERT INTO t SELECT i, 'a' || i FROM range({start}, {start + count}) r(i)"


# Statements after which nothing but what another Parquet writer does may differ.
SAME_CATALOG = {
    "deletes of few rows": [
        insert(100),
        "DELETE FROM t WHERE i < 5",
        "DELETE FROM t WHERE i = 7 OR i IS NULL",
        "DELETE FROM t WHERE i > 1000",
    ],
    "deletes on top of deletes": [
        insert(100),
        "DELETE FROM t WHERE i < 20",
        "DELETE FROM t WHERE i >= 50",
        "DELETE FROM t WHERE i = 30",
        "DELETE FROM t WHERE i < 45",
    ],
    "all rows of a file": [
        insert(50),
        insert(50, 50),
        "DELETE FROM t WHERE i >= 50",
        "DELETE FROM t WHERE i < 20",
        "DELETE FROM t",
    ],
    "truncate": [insert(20), insert(3), "TRUNCATE t"],
    "inlined rows": [
        insert(5),
        "DELETE FROM t WHERE i = 3",
        "UPDATE t SET s = 'x' WHERE i < 2",
        "UPDATE t SET i = i + 1",
    ],
    "updates of few rows": [insert(100), "UPDATE t SET s = 'x' WHERE i < 2"],
    "updates of many rows": [
        insert(100),
        "UPDATE t SET s = 'x' WHERE i < 20",
        "UPDATE t SET s = 'y', i = -i WHERE i < 40",
    ],
    "updates of files and inlined rows": [insert(100), insert(3, 500), "UPDATE t SET s = 'x'"],
    "own files": [
        "BEGIN",
        insert(100),
        "DELETE FROM t WHERE i < 20",
        "DELETE FROM t WHERE i >= 95",
        "COMMIT",
    ],
    "own rows twice": [
        insert(100),
        "BEGIN",
        "UPDATE t SET s = 'x' WHERE i < 20",
        "UPDATE t SET s = 'y' WHERE i < 15",
        "DELETE FROM t WHERE i < 12",
        "COMMIT",
    ],
    "own inlined rows twice": [
        insert(5),
        "BEGIN",
        "UPDATE t SET s = 'x' WHERE i < 2",
        "UPDATE t SET s = 'y' WHERE i < 2",
        "COMMIT",
    ],
    "deletes twice in one transaction": [
        insert(100),
        "BEGIN",
        "DELETE FROM t WHERE i < 20",
        "DELETE FROM t WHERE i < 40",
        "DELETE FROM t WHERE i < 45",
        "COMMIT",
    ],
    "deletes twice in one transaction after others": [
        insert(100),
        "DELETE FROM t WHERE i < 20",
        "BEGIN",
        "DELETE FROM t WHERE i < 40",
        "DELETE FROM t WHERE i < 60",
        "COMMIT",
    ],
}


@pytest.mark.parametrize("name", SAME_CATALOG)
def test_the_same_statements_make_the_same_catalog(spark, catalog_kind, make_lake_location, name):
    ours, theirs = (make_lake_location(catalog_kind, who) for who in ("ours", "theirs"))
    statements = [CREATE, *SAME_CATALOG[name]]
    with theirs.oracle() as oracle:
        counts = [oracle.sql(statement) for statement in statements]
        expected = oracle.sql("SELECT rowid, * FROM t")
    with ducklake_spark.connect(
        ours.uri, spark=spark, alias="lake", data_path=ours.data_path
    ) as con:
        found = [[tuple(row) for row in con.sql(each).collect()] for each in statements]
        assert same_rows(con.sql("SELECT rowid, * FROM t").collect(), expected)
        assert con.sql("SELECT count(*) FROM t").collect()[0][0] == len(expected)
    assert found == counts
    with ours.database() as left, theirs.database() as right:
        assert catalog_differences(left, right) == {}
        assert inlined_rows(left, 1) == inlined_rows(right, 1)
    with ours.oracle() as oracle:
        assert same_rows(oracle.sql("SELECT rowid, * FROM t"), expected)
        assert oracle.sql("SELECT count(*) FROM t") == [(len(expected),)]


TURNS = [
    insert(100),
    "DELETE FROM t WHERE i % 10 = 3",
    "UPDATE t SET s = s || '!' WHERE i % 7 = 1",
    insert(4, 200),
    "DELETE FROM t WHERE i IN (5, 15, 201)",
    "UPDATE t SET s = 'small' WHERE i IN (6, 16, 202)",
    "UPDATE t SET i = i + 1000 WHERE i BETWEEN 20 AND 60",
    "DELETE FROM t WHERE i BETWEEN 60 AND 80",
    "UPDATE t SET s = s || '?'",
    "DELETE FROM t WHERE i < 50",
]


@pytest.mark.parametrize("we_begin", [True, False], ids=["we begin", "duckdb begins"])
def test_we_and_duckdb_change_one_lake_in_turn(
    spark, location, make_lake_location, we_begin, catalog_kind
):
    with location.oracle() as oracle:
        oracle.sql(CREATE)
    twin = make_lake_location("sqlite" if catalog_kind == "postgres" else catalog_kind, "twin")
    with twin.oracle() as oracle:
        oracle.sql(CREATE)
    for number, statement in enumerate(TURNS):
        with twin.oracle() as oracle:
            oracle.sql(statement)
            expected = oracle.sql("SELECT rowid, * FROM t")
        if (number % 2 == 0) == we_begin:
            with ducklake_spark.connect(location.uri, spark=spark, alias="lake") as con:
                con.sql(statement)
                assert same_rows(con.sql("SELECT rowid, * FROM t").collect(), expected), statement
        else:
            with location.oracle() as oracle:
                oracle.sql(statement)
                assert same_rows(oracle.sql("SELECT rowid, * FROM t"), expected), statement
    with location.oracle() as oracle:
        oracle.sql("CALL ducklake_flush_inlined_data('lake')")
        oracle.sql("CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)")
        assert same_rows(oracle.sql("SELECT rowid, * FROM t"), expected)


def test_older_snapshots_show_the_rows_that_they_had(spark, location):
    with ducklake_spark.connect(
        location.uri, spark=spark, alias="lake", data_path=location.data_path
    ) as con:
        seen = []
        for statement in (CREATE, *TURNS):
            con.sql(statement)
            version = con.last_committed_snapshot()
            seen.append((version, con.sql("SELECT rowid, * FROM t").collect()))
        for version, rows in seen:
            found = con.sql(f"SELECT rowid, * FROM t AT (VERSION => {version})").collect()
            assert same_rows(found, rows), version
    with location.oracle() as oracle:
        for version, rows in seen:
            found = oracle.sql(f"SELECT rowid, * FROM t AT (VERSION => {version})")
            assert same_rows(rows, found), version
