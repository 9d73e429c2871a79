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
        commit.end("ducklake_partition_info", "table_id", table_id)
        commit.change_table(table_id, change.table.schema, inline=change.inline)
    insert_partition(commit, table_id, change.spec, ended=replaced)


def _has_files(spec: PartitionSpec, same: Sequence[Change]) -> bool:
    used = (c.table.partition for c in same if isinstance(c, AppendFiles))
    return any(p is not None and p.partition_id == spec.partition_id for p in used)


def apply_sort(commit: CommitRows, change: Change, same: Sequence[Change]) -> None:
    """Write the sort order that a change sets, if it is the last one of the transaction.

    An order is set by statements, and anew when a column that it names gets another name. The
    ones before only take their ids.
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
    if table.table_id >= 0:
        commit.end("ducklake_sort_info", "table_id", table.table_id)
    if spec is not None:
        insert_sort(commit, commit.real_id(table.table_id), spec)


def _order_of(change: Change) -> tuple[int, TableEntry, SortSpec | None] | None:
    """The place, the table and the sort order of a change that sets one."""
    match change:
        case SetSort(table, spec, place):
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
