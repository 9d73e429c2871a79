"""One connection, its DataFrames and its cursors in the hands of several threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import ducklake_spark
from ducklake_spark.errors import CatalogError, InvalidInput, TransactionError
from support.lakes import LakeLocation
from support.threads import in_another_thread, in_threads

pytestmark = pytest.mark.spark

WORKERS = 4
only_sqlite = pytest.mark.parametrize("catalog_kind", ["sqlite"], indirect=True)


@pytest.fixture
def con(location: LakeLocation, spark: SparkSession) -> Iterator[ducklake_spark.Connection]:
    made = ducklake_spark.connect(
        location.uri, spark=spark, alias="lake", data_path=location.data_path
    )
    made.sql("CREATE TABLE t (i BIGINT)")
    yield made
    made.close()


def count(con: ducklake_spark.Connection) -> int:
    return int(con.sql("SELECT count(*) FROM t").collect()[0][0])


def hundred(spark: SparkSession, worker: int) -> DataFrame:
    return spark.range(100 * worker, 100 * worker + 100).selectExpr("id AS i")


def half_a_second_late(frame: DataFrame) -> DataFrame:
    def wait(batches: Iterator[Any]) -> Iterator[Any]:  # inside, so that tasks need no module
        time.sleep(0.5)
        yield from batches

    return frame.mapInArrow(wait, frame.schema)


@only_sqlite
def test_reads_in_threads_leave_the_connection_at_the_newest_snapshot(
    con: ducklake_spark.Connection,
):
    con.sql("INSERT INTO t SELECT * FROM range(5)")

    def read() -> list[int]:
        return [con.sql("SELECT i FROM t WHERE i >= 0").count() for _ in range(4)]

    assert in_threads([read] * WORKERS) == [[5] * 4] * WORKERS
    con.sql("INSERT INTO t VALUES (9)")
    assert count(con) == 6
    assert con.table("t").count() == 6


@only_sqlite
def test_appends_in_threads_of_one_connection_all_count(
    con: ducklake_spark.Connection, spark: SparkSession
):
    def append(worker: int) -> int:
        time.sleep(0.3 * worker)  # who comes first also ends first, if they run side by side
        return con.append("t", half_a_second_late(hundred(spark, worker)))

    assert in_threads([partial(append, each) for each in range(WORKERS)]) == [100] * WORKERS
    assert count(con) == 100 * WORKERS
    assert sorted(row.i for row in con.table("t").collect()) == list(range(100 * WORKERS))


@only_sqlite
def test_statements_of_threads_on_one_connection_commit_one_by_one(
    con: ducklake_spark.Connection,
):
    def work(worker: int) -> list[int]:
        seen = []
        for step in range(4):
            number = 10 * worker + step
            inserted = con.sql(f"INSERT INTO t VALUES ({number}), ({number})").collect()[0][0]
            seen.append(inserted)
            assert con.sql(f"SELECT count(*) FROM t WHERE i = {number}").collect()[0][0] == 2
            seen.append(con.sql(f"DELETE FROM t WHERE i = {number}").collect()[0][0])
            con.sql(f"INSERT INTO t VALUES ({number})")
        return seen

    calls = [partial(work, worker) for worker in range(WORKERS)]
    assert in_threads(calls, timeout=240) == [[2] * 8] * WORKERS
    expected = [10 * worker + step for worker in range(WORKERS) for step in range(4)]
    assert [row[0] for row in con.sql("SELECT i FROM t ORDER BY i").collect()] == expected


def test_cursors_in_threads_commit_side_by_side(
    con: ducklake_spark.Connection, spark: SparkSession
):
    def work(worker: int) -> int:
        with con.cursor() as cursor:
            added = cursor.append("t", hundred(spark, worker))
            for number in range(5):
                cursor.sql(f"INSERT INTO t VALUES ({1000 * worker + 10_000 + number})")
            assert cursor.sql(
                f"SELECT count(*) FROM t WHERE i BETWEEN {100 * worker} AND {100 * worker + 99}"
            ).collect() == [(100,)]
            return added

    assert (
        in_threads([partial(work, each) for each in range(WORKERS)], timeout=240) == [100] * WORKERS
    )
    assert count(con) == 105 * WORKERS


def test_transactions_of_cursors_in_threads_are_kept_apart(con: ducklake_spark.Connection):
    both_wrote = threading.Barrier(2)

    def work(worker: int) -> int:
        with con.cursor() as cursor, cursor.transaction():
            cursor.sql(f"INSERT INTO t SELECT {worker} FROM range(50)")
            both_wrote.wait(60)
            return count(cursor)

    assert in_threads([partial(work, each) for each in range(2)]) == [50, 50]
    assert count(con) == 100


@only_sqlite
def test_a_transaction_is_refused_to_other_threads_and_stays_whole(
    con: ducklake_spark.Connection, spark: SparkSession
):
    frame = hundred(spark, 1)
    refused: list[Callable[[], object]] = [
        lambda: con.append("t", frame),
        lambda: con.sql("INSERT INTO t VALUES (1)"),
        lambda: con.sql("SELECT count(*) FROM t"),
        lambda: con.sql("BEGIN"),
        lambda: con.sql("COMMIT"),
        lambda: con.sql("ROLLBACK"),
        lambda: con.table("t"),
    ]

    def attempt(call: Callable[[], object]) -> str:
        with pytest.raises(TransactionError, match="another thread") as caught:
            call()
        return str(caught.value)

    with con.transaction(author="Ada"):
        con.sql("INSERT INTO t VALUES (7)")
        messages = in_threads([partial(attempt, call) for call in refused])
        with con.cursor() as cursor:
            assert in_another_thread(lambda: count(cursor)) == 0
        assert count(con) == 1
        mine = con.table("t")
        assert in_another_thread(mine.count) == 1
    assert all("cursor()" in message for message in messages)
    assert [row.i for row in con.table("t").collect()] == [7]
    assert in_another_thread(lambda: count(con)) == 1


@only_sqlite
def test_a_transaction_whose_thread_has_ended_can_only_be_rolled_back(
    con: ducklake_spark.Connection,
):
    def begin() -> None:
        con.sql("BEGIN")
        con.sql("INSERT INTO t VALUES (7)")

    in_another_thread(begin)
    with pytest.raises(TransactionError, match="ROLLBACK"):
        con.sql("INSERT INTO t VALUES (8)")
    with pytest.raises(TransactionError, match="ROLLBACK"):
        con.sql("COMMIT")
    con.sql("ROLLBACK")
    con.sql("INSERT INTO t VALUES (9)")
    assert [row.i for row in con.table("t").collect()] == [9]


@only_sqlite
def test_dataframes_of_one_thread_run_in_many_while_others_are_made(
    con: ducklake_spark.Connection, spark: SparkSession
):
    con.sql("SET ducklake_default_data_inlining_row_limit = 0")
    frames = []
    for number in range(6):
        con.sql(f"INSERT INTO t VALUES ({number})")
        frames.append(con.sql(f"SELECT i FROM t WHERE i <= {number}"))

    def write() -> int:
        for number in range(100, 104):
            con.sql(f"INSERT INTO t VALUES ({number})")
        return con.append("t", hundred(spark, 5))

    calls: list[Callable[[], object]] = [frame.count for frame in frames]
    assert in_threads([*calls, write]) == [1, 2, 3, 4, 5, 6, 100]
    assert in_threads(calls) == [1, 2, 3, 4, 5, 6]
    assert count(con) == 110


@only_sqlite
def test_close_waits_for_the_statement_of_another_thread(
    con: ducklake_spark.Connection, spark: SparkSession
):
    began = threading.Event()

    rows = half_a_second_late(hundred(spark, 0))

    def work() -> int:
        began.set()
        return con.append("t", rows)

    def close() -> None:
        began.wait(60)
        time.sleep(0.2)
        con.close()

    con.sql("CALL lake.set_option('data_inlining_row_limit', 0)")
    con.sql("INSERT INTO t VALUES (1)")
    lazy = con.sql("SELECT i FROM t WHERE i > 0")
    added, _ = in_threads([work, close])
    assert added == 100
    for attempt in (
        lambda: con.append("t", rows),
        lambda: con.sql("SELECT count(*) FROM t"),
        lambda: con.table("t"),
        lambda: con.use("lake"),
        con.cursor,
        con.begin,
    ):
        with pytest.raises(InvalidInput, match="connection is closed"):
            in_another_thread(attempt)
    with pytest.raises(CatalogError, match="is closed"):
        lazy.collect()  # Spark asks for the bounds of the files


@only_sqlite
def test_a_statement_that_fails_leaves_the_connection_to_other_threads(
    con: ducklake_spark.Connection,
):
    def fail() -> None:
        with pytest.raises(ducklake_spark.errors.DuckLakeError):
            con.sql("INSERT INTO missing VALUES (1)")
        with pytest.raises(ducklake_spark.errors.DuckLakeError):
            con.sql("SELECT missing FROM t")

    in_threads([fail] * WORKERS)
    assert in_threads([partial(con.sql, "INSERT INTO t VALUES (1)")] * WORKERS)
    assert count(con) == WORKERS


@only_sqlite
def test_a_cursor_waits_for_no_statement_of_the_connection(con: ducklake_spark.Connection):
    # Held as a long statement holds it.
    with con.turn, in_another_thread(con.cursor) as cursor:
        assert in_another_thread(lambda: count(cursor)) == 0


@only_sqlite
def test_a_connection_opened_by_a_thread_shares_the_running_session(
    location: LakeLocation, spark: SparkSession
):
    def work() -> str:
        with ducklake_spark.connect(location.uri, data_path=location.data_path) as con:
            assert con.spark.sparkContext is spark.sparkContext
            return str(con.spark.conf.get("spark.sql.shuffle.partitions"))

    before = spark.conf.get("spark.sql.shuffle.partitions")
    assert in_threads([work] * 2) == [before] * 2
    assert spark.range(3).count() == 3  # no connection has ended what it did not start


def test_threads_that_open_a_new_lake_at_once_share_it(location: LakeLocation, spark: SparkSession):
    def work(number: int) -> None:
        with ducklake_spark.connect(
            location.uri, spark=spark, alias="lake", data_path=location.data_path
        ) as con:
            con.sql(f"CREATE TABLE t{number} (i INTEGER)")

    in_threads([partial(work, number) for number in range(WORKERS)])
    with ducklake_spark.connect(location.uri, spark=spark, alias="lake") as con:
        assert len(con.sql("SHOW TABLES").collect()) == WORKERS
