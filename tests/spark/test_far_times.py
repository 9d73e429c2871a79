"""Times that Python's calendar does not have are stored and read like others."""

from __future__ import annotations

import pytest

import ducklake_spark

pytestmark = pytest.mark.spark

FAR = ["294247-01-10 04:00:54+00", "12000-02-29 00:00:00+00", "290309-12-22 (BC) 00:00:00+00"]


def test_few_rows_with_far_times_go_to_a_file(spark, tmp_path):
    uri = f"ducklake:sqlite:{tmp_path / 'lake.sqlite'}"
    with ducklake_spark.connect(uri, spark=spark, data_path=f"{tmp_path}/data/") as con:
        con.sql("SET TimeZone = 'UTC'")
        con.sql("CREATE TABLE t (moment TIMESTAMPTZ)")
        con.sql(f"INSERT INTO t VALUES {', '.join(f'({text!r})' for text in FAR)}")
        found = [row[0] for row in con.sql("SELECT moment::VARCHAR FROM t").collect()]
        later = con.sql("SELECT count(*) FROM t WHERE moment > TIMESTAMPTZ '9999-01-01 00:00:00Z'")
        assert sorted(found) == sorted(FAR)
        assert later.collect()[0][0] == 2
