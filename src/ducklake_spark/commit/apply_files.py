"""Rows for data files that a table gains, and the table's running statistics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from ducklake_spark.commit.apply_inlined import NewRow, insert_inlined_rows
from ducklake_spark.commit.apply_mappings import MappingIds, take_mappings
from ducklake_spark.commit.base import TableTotals
from ducklake_spark.commit.rows import CommitRows
from ducklake_spark.model.changes import AppendFiles, InlineRows
from ducklake_spark.model.entities import PartitionSpec, TableEntry
from ducklake_spark.model.row_stats import row_stats
from ducklake_spark.model.stats import TableColumnStats, merge_stats
from ducklake_spark.model.written import ColumnStats, WrittenDeletes, WrittenFile

OwnDeletes = tuple[int, int, WrittenDeletes]
"""The ids of a table and of a new data file of it, and what hides rows of that file."""


def apply_appends(
    commit: CommitRows, changes: Sequence[AppendFiles | InlineRows]
) -> list[OwnDeletes]:
    """All appends of a transaction, table by table: each table's totals are touched once.

    Returns the delete files of the new data files: they get their ids after all data files.
    """
    mappings = take_mappings(commit, changes)
    deletes: list[OwnDeletes] = []
    by_table: dict[int, list[AppendFiles | InlineRows]] = defaultdict(list)
    for change in changes:
        by_table[change.table.table_id].append(change)
    for appends in by_table.values():
        # Each file with the table as it was then: it may have been partitioned otherwise.
        files = [
            (change.table.partition, file)
            for change in appends
            if isinstance(change, AppendFiles)
            for file in change.files
        ]
        rows = [r for change in appends if isinstance(change, InlineRows) for r in _rows(change)]
        deletes += _append(commit, appends[-1].table, files, rows, mappings)
    return deletes


def _rows(change: InlineRows) -> Iterator[NewRow]:
    row_ids = change.row_ids or (None,) * len(change.rows)
    return zip(row_ids, change.rows, strict=True)


def _append(
    commit: CommitRows,
    table: TableEntry,
    placed: Sequence[tuple[PartitionSpec | None, WrittenFile]],
    rows: Sequence[NewRow],
    mappings: MappingIds,
) -> list[OwnDeletes]:
    table_id = commit.real_id(table.table_id)
    totals = commit.base.totals.get(table_id)
    row_id = totals.next_row_id if totals else 0
    deletes = []
    files = [file for _, file in placed]
    for spec, file in placed:
        mapping_id = None if file.mapping is None else mappings.of(table, file)
        file_id = _insert_file(commit, spec, table_id, file, row_id, mapping_id)
        row_id += file.record_count
        if file.deletes is not None:
            deletes.append((table_id, file_id, file.deletes))
    if rows:
        row_id = insert_inlined_rows(commit, table, table_id, rows, row_id)
    if not files:
        commit.take_file_id()  # spent: readers notice new data by the counter of files
    added = TableTotals(
        sum(file.record_count for file in files) + len(rows),
        row_id,
        sum(file.file_size_bytes for file in files),
    )
    _store_totals(commit, table_id, totals, added)
    stats = [each for file in files for each in file.column_stats]
    stats += row_stats(table.schema, [values for _, values in rows]) if rows else ()
    had_rows = totals is not None and totals.record_count > 0
    widen_bounds(commit, table, table_id, stats, had_rows=had_rows)
    return deletes


def _insert_file(
    commit: CommitRows,
    spec: PartitionSpec | None,
    table_id: int,
    file: WrittenFile,
    row_id_start: int,
    mapping_id: int | None = None,
) -> int:
    file_id = commit.take_file_id()
    partition = spec if file.partition_values else None
    commit.insert(
        "ducklake_data_file",
        file_id,
        table_id,
        commit.snapshot_id,
        None,
        None,
        file.relative_path or file.path,
        bool(file.relative_path),
        "parquet",
        file.record_count,
        file.file_size_bytes,
        file.footer_size,
        row_id_start,
        commit.real_id(partition.partition_id) if partition else None,
        None,
        mapping_id,
        None,
    )
    insert_file_facts(commit, table_id, file_id, file)
    return file_id


def insert_file_facts(commit: CommitRows, table_id: int, file_id: int, file: WrittenFile) -> None:
    """What readers leave a data file out by: its statistics and partition values."""
    for stats in file.column_stats:
        commit.insert(
            "ducklake_file_column_stats",
            file_id,
            table_id,
            stats.column_id,
            stats.column_size_bytes,
            stats.value_count,
            stats.null_count,
            stats.min_value,
            stats.max_value,
            stats.contains_nan,
            stats.extra_stats,
        )
    for index, value in enumerate(file.partition_values):
        commit.insert("ducklake_file_partition_value", file_id, table_id, index, value)


def _store_totals(
    commit: CommitRows, table_id: int, known: TableTotals | None, added: TableTotals
) -> None:
    """Add to the table's row of statistics; `next_row_id` of `added` is the new one."""
    if known is None:
        values = (added.record_count, added.next_row_id, added.file_size_bytes)
        commit.insert("ducklake_table_stats", table_id, *values)
        commit.totals[table_id] = added
        return
    values = (
        known.record_count + added.record_count,
        added.next_row_id,
        known.file_size_bytes + added.file_size_bytes,
    )
    commit.execute(
        f"UPDATE {commit.db.table('ducklake_table_stats')} SET record_count = ?, "
        "next_row_id = ?, file_size_bytes = ? WHERE table_id = ?",
        *values,
        table_id,
    )
    commit.totals[table_id] = TableTotals(*values)


