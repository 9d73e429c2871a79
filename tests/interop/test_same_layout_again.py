"""SORTED BY and PARTITIONED BY that change nothing leave the rows that they leave in DuckDB."""

from __future__ import annotations

import pytest

import ducklake_spark
from support.catalogs import catalog_differences

pytestmark = [pytest.mark.spark, pytest.mark.interop]

SORT = "ALTER TABLE t SET SORTED BY (id)"
EXACT = "ALTER TABLE t SET SORTED BY (id ASC NULLS LAST)"
OTHER = "ALTER TABLE t SET SORTED BY (v)"
UNSORT = "ALTER TABLE t RESET SORTED BY"
DIVIDE = "ALTER TABLE t SET PARTITIONED BY (id)"
OTHERWISE = "ALTER TABLE t SET PARTITIONED BY (v)"
UNITE = "ALTER TABLE t RESET PARTITIONED BY"
CREATE = "CREATE TABLE u (id INTEGER, v INTEGER)"
ROWS = "INSERT INTO t SELECT range::INTEGER, 1 FROM range(30)"

HISTORIES = {
    "sort": [SORT, SORT, EXACT, SORT, UNSORT, UNSORT],
    "exact sort": [EXACT, EXACT, "ALTER TABLE t SET SORTED BY (ID ASC NULLS LAST)"],
    "other place of nulls": [EXACT, "ALTER TABLE t SET SORTED BY (id NULLS FIRST)"],
    "descending": ["ALTER TABLE t SET SORTED BY (id DESC NULLS LAST)"] * 2,
    "expression": [
        "ALTER TABLE t SET SORTED BY (id+1 NULLS FIRST)",
        "ALTER TABLE t SET SORTED BY (id + 1 NULLS FIRST)",
    ],
    "two keys": [
        "ALTER TABLE t SET SORTED BY (id NULLS LAST, v)",
        "ALTER TABLE t SET SORTED BY (id NULLS LAST, v)",
        "ALTER TABLE t SET SORTED BY (id NULLS LAST, v NULLS LAST)",
        "ALTER TABLE t SET SORTED BY (id NULLS LAST)",
        "ALTER TABLE t SET SORTED BY (v NULLS LAST, id NULLS LAST)",
    ],
    "sort twice in one transaction": ["BEGIN", EXACT, EXACT, "COMMIT"],
    "sort again in one transaction": [EXACT, "BEGIN", EXACT, EXACT, "COMMIT"],
    "exact sort, then the same": [EXACT, "BEGIN", EXACT, SORT, "COMMIT"],
    "reset and sort": [EXACT, "BEGIN", UNSORT, EXACT, "COMMIT", UNSORT, EXACT],
    "another sort and back": [EXACT, "BEGIN", OTHER, EXACT, "COMMIT"],
    "sort and reset": [EXACT, "BEGIN", EXACT, UNSORT, "COMMIT"],
    "new sort and reset": ["BEGIN", EXACT, UNSORT, "COMMIT"],
    "sort with rows": [EXACT, "BEGIN", ROWS, EXACT, "COMMIT"],
    "rename another column": [EXACT, "ALTER TABLE t RENAME COLUMN v TO w", EXACT],
    "rename the column": [
        SORT,
        "ALTER TABLE t RENAME COLUMN id TO x",
        "ALTER TABLE t SET SORTED BY (x NULLS LAST)",
    ],
    "rename and sort": [
        EXACT,
        "BEGIN",
        "ALTER TABLE t RENAME COLUMN id TO x",
        "ALTER TABLE t SET SORTED BY (x NULLS LAST)",
        "COMMIT",
    ],
    "partition": [DIVIDE, DIVIDE, "ALTER TABLE t SET PARTITIONED BY (ID)", UNITE, UNITE, DIVIDE],
    "buckets": ["ALTER TABLE t SET PARTITIONED BY (bucket(4, id))"] * 2,
    "partition twice in one transaction": ["BEGIN", DIVIDE, DIVIDE, "COMMIT"],
    "partition again in one transaction": [DIVIDE, "BEGIN", DIVIDE, "COMMIT"],
    "reset and partition": [DIVIDE, "BEGIN", UNITE, DIVIDE, "COMMIT"],
    "another partition and back": [DIVIDE, "BEGIN", OTHERWISE, DIVIDE, "COMMIT"],
    "partition and reset": ["BEGIN", DIVIDE, UNITE, "COMMIT"],
    "partition, reset and reset": [DIVIDE, "BEGIN", UNITE, DIVIDE, UNITE, "COMMIT"],
    "reset and another partition": [DIVIDE, "BEGIN", UNITE, OTHERWISE, "COMMIT"],
    "new table": [
        "BEGIN",
        CREATE,
        "ALTER TABLE u SET SORTED BY (id)",
        "ALTER TABLE u SET SORTED BY (id)",
        "ALTER TABLE u SET PARTITIONED BY (id)",
        "ALTER TABLE u SET PARTITIONED BY (id)",
        "COMMIT",
    ],
    "new table, united again": [
        "BEGIN",
        CREATE,
        "ALTER TABLE u SET PARTITIONED BY (id)",
        "ALTER TABLE u RESET PARTITIONED BY",
        "COMMIT",
    ],
}


