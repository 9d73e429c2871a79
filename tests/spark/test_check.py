"""Checking a lake with Spark: files are read by tasks, and findings come as rows."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ducklake_spark
from ducklake_spark.errors import InvalidInput
from support.histories import write_rich_history
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


@pytest.mark.interop
def test_nothing_is_found_after_our_own_maintenance(spark, place, tmp_path):
    """Deletes and inlined rows by the extension; altered, added to, flushed and merged by us."""
    with place.oracle() as oracle:
        write_rich_history(oracle)
    foreign = tmp_path / "foreign.parquet"
    pq.write_table(pa.table({"k": [1, 2], "v": ["a", None]}), foreign)
    with ducklake_spark.connect(place.uri, spark=spark, alias="lake") as con:
        con.sql("ALTER TABLE small ADD COLUMN extra VARCHAR DEFAULT 'none'")
        con.sql("INSERT INTO small VALUES (6, 'f', 60, 'x')")
        con.sql("ALTER TABLE whole ALTER i TYPE BIGINT")
        con.sql("INSERT INTO whole SELECT id, 'late' FROM range(20) r(id)")
        con.sql(f"CALL ducklake_add_data_files('lake', 'added', '{foreign}')")
        con.flush_inlined_data()
        assert con.check().collect() == []
        con.merge_adjacent_files()
        con.rewrite_data_files(delete_threshold=0.01)
        assert con.check().collect() == []
        con.expire_snapshots(older_than="2999-01-01")
        con.cleanup_old_files(cleanup_all=True)
        assert con.delete_orphaned_files(cleanup_all=True).collect() == []
        assert con.check().collect() == []
    with place.oracle() as oracle:
        assert oracle.sql("SELECT count(*) FROM t") == [(119,)]
