"""The snapshot of a moment is the one that the extension takes, however its time is written."""

from __future__ import annotations

import datetime as dt
import time

import pytest

from ducklake_spark.errors import SnapshotNotFound
from ducklake_spark.model.moments import find_zone, moment_of_sql
from ducklake_spark.sql.literals import literal_value
from ducklake_spark.sql.parse import parse_expression
from support.writing import open_session

pytestmark = pytest.mark.interop

MICROSECOND = dt.timedelta(microseconds=1)


def write_history(location) -> list[dt.datetime]:
    """Five snapshots, the last four with a row more each; their times."""
    with location.oracle() as oracle:
        oracle.sql("CREATE TABLE t (i INTEGER)")
        for number in range(3):
            time.sleep(0.002)
            oracle.sql(f"INSERT INTO t VALUES ({number})")
        rows = oracle.sql("SELECT snapshot_time FROM lake.snapshots() ORDER BY snapshot_id")
    return [row[0].astimezone(dt.timezone.utc) for row in rows]


def test_the_snapshot_of_a_moment_is_the_one_that_the_extension_takes(location):
    times = write_history(location)
    moments = [at + shift for at in times[1:] for shift in (-MICROSECOND, 0 * MICROSECOND)]
    with location.oracle() as oracle:
        expected = []
        for moment in moments:
            query = f"FROM lake.snapshots() WHERE snapshot_time <= TIMESTAMPTZ '{moment}'"
            expected.append(oracle.sql(f"SELECT max(snapshot_id) {query}")[0][0])
            if moment >= times[1]:
                travel = f"SELECT count(*) FROM t AT (TIMESTAMP => TIMESTAMPTZ '{moment}')"
                assert oracle.sql(travel)[0][0] == max(expected[-1] - 1, 0)
    session = open_session(location)
    lake = session.current_lake()
    assert [lake.snapshot_at(timestamp=m).snapshot_id for m in moments] == expected
    with pytest.raises(SnapshotNotFound, match="as old as"):
        lake.snapshot_at(timestamp=times[0] - MICROSECOND)
    session.close_lakes()


@pytest.mark.parametrize("catalog_kind", ["sqlite"], indirect=True)
def test_times_are_compared_as_times_in_a_catalog_that_keeps_them_as_text(location):
    write_history(location)
    texts = ("2024-01-01T09:00:00+02:00", "2024-01-01 07:00:00.5+00", "2024-01-01 07:00:00.25")
    session = open_session(location)
    lake = session.current_lake()
    for number, text in enumerate(texts):
        lake.db.execute(
            "UPDATE ducklake_snapshot SET snapshot_time = ? WHERE snapshot_id = ?", (text, number)
        )
    base = dt.datetime(2024, 1, 1, 7, tzinfo=dt.timezone.utc)
    found = [
        lake.snapshot_at(timestamp=base + dt.timedelta(milliseconds=ms)).snapshot_id
        for ms in (0, 249, 250, 500, 10_000)
    ]
    assert found == [0, 0, 2, 2, 2]
    session.close_lakes()


HOURS = ["01-01 00:00", "03-08 06:00", "03-08 07:00", "11-01 05:30", "11-02 06:15"]
TEXTS = [
    "2026-03-08 01:00:01",
    "2026-03-08 02:30:00",  # skipped in New York
    "2026-03-08",
    "2026-03-08 12:00:00",
    "2026-05-01",
    "2026-11-01 01:20:00",  # twice in New York
    "2026-11-01 01:20:00+05:30",
]


@pytest.mark.parametrize("catalog_kind", ["duckdb"], indirect=True)
@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kolkata"])
def test_a_time_without_a_zone_is_of_the_sessions_zone_as_in_the_extension(location, zone):
    """Where the extension goes by the zone: it takes some for UTC, see docs/compatibility.md."""
    write_history(location)
    with location.database(create=False) as db:
        for number, text in enumerate(HOURS):
            values = (f"2026-{text}:00+00", number)
            sql = "UPDATE ducklake_snapshot SET snapshot_time = CAST(? AS TIMESTAMPTZ)"
            db.execute(f"{sql} WHERE snapshot_id = ?", values)
    with location.oracle() as oracle:
        oracle.sql(f"SET TimeZone = '{zone}'")
        feed = "lake.table_changes('t', {} '{}', TIMESTAMPTZ '2027-01-01')"
        ask = f"SELECT min(snapshot_id) FROM {feed}"
        theirs = {
            (word, text): oracle.sql(ask.format(word, text))[0][0]
            for word in ("TIMESTAMP", "TIMESTAMPTZ")
            for text in TEXTS
        }
        as_utc = "SELECT count(*) FROM t AT (TIMESTAMP => '2026-11-01 01:20:00')"
        assert oracle.sql(as_utc) == [(1,)]
    session = open_session(location)
    lake = session.current_lake()
    ours = {}
    for word, text in theirs:
        value = literal_value(parse_expression(f"{word} '{text}'"))
        moment = moment_of_sql(value, lambda: find_zone(zone))
        # The first two snapshots change no row.
        ours[word, text] = max(2, lake.snapshot_since(moment).snapshot_id)
        if word == "TIMESTAMPTZ":
            assert moment_of_sql(text, lambda: find_zone(zone)) == moment
    session.close_lakes()
    assert ours == theirs
    assert len(set(theirs.values())) > 1
