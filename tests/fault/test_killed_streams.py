"""A stream whose driver is killed at any moment of a batch loses no row and doubles none."""

from __future__ import annotations

import pytest

import ducklake_spark
from support.stream_faults import POINTS, copy_table, kill_at

pytestmark = pytest.mark.spark


def check_killed_copies(spark, location, checkpoint, points):
    """Each process dies in another batch; in the end everything is there once."""
    with ducklake_spark.connect(
        location.uri, spark=spark, alias="x", data_path=location.data_path
    ) as con:
        con.sql("CREATE TABLE t (id BIGINT)")
        con.sql("CREATE TABLE copy (id BIGINT)")
        for start in range(len(points) + 1):
            con.append("t", spark.range(start * 20, start * 20 + 20))
    for point in points:
        assert kill_at(location.uri, str(checkpoint), point) == -9
    copy_table(spark, location.uri, str(checkpoint))
    with ducklake_spark.connect(location.uri, spark=spark, alias="x") as con:
        found = sorted(row[0] for row in con.table("copy").collect())
        assert found == list(range(20 * (len(points) + 1)))
        # What was written and not committed is all that a killed process may leave.
        assert {row["check"] for row in con.check().collect()} <= {"orphans"}


def test_a_killed_stream_loses_and_doubles_nothing(spark, make_lake_location, tmp_path):
    location = make_lake_location("sqlite")
    check_killed_copies(spark, location, tmp_path / "checkpoint", ["COMMIT", "after the batch"])


@pytest.mark.thorough
@pytest.mark.parametrize("catalog_kind", ["sqlite", "duckdb", "postgres"], indirect=True)
def test_a_stream_that_is_killed_at_every_step(spark, location, tmp_path):
    check_killed_copies(spark, location, tmp_path / "checkpoint", [*POINTS, *POINTS])
