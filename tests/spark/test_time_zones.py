"""A time copied from the list of snapshots finds its snapshot, whatever the zones are."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

import ducklake_spark
from support.lakes import LakeLocation

pytestmark = [
    pytest.mark.spark,
    pytest.mark.parametrize("catalog_kind", ["sqlite"], indirect=True),
]

ZONES = [
    ("UTC", "UTC"),
    ("America/New_York", "Asia/Kolkata"),
    ("Asia/Kolkata", "America/New_York"),
    ("UTC", "+02:00"),
]
"""Of the machine, and of the session."""


@pytest.fixture(params=ZONES, ids="_".join)
def zones(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[tuple[str, str]]:
    machine, session = request.param
    before = os.environ.get("TZ")
    os.environ["TZ"] = machine
    time.tzset()
    spark.conf.set("spark.sql.session.timeZone", session)
    yield request.param
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    del os.environ["TZ"]
    if before is not None:
        os.environ["TZ"] = before
    time.tzset()


@pytest.fixture
def con(location: LakeLocation, spark: SparkSession) -> Iterator[ducklake_spark.Connection]:
    with ducklake_spark.connect(
        location.uri, spark=spark, alias="lake", data_path=location.data_path
    ) as made:
        made.sql("CREATE TABLE t (i BIGINT)")
        for number in range(3):
            made.sql(f"INSERT INTO t VALUES ({number})")
        yield made


def copies(con: ducklake_spark.Connection) -> dict[str, list[Any]]:
    """The times of all snapshots, as people get hold of them."""
    frame = con.snapshots().orderBy("snapshot_id")
    query = "SELECT {} FROM lake.snapshots() ORDER BY snapshot_id"
    return {
        "collected": [row.snapshot_time for row in frame.collect()],
        "shown": [row[0] for row in frame.selectExpr("CAST(snapshot_time AS STRING)").collect()],
        "pandas": list(frame.toPandas()["snapshot_time"]),
        "queried": [r[0] for r in con.sql(query.format("snapshot_time")).collect()],
        "cast": [r[0] for r in con.sql(query.format("snapshot_time::VARCHAR")).collect()],
        "called": [r[1] for r in con.sql("CALL ducklake_snapshots('lake')").collect()],
    }


def test_times_of_snapshots_find_their_snapshots(
    zones: tuple[str, str], con: ducklake_spark.Connection, location: LakeLocation
):
    for form, times in copies(con).items():
        assert con.table("t", timestamp=times[3]).count() == 2, form
        assert con.changes("t", times[3]).count() == 2, form
        gone = con.expire_snapshots(older_than=times[2], dry_run=True).collect()
        assert [row.snapshot_id for row in gone] == [0, 1], form
        with ducklake_spark.connect(
            location.uri, spark=con.spark, alias="past", snapshot_time=times[2]
        ) as past:
            assert past.lake("past").latest().snapshot_id == 2, form
            with past.cursor() as cursor:
                assert cursor.lake("past").latest().snapshot_id == 2, form


def test_times_in_sql_are_of_the_sessions_zone(
    zones: tuple[str, str], con: ducklake_spark.Connection, location: LakeLocation
):
    def rows(query: str) -> int:
        return int(con.sql(f"SELECT count(*) FROM {query}").collect()[0][0])

    text = copies(con)["shown"][3]
    for moment in (f"'{text}'", f"TIMESTAMP '{text}'", f"CAST('{text}' AS TIMESTAMPTZ)"):
        assert rows(f"t AT (TIMESTAMP => {moment})") == 2
    assert rows(f"lake.table_changes('t', TIMESTAMP '{text}', TIMESTAMP '{text}')") == 1
    assert rows(f"ducklake_list_files('lake', 't', snapshot_time => '{text}')") == 0
    spoken = con.sql(f"SELECT * FROM t TIMESTAMP AS OF '{text}'", dialect="spark")
    assert spoken.count() == 2
    for value in (f"'{text}'", f"TIMESTAMP '{text}'"):
        call = f"CALL ducklake_expire_snapshots('lake', older_than => {value}, dry_run => true)"
        assert len(con.sql(call).collect()) == 3
        con.sql(f"ATTACH '{location.uri}' AS past (SNAPSHOT_TIME {value})")
        assert rows("past.t") == 2
        con.sql("DETACH past")


def test_now_of_python_is_now(zones: tuple[str, str], con: ducklake_spark.Connection):
    between = dt.datetime.now()
    time.sleep(0.01)
    con.sql("INSERT INTO t VALUES (9)")
    assert [row.i for row in con.changes("t", between).collect()] == [9]
    assert con.table("t", timestamp=between).count() == 3


def test_set_time_zone_is_the_zone_of_times(con: ducklake_spark.Connection, spark: SparkSession):
    moment = copies(con)["called"][3]
    try:
        con.sql("SET TimeZone = 'Asia/Kolkata'")
        offset = dt.timezone(dt.timedelta(hours=5, minutes=30))
        text = moment.astimezone(offset).replace(tzinfo=None).isoformat(sep=" ")
        assert con.table("t", timestamp=text).count() == 2
        assert con.sql(f"SELECT * FROM t AT (TIMESTAMP => '{text}')").count() == 2
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


BEFORE_AND_AFTER_SPARK = """
import datetime as dt, sys, ducklake_spark
from pyspark import SparkContext
uri, data_path = sys.argv[1:]
with ducklake_spark.connect(uri, alias="lake", data_path=data_path) as con:
    con.sql("CREATE TABLE t (i BIGINT)")
    con.sql("INSERT INTO t VALUES (1)")
    now = dt.datetime.now()
    con.sql("INSERT INTO t VALUES (2)")
    text = now.isoformat(sep=" ")
    def found(value):
        gone = con.expire_snapshots(older_than=value, dry_run=True).collect()
        return [row.snapshot_id for row in gone]
    before = found(now), found(text)
    assert SparkContext._active_spark_context is None
    rows = con.changes("t", now).collect()
    print(before == (found(now), found(text)), before, [row.i for row in rows])
    print(con.spark.conf.get("spark.sql.session.timeZone"))
"""


@pytest.mark.parametrize("zone", ["America/New_York"])
def test_a_time_means_the_same_before_spark_is_started_and_after(location: LakeLocation, zone: str):
    done = subprocess.run(
        [sys.executable, "-c", BEFORE_AND_AFTER_SPARK, location.uri, location.data_path],
        capture_output=True, text=True, timeout=180, check=False, env={**os.environ, "TZ": zone},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == ["True ([0, 1, 2], [0, 1, 2]) [2]", zone]
