"""What happened to one table from one snapshot to another, as the catalog tells it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ducklake_spark.catalog.columns import ColumnHistory
from ducklake_spark.catalog.files import (
    DATA_COLUMNS,
    DELETE_COLUMNS,
    read_data_file,
    read_delete_file,
)
from ducklake_spark.catalog.inlined import InlinedRow, InlinedSource, load_inlined_sources
from ducklake_spark.catalog_db.connection import Database, Statement
from ducklake_spark.model.entities import DeleteFile, TableEntry
from ducklake_spark.plan.changes import ChangedFile


@dataclass(frozen=True)
class TableChanges:
    """Rows of the catalog that concern the changes of one table in a range of snapshots.

    Args:
        files: data files that began, ended or lost rows in the range.
        inserted: inlined rows that the range added; the snapshot is the one that added them.
        deleted: inlined rows that the range removed; the snapshot is the one that removed them.
        log: text of the change log by snapshot, from the one before the range on.
        first_file_id: ids below this one were given to files before the range.
    """

    files: tuple[ChangedFile, ...]
    inserted: tuple[InlinedRow, ...]
    deleted: tuple[InlinedRow, ...]
    log: dict[int, str | None]
    first_file_id: int


def load_changes(
    db: Database,
    table: TableEntry,
    history: ColumnHistory,
    start: int,
    end: int,
    *,
    directory: str,
) -> TableChanges:
    """Load what concerns the range, all of it from one state of the metadata database."""
    name = f"ducklake_inlined_delete_{table.table_id}"
    with db.reading():
        inlined_deletes = name if db.has_table(name) else None
        stored = load_inlined_sources(db, table, history, end)
        condition = _changed_files(db, table.table_id, start, end, inlined_deletes)
        places = [_position_query(db, name, condition, end)] if inlined_deletes else []
        log, first_id, data, deletes, *rest = db.fetch_batch(
            [
                *_snapshot_queries(db, start, end),
                *_file_queries(db, condition, end),
                *places,
                *(_row_query(db, rows, start, end) for rows in stored),
            ]
        )
    positions = rest.pop(0) if inlined_deletes else []
    inserted, deleted = _changed_rows(stored, rest, start, end)
    return TableChanges(
        _changed(db, data, deletes, positions, directory),
        inserted,
        deleted,
        dict(log),
        int(first_id[0][0]),
    )


def _snapshot_queries(db: Database, start: int, end: int) -> tuple[Statement, Statement]:
    return (
        Statement(
            "SELECT s.snapshot_id, c.changes_made FROM "
            f"{db.table('ducklake_snapshot')} s LEFT JOIN "
            f"{db.table('ducklake_snapshot_changes')} c ON c.snapshot_id = s.snapshot_id "
            "WHERE s.snapshot_id >= ? AND s.snapshot_id <= ?",
            (start - 1, end),
        ),
        Statement(
            f"SELECT coalesce(max(next_file_id), 0) FROM {db.table('ducklake_snapshot')} "
            "WHERE snapshot_id < ?",
            (start,),
        ),
    )


def _changed_files(
    db: Database, table_id: int, start: int, end: int, inlined_deletes: str | None
) -> Statement:
    """The condition on a data file `d` that began, ended or lost rows in the range.

    A delete file may hold deletes of several snapshots without saying so (those that a flush
    writes do); it cannot hold any of the range when it is older than the range.
    """
    text = (
        "d.table_id = ? AND d.begin_snapshot <= ? AND (d.begin_snapshot >= ? "
        "OR d.partial_max >= ? OR (d.end_snapshot >= ? AND d.end_snapshot <= ?) "
        f"OR d.data_file_id IN (SELECT y.data_file_id FROM {db.table('ducklake_delete_file')} y "
        "WHERE y.table_id = ? AND y.begin_snapshot <= ? AND (y.begin_snapshot >= ? "
        "OR y.partial_max >= ? OR (y.partial_max IS NULL AND y.delete_file_id >= "
        f"(SELECT coalesce(max(next_file_id), 0) FROM {db.table('ducklake_snapshot')} "
        "WHERE snapshot_id < ?))))"
    )
    params = [table_id, end, start, start, start, end, table_id, end, start, start, start]
    if inlined_deletes:
        text += (
            f" OR d.data_file_id IN (SELECT file_id FROM {db.table(inlined_deletes)} "
            "WHERE begin_snapshot >= ? AND begin_snapshot <= ?)"
        )
        params += [start, end]
    return Statement(f"{text})", tuple(params))


def _file_queries(db: Database, changed: Statement, end: int) -> tuple[Statement, Statement]:
    data = f"{db.table('ducklake_data_file')} d"
    return (
        Statement(
            f"SELECT d.end_snapshot, {DATA_COLUMNS} FROM {data} WHERE {changed.sql} "
            "ORDER BY d.data_file_id",
            changed.params,
        ),
        Statement(
            f"SELECT x.data_file_id, {DELETE_COLUMNS} FROM {data} "
            f"JOIN {db.table('ducklake_delete_file')} x ON x.data_file_id = d.data_file_id "
            f"WHERE {changed.sql} AND x.begin_snapshot <= ?",
            (*changed.params, end),
        ),
    )


def _position_query(db: Database, name: str, changed: Statement, end: int) -> Statement:
    return Statement(
        f"SELECT p.file_id, p.row_id, min(p.begin_snapshot) FROM {db.table(name)} p "
        f"JOIN {db.table('ducklake_data_file')} d ON d.data_file_id = p.file_id "
        f"WHERE {changed.sql} AND p.begin_snapshot <= ? GROUP BY p.file_id, p.row_id",
        (*changed.params, end),
    )


def _row_query(db: Database, rows: InlinedSource, start: int, end: int) -> Statement:
    return Statement(
        f"SELECT row_id, begin_snapshot, end_snapshot, {rows.columns} FROM "
        f"{db.table(rows.table.table_name)} WHERE (begin_snapshot >= ? AND begin_snapshot <= ?) "
        "OR (end_snapshot >= ? AND end_snapshot <= ?)",
        (start, end, start, end),
    )


def _changed(
    db: Database,
    data: Sequence[tuple[Any, ...]],
    deletes: Sequence[tuple[Any, ...]],
    positions: Sequence[tuple[Any, ...]],
    directory: str,
) -> tuple[ChangedFile, ...]:
    delete_files: dict[int, list[DeleteFile]] = defaultdict(list)
    for file_id, *row in deletes:
        found = read_delete_file(db, tuple(row), directory)
        if found is not None:
            delete_files[file_id].append(found)
    inlined: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for file_id, position, snapshot in positions:
        inlined[file_id].append((int(position), int(snapshot)))
    return tuple(
        ChangedFile(
            read_data_file(db, (*row, None), directory, 0),
            end_snapshot,
            tuple(delete_files[row[0]]),
            tuple(inlined[row[0]]),
        )
        for end_snapshot, *row in data
    )


def _changed_rows(
    stored: Sequence[InlinedSource],
    fetched: Sequence[Sequence[tuple[Any, ...]]],
    start: int,
    end: int,
) -> tuple[tuple[InlinedRow, ...], tuple[InlinedRow, ...]]:
    inserted: list[InlinedRow] = []
    deleted: list[InlinedRow] = []
    for rows, found in zip(stored, fetched, strict=True):
        for row_id, first, last, *texts in found:
            if first == last:
                continue  # came and went in one commit
            values = rows.read(texts)
            if start <= first <= end:
                inserted.append(InlinedRow(row_id, first, values))
            if last is not None and start <= last <= end:
                deleted.append(InlinedRow(row_id, last, values))
    return tuple(inserted), tuple(deleted)
