"""The change feed of lakes that DuckDB wrote: DuckDB's own, and what the states tell."""

from __future__ import annotations

import random

import pytest

import ducklake_spark
from support.random_histories import History, counted, replayed
from support.rows import same_rows

pytestmark = [pytest.mark.spark, pytest.mark.interop]

HISTORY = [
    "CREATE TABLE t (id BIGINT, name VARCHAR, amount DECIMAL(10,2))",
    "INSERT INTO t SELECT i, 'n' || i, i / 4 FROM range(100) r(i)",
    "DELETE FROM t WHERE id % 5 = 0",  # a delete file
    "DELETE FROM t WHERE id % 7 = 0",  # consolidated, with snapshot ids
    "DELETE FROM t WHERE id = 51",  # inlined
    "INSERT INTO t SELECT i, 'm' || i, i / 4 FROM range(200, 220) r(i)",
    "DELETE FROM t WHERE id >= 200",  # a whole file
    "ALTER TABLE t ADD COLUMN extra UUID DEFAULT '00000000-0000-0000-0000-000000000001'",
    "UPDATE t SET name = 'changed' WHERE id BETWEEN 30 AND 60",
    "INSERT INTO t VALUES (500, 'small', 1, NULL), (501, NULL, NULL, NULL)",
    "DELETE FROM t WHERE id = 500",
    "UPDATE t SET amount = 99 WHERE id = 501",
    "ALTER TABLE t RENAME COLUMN amount TO total",
    "UPDATE t SET total = 1 WHERE id = 33",  # a row of a file, inlined
    "CALL ducklake_flush_inlined_data('lake')",
    "ALTER TABLE t DROP COLUMN name",
]


def connect(spark, location):
    return ducklake_spark.connect(
        location.uri, spark=spark, alias="lake", data_path=location.data_path
    )


def test_every_function_gives_what_it_gives_in_duckdb(spark, location):
    with location.oracle() as oracle:
        for statement in HISTORY:
            oracle.sql(statement)
        last = oracle.sql("SELECT max(snapshot_id) FROM lake.snapshots()")[0][0]
        queries = [
            *(f"FROM lake.table_changes('t', {a}, {b})" for a, b in ((0, last), (4, 9), (11, 13))),
            *(f"FROM lake.table_changes('t', {at}, {at})" for at in (3, 6, 8)),
            f"FROM lake.table_insertions('t', 8, {last})",
            "SELECT snapshot_id, rowid, * FROM "
            f"ducklake_table_deletions('lake', 'main', 't', 3, {last})",
        ]
        expected = {query: oracle.sql(query) for query in queries}
    with connect(spark, location) as con:
        for query, rows in expected.items():
            print(query)
            assert same_rows(con.sql(query).collect(), rows)


@pytest.mark.parametrize("seed", [4, 31])
def test_the_feed_of_any_range_turns_the_older_state_into_the_newer(spark, location, seed):
    with location.oracle() as oracle:
        history = History(oracle, seed)
        history.steps(14)
    last = max(history.states)
    pairs = [(a, b) for a in range(1, last + 1) for b in range(a, last + 1)]
    with connect(spark, location) as con:
        for start, end in [(1, last), *random.Random(seed).sample(pairs, 4)]:
            print(start, end, *history.statements, sep="\n")
            feed = counted(con.changes("t", start, end).collect())
            assert feed == history.expected(start, end)
            before, after = history.states[start - 1], history.states[end]
            assert replayed(before.seen_from(after), feed) == after.seen_from(after)


@pytest.fixture
def sqlite_location(make_lake_location):
    return make_lake_location("sqlite", "lake")


def feed_of(con, start, end=None):
    return sorted(tuple(row) for row in con.changes("t", start, end).collect())


def test_a_rewrite_changes_nothing_that_the_feed_shows(spark, sqlite_location):
    with sqlite_location.oracle() as oracle:
        for statement in (
            "CREATE TABLE t (id INTEGER)",
            "INSERT INTO t SELECT i FROM range(20) r(i)",
            "DELETE FROM t WHERE id < 15",
        ):
            oracle.sql(statement)
        with connect(spark, sqlite_location) as con:
            before = feed_of(con, 1)
        oracle.sql("CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.1)")
        shown = oracle.sql("SELECT change_type FROM lake.table_changes('t', 4, 4)")
        oracle.sql("INSERT INTO t SELECT i FROM range(30, 50) r(i)")
        oracle.sql("CALL ducklake_merge_adjacent_files('lake')")
    assert len(shown) == 10  # the extension shows each row that was left as an update
    with connect(spark, sqlite_location) as con:
        assert feed_of(con, 1, 4) == before
        assert feed_of(con, 4, 4) == []
        assert len(feed_of(con, 4, 6)) == 20


