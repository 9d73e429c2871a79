"""Transactions over several statements of Spark, and writers at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, TimeoutError

import pytest
from pyspark.sql import functions as F

import ducklake_spark
from ducklake_spark.errors import LakeNotFound, TransactionConflict, TransactionError
from ducklake_spark.execution.change_rows import changing
from ducklake_spark.operations.whole_files import stage_truncate
from ducklake_spark.spark_face.registry import named

pytestmark = [pytest.mark.spark, pytest.mark.interop]


@pytest.fixture
def numbers(lake, table):
    """A table with the numbers 1 to 3."""
    lake.sql(f"CREATE TABLE lake.main.{table} (id INT, v STRING)")
    lake.sql(f"INSERT INTO lake.main.{table} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    return table


def test_statements_and_writers_become_one_snapshot(lake, numbers):
    name, spark = f"lake.main.{numbers}", lake.spark
    before = lake.last_snapshot()
    with ducklake_spark.transaction(spark, lake.name, author="Ada", message="why") as con:
        lake.sql(f"DELETE FROM {name} WHERE id = 1")
        lake.sql(f"CREATE TABLE lake.main.{numbers}_copy AS SELECT * FROM {name}")
        spark.range(5, 7).select(F.col("id").cast("int"), F.lit("new").alias("v")).writeTo(
            f"{lake.name}.main.{numbers}"
        ).append()
        lake.sql(f"UPDATE {name} SET v = upper(v) WHERE id > 2")
        inside = lake.sql(f"SELECT * FROM {name} ORDER BY id")
        assert con.sql(f"SELECT count(*) FROM main.{numbers}").first()[0] == 4
        other = spark.newSession().sql(f"SELECT count(*) FROM {lake.name}.main.{numbers}").first()
        assert other[0] == 3
        assert lake.last_snapshot() == before
    assert inside == [(2, "b"), (3, "C"), (5, "NEW"), (6, "NEW")]
    assert lake.last_snapshot() == before + 1
    assert lake.duckdb(f"FROM {numbers} ORDER BY id") == inside
    assert lake.duckdb(f"FROM {numbers}_copy ORDER BY id") == [(2, "b"), (3, "c")]
    told = "SELECT author, commit_message FROM ducklake_snapshots('lake') ORDER BY snapshot_id"
    assert lake.duckdb(told)[-1] == ("Ada", "why")


def test_an_exception_takes_everything_back(lake, numbers):
    before = lake.last_snapshot()
    with pytest.raises(KeyError), ducklake_spark.transaction(lake.spark, lake.name):
        lake.sql(f"TRUNCATE TABLE lake.main.{numbers}")
        lake.sql(f"INSERT INTO lake.main.{numbers} SELECT id, 'x' FROM range(100)")
        raise KeyError
    assert lake.last_snapshot() == before
    assert lake.sql(f"SELECT count(*) FROM lake.main.{numbers}") == [(3,)]


def test_a_transaction_within_a_transaction_is_refused(lake, numbers):
    with pytest.raises(TransactionError), ducklake_spark.transaction(lake.spark, lake.name):
        lake.sql(f"DELETE FROM lake.main.{numbers}")
        with ducklake_spark.transaction(lake.spark, lake.name):
            pass
    assert lake.sql(f"SELECT count(*) FROM lake.main.{numbers}") == [(3,)]


def test_only_lakes_have_transactions(lake):
    with pytest.raises(LakeNotFound), ducklake_spark.transaction(lake.spark, "spark_catalog"):
        pass


def test_sessions_conflict_as_connections_do(lake, numbers):
    other = lake.spark.newSession()
    with (
        pytest.raises(TransactionConflict),
        ducklake_spark.transaction(lake.spark, lake.name),
    ):
        lake.sql(f"DELETE FROM lake.main.{numbers} WHERE id = 1")
        other.sql(f"DELETE FROM {lake.name}.main.{numbers} WHERE id = 1")
    assert lake.sql(f"SELECT count(*) FROM lake.main.{numbers}") == [(2,)]


def test_threads_and_sessions_lose_no_rows(lake, table):
    lake.sql(f"CREATE TABLE lake.main.{table} (id INT, v STRING)")
    sessions = [lake.spark, lake.spark, lake.spark.newSession(), lake.spark.newSession()]

    def write(place):
        for step in range(3):
            number = place * 10 + step
            text = f"INSERT INTO {lake.name}.main.{table} VALUES ({number}, 'v{number}')"
            sessions[place].sql(text)

    with ThreadPoolExecutor(len(sessions)) as pool:
        list(pool.map(write, range(len(sessions))))
    expected = sorted(place * 10 + step for place in range(4) for step in range(3))
    found = [row[0] for row in lake.duckdb(f"SELECT id FROM {table} ORDER BY id")]
    assert found == expected
    assert [row[0] for row in lake.sql(f"SELECT id FROM lake.main.{table} ORDER BY id")] == expected


def test_what_comes_after_a_statement_has_read_is_seen_as_a_conflict(lake, numbers):
    place = (lake.name, "main", numbers)
    con = named(lake.spark, lake.name).con
    seen = con.table_version(place).snapshot
    lake.duckdb(f"INSERT INTO {numbers} VALUES (4, 'd')")
    with (
        pytest.raises(TransactionConflict, match="inserted into it"),
        changing(con, place, "overwrite", since=seen) as (tx, version),
    ):
        assert stage_truncate(tx, version) == 3
    assert lake.duckdb(f"SELECT count(*) FROM {numbers}") == [(4,)]


def test_a_thread_waits_for_what_another_has_not_committed(lake, numbers):
    con = named(lake.spark, lake.name).con
    count = f"SELECT count(*) FROM lake.main.{numbers}"
    with ThreadPoolExecutor(1) as pool:
        with changing(con, (lake.name, "main", numbers), "truncate") as (tx, version):
            stage_truncate(tx, version)
            asked = pool.submit(lake.sql, count)
            with pytest.raises(TimeoutError):
                asked.result(0.5)
        assert asked.result(60) == [(0,)]


def test_a_name_that_is_no_catalog_is_told(lake):
    with (
        pytest.raises(LakeNotFound, match="no_catalog"),
        ducklake_spark.transaction(lake.spark, "no_catalog"),
    ):
        pass
