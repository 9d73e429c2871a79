"""What a transaction has done to the rows of a table, out of its changes. Pure; driver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

from ducklake_spark.model.changes import (
    AppendFiles,
    Change,
    DeleteFromFiles,
    InlineDeletes,
    InlineRows,
)
from ducklake_spark.model.written import WrittenDeletes, WrittenFile

OwnRow = tuple[int | None, tuple[Any, ...]]
"""The id of the row that it replaces, None for a new one; and its values."""


def own_files(changes: Iterable[Change], table_id: int) -> list[WrittenFile]:
    """The files that the changes add to a table, in order."""
    return [
        file
        for change in changes
        if isinstance(change, AppendFiles) and change.table.table_id == table_id
        for file in change.files
    ]


def own_rows(changes: Iterable[Change], table_id: int) -> list[OwnRow]:
    """The rows that the changes add to a table inside the metadata database, in order."""
    return [
        row
        for change in changes
        if isinstance(change, InlineRows) and change.table.table_id == table_id
        for row in zip(_ids_of(change), change.rows, strict=True)
    ]


def without_own(
    changes: Sequence[Change],
    table_id: int,
    deletes: Mapping[int, WrittenDeletes | None],
    rows: AbstractSet[int],
) -> list[Change]:
    """The changes after rows that they add have been deleted again.

    Args:
        changes: all changes of the transaction.
        table_id: whose rows are deleted.
        deletes: what hides rows of a file, by its place in `own_files`; None when no row is left.
        rows: places in `own_rows`.
    """
    return list(_edited(changes, table_id, deletes, rows))


def _edited(
    changes: Sequence[Change],
    table_id: int,
    deletes: Mapping[int, WrittenDeletes | None],
    rows: AbstractSet[int],
) -> Iterator[Change]:
    file_place = row_place = 0
    for change in changes:
        if isinstance(change, AppendFiles) and change.table.table_id == table_id:
            places = range(file_place, file_place + len(change.files))
            file_place = places.stop
            kept = _kept_files(zip(places, change.files, strict=True), deletes)
            if kept:
                yield replace(change, files=kept)
        elif isinstance(change, InlineRows) and change.table.table_id == table_id:
            start, row_place = row_place, row_place + len(change.rows)
            left = [i for i in range(len(change.rows)) if start + i not in rows]
            if left:
                ids = tuple(change.row_ids[i] for i in left) if change.row_ids else ()
                yield replace(change, rows=tuple(change.rows[i] for i in left), row_ids=ids)
        else:
            yield change


def _kept_files(
    files: Iterable[tuple[int, WrittenFile]], deletes: Mapping[int, WrittenDeletes | None]
) -> tuple[WrittenFile, ...]:
    return tuple(
        replace(file, deletes=deletes[place]) if place in deletes else file
        for place, file in files
        if place not in deletes or deletes[place] is not None
    )


def find_file_deletes(changes: Iterable[Change], table_id: int) -> DeleteFromFiles | None:
    """What the changes delete from committed files of a table."""
    found = (c for c in changes if isinstance(c, DeleteFromFiles) and c.table.table_id == table_id)
    return next(found, None)


def find_inline_deletes(changes: Iterable[Change], table_id: int) -> InlineDeletes | None:
    """What the changes delete of a table inside the metadata database."""
    found = (c for c in changes if isinstance(c, InlineDeletes) and c.table.table_id == table_id)
    return next(found, None)


def merged(changes: Iterable[Change], new: Change) -> Change:
    """`new` together with what the changes deleted from the same table before."""
    if isinstance(new, DeleteFromFiles):
        files = find_file_deletes(changes, new.table.table_id)
        return new if files is None else _merge_files(files, new)
    if isinstance(new, InlineDeletes):
        rows = find_inline_deletes(changes, new.table.table_id)
        return new if rows is None else _merge_inlined(rows, new)
    return new


def _merge_files(old: DeleteFromFiles, new: DeleteFromFiles) -> DeleteFromFiles:
    """A file has one delete file at most, which holds what the one before it held."""
    before = {each.data_file_id: each for each in old.deletes}
    for each in new.deletes:
        known = before.get(each.data_file_id)
        # What a delete file of the same transaction took the place of is still to be taken away.
        before[each.data_file_id] = replace(each, replaced=known.replaced) if known else each
    ended = (*old.ended, *new.ended)
    kept = tuple(each for file_id, each in before.items() if file_id not in set(ended))
    return replace(new, deletes=kept, ended=ended)


def _merge_inlined(old: InlineDeletes, new: InlineDeletes) -> InlineDeletes:
    return replace(new, positions=(*old.positions, *new.positions), rows=(*old.rows, *new.rows))


def _ids_of(change: InlineRows) -> Sequence[int | None]:
    return change.row_ids or (None,) * len(change.rows)
