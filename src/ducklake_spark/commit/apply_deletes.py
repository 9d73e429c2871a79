"""Rows for what goes from a table: delete files, data files that end, notes in the catalog."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ducklake_spark.catalog_db.statements import create_inlined_delete_sql
from ducklake_spark.commit.rows import CommitRows
from ducklake_spark.limits import limits
from ducklake_spark.model.changes import DeleteFromFiles, FileDeletes, InlineDeletes
from ducklake_spark.model.written import WrittenDeletes

# Databases limit the number of parameters of a statement.


def apply_deletes(commit: CommitRows, changes: Sequence[DeleteFromFiles | InlineDeletes]) -> None:
    """All deletes of a transaction. Neither counts nor bounds of a table shrink by them."""
    for change in changes:
        if isinstance(change, DeleteFromFiles):
            _delete_from_files(commit, change)
        else:
            _inline_deletes(commit, change)


def insert_delete_file(
    commit: CommitRows, table_id: int, data_file_id: int, written: WrittenDeletes
) -> None:
    """One row of ducklake_delete_file."""
    begin = written.begin_snapshot
    commit.insert(
        "ducklake_delete_file",
        commit.take_file_id(),
        table_id,
        commit.snapshot_id if begin is None else begin,
        None,
        data_file_id,
        written.relative_path,
        True,
        "parquet",
        written.delete_count,
        written.file_size_bytes,
        written.footer_size,
        None,
        written.partial_max,
    )


def _delete_from_files(commit: CommitRows, change: DeleteFromFiles) -> None:
    table_id = change.table.table_id
    for deletes in change.deletes:
        insert_delete_file(commit, table_id, deletes.data_file_id, deletes.written)
    _retire(commit, change.deletes)
    for ids in _chunks(change.ended, limits().values_per_statement):
        commit.execute(
            f"UPDATE {commit.db.table('ducklake_data_file')} SET end_snapshot = ? "
            f"WHERE end_snapshot IS NULL AND data_file_id IN ({_marks(ids)})",
            commit.snapshot_id,
            *ids,
        )


def _retire(commit: CommitRows, deletes: Iterable[FileDeletes]) -> None:
    """Take delete files away whose positions stand in others now, with their snapshots."""
    retired = [each.replaced for each in deletes if each.replaced is not None]
    now = dt.datetime.now(dt.timezone.utc)
    for file in retired:
        commit.insert(
            "ducklake_files_scheduled_for_deletion",
            file.delete_file_id,
            file.stored_path or file.path,
            file.stored_path is not None,
            now,
        )
    for ids in _chunks([file.delete_file_id for file in retired], limits().values_per_statement):
        commit.execute(
            f"DELETE FROM {commit.db.table('ducklake_delete_file')} "
            f"WHERE delete_file_id IN ({_marks(ids)})",
            *ids,
        )


def _inline_deletes(commit: CommitRows, change: InlineDeletes) -> None:
    if change.positions:
        name = commit.db.table(f"ducklake_inlined_delete_{change.table.table_id}")
        commit.execute(create_inlined_delete_sql(name))
        for rows in _chunks(change.positions, limits().values_per_statement // 3):
            values = [value for row in rows for value in (*row, commit.snapshot_id)]
            marks = ", ".join("(?, ?, ?)" for _ in rows)
            commit.execute(f"INSERT INTO {name} VALUES {marks}", *values)
    by_table: dict[str, list[int]] = defaultdict(list)
    for table_name, row_id in change.rows:
        by_table[table_name].append(row_id)
    for table_name, row_ids in by_table.items():
        for ids in _chunks(row_ids, limits().values_per_statement):
            # A row that takes the place of another has its id, and begins with this commit.
            commit.execute(
                f"UPDATE {commit.db.table(table_name)} SET end_snapshot = ? WHERE "
                f"end_snapshot IS NULL AND begin_snapshot < ? AND row_id IN ({_marks(ids)})",
                commit.snapshot_id,
                commit.snapshot_id,
                *ids,
            )


def _chunks(values: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" for _ in values)
