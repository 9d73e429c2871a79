"""Answers with caches and without; and files that are others under the same path."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ducklake_spark
from ducklake_spark import caching
from ducklake_spark.limits import Limits, lowered
from ducklake_spark.spark import deletes

pytestmark = pytest.mark.spark

MOMENT = dt.datetime(2025, 3, 7, 12, 30)


@pytest.fixture
def connect(spark, make_lake_location):
    made = []

    def open_lake(name):
        location = make_lake_location("sqlite", name)
        made.append(
            ducklake_spark.connect(
                location.uri, spark=spark, alias="lake", data_path=location.data_path
            )
        )
        return made[-1]

    yield open_lake
    for con in made:
        con.close()


def write_moments(path, unit, padding):
    table = pa.table({"at": pa.array([MOMENT], pa.timestamp(unit))})
    with pq.ParquetWriter(path, table.schema, version="2.6", store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({"padding": "x" * padding})
    return path.stat().st_size


def replace_file(path):
    """Nanoseconds in the place of microseconds, in a file of the same size."""
    size = path.stat().st_size
    for padding in range(200, 400):
        if write_moments(path, "ns", padding) == size:
            return
    raise AssertionError("no padding makes the files equally large")


def moments(con):
    return [row[0] for row in con.sql('SELECT "at" FROM t').collect()]


def test_another_lake_reads_the_file_that_is_there(connect, tmp_path):
    path = tmp_path / "moments.parquet"
    write_moments(path, "us", 300)
    first, second = connect("first"), connect("second")
    for con in (first, second):
        con.sql("CREATE TABLE t (at TIMESTAMP)")
    first.add_files("t", str(path))
    assert moments(first) == [MOMENT]
    replace_file(path)
    second.add_files("t", str(path))
    assert moments(second) == [MOMENT]


def test_a_file_is_read_again_when_the_transaction_that_added_it_was_given_up(connect, tmp_path):
    path = tmp_path / "moments.parquet"
    write_moments(path, "us", 300)
    con = connect("lake")
    con.sql("CREATE TABLE t (at TIMESTAMP)")
    con.begin()
    con.add_files("t", str(path))
    assert moments(con) == [MOMENT]
    con.rollback()
    replace_file(path)
    con.begin()
    con.add_files("t", str(path))
    assert moments(con) == [MOMENT]
    con.commit()
    assert moments(con) == [MOMENT]


STATEMENTS = (
    "CREATE TABLE t (id BIGINT, name VARCHAR, amount DECIMAL(9, 2))",
    "INSERT INTO t VALUES (1, 'one', 1.5), (2, 'two', NULL)",
    "SELECT * FROM t",
    "INSERT INTO t SELECT i, 'n' || i, i FROM range(3, 40) r(i)",
    "SELECT count(*), sum(amount), min(id), max(name) FROM t",
    "SELECT id FROM t WHERE id > 35",
    "SELECT id FROM t WHERE id > 35",
    "UPDATE t SET name = 'even' WHERE id % 10 = 0",
    "DELETE FROM t WHERE id BETWEEN 5 AND 9",
    "SELECT id FROM t WHERE id < 12",
    "BEGIN",
    "ALTER TABLE t ADD COLUMN extra INTEGER DEFAULT 7",
    "INSERT INTO t (id) VALUES (100)",
    "SELECT id, extra FROM t WHERE id IN (1, 100)",
    "ROLLBACK",
    "SELECT * FROM t WHERE id IN (1, 100)",
    "ALTER TABLE t ADD COLUMN extra VARCHAR DEFAULT 'x'",
    "INSERT INTO t (id) VALUES (101)",
    "SELECT id, extra FROM t WHERE id IN (1, 101)",
    "CREATE VIEW v AS SELECT id, name FROM t WHERE id > 30",
    "SELECT * FROM v",
    "MERGE INTO t USING (SELECT 2 AS id UNION ALL SELECT 102) s USING (id) "
    "WHEN MATCHED THEN UPDATE SET name = 'merged' WHEN NOT MATCHED THEN INSERT (id) VALUES (id)",
    "SELECT * FROM t AT (VERSION => 3)",
    "SELECT * FROM t AT (VERSION => 4)",
    "DROP TABLE t",
    "CREATE TABLE t (id VARCHAR)",
    "INSERT INTO t VALUES ('other')",
    "SELECT * FROM t",
    "SELECT * FROM t AT (VERSION => 4)",
    "SELECT * FROM lake.table_changes('t', 9, 12)",
    "CALL lake.flush_inlined_data()",
    "CALL lake.merge_adjacent_files()",
    "SELECT * FROM t AT (VERSION => 5)",
    "SELECT snapshot_id, schema_version, changes FROM lake.snapshots()",
)


def answers(con):
    found = []
    for statement in STATEMENTS:
        result = con.sql(statement)
        rows = result.collect() if hasattr(result, "collect") else []
        found.append((statement, sorted(map(str, rows))))
    return found


def test_answers_are_the_same_with_caches_and_without(connect):
    assert caching.is_on()
    kept = answers(connect("kept"))
    with caching.off():
        con = connect("computed")
        computed = answers(con)
        lake = con.current_lake()
        assert not len(lake._states)
        assert not len(deletes._sent)
        assert lake.contents.log == {}
    for one, other in zip(kept, computed, strict=True):
        assert one == other


def test_answers_are_the_same_when_every_table_is_a_large_one(connect):
    usual = answers(connect("usual"))
    with lowered(Limits.tiny()):
        tiny = answers(connect("tiny"))
    for one, other in zip(usual, tiny, strict=True):
        if one[0].startswith("SELECT * FROM t") or "FROM t WHERE" in one[0]:
            assert one == other