def widen_bounds(
    commit: CommitRows,
    table: TableEntry,
    table_id: int,
    added: Sequence[ColumnStats],
    *,
    had_rows: bool,
) -> None:
    """Widen the table's bounds to cover rows of its files: DuckDB answers from them.

    One row that changes is updated. Several are written anew: two statements, however many.
    """
    current = commit.base.column_stats.get(table_id, {})
    by_column: dict[int, list[ColumnStats]] = defaultdict(list)
    for stats in added:
        # A file may have columns that the same transaction has dropped since.
        if stats.column_id in table.schema.by_id:
            by_column[stats.column_id].append(stats)
    outdated: list[int] = []
    widened: list[TableColumnStats] = []
    after = dict(current)
    for column_id, parts in by_column.items():
        known = current.get(column_id)
        kind = table.schema.by_id[column_id].type
        merged = merge_stats(known, parts, kind, had_rows=had_rows)
        if merged == known:
            continue
        if known is not None:
            outdated.append(column_id)
            del after[column_id]
        # No row says "unknown"; a row without bounds would be taken for "no values so far".
        if merged is not None:
            widened.append(merged)
            after[column_id] = merged
    commit.column_stats[table_id] = after
    _store_column_stats(commit, table_id, outdated, widened)


def _store_column_stats(
    commit: CommitRows, table_id: int, outdated: Sequence[int], widened: Sequence[TableColumnStats]
) -> None:
    name = commit.db.table("ducklake_table_column_stats")
    if len(outdated) == 1 and [stats.column_id for stats in widened] == outdated:
        (stats,) = widened
        commit.execute(
            f"UPDATE {name} SET contains_null = ?, contains_nan = ?, min_value = ?, "
            "max_value = ?, extra_stats = ? WHERE table_id = ? AND column_id = ?",
            *_column_values(stats),
            table_id,
            stats.column_id,
        )
        return
    for stats in widened:
        values = _column_values(stats)
        commit.insert("ducklake_table_column_stats", table_id, stats.column_id, *values)
    if outdated:
        marks = ", ".join("?" for _ in outdated)
        commit.execute(
            f"DELETE FROM {name} WHERE table_id = ? AND column_id IN ({marks})",
            table_id,
            *outdated,
        )


def _column_values(stats: TableColumnStats) -> tuple[bool | str | None, ...]:
    return (
        stats.contains_null,
        stats.contains_nan,
        stats.min_value,
        stats.max_value,
        stats.extra_stats,
    )
