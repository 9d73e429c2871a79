"""Checking a lake with Spark: files are read by tasks, and findings come as rows."""

from __future__ import annotations

from pathlib import Path

import pytest

import ducklake_spark
from ducklake_spark.errors import InvalidInput
from support.lakes import make_location
from support.writing import table_files

pytestmark = pytest.mark.spark


@pytest.fixture
def place(tmp_path):
    return make_location("sqlite", tmp_path)


@pytest.fixture
def con(spark, place):
    with ducklake_spark.connect(
        place.uri, spark=spark, alias="lake", data_path=place.data_path
    ) as connection:
        connection.sql("CALL lake.set_option('data_inlining_row_limit', 2)")
        connection.sql("CREATE TABLE t AS SELECT id, 'n' || id AS name FROM range(1000) r(id)")
        connection.sql("INSERT INTO t VALUES (1, NULL)")
        connection.sql("CREATE TABLE u AS SELECT 1.5 AS x, [1, 2] AS l FROM range(5)")
        yield connection


def test_a_sound_lake_has_no_findings(con):
    told = []
    found = con.check(progress=lambda *counts: told.append(counts))
    assert found.columns == ["severity", "check", "object", "path", "detail"]
    assert found.collect() == []
    assert told[-1][0] == told[-1][1] > 1


def test_findings_come_as_rows_of_a_call_and_of_a_query(con, place):
    lost = next(path for path in table_files(place) if "/u/" in path)
    Path(lost).unlink()
    stray = Path(place.data_path) / "stray.parquet"
    stray.write_bytes(b"")
    rows = con.sql("CALL ducklake_check('lake')").collect()
    assert [tuple(row)[:4] for row in rows] == [
        ("error", "file-missing", "main.u", lost),
        ("warning", "orphans", "storage", str(stray)),
    ]
    query = "SELECT path FROM ducklake_check('lake') WHERE severity = 'error'"
    assert [row.path for row in con.sql(query).collect()] == [lost]
    with pytest.raises(InvalidInput, match="takes a lake, and nothing else"):
        con.sql("CALL ducklake_check('lake', 't')")


def test_removal_as_statements(con, place):
    con.sql("DROP TABLE u")
    expired = con.sql(
        "SELECT count(*) AS n FROM ducklake_expire_snapshots('lake', "
        "older_than => now() + INTERVAL 1 DAY)"
    )
    assert expired.collect()[0].n == 4
    assert con.sql("CALL ducklake_cleanup_old_files('lake')").count() == 0
    removed = con.sql("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)").collect()
    assert all("/u/" in row.path for row in removed) and removed
    assert con.sql("CALL ducklake_delete_orphaned_files('lake', cleanup_all => true)").count() == 0
    assert con.sql("SELECT count(*) FROM t").collect()[0][0] == 1001
    assert con.check().collect() == []
