"""Several connections, in one process and in several, on one lake."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import ducklake_spark
from support.lakes import LakeLocation

pytestmark = pytest.mark.spark

INSERT_ELSEWHERE = """
import sys, ducklake_spark
uri, statement = sys.argv[1:]
with ducklake_spark.connect(uri, alias="lake") as con:
    con.sql(statement)
    print(con.lake("lake").latest().snapshot_id)
"""


def run_elsewhere(uri: str, statement: str) -> int:
    """Run a statement in another process; the number of the snapshot that it made."""
    done = subprocess.run(
        [sys.executable, "-c", INSERT_ELSEWHERE, uri, statement],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def connect(location: LakeLocation, spark: SparkSession) -> ducklake_spark.Connection:
    return ducklake_spark.connect(
        location.uri, spark=spark, alias="lake", data_path=location.data_path
    )


def values(con: ducklake_spark.Connection, query: str = "FROM t ORDER BY i") -> list[int]:
    return [row[0] for row in con.sql(query).collect()]


def test_other_connection_sees_a_change_at_its_next_statement(
    spark: SparkSession, location: LakeLocation
):
    with connect(location, spark) as writer, connect(location, spark) as reader:
        writer.sql("CREATE TABLE t (i INTEGER)")
        assert values(reader) == []
        writer.sql("INSERT INTO t VALUES (1)")
        before = reader.table("t")
        query = reader.sql("SELECT i FROM t")
        writer.sql("INSERT INTO t SELECT 2::INTEGER UNION ALL SELECT 3")
        writer.append("t", spark.range(4, 6).selectExpr("CAST(id AS INT) AS i"))
        assert values(reader) == [1, 2, 3, 4, 5]
        assert [row.i for row in before.collect()] == [1]
        assert [row.i for row in query.collect()] == [1]
        writer.sql("DROP TABLE t")
        with pytest.raises(LookupError, match="Table with name t does not exist"):
            reader.sql("FROM t")
        assert [row.i for row in before.collect()] == [1]


def test_transaction_keeps_its_snapshot_while_others_write(
    spark: SparkSession, location: LakeLocation
):
    with connect(location, spark) as writer, connect(location, spark) as reader:
        writer.sql("CREATE TABLE t (i INTEGER); INSERT INTO t VALUES (1)")
        with reader.transaction():
            assert values(reader) == [1]
            writer.sql("INSERT INTO t VALUES (2)")
            assert values(reader) == [1]
        assert values(reader) == [1, 2]


def test_uncommitted_change_is_seen_by_nobody_else(spark: SparkSession, location: LakeLocation):
    with connect(location, spark) as writer, connect(location, spark) as reader:
        writer.sql("CREATE TABLE t (i INTEGER)")
        writer.sql("BEGIN; INSERT INTO t VALUES (1)")
        assert values(writer) == [1]
        assert values(reader) == []
        writer.sql("COMMIT")
        assert values(reader) == [1]


def test_cursor_sees_what_its_connection_commits(spark: SparkSession, location: LakeLocation):
    with connect(location, spark) as con, con.cursor() as cursor:
        con.sql("CREATE TABLE t (i INTEGER); INSERT INTO t VALUES (7)")
        assert values(cursor) == [7]


@pytest.mark.parametrize("catalog_kind", ["sqlite", "postgres"], indirect=True)
def test_change_of_another_process_is_seen_at_the_next_statement(
    spark: SparkSession, location: LakeLocation
):
    with connect(location, spark) as con:
        con.sql("CREATE TABLE t (i INTEGER); INSERT INTO t VALUES (1)")
        before = con.table("t")
        assert run_elsewhere(location.uri, "INSERT INTO t VALUES (2), (3)") == 3
        assert values(con) == [1, 2, 3]
        assert [row.i for row in before.collect()] == [1]
        assert run_elsewhere(location.uri, "CREATE TABLE u (i INTEGER)") == 4
        assert [row[0] for row in con.sql("SHOW TABLES").collect()] == ["t", "u"]
        con.sql("INSERT INTO t VALUES (4)")
        assert values(con) == [1, 2, 3, 4]


def test_two_lakes_are_joined_in_one_query(
    spark: SparkSession, make_lake_location: Callable[[str, str], LakeLocation]
):
    left, right = make_lake_location("sqlite", "left"), make_lake_location("duckdb", "right")
    with ducklake_spark.connect(spark=spark) as con:
        for name, place in (("a", left), ("b", right)):
            con.sql(f"ATTACH '{place.uri}' AS {name} (DATA_PATH '{place.data_path}')")
        con.sql("CREATE TABLE a.t AS SELECT i, 'a' || i AS x FROM range(5) s(i)")
        con.sql("CREATE TABLE b.t AS SELECT i, 'b' || i AS y FROM range(3, 8) s(i)")
        joined = con.sql("SELECT x, y FROM a.t JOIN b.t USING (i) ORDER BY i").collect()
        assert [tuple(row) for row in joined] == [("a3", "b3"), ("a4", "b4")]
        con.sql("USE b; CREATE TABLE copied AS SELECT * FROM a.t WHERE i > 3")
        assert values(con, "SELECT i FROM copied") == [4]


STARTED_BY_A_CURSOR = """
import sys, ducklake_spark
con = ducklake_spark.connect(sys.argv[1], alias="lake", data_path=sys.argv[2])
other = ducklake_spark.connect()
with con.cursor() as cursor:
    cursor.sql("CREATE TABLE t (i INTEGER)")
    cursor.sql("INSERT INTO t SELECT 7")
    context = cursor.spark.sparkContext
assert con.sql("FROM t").collect()[0].i == 7
other.spark
con.close()
assert other.sql("SELECT 8 AS i").collect()[0].i == 8
other.close()
assert context._jsc is None
print(42)
"""


def test_a_spark_that_a_cursor_started_lives_until_the_last_connection_is_closed(
    tmp_path: Path,
):
    lake = [f"ducklake:sqlite:{tmp_path}/lake.sqlite", f"{tmp_path}/data/"]
    done = subprocess.run(
        [sys.executable, "-c", STARTED_BY_A_CURSOR, *lake],
        capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip
    assert done.stdout.strip().endswith("42"), done.stderr


def test_a_session_that_was_given_goes_on_when_its_connections_are_closed(
    spark: SparkSession, location: LakeLocation
):
    before = dict(spark.sparkContext.getConf().getAll())
    with connect(location, spark) as con, con.cursor() as cursor:
        cursor.sql("CREATE TABLE t (i INTEGER)")
    assert spark.range(3).count() == 3
    assert dict(spark.sparkContext.getConf().getAll()) == before
