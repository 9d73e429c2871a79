"""The snapshot of a moment is the one that the extension takes, however its time is written."""

from __future__ import annotations

import datetime as dt
import time

import pytest

from ducklake_spark.errors import SnapshotNotFound
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
