"""MERGE: the rows, their ids and the catalog are those that DuckDB would have made."""

from __future__ import annotations

import pytest

import ducklake_spark
from support.catalogs import catalog_differences, inlined_rows
from support.rows import same_rows

pytestmark = [pytest.mark.spark, pytest.mark.interop]

CREATE = "CREATE TABLE t (i INTEGER, s VARCHAR)"


def insert(count: int) -> str:
    return f"INSERT INTO t SELECT i, 'a' || i FROM range({count}) r(i)"


def merge(first: int, last: int, clauses: str) -> str:
    source = f"(SELECT i, 'b' || i AS s FROM range({first}, {last}) q(i)) AS src"
    return f"MERGE INTO t USING {source} ON t.i = src.i {clauses}"


UPSERT = "WHEN MATCHED THEN UPDATE SET s = src.s WHEN NOT MATCHED THEN INSERT VALUES (i, s)"

# One row at most is inserted by each: which of several gets which id is nobody's promise.
STATEMENTS = {
    "few rows": [insert(100), merge(98, 101, UPSERT)],
    "inlined rows": [insert(5), merge(3, 6, UPSERT), merge(0, 7, UPSERT)],
    "many rows": [insert(100), merge(60, 101, UPSERT), merge(70, 90, UPSERT)],
    "inserts only": [insert(20), merge(0, 21, "WHEN NOT MATCHED THEN INSERT BY NAME")],
    "deletes and inserts": [
        insert(50),
        merge(10, 51, "WHEN MATCHED AND t.i % 2 = 0 THEN DELETE WHEN NOT MATCHED THEN INSERT"),
    ],
    "rows without a source": [
        insert(50),
        merge(0, 20, "WHEN NOT MATCHED BY SOURCE AND i > 25 THEN DELETE"),
        merge(0, 10, "WHEN NOT MATCHED BY SOURCE AND i < 20 THEN UPDATE SET s = s || '!'"),
    ],
    "nothing": [insert(5), merge(10, 20, "WHEN MATCHED THEN UPDATE")],
    "in a transaction": [
        insert(30),
        "BEGIN",
        merge(0, 12, "WHEN MATCHED THEN UPDATE"),
        merge(15, 31, UPSERT),
        "COMMIT",
    ],
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_the_same_merge_makes_the_same_catalog(spark, catalog_kind, make_lake_location, name):
    ours, theirs = (make_lake_location(catalog_kind, who) for who in ("ours", "theirs"))
    statements = [CREATE, *STATEMENTS[name]]
    with theirs.oracle() as oracle:
        counts = [oracle.sql(statement) for statement in statements]
        expected = oracle.sql("SELECT rowid, * FROM t")
    with ducklake_spark.connect(
        ours.uri, spark=spark, alias="lake", data_path=ours.data_path
    ) as con:
        found = [[tuple(row) for row in con.sql(each).collect()] for each in statements]
        assert same_rows(con.sql("SELECT rowid, * FROM t").collect(), expected)
    assert found == counts
    with ours.database() as left, theirs.database() as right:
        assert catalog_differences(left, right) == {}
        assert inlined_rows(left, 1) == inlined_rows(right, 1)
    with ours.oracle() as oracle:
        assert same_rows(oracle.sql("SELECT rowid, * FROM t"), expected)


def test_duckdb_reads_what_merges_and_overwrites_of_ours_leave(spark, location):
    with ducklake_spark.connect(
        location.uri, spark=spark, alias="lake", data_path=location.data_path
    ) as con:
        con.sql("CREATE TABLE t (i INTEGER, p INTEGER, s VARCHAR)")
        con.sql("ALTER TABLE t SET PARTITIONED BY (p)")
        con.sql("INSERT INTO t SELECT i, i % 5, 'a' || i FROM range(200) r(i)")
        done = (
            con.merge("t", "SELECT i, i % 3 AS p, 'b' AS s FROM range(50, 250) q(i)", on=["i"])
            .when_matched_delete("target.i % 10 = 0")
            .when_matched_update()
            .when_not_matched_insert()
            .when_not_matched_by_source_update({"s": "s || '!'"}, condition="i < 10")
            .execute()
        )
        assert (done.inserted, done.updated, done.deleted) == (50, 145, 15)
        new = con.sql("SELECT 7 AS i, 1 AS p, 'c' AS s")
        con.overwrite("t", new, partitions="dynamic")
        con.overwrite("t", con.sql("SELECT 9 AS i, 2 AS p"), replace_where="p = 2")
        con.append("t", con.sql("SELECT 10 AS i, 6 AS p, 1.5 AS w"), merge_schema=True)
        rows = [tuple(row) for row in con.sql("SELECT rowid, * FROM t").collect()]
        assert len({row[0] for row in rows}) == len(rows)
        assert con.check().collect() == []
    with location.oracle() as oracle:
        assert same_rows(rows, oracle.sql("SELECT rowid, * FROM t"))
        assert oracle.sql("SELECT i, s FROM t WHERE p IN (1, 2) ORDER BY i") == [
            (7, "c"),
            (9, None),
        ]
