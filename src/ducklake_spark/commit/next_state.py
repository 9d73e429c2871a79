"""What a commit of ours has made of the catalog, where that is known without reading it again."""

from __future__ import annotations

from collections.abc import Iterator

from ducklake_spark.catalog.columns import ColumnRow
from ducklake_spark.catalog.state import CatalogState
from ducklake_spark.commit.local import LocalState
from ducklake_spark.model.changes import AlterTable, AppendFiles, InlineRows, RenameTable
from ducklake_spark.model.entities import Snapshot
from ducklake_spark.model.evolution import ColumnVersion, Evolution


def next_state(local: LocalState, snapshot: Snapshot) -> CatalogState | None:
    """The state of a snapshot that the transaction has committed right after its own.

    None when it did more than to alter tables that were there: then the catalog is asked again.
    """
    alters = [c for c in local.changes if isinstance(c, AlterTable)]
    touched = {c.table.table_id for c in local.changes if isinstance(c, AlterTable | RenameTable)}
    plain = all(
        isinstance(c, AlterTable | RenameTable | AppendFiles | InlineRows) and c.table.table_id >= 0
        for c in local.changes
    )
    # Columns that came and went may have left a row, sort keys have got an id.
    if not plain or not touched or any(c.evolution.retired or c.new_sort for c in alters):
        return None
    histories = {
        c.table.table_id: local.base.history(c.table.table_id).with_rows(
            snapshot.snapshot_id, c.evolution.ended, _rows(c.evolution, snapshot.snapshot_id)
        )
        for c in alters
    }
    return local.base.after(snapshot, [local.table(i) for i in touched], histories)


def _rows(evolution: Evolution, snapshot_id: int) -> Iterator[ColumnRow]:
    return (_row(version, snapshot_id) for version in evolution.written)


def _row(version: ColumnVersion, snapshot_id: int) -> ColumnRow:
    column, default = version.column, version.column.default
    return ColumnRow(
        column.column_id,
        snapshot_id,
        None,
        column.column_id,
        column.name,
        column.type_name,
        column.initial_default,
        default.text if default else "NULL",
        version.nulls_allowed,
        version.parent_id,
        version.default_type,
        default.dialect if default else "duckdb",
    )