def test_rows_that_a_transaction_made_and_removed_are_no_changes(spark, sqlite_location):
    with sqlite_location.oracle() as oracle:
        for statement in (
            "CREATE TABLE t (id INTEGER, v INTEGER)",
            "BEGIN",
            "INSERT INTO t SELECT i, 0 FROM range(30) r(i)",
            "DELETE FROM t WHERE id < 28",
            "COMMIT",
            "INSERT INTO t SELECT i, 0 FROM range(100, 115) r(i)",
            "BEGIN",
            "UPDATE t SET v = 1 WHERE id >= 100",
            "UPDATE t SET v = 2 WHERE id = 100",
            "DELETE FROM t WHERE id = 101",
            "COMMIT",
        ):
            oracle.sql(statement)
    with connect(spark, sqlite_location) as con:
        kinds = [(row[2], row[3]) for row in feed_of(con, 2, 2)]
        assert kinds == [("insert", 28), ("insert", 29)]
        changes = [row[2:] for row in feed_of(con, 4, 4) if row[3] < 103]
        assert sorted(changes) == [
            ("delete", 101, 0),
            ("update_postimage", 100, 2),
            ("update_postimage", 102, 1),
            ("update_preimage", 100, 0),
            ("update_preimage", 102, 0),
        ]


def test_deletes_from_merged_files_show_the_snapshot_that_deleted(spark, sqlite_location):
    with sqlite_location.oracle() as oracle:
        for statement in (
            "CREATE TABLE t (id INTEGER)",
            "INSERT INTO t SELECT i FROM range(20) r(i)",
            "INSERT INTO t SELECT i FROM range(20, 40) r(i)",
            "CALL ducklake_merge_adjacent_files('lake')",
            "DELETE FROM t WHERE id BETWEEN 10 AND 29",
        ):
            oracle.sql(statement)
    with connect(spark, sqlite_location) as con:
        assert {row[:1] + row[2:3] for row in feed_of(con, 4, 5)} == {(5, "delete")}
        assert {row[0] for row in feed_of(con, 2, 2)} == {2}
        assert len(feed_of(con, 3, 3)) == 20


def test_added_files_and_types_that_only_arrow_reads_are_in_the_feed(
    spark, sqlite_location, tmp_path
):
    path = tmp_path / "foreign.parquet"
    with sqlite_location.oracle() as oracle:
        for statement in (
            "CREATE TABLE t (id BIGINT, gap INTERVAL)",
            f"COPY (SELECT i AS ID, to_days(i::INTEGER) AS gap FROM range(20) r(i)) TO '{path}'",
            f"CALL ducklake_add_data_files('lake', 't', '{path}')",
            "UPDATE t SET gap = INTERVAL 1 HOUR WHERE id >= 5",
        ):
            oracle.sql(statement)
        expected = oracle.sql(
            "SELECT * REPLACE (gap::VARCHAR AS gap) FROM lake.table_changes('t', 2, 3)"
        )
    with connect(spark, sqlite_location) as con:
        assert same_rows(con.changes("t", 2, 3).collect(), expected)


def test_the_feed_reaches_as_far_as_the_snapshots_that_were_kept(spark, sqlite_location):
    with sqlite_location.oracle() as oracle:
        for statement in (
            "CREATE TABLE t (id INTEGER)",
            "INSERT INTO t SELECT i FROM range(20) r(i)",
            "DELETE FROM t WHERE id < 15",
            "INSERT INTO t SELECT i FROM range(30, 50) r(i)",
            "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.1)",
            "CALL ducklake_expire_snapshots('lake', versions => [2, 3, 4])",
        ):
            oracle.sql(statement)
    with connect(spark, sqlite_location) as con:
        with pytest.raises(ducklake_spark.errors.SnapshotNotFound):
            con.changes("t", 2, 5)
        rows = feed_of(con, 1, 5)
        assert sorted(row[3] for row in rows) == [*range(15, 20), *range(30, 50)]
        assert {row[2] for row in rows} == {"insert"}


OWN = [
    "CREATE TABLE t (id BIGINT, v VARCHAR)",
    "INSERT INTO t SELECT id, 'a' FROM range(40) r(id)",
    "DELETE FROM t WHERE id % 3 = 0",
    "DELETE FROM t WHERE id = 1",
    "UPDATE t SET v = 'b' WHERE id BETWEEN 10 AND 30",
    "ALTER TABLE t ADD COLUMN w INTEGER DEFAULT 5",
    "INSERT INTO t VALUES (100, 'x', 1), (101, 'y', 2)",
    "UPDATE t SET w = 6 WHERE id IN (2, 100)",
    "DELETE FROM t WHERE id > 100",
    "DELETE FROM t WHERE id < 40",
]


def test_duckdb_sees_the_same_changes_in_what_is_written_here(spark, sqlite_location):
    with connect(spark, sqlite_location) as con:
        for statement in OWN:
            con.sql(statement)
        ours = con.changes("t", 0).collect()
        con.sql("CALL ducklake_flush_inlined_data('lake')")
        con.sql("CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)")
        assert same_rows(con.changes("t", 0).collect(), ours)
    with sqlite_location.oracle() as oracle:
        theirs = oracle.sql(f"FROM lake.table_changes('t', 0, {len(OWN)})")
    assert same_rows(ours, theirs)
