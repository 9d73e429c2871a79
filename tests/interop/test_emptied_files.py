"""All rows of a file go: the catalog and DuckDB's change feed are those of DuckDB's own DELETE."""

from __future__ import annotations

import pytest

import ducklake_spark
from support.catalogs import catalog_differences, inlined_rows

pytestmark = [pytest.mark.spark, pytest.mark.interop]

ONE = pytest.mark.parametrize("catalog_kind", ["sqlite"], indirect=True)
FLUSH = "CALL ducklake_flush_inlined_data('lake')"
INLINE = "CALL lake.set_option('data_inlining_row_limit', {})"


CHANGE = "snapshot_id, change_type, id"


def insert(start: int, end: int) -> str:
    return f"INSERT INTO t SELECT range::INTEGER FROM range({start}, {end})"


MERGE = (
    "MERGE INTO t USING (SELECT range::INTEGER AS id FROM range(20)) s ON t.id = s.id "
    "WHEN MATCHED THEN DELETE"
)

HISTORIES = {
    "inlined deletes": [insert(0, 20), "DELETE FROM t WHERE id = 7", "DELETE FROM t"],
    "inlined deletes, condition": [
        insert(0, 20),
        "DELETE FROM t WHERE id = 7",
        "DELETE FROM t WHERE id >= 0",
    ],
    "inlined deletes, truncate": [insert(0, 20), "DELETE FROM t WHERE id = 7", "TRUNCATE t"],
    "inlined deletes, merge": [insert(0, 20), "DELETE FROM t WHERE id = 7", MERGE],
    "inlined deletes, update": [
        insert(0, 20),
        "DELETE FROM t WHERE id = 7",
        "UPDATE t SET id = id + 100",
    ],
    "no inlining any more": [
        insert(0, 20),
        "DELETE FROM t WHERE id = 7",
        INLINE.format(0),
        "TRUNCATE t",
    ],
    "a delete file": [insert(0, 40), "DELETE FROM t WHERE id < 15", "DELETE FROM t"],
    "a delete file, few left": [insert(0, 20), "DELETE FROM t WHERE id < 12", "TRUNCATE t"],
    "both": [
        insert(0, 40),
        "DELETE FROM t WHERE id < 15",
        "DELETE FROM t WHERE id = 20",
        "TRUNCATE t",
    ],
    "both, the other way round": [
        insert(0, 40),
        "DELETE FROM t WHERE id = 20",
        "DELETE FROM t WHERE id < 15",
        "DELETE FROM t",
    ],
    "few left": [insert(0, 15), "DELETE FROM t WHERE id < 8", "DELETE FROM t", "TRUNCATE t"],
    "small files": [
        INLINE.format(0),
        insert(0, 7),
        insert(7, 14),
        INLINE.format(10),
        "DELETE FROM t",
    ],
    "one file of two": [insert(0, 20), insert(20, 40), "DELETE FROM t WHERE id = 7", "TRUNCATE t"],
    "inlined rows": [insert(0, 5), "DELETE FROM t WHERE id = 2", "DELETE FROM t"],
    "flushed rows": [
        insert(0, 5),
        insert(5, 10),
        "DELETE FROM t WHERE id = 2",
        "DELETE FROM t WHERE id = 3",
        FLUSH,
        "DELETE FROM t",
    ],
    "flushed rows, then inlined deletes": [
        insert(0, 9),
        insert(9, 18),
        insert(18, 27),
        "DELETE FROM t WHERE id = 2",
        FLUSH,
        "DELETE FROM t WHERE id = 3",
        "DELETE FROM t",
    ],
    "flushed deletes": [
        insert(0, 40),
        "DELETE FROM t WHERE id = 20",
        "DELETE FROM t WHERE id = 21",
        FLUSH,
        "DELETE FROM t WHERE id = 22",
        "TRUNCATE t",
    ],
    "one transaction": [
        insert(0, 20),
        "BEGIN",
        "DELETE FROM t WHERE id = 7",
        "DELETE FROM t",
        "COMMIT",
    ],
    "a delete file in one transaction": [
        insert(0, 40),
        "DELETE FROM t WHERE id = 7",
        "BEGIN",
        "DELETE FROM t WHERE id < 15",
        "DELETE FROM t",
        "COMMIT",
    ],
    "inlined deletes in one transaction": [
        insert(0, 40),
        "DELETE FROM t WHERE id = 7",
        "BEGIN",
        "DELETE FROM t WHERE id < 9",
        "TRUNCATE t",
        "COMMIT",
    ],
    "own rows": ["BEGIN", insert(0, 20), "DELETE FROM t WHERE id = 7", "TRUNCATE t", "COMMIT"],
}