def connect(spark, location):
    return ducklake_spark.connect(
        location.uri, spark=spark, alias="lake", data_path=location.data_path
    )


@pytest.mark.parametrize("catalog_kind", ["sqlite"], indirect=True)
@pytest.mark.parametrize("name", HISTORIES)
def test_the_same_layout_again_leaves_the_same_catalog(
    spark, catalog_kind, make_lake_location, name
):
    ours, theirs = (make_lake_location(catalog_kind, who) for who in ("ours", "theirs"))
    statements = ["CREATE TABLE t (id INTEGER, v INTEGER)", *HISTORIES[name]]
    with theirs.oracle() as oracle:
        for statement in statements:
            oracle.sql(statement)
    with connect(spark, ours) as con:
        for statement in statements:
            con.sql(statement)
        assert con.check().collect() == []
    with ours.database() as left, theirs.database() as right:
        assert catalog_differences(left, right) == {}


@pytest.mark.parametrize("catalog_kind", ["sqlite"], indirect=True)
@pytest.mark.parametrize("filled", [False, True], ids=["empty", "filled"])
@pytest.mark.parametrize(
    ("changes", "live"),
    [([OTHERWISE], [[2]]), ([UNITE], [[]]), ([OTHERWISE, DIVIDE], [[1]])],
    ids=["another", "none", "the same"],
)
def test_a_new_table_has_the_partitions_that_it_was_given_last(
    spark, location, changes, live, filled
):
    with connect(spark, location) as con:
        con.sql("BEGIN")
        con.sql("CREATE TABLE t (id INTEGER, v INTEGER) PARTITIONED BY (id)")
        for statement in changes:
            if filled:
                con.sql("INSERT INTO t SELECT range::INTEGER % 2, 1 FROM range(30)")
            con.sql(statement)
        con.sql("COMMIT")
        assert con.check().collect() == []
    with location.database() as db:
        rows = db.fetch(
            "SELECT partition_id FROM ducklake_partition_info WHERE end_snapshot IS NULL"
        )
        column = "SELECT column_id FROM ducklake_partition_column WHERE partition_id = ?"
        assert [[key[0] for key in db.fetch(column, row)] for row in rows] == live
        known = {row[0] for row in db.fetch("SELECT partition_id FROM ducklake_partition_info")}
        used = {row[0] for row in db.fetch("SELECT partition_id FROM ducklake_data_file")}
        assert used <= known
    with location.oracle() as oracle:
        assert oracle.sql("SELECT count(*) FROM t") == [(30 * len(changes) if filled else 0,)]


@pytest.mark.parametrize("catalog_kind", ["sqlite"], indirect=True)
@pytest.mark.parametrize("after", [DIVIDE, OTHERWISE])
def test_files_keep_their_partition_where_the_table_gets_its_own_back(spark, location, after):
    """DuckDB would leave them under a number that the catalog does not know."""
    with connect(spark, location) as con:
        con.sql("CREATE TABLE t (id INTEGER, v INTEGER)")
        con.sql(DIVIDE)
        con.sql("BEGIN")
        con.sql(OTHERWISE)
        con.sql(ROWS)
        con.sql(after)
        con.sql("COMMIT")
        assert con.check().collect() == []
        assert con.sql("SELECT count(*) FROM t WHERE v = 1").collect()[0][0] == 30
    with location.database() as db:
        known = {row[0] for row in db.fetch("SELECT partition_id FROM ducklake_partition_info")}
        used = {row[0] for row in db.fetch("SELECT partition_id FROM ducklake_data_file")}
        assert used <= known
    with location.oracle() as oracle:
        assert oracle.sql("SELECT count(*) FROM t WHERE v = 1") == [(30,)]
