"""Rows for the layout of a table: how its files are divided and in which order rows are written."""

from __future__ import annotations

from collections.abc import Sequence

from ducklake_spark.commit.rows import CommitRows
from ducklake_spark.model.changes import (
    AlterTable,
    AppendFiles,
    Change,
    CreateTable,
    SetPartition,
    SetSort,
)
from ducklake_spark.model.entities import PartitionSpec, SortSpec, TableEntry


def apply_set_partition(commit: CommitRows, change: SetPartition, same: Sequence[Change]) -> None:
    """End the table's spec and write the new one, also when it has no keys.

    Every statement takes an id, as in the extension. A spec that a later statement of the same
    transaction replaced leaves rows only if files were written under it: such rows begin and end
    with the snapshot, so that nobody sees them but who looks for the spec of those files.

    Args:
        commit: gets the rows.
        change: what to apply.
        same: all changes of the transaction to this table.
    """
    table_id = commit.real_id(change.table.table_id)
    last = min(c.spec.partition_id for c in same if isinstance(c, SetPartition))
    replaced = change.spec.partition_id != last
    if replaced and not _has_files(change.spec, same):
        commit.take_catalog_id(change.spec.partition_id)
        return
    if change.table.table_id >= 0:
        commit.change_table(table_id, change.table.schema, inline=change.inline)
    if _is_divided_so(change.spec, same):
        commit.take_catalog_id(change.spec.partition_id)
        return
    if change.table.table_id >= 0:
        commit.end("ducklake_partition_info", "table_id", table_id)
    insert_partition(commit, table_id, change.spec, ended=replaced)


def apply_first_partition(commit: CommitRows, table: TableEntry, same: Sequence[Change]) -> None:
    """Write the spec that a table was made with, unless the same transaction has replaced it."""
    spec = table.partition
    if spec is None:
        return
    sets = [c for c in same if isinstance(c, SetPartition)]
    replaced = bool(sets) and not _is_divided_so(sets[-1].spec, same)
    if replaced and not _has_files(spec, same):
        commit.take_catalog_id(spec.partition_id)
        return
    insert_partition(commit, commit.real_id(table.table_id), spec, ended=replaced)


def _is_divided_so(spec: PartitionSpec, same: Sequence[Change]) -> bool:
    """Whether the transaction leaves the table divided as it was, and no file under another id."""
    sets = [c for c in same if isinstance(c, SetPartition)]
    before = sets[0].table.partition
    fields = before.fields if before is not None else ()
    return spec.fields == fields and not any(_has_files(c.spec, same) for c in sets)


def _has_files(spec: PartitionSpec, same: Sequence[Change]) -> bool:
    used = (c.table.partition for c in same if isinstance(c, AppendFiles))
    return any(p is not None and p.partition_id == spec.partition_id for p in used)


def apply_sort(commit: CommitRows, change: Change, same: Sequence[Change]) -> None:
    """Write the sort order that a change sets, if it is the last one of the transaction.

    An order is set by statements, and anew when a column that it names gets another name. The
    ones before only take their ids. The same order again takes an id and leaves no rows, if it
    is told as exactly as the catalog has it: that is what the reference does.
    """
    order = _order_of(change)
    if order is None:
        return
    place, table, spec = order
    last = min(found[0] for c in same if (found := _order_of(c)) is not None)
    if place != last:
        if spec is not None:
            commit.take_catalog_id(spec.sort_id)
        return
    if isinstance(change, SetSort) and _is_sorted_so(change, same):
        commit.take_catalog_id(place)
        return
    if table.table_id >= 0:
        commit.end("ducklake_sort_info", "table_id", table.table_id)
    if spec is not None:
        insert_sort(commit, commit.real_id(table.table_id), spec)


def _is_sorted_so(change: SetSort, same: Sequence[Change]) -> bool:
    """Whether the order is the one that the table has in the catalog."""
    sorts = (c.table.sort for c in same if isinstance(c, SetSort))
    before = next((sort for sort in sorts if sort is not None and sort.sort_id >= 0), None)
    keys = change.spec.keys if change.spec is not None else ()
    return change.exact and before is not None and before.keys == keys


def _order_of(change: Change) -> tuple[int, TableEntry, SortSpec | None] | None:
    """The place, the table and the sort order of a change that sets one."""
    match change:
        case SetSort(table, spec, place, _):
            return place, table, spec
        case CreateTable(TableEntry(sort=SortSpec() as spec) as table):
            return spec.sort_id, table, spec
        case AlterTable(TableEntry(sort=SortSpec() as spec) as table, new_sort=True):
            return spec.sort_id, table, spec
        case _:
            return None


def insert_partition(
    commit: CommitRows, table_id: int, spec: PartitionSpec, *, ended: bool = False
) -> None:
    """The rows of a partition spec."""
    partition_id = commit.take_catalog_id(spec.partition_id)
    begin, end = commit.snapshot_id, commit.snapshot_id if ended else None
    commit.insert("ducklake_partition_info", partition_id, table_id, begin, end)
    for index, field in enumerate(spec.fields):
        key = (partition_id, table_id, index, field.column_id, field.transform)
        commit.insert("ducklake_partition_column", *key)


def insert_sort(commit: CommitRows, table_id: int, spec: SortSpec) -> None:
    """The rows of a sort order."""
    sort_id = commit.take_catalog_id(spec.sort_id)
    commit.insert("ducklake_sort_info", sort_id, table_id, commit.snapshot_id, None)
    for index, key in enumerate(spec.keys):
        values = (index, key.expression, key.dialect, key.direction, key.null_order)
        commit.insert("ducklake_sort_expression", sort_id, table_id, *values)