def connect(location, spark):
    return ducklake_spark.connect(
        location.uri, spark=spark, alias="lake", data_path=location.data_path
    )


def versions(run, last: int) -> list[set[int]]:
    """The rows of each snapshot since the table was made, behind an empty one."""
    found = [
        {row[0] for row in run(f"SELECT id FROM t AT (VERSION => {version})")}
        for version in range(1, last + 1)
    ]
    return [set(), *found]


def wrong_ranges(run, seen: list[set[int]]) -> list[tuple[int, int]]:
    """The ranges of snapshots whose change feed does not tell what became of the rows."""
    kinds = {"insert": "+", "update_postimage": "+", "delete": "-", "update_preimage": "-"}
    last, wrong = len(seen) - 1, []
    for start in range(1, last + 1):
        for end in range(start, last + 1):
            expected = []
            for at in range(start, end + 1):
                expected += [(at, "+", row) for row in seen[at] - seen[at - 1]]
                expected += [(at, "-", row) for row in seen[at - 1] - seen[at]]
            feed = run(
                f"SELECT {CHANGE} FROM ducklake_table_changes('lake', 'main', 't', {start}, {end})"
            )
            found = [(at, kinds[kind], row) for at, kind, row in feed]
            if sorted(found) != sorted(expected):
                wrong.append((start, end))
    return wrong


@ONE
@pytest.mark.parametrize("name", HISTORIES)
def test_emptied_files_are_stored_as_duckdb_stores_them(
    spark, catalog_kind, make_lake_location, name
):
    ours, theirs = (make_lake_location(catalog_kind, who) for who in ("ours", "theirs"))
    statements = ["CREATE TABLE t (id INTEGER)", *HISTORIES[name]]
    with theirs.oracle() as oracle:
        for statement in statements:
            oracle.sql(statement)
        last = oracle.sql("FROM lake.current_snapshot()")[0][0]
        expected = versions(oracle.sql, last)
    with connect(ours, spark) as con:
        for statement in statements:
            con.sql(statement)
        assert con.check().collect() == []
        assert versions(lambda text: con.sql(text).collect(), last) == expected
        feed = f"FROM ducklake_table_changes('lake', 'main', 't', 1, {last})"
        changes = sorted(map(tuple, con.sql(f"SELECT {CHANGE} {feed}").collect()))
    with ours.database() as left, theirs.database() as right:
        assert catalog_differences(left, right, any_file_ids=True) == {}
        assert inlined_rows(left, 1) == inlined_rows(right, 1)
    with ours.oracle() as oracle:
        assert versions(oracle.sql, last) == expected
        assert wrong_ranges(oracle.sql, expected) == []
        assert changes == sorted(oracle.sql(f"SELECT {CHANGE} {feed}"))


COMPACTIONS = {
    "rewrite": [
        insert(0, 20),
        "DELETE FROM t WHERE id = 7",
        "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)",
    ],
    "rewrite of both": [
        insert(0, 40),
        "DELETE FROM t WHERE id < 15",
        "DELETE FROM t WHERE id = 20",
        "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)",
    ],
    "rewrite of nothing": [
        insert(0, 15),
        "DELETE FROM t WHERE id < 8",
        "DELETE FROM t",
        "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)",
    ],
    "merge": [
        insert(0, 20),
        insert(20, 40),
        insert(40, 60),
        "DELETE FROM t WHERE id = 7",
        "CALL ducklake_merge_adjacent_files('lake')",
        "DELETE FROM t WHERE id = 50",
        "DELETE FROM t",
    ],
}


