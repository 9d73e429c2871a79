"""Lakes written by DuckDB, read by us: every snapshot shows the same rows."""

from __future__ import annotations

import pytest

import ducklake_spark
from support.rows import same_rows

pytestmark = [pytest.mark.spark, pytest.mark.interop]

DELETES = [
    "CREATE TABLE t (id BIGINT, name VARCHAR, amount DECIMAL(10,2))",
    "INSERT INTO t SELECT i, 'n' || i, i / 4 FROM range(1000) r(i)",
    "DELETE FROM t WHERE id % 10 = 0",  # a delete file
    "DELETE FROM t WHERE id % 7 = 0",  # consolidated, with snapshot ids
    "DELETE FROM t WHERE id = 501",  # inlined
    "INSERT INTO t SELECT i, 'm' || i, i / 4 FROM range(2000, 2100) r(i)",
    "DELETE FROM t WHERE id >= 2000",  # a whole file
    "UPDATE t SET name = 'changed' WHERE id BETWEEN 300 AND 400",
    "INSERT INTO t VALUES (5000, 'small', 1), (5001, NULL, NULL)",
    "DELETE FROM t WHERE id = 5000",
    "UPDATE t SET amount = 99 WHERE id = 5001",
]

EVOLUTION = [
    "CREATE TABLE t (id INTEGER, s STRUCT(a INTEGER, b VARCHAR), l INTEGER[], old VARCHAR, "
    "f FLOAT)",
    "INSERT INTO t SELECT i, {'a': i, 'b': 'b' || i}, [i, NULL, i + 1], 'o' || i, i / 3 "
    "FROM range(50) r(i)",
    "INSERT INTO t VALUES (100, {'a': 1, 'b': 'its'}, [], 'inlined', 0.1)",
    "ALTER TABLE t ADD COLUMN extra VARCHAR DEFAULT 'dflt'",
    "INSERT INTO t VALUES (101, NULL, NULL, 'inlined', 2.5, 'given')",
    "ALTER TABLE t RENAME COLUMN old TO renamed",
    "ALTER TABLE t ALTER COLUMN id SET DATA TYPE BIGINT",
    "ALTER TABLE t ALTER COLUMN f SET DATA TYPE DOUBLE",
    "INSERT INTO t SELECT i + 5000000000, {'a': i, 'b': NULL}, [], 'n' || i, i, 'e' "
    "FROM range(20) r(i)",
    "ALTER TABLE t DROP COLUMN renamed",
    "ALTER TABLE t ADD COLUMN renamed INTEGER",
    "ALTER TABLE t ADD COLUMN s.c DOUBLE",
    "INSERT INTO t VALUES (102, {'a': 7, 'b': 'x', 'c': 1.5}, [9], 3.5, 'z', 42)",
    "ALTER TABLE t RENAME COLUMN s.b TO bb",
    "ALTER TABLE t DROP COLUMN s.a",
    "INSERT INTO t SELECT i, {'bb': 'q', 'c': i}, [i], i, 'y', i FROM range(300, 320) r(i)",
    "DELETE FROM t WHERE id = 102",
]

COMPACTION = [
    "CREATE TABLE t (id INTEGER, v VARCHAR)",
    "INSERT INTO t SELECT i, 'a' FROM range(0, 20) r(i)",
    "INSERT INTO t SELECT i, 'b' FROM range(20, 40) r(i)",
    "INSERT INTO t SELECT i, 'c' FROM range(40, 60) r(i)",
    "INSERT INTO t VALUES (90, 'x')",
    "INSERT INTO t VALUES (91, 'y')",
    "DELETE FROM t WHERE id = 90",
    "CALL ducklake_flush_inlined_data('lake')",
    "CALL ducklake_merge_adjacent_files('lake')",
    "DELETE FROM t WHERE id < 30",
    "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.1)",
    "INSERT INTO t SELECT i, 'd' FROM range(100, 140) r(i)",
]

PARTITIONS = [
    "CREATE TABLE t (id INTEGER, day DATE, region VARCHAR)",
    "ALTER TABLE t SET PARTITIONED BY (year(day), region)",
    "INSERT INTO t SELECT i, DATE '2023-06-01' + (i * 20)::INTEGER, "
    "CASE i % 3 WHEN 0 THEN 'a b/c' WHEN 1 THEN NULL ELSE 'é=%' END FROM range(60) r(i)",
    "ALTER TABLE t SET PARTITIONED BY (bucket(4, id))",
    "INSERT INTO t SELECT i, DATE '2020-01-01', 'z' FROM range(100, 140) r(i)",
]


@pytest.mark.parametrize("history", [DELETES, EVOLUTION, COMPACTION, PARTITIONS])
def test_every_snapshot_shows_the_rows_that_duckdb_shows(spark, location, history):
    with location.oracle() as oracle:
        for statement in history:
            oracle.sql(statement)
        versions = [row[0] for row in oracle.sql("SELECT snapshot_id FROM lake.snapshots()")]
        expected = {
            version: oracle.sql(f"SELECT * FROM t AT (VERSION => {version})")
            for version in versions[1:]
        }
        row_ids = oracle.sql("SELECT rowid, id FROM t")
    with ducklake_spark.connect(location.uri, spark=spark) as con:
        for version, rows in expected.items():
            got = con.sql(f"SELECT * FROM t AT (VERSION => {version})").collect()
            assert same_rows(got, rows), f"at snapshot {version}"
        assert same_rows(con.sql("SELECT rowid, id FROM t").collect(), row_ids)
        assert con.sql("SELECT count(*) FROM t").collect()[0][0] == len(row_ids)
