"""Times without a zone, compared with what DuckDB makes of them in the same zone."""

from __future__ import annotations

import datetime as dt
import os
import time
from collections.abc import Callable, Iterator

import duckdb
import pytest

from ducklake_spark.errors import InvalidInput
from ducklake_spark.model.moments import find_zone, moment_of_python, moment_of_sql

UTC = dt.timezone.utc
ZONES = ["UTC", "America/New_York", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe"]
TEXTS = [
    "2026-05-01",
    "2026-05-01 10:00:00.123456",
    "2026-05-01T10:00:00",
    "2026-05-01 10:00:00+02",
    "2026-05-01 10:00:00Z",
    "2026-03-08 02:30:00",  # skipped in New York
    "2026-11-01 01:30:00",  # twice in New York
    "2026-03-29 02:30:00",  # skipped in Berlin
    "2026-10-25 02:30:00",  # twice in Berlin
    "2026-10-04 02:15:00",  # skipped in Lord Howe, where summer is half an hour
    "2026-04-05 01:45:00",  # twice in Lord Howe
    "1969-12-31 23:59:59",
]


@pytest.fixture
def machine_zone() -> Iterator[Callable[[str], None]]:
    """Sets the zone of this process, as TZ does for a new one."""
    before = os.environ.get("TZ")

    def put(name: str) -> None:
        os.environ["TZ"] = name
        time.tzset()

    yield put
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


def in_duckdb(expression: str, zone: str) -> dt.datetime:
    with duckdb.connect() as con:
        con.execute(f"SET TimeZone = '{zone}'")
        (micros,) = con.execute(f"SELECT epoch_us(({expression})::TIMESTAMPTZ)").fetchall()[0]
    return dt.datetime(1970, 1, 1, tzinfo=UTC) + dt.timedelta(microseconds=micros)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("text", TEXTS)
def test_text_is_the_moment_that_duckdb_reads(text: str, zone: str):
    assert moment_of_sql(text, lambda: find_zone(zone)) == in_duckdb(f"'{text}'", zone)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("text", TEXTS)
def test_text_in_the_machines_zone_is_what_duckdb_reads_in_it(
    text: str, zone: str, machine_zone: Callable[[str], None]
):
    machine_zone(zone)
    assert moment_of_sql(text, lambda: None) == in_duckdb(f"'{text}'", zone)


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kolkata"])
def test_timestamps_and_dates_of_sql_are_of_the_sessions_zone(zone: str):
    moment = moment_of_sql(dt.datetime(2026, 5, 1, 10), lambda: find_zone(zone))
    assert moment == in_duckdb("TIMESTAMP '2026-05-01 10:00:00'", zone)
    day = moment_of_sql(dt.date(2026, 5, 1), lambda: find_zone(zone))
    assert day == in_duckdb("DATE '2026-05-01'", zone)


def test_datetimes_of_python_are_of_the_machines_zone(machine_zone: Callable[[str], None]):
    machine_zone("America/New_York")
    for seconds in (1793511000, 1793514600):  # 1:30 of both kinds in the night of the change
        collected = dt.datetime.fromtimestamp(seconds)
        moment = moment_of_python(collected, lambda: find_zone("Asia/Kolkata"))
        assert moment == dt.datetime.fromtimestamp(seconds, UTC)
    day = moment_of_python(dt.date(2026, 5, 1), lambda: find_zone("Asia/Kolkata"))
    assert day == dt.datetime(2026, 5, 1, 4, tzinfo=UTC)
    aware = dt.datetime(2026, 5, 1, 10, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    assert moment_of_python(aware, lambda: None) == dt.datetime(2026, 5, 1, 8, tzinfo=UTC)


@pytest.mark.parametrize("moment", [dt.datetime.max, dt.datetime.min, "9999-12-31 23:59:59"])
@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kolkata"])
def test_the_ends_of_the_calendar_are_moments(
    moment: dt.datetime | str, zone: str, machine_zone: Callable[[str], None]
):
    machine_zone(zone)
    assert moment_of_python(moment, lambda: find_zone(zone)).year in (1, 9999)


@pytest.mark.parametrize(
    ("name", "hours"), [("+02:00", 2), ("-05", -5), ("UTC+1", 1), ("GMT-03:00", -3), ("Z", 0)]
)
def test_offsets_are_zones_as_spark_writes_them(name: str, hours: int):
    assert find_zone(name).utcoffset(None) == dt.timedelta(hours=hours)


@pytest.mark.parametrize("name", ["Nowhere/Land", "", "../etc/passwd"])
def test_an_unknown_zone_is_refused(name: str):
    with pytest.raises(InvalidInput, match="offset"):
        moment_of_sql("2026-05-01", lambda: find_zone(name))


def test_what_is_no_moment_is_refused():
    for value in (12, None, "yesterday"):
        with pytest.raises(InvalidInput):
            moment_of_python(value, lambda: None)
