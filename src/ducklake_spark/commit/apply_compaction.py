"""Rows for files that take the place of others: merged, rewritten and flushed ones."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ducklake_spark.commit.apply_deletes import insert_delete_file
from ducklake_spark.commit.apply_files import insert_file_facts, widen_bounds
from ducklake_spark.commit.exact_stats import store_exact_stats
from ducklake_spark.commit.rows import CommitRows
from ducklake_spark.limits import limits
from ducklake_spark.model.compaction import (
    CompactedFile,
    CompactedGroup,
    FlushDeletes,
    FlushedFile,
    FlushRows,
    MergeFiles,
    RewriteFiles,
    SourceFile,
)

# All that the catalog knows of a data file.
_OF_DATA_FILE: Final = (
    "ducklake_data_file",
    "ducklake_file_column_stats",
    "ducklake_delete_file",
    "ducklake_file_partition_value",
    "ducklake_file_variant_stats",
)


def apply_merge(commit: CommitRows, change: MergeFiles) -> None:
    """The old files are forgotten at once: the new ones know which row is of which snapshot."""
    sources = [source for group in change.groups for source in group.sources]
    for table in _OF_DATA_FILE:
        _delete_by_id(commit, table, "data_file_id", [source.file_id for source in sources])
    _schedule(commit, sources)
    for file in _files(change.groups):
        insert_data_file(commit, change.table.table_id, file)


def apply_rewrite(commit: CommitRows, change: RewriteFiles) -> None:
    """The old files end, with their delete files; past snapshots still need them."""
    sources = [source for group in change.groups for source in group.sources]
    _end_by_id(commit, "ducklake_data_file", "data_file_id", [s.file_id for s in sources])
    deletes = [s.delete_file_id for s in sources if s.delete_file_id is not None]
    _end_by_id(commit, "ducklake_delete_file", "delete_file_id", deletes)
    for file in _files(change.groups):
        insert_data_file(commit, change.table.table_id, file)
    written = [file.written for file in _files(change.groups)]
    store_exact_stats(commit, change.table, {source.file_id for source in sources}, written)


def apply_flush_rows(commit: CommitRows, change: FlushRows) -> None:
    """The inlined rows go, the files that hold them come.

    The table's bounds cover the rows that are there; those of rows that only older snapshots see
    may be lost since the last rewrite.
    """
    table_id = change.table.table_id
    for emptied in change.emptied:
        commit.execute(
            f"DELETE FROM {commit.db.table(emptied.table_name)} WHERE begin_snapshot <= ?",
            change.until,
        )
    flushed = [file for emptied in change.emptied for file in emptied.files]
    ids = [insert_data_file(commit, table_id, each.file) for each in flushed]
    for file_id, each in zip(ids, flushed, strict=True):
        if each.deletes is not None:
            insert_delete_file(commit, table_id, file_id, each.deletes)
    commit.execute(
        f"UPDATE {commit.db.table('ducklake_table_stats')} "
        "SET file_size_bytes = file_size_bytes + ? WHERE table_id = ?",
        sum(_size(each) for each in flushed),
        table_id,
    )
    stats = [each for file in flushed for each in file.file.written.column_stats]
    widen_bounds(commit, change.table, table_id, stats, had_rows=True)
    _drop_superseded(commit, change)


def apply_flush_deletes(commit: CommitRows, change: FlushDeletes) -> None:
    """Inlined deletes become delete files, each in the place of the one there may have been."""
    table_id = change.table.table_id
    name = commit.db.table(f"ducklake_inlined_delete_{table_id}")
    for part in _parts([file.data_file_id for file in change.files]):
        marks = ", ".join("?" for _ in part)
        commit.execute(
            f"DELETE FROM {name} WHERE begin_snapshot <= ? AND file_id IN ({marks})",
            change.until,
            *part,
        )
    replaced = [file.replaced for file in change.files if file.replaced is not None]
    _delete_by_id(commit, "ducklake_delete_file", "delete_file_id", [r.file_id for r in replaced])
    _schedule(commit, replaced)
    for file in change.files:
        insert_delete_file(commit, table_id, file.data_file_id, file.deletes)


def insert_data_file(commit: CommitRows, table_id: int, file: CompactedFile) -> int:
    """The rows for a data file whose rows are not new; returns its id."""
    file_id = commit.take_file_id()
    written = file.written
    commit.insert(
        "ducklake_data_file",
        file_id,
        table_id,
        commit.snapshot_id if file.begin_snapshot is None else file.begin_snapshot,
        None,
        None,
        written.relative_path,
        True,
        "parquet",
        written.record_count,
        written.file_size_bytes,
        written.footer_size,
        file.row_id_start,
        file.partition_id,
        None,
        None,
        file.partial_max,
    )
    insert_file_facts(commit, table_id, file_id, written)
    return file_id


def _drop_superseded(commit: CommitRows, change: FlushRows) -> None:
    """Drop tables of inlined rows that are of older schema versions, and empty now.

    Sessions of DuckDB keep a list of them for as long as the schema version is the same.
    """
    for name in change.superseded:
        table = commit.db.table(name)
        if commit.db.fetch(f"SELECT 1 FROM {table} WHERE begin_snapshot > ?", (change.until,)):
            continue
        commit.changes_schema = True
        commit.execute(
            f"DELETE FROM {commit.db.table('ducklake_inlined_data_tables')} "
            "WHERE table_id = ? AND table_name = ?",
            change.table.table_id,
            name,
        )
        commit.execute(f"DROP TABLE {table}")


def _schedule(commit: CommitRows, files: Iterable[SourceFile]) -> None:
    now = dt.datetime.now(dt.timezone.utc)
    for file in files:
        commit.insert(
            "ducklake_files_scheduled_for_deletion",
            file.file_id,
            file.path,
            file.path_is_relative,
            now,
        )


def _delete_by_id(commit: CommitRows, table: str, key: str, ids: Sequence[int]) -> None:
    for part in _parts(ids):
        marks = ", ".join("?" for _ in part)
        commit.execute(f"DELETE FROM {commit.db.table(table)} WHERE {key} IN ({marks})", *part)


def _end_by_id(commit: CommitRows, table: str, key: str, ids: Sequence[int]) -> None:
    for part in _parts(ids):
        marks = ", ".join("?" for _ in part)
        commit.execute(
            f"UPDATE {commit.db.table(table)} SET end_snapshot = ? WHERE {key} IN ({marks})",
            commit.snapshot_id,
            *part,
        )


def _parts(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    size = limits().compacted_ids_per_statement
    for start in range(0, len(ids), size):
        yield ids[start : start + size]


def _files(groups: Iterable[CompactedGroup]) -> list[CompactedFile]:
    return [file for group in groups for file in group.files]


def _size(flushed: FlushedFile) -> int:
    return flushed.file.written.file_size_bytes