@ONE
@pytest.mark.parametrize("name", COMPACTIONS)
def test_compacted_files_with_inlined_deletes_are_stored_as_duckdb_stores_them(
    spark, catalog_kind, make_lake_location, name
):
    ours, theirs = (make_lake_location(catalog_kind, who) for who in ("ours", "theirs"))
    statements = ["CREATE TABLE t (id INTEGER)", *COMPACTIONS[name]]
    with theirs.oracle() as oracle:
        for statement in statements:
            oracle.sql(statement)
        last = oracle.sql("FROM lake.current_snapshot()")[0][0]
        expected = versions(oracle.sql, last)
    with connect(ours, spark) as con:
        for statement in statements:
            con.sql(statement)
        assert con.check().collect() == []
        run = lambda text: con.sql(text).collect()  # noqa: E731
        assert versions(run, last) == expected
        assert wrong_ranges(run, expected) == []
    with ours.database() as left, theirs.database() as right:
        assert catalog_differences(left, right, any_file_ids=True) == {}
        assert inlined_rows(left, 1) == inlined_rows(right, 1)
    with ours.oracle() as oracle:  # its own feed shows what a rewrite replaces
        assert versions(oracle.sql, last) == expected


@ONE
def test_overwritten_files_with_inlined_deletes_are_right_in_the_change_feed(spark, location):
    with connect(location, spark) as con:
        con.sql("CREATE TABLE t (id INTEGER)")
        con.sql(insert(0, 20))
        con.sql("DELETE FROM t WHERE id = 7")
        con.overwrite("t", con.sql("SELECT range::INTEGER + 100 AS id FROM range(30)"))
        seen = versions(lambda text: con.sql(text).collect(), con.last_committed_snapshot())
        assert con.check().collect() == []
    assert [len(rows) for rows in seen] == [0, 0, 20, 19, 30]
    with location.oracle() as oracle:
        assert wrong_ranges(oracle.sql, seen) == []


@ONE
def test_overwritten_partitions_with_inlined_deletes_are_right_in_the_change_feed(spark, location):
    with connect(location, spark) as con:
        con.sql("CREATE TABLE t (id INTEGER, part INTEGER)")
        con.sql("ALTER TABLE t SET PARTITIONED BY (part)")
        con.sql("INSERT INTO t SELECT range::INTEGER, range::INTEGER % 2 FROM range(40)")
        con.sql("DELETE FROM t WHERE id = 8")
        rows = con.sql("SELECT range::INTEGER + 100 AS id, 0 AS part FROM range(30)")
        con.overwrite("t", rows, partitions="dynamic")
        seen = versions(lambda text: con.sql(text).collect(), con.last_committed_snapshot())
        assert con.check().collect() == []
    assert [len(rows) for rows in seen[2:]] == [0, 40, 39, 50]
    with location.oracle() as oracle:
        assert wrong_ranges(oracle.sql, seen) == []


@ONE
@pytest.mark.parametrize("last", ["DELETE FROM t WHERE id >= 0", "TRUNCATE t"])
def test_our_feed_is_right_where_a_file_ended_that_had_inlined_deletes(spark, location, last):
    """Such files were made by releases before this one."""
    with connect(location, spark) as con:
        con.sql("CREATE TABLE t (id INTEGER)")
        con.sql(insert(0, 20))
        con.sql("DELETE FROM t WHERE id = 7")
        con.sql(last)
    with location.database() as db:
        db.execute("DELETE FROM ducklake_delete_file")
        db.execute("UPDATE ducklake_data_file SET end_snapshot = 4")
    with connect(location, spark) as con:
        run = lambda text: con.sql(text).collect()  # noqa: E731
        seen = versions(run, 4)
        assert [len(rows) for rows in seen] == [0, 0, 20, 19, 0]
        assert wrong_ranges(run, seen) == []
