"""Lakes with a past, made by the real extension: the same statements make the same catalog."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from support.lakes import LakeLocation, make_location

if TYPE_CHECKING:
    from support.oracle import Oracle

FILES = "CALL lake.set_option('data_inlining_row_limit', 0)"
INLINED = "CALL lake.set_option('data_inlining_row_limit', 10)"


def write_rich_history(oracle: Oracle) -> None:
    """Everything that leaves rows behind: deletes, updates, merges, rewrites, drops, renames.

    Living tables: `t` (files, deletes, evolution), `small` (inlined), `parts` (partitioned),
    `whole` (rewritten), `added` (a file from elsewhere), `renamed`.
    """
    for statement in _statements(oracle.location.data_path):
        oracle.sql(statement)


def _statements(data_path: str) -> list[str]:
    elsewhere = f"{data_path}../elsewhere.parquet"
    return [
        *_deletes_and_evolution(),
        *_inlined_rows(),
        *_partitions_and_compaction(),
        f"COPY (SELECT range AS k, 'f' || range AS v FROM range(20)) TO '{elsewhere}'",
        "CREATE TABLE added(k BIGINT, v VARCHAR)",
        f"CALL ducklake_add_data_files('lake', 'added', '{elsewhere}')",
        *_objects_that_go(),
    ]


def _deletes_and_evolution() -> list[str]:
    return [
        FILES,
        "CREATE TABLE t(i BIGINT, s VARCHAR, x DOUBLE, n STRUCT(a INTEGER, b VARCHAR[]))",
        "INSERT INTO t SELECT range, 's' || range, range / 3.0, "
        "{'a': range, 'b': ['l' || range]} FROM range(100)",
        "INSERT INTO t SELECT range, NULL, NULL, NULL FROM range(100, 150)",
        "DELETE FROM t WHERE i % 10 = 3",
        "DELETE FROM t WHERE i % 10 = 4",
        "UPDATE t SET s = 'changed' WHERE i % 10 = 5",
        "ALTER TABLE t ADD COLUMN d DATE DEFAULT '2024-01-02'",
        "ALTER TABLE t RENAME COLUMN x TO y",
        "INSERT INTO t SELECT range, 'late', 1.5, NULL, '2025-01-01' FROM range(200, 230)",
        "DELETE FROM t WHERE i BETWEEN 200 AND 229",
        "COMMENT ON TABLE t IS 'first'",
        "COMMENT ON TABLE t IS 'second'",
    ]


def _inlined_rows() -> list[str]:
    return [
        INLINED,
        "CREATE TABLE small(i INTEGER, s VARCHAR)",
        "INSERT INTO small VALUES (1, 'a'), (2, 'b'), (3, NULL)",
        "DELETE FROM small WHERE i = 2",
        "UPDATE small SET s = 'z' WHERE i = 1",
        "ALTER TABLE small ADD COLUMN z INTEGER",
        "INSERT INTO small VALUES (4, 'd', 40)",
        "DELETE FROM t WHERE i = 7",
        "CREATE TABLE flushed(i INTEGER)",
        "INSERT INTO flushed VALUES (1), (2)",
        "DELETE FROM flushed WHERE i = 1",
        "INSERT INTO flushed VALUES (3)",
        "CALL ducklake_flush_inlined_data('lake', table_name => 'flushed')",
    ]


def _partitions_and_compaction() -> list[str]:
    return [
        FILES,
        "CREATE TABLE parts(k INTEGER, day DATE, v VARCHAR)",
        "ALTER TABLE parts SET PARTITIONED BY (k, year(day))",
        "INSERT INTO parts SELECT range % 3, DATE '2023-12-30' + range::INT, 'v' || range "
        "FROM range(6)",
        "INSERT INTO parts SELECT range % 3, DATE '2023-12-30' + range::INT, 'w' || range "
        "FROM range(6)",
        "CREATE TABLE merged(i INTEGER)",
        "INSERT INTO merged SELECT range FROM range(30)",
        "INSERT INTO merged SELECT range FROM range(30, 60)",
        "INSERT INTO merged SELECT range FROM range(60, 90)",
        "CALL ducklake_merge_adjacent_files('lake', 'merged')",
        "CREATE TABLE whole(i INTEGER, s VARCHAR)",
        "INSERT INTO whole SELECT range, 'r' || range FROM range(40)",
        "DELETE FROM whole WHERE i >= 10",
        "CALL ducklake_rewrite_data_files('lake', 'whole', delete_threshold => 0.1)",
    ]


def _objects_that_go() -> list[str]:
    return [
        "CREATE TABLE named(i INTEGER)",
        "INSERT INTO named SELECT range FROM range(5)",
        "ALTER TABLE named RENAME TO renamed",
        "CREATE SCHEMA gone",
        "CREATE TABLE gone.files(i INTEGER, s VARCHAR)",
        "ALTER TABLE gone.files SET PARTITIONED BY (i)",
        "INSERT INTO gone.files SELECT range % 2, 'g' || range FROM range(20)",
        "DELETE FROM gone.files WHERE s = 'g3'",
        "COMMENT ON COLUMN gone.files.i IS 'column'",
        "ALTER TABLE gone.files SET SORTED BY (s DESC)",
        INLINED,
        "CREATE TABLE gone.inlined(i INTEGER)",
        "INSERT INTO gone.inlined VALUES (1), (2)",
        "DELETE FROM gone.files WHERE s = 'g4'",
        "CREATE VIEW gone.seen AS SELECT 1 AS one",
        "CREATE MACRO gone.plus(a, b := 2) AS a + b",
        "DROP VIEW gone.seen",
        "DROP MACRO gone.plus",
        "DROP SCHEMA gone CASCADE",
        "INSERT INTO small VALUES (5, 'e', 50)",
    ]


TABLES = ("t", "small", "flushed", "parts", "merged", "whole", "added", "renamed")


def copy_lake(location: LakeLocation, directory: Path) -> LakeLocation:
    """A copy of a lake that nobody has open: its metadata database and its files."""
    directory.mkdir()
    copy = make_location(location.kind, directory, _copy_database(location, directory))
    shutil.copytree(location.data_path, copy.data_path)
    with copy.database(create=False) as db:
        db.execute(
            f"UPDATE {db.table('ducklake_metadata')} SET value = ? WHERE key = 'data_path'",
            (copy.data_path,),
        )
    return copy


def _copy_database(location: LakeLocation, directory: Path) -> str:
    """Copy the metadata database; for PostgreSQL, returns where the copy is."""
    target = location.url.target
    if location.kind != "postgres":
        shutil.copy(target, directory)
        return ""
    import psycopg

    words = psycopg.conninfo.conninfo_to_dict(target)
    name = f"{words['dbname']}_{directory.name}_{abs(hash(str(directory)))}"
    with psycopg.connect(target, dbname="postgres", autocommit=True) as server:
        server.execute(f'CREATE DATABASE "{name}" TEMPLATE "{words["dbname"]}"')
    return psycopg.conninfo.make_conninfo(target, dbname=name)
