"""Statistics of a table from those of its files, once no deleted row is left in them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from ducklake_spark.catalog.columns import column_history_query, read_column_history
from ducklake_spark.catalog.inlined import load_inlined_rows
from ducklake_spark.commit.rows import CommitRows
from ducklake_spark.model.entities import TableEntry
from ducklake_spark.model.row_stats import row_stats
from ducklake_spark.model.stats import TableColumnStats, merge_stats
from ducklake_spark.model.written import ColumnStats, WrittenFile

Parts = dict[int, list[ColumnStats]]
"""The statistics of each column, one for each file that has some."""


def store_exact_stats(
    commit: CommitRows, table: TableEntry, removed: AbstractSet[int], added: Sequence[WrittenFile]
) -> None:
    """Count the table anew, unless rows of its other files are still deleted.

    Deletes never narrow the bounds of a table. A rewrite is when they can become exact again,
    and when DuckDB takes them for exact: it compares the number of rows.

    Args:
        commit: the commit.
        table: whose files are rewritten.
        removed: ids of the files that go.
        added: the files that come.
    """
    totals = commit.base.totals.get(table.table_id)
    kept = _kept_files(commit, table.table_id, removed)
    if totals is None or kept is None:
        return
    history = read_column_history(
        commit.db, commit.db.fetch_batch([column_history_query(commit.db, table.table_id)])[0]
    )
    latest = commit.base.latest.snapshot_id
    rows = [row.values for row in load_inlined_rows(commit.db, table, history, latest)]
    commit.execute(
        f"UPDATE {commit.db.table('ducklake_table_stats')} "
        "SET record_count = ?, file_size_bytes = ? WHERE table_id = ?",
        sum(count for count, _ in kept.values())
        + sum(file.record_count for file in added)
        + len(rows),
        sum(size for _, size in kept.values()) + sum(file.file_size_bytes for file in added),
        table.table_id,
    )
    parts = _load_parts(commit, table.table_id, kept)
    for stats in (*(s for file in added for s in file.column_stats), *_of_rows(table, rows)):
        parts[stats.column_id].append(stats)
    sources = len(kept) + len(added) + (1 if rows else 0)
    retyped = _retyped({(row.column_id, row.type_name.lower()) for row in history.rows})
    known = {i: found for i, found in parts.items() if len(found) == sources and i not in retyped}
    _store(commit, table, known, has_rows=sources > 0)


def _of_rows(table: TableEntry, rows: Sequence[Sequence[Any]]) -> tuple[ColumnStats, ...]:
    return row_stats(table.schema, rows) if rows else ()


def _kept_files(
    commit: CommitRows, table_id: int, removed: AbstractSet[int]
) -> dict[int, tuple[int, int]] | None:
    """Rows and bytes of the other live files by id; None if rows of one of them are deleted."""
    db = commit.db
    rows = db.fetch(
        f"SELECT data_file_id, record_count, file_size_bytes FROM {db.table('ducklake_data_file')} "
        "WHERE table_id = ? AND end_snapshot IS NULL",
        (table_id,),
    )
    kept = {row[0]: (row[1], row[2]) for row in rows if row[0] not in removed}
    deleted = db.fetch(
        f"SELECT data_file_id FROM {db.table('ducklake_delete_file')} "
        "WHERE table_id = ? AND end_snapshot IS NULL",
        (table_id,),
    )
    name = f"ducklake_inlined_delete_{table_id}"
    if db.has_table(name):
        deleted += db.fetch(f"SELECT DISTINCT file_id FROM {db.table(name)}")
    return None if any(row[0] in kept for row in deleted) else kept


def _load_parts(commit: CommitRows, table_id: int, kept: Mapping[int, Any]) -> Parts:
    db = commit.db
    rows = db.fetch(
        "SELECT data_file_id, column_id, value_count, null_count, min_value, max_value, "
        f"contains_nan FROM {db.table('ducklake_file_column_stats')} WHERE table_id = ?",
        (table_id,),
    )
    parts: Parts = defaultdict(list)
    for file_id, column_id, values, nulls, low, high, nan in rows:
        if file_id in kept:
            has_nan = None if nan is None else db.decode("boolean", nan)
            parts[column_id].append(ColumnStats(column_id, None, values, nulls, low, high, has_nan))
    return parts


def _retyped(types: AbstractSet[tuple[int, str]]) -> set[int]:
    """Columns that have had several types: the text of a bound is not the same in all of them."""
    kinds: dict[int, set[str]] = defaultdict(set)
    for column_id, name in types:
        kinds[column_id].add(name)
    return {column_id for column_id, names in kinds.items() if len(names) > 1}


def _store(commit: CommitRows, table: TableEntry, known: Parts, *, has_rows: bool) -> None:
    """Replace the rows there are: a column without one stays without, it would be misread."""
    current = commit.base.column_stats.get(table.table_id, {})
    present = [column_id for column_id in current if column_id in table.schema.by_id]
    if not present:
        return
    commit.execute(
        f"DELETE FROM {commit.db.table('ducklake_table_column_stats')} WHERE table_id = ? "
        f"AND column_id IN ({', '.join('?' for _ in present)})",
        table.table_id,
        *present,
    )
    for column_id in present:
        kind = table.schema.by_id[column_id].type
        if not has_rows:
            merged: TableColumnStats | None = TableColumnStats(column_id, None, None, None, None)
        else:
            merged = merge_stats(None, known.get(column_id, ()), kind, had_rows=False)
        if merged is not None:
            commit.insert(
                "ducklake_table_column_stats",
                table.table_id,
                column_id,
                merged.contains_null,
                merged.contains_nan,
                merged.min_value,
                merged.max_value,
                merged.extra_stats,
            )
