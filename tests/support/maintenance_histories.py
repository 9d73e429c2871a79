"""Histories of a table that end in maintenance, told once and run by either engine."""

from __future__ import annotations

FLUSH = "CALL ducklake_flush_inlined_data('lake')"
MERGE = "CALL ducklake_merge_adjacent_files('lake')"
REWRITE = "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.01)"
MAINTENANCE = (FLUSH, MERGE, REWRITE)

INLINED = [
    "CREATE TABLE t (id INTEGER, v VARCHAR, x DOUBLE)",
    FLUSH,  # nothing to do
    "INSERT INTO t VALUES (1, 'a', 1.5), (2, NULL, 2.5)",
    "INSERT INTO t VALUES (3, 'c', NULL)",
    "DELETE FROM t WHERE id = 1",
    "UPDATE t SET v = 'changed' WHERE id = 2",
    FLUSH,
    FLUSH,
    "INSERT INTO t VALUES (4, 'd', 4)",
    "DELETE FROM t WHERE id = 3",  # inlined, of a flushed file
    FLUSH,
    "DELETE FROM t WHERE id = 4",
    "UPDATE t SET x = 7 WHERE id = 2",
    FLUSH,
    MERGE,
    REWRITE,
    MERGE,
    MERGE,
]

MANY_FILES = [
    "CREATE TABLE t (id INTEGER, v VARCHAR)",
    "INSERT INTO t SELECT i, 'a' || i FROM range(0, 20) r(i)",
    "INSERT INTO t SELECT i, 'b' || i FROM range(20, 40) r(i)",
    "INSERT INTO t SELECT i, NULL FROM range(40, 60) r(i)",
    MERGE,
    MERGE,
    "INSERT INTO t SELECT i, 'c' || i FROM range(60, 80) r(i)",
    "INSERT INTO t VALUES (80, 'inlined')",
    FLUSH,
    MERGE,
    "DELETE FROM t WHERE id BETWEEN 5 AND 30",
    "DELETE FROM t WHERE id = 31",
    "INSERT INTO t SELECT i, 'd' || i FROM range(90, 120) r(i)",
    "INSERT INTO t SELECT i, 'e' || i FROM range(120, 150) r(i)",
    MERGE,  # the file with deletes is left alone
    REWRITE,
    REWRITE,
    "DELETE FROM t WHERE id < 150",
    "INSERT INTO t SELECT i, 'f' FROM range(200, 220) r(i)",
    "DELETE FROM t WHERE id BETWEEN 200 AND 218",
    "DELETE FROM t WHERE id = 219",
    REWRITE,  # no row is left
]

EVOLVED = [
    "CREATE TABLE t (id INTEGER, s STRUCT(a INTEGER, b VARCHAR), l INTEGER[], old VARCHAR)",
    "INSERT INTO t SELECT i, {'a': i, 'b': 'b' || i}, [i, NULL], 'o' || i FROM range(20) r(i)",
    "INSERT INTO t SELECT i, {'a': i, 'b': NULL}, [], NULL FROM range(20, 40) r(i)",
    "INSERT INTO t VALUES (100, {'a': 1, 'b': 'x'}, [], 'inlined')",
    "ALTER TABLE t ADD COLUMN extra VARCHAR DEFAULT 'dflt'",
    "INSERT INTO t VALUES (101, NULL, NULL, 'inlined', 'given')",
    "INSERT INTO t SELECT i, NULL, [i], 'e', 'f' FROM range(40, 60) r(i)",
    "INSERT INTO t SELECT i, NULL, [i], 'e', NULL FROM range(60, 80) r(i)",
    "ALTER TABLE t RENAME COLUMN old TO renamed",
    "ALTER TABLE t ALTER COLUMN id SET DATA TYPE BIGINT",
    "INSERT INTO t SELECT i + 5000000000, NULL, [i], 'e', NULL FROM range(80, 100) r(i)",
    "INSERT INTO t SELECT i + 5000000000, NULL, [i], 'e', NULL FROM range(100, 120) r(i)",
    "ALTER TABLE t DROP COLUMN renamed",
    "DELETE FROM t WHERE id BETWEEN 10 AND 25",
    MERGE,
    FLUSH,
    REWRITE,
    MERGE,
]

UPDATED = [
    "CREATE TABLE t (id INTEGER, v VARCHAR)",
    "INSERT INTO t SELECT i, 'a' || i FROM range(0, 50) r(i)",
    "UPDATE t SET v = 'changed' WHERE id BETWEEN 10 AND 30",
    "UPDATE t SET v = 'again' WHERE id BETWEEN 20 AND 40",
    "INSERT INTO t SELECT i, 'b' || i FROM range(50, 80) r(i)",
    REWRITE,
    MERGE,
]

PARTITIONED = [
    "CREATE TABLE t (id INTEGER, part VARCHAR, day DATE)",
    "ALTER TABLE t SET PARTITIONED BY (part, year(day))",
    "INSERT INTO t SELECT i, CASE WHEN i % 2 = 0 THEN 'a/b' END, DATE '2024-01-01' + i::INTEGER "
    "FROM range(0, 40) r(i)",
    "INSERT INTO t SELECT i, CASE WHEN i % 2 = 0 THEN 'a/b' END, DATE '2024-01-01' + i::INTEGER "
    "FROM range(40, 80) r(i)",
    "ALTER TABLE t SET PARTITIONED BY (part)",
    "INSERT INTO t SELECT i, 'a/b', DATE '2024-01-01' FROM range(80, 100) r(i)",
    "INSERT INTO t SELECT i, 'a/b', DATE '2024-01-01' FROM range(100, 120) r(i)",
    MERGE,
    "DELETE FROM t WHERE id % 3 = 0",
    REWRITE,
    MERGE,
]

HISTORIES = {
    "inlined": INLINED,
    "many files": MANY_FILES,
    "evolved": EVOLVED,
    "updated": UPDATED,
    "partitioned": PARTITIONED,
}
