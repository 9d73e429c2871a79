"""What ALTER TABLE does to the other changes of its own transaction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ducklake_spark.catalog.inlined import evolve_row
from ducklake_spark.model.changes import AlterTable, AppendFiles, Change, CreateTable, InlineRows
from ducklake_spark.model.entities import TableEntry
from ducklake_spark.model.schema import Schema


def merge_alter(changes: Iterable[Change], change: AlterTable, committed: Schema) -> AlterTable:
    """The change with what the transaction did to the same columns before.

    Args:
        changes: what is staged already.
        change: what comes now.
        committed: the columns that the table had before the transaction. For a table of this
            transaction they are those of its creation.
    """
    table_id = change.table.table_id
    existing = committed.by_id.keys()
    for before in changes:
        if isinstance(before, CreateTable) and before.table.table_id == table_id:
            existing = before.table.schema.by_id.keys()
        elif isinstance(before, AlterTable) and before.table.table_id == table_id:
            return replace(
                change,
                evolution=before.evolution.followed_by(change.evolution, existing),
                new_sort=before.new_sort or change.new_sort,
                not_null=before.not_null or change.not_null,
            )
    return change


def with_columns(change: Change, before: Schema, table: TableEntry) -> Change:
    """A staged change of the table's rows, as if it had been made with the new columns.

    Files stay as they are written: readers find their columns by id.
    """
    match change:
        case InlineRows(other, rows) if other.table_id == table.table_id:
            evolved = tuple(evolve_row(row, before, table.schema) for row in rows)
            return replace(change, table=table, rows=evolved)
        case AppendFiles(other) if other.table_id == table.table_id:
            return replace(change, table=table)
        case _:
            return change
