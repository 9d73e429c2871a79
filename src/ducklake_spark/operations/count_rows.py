"""How many rows a table has, from the catalog alone."""

from __future__ import annotations

from ducklake_spark.catalog.file_totals import FileTotals, load_file_totals
from ducklake_spark.catalog.inlined import DatedTables, count_inlined_rows, load_dated_tables
from ducklake_spark.catalog.snapshots import load_latest_snapshot
from ducklake_spark.operations.contents import TableVersion, has_own_files, load_files_of


def count_rows(version: TableVersion) -> int | None:
    """How many rows the table has, from the catalog alone; None when only the files can tell.

    Files that were merged or deleted from more than once hold rows and deletes of several
    snapshots: what an older snapshot sees of them stands in the files.
    """
    with version.lake.db.reading():
        return _count_rows(version)


def _count_rows(version: TableVersion) -> int | None:
    db, table, snapshot_id = version.lake.db, version.table, version.snapshot.snapshot_id
    totals, tables, latest = _totals(version)
    if snapshot_id != latest and totals.with_history:
        return None
    total = totals.rows - totals.deleted + count_inlined_rows(db, tables, snapshot_id)
    if version.local is not None:
        total += len(version.local.local_rows(table.table_id))
        own = version.local.inline_deletes(table.table_id)
        total -= len(own.rows) if own else 0
    return total


def _totals(version: TableVersion) -> tuple[FileTotals, DatedTables, int]:
    """Sums over the files, where inlined rows are, and the newest snapshot of the catalog.

    That is not the newest that the lake shows, if it is attached at a past one.
    """
    db, table = version.lake.db, version.table
    if table.table_id >= 0 and not has_own_files(version):
        totals, places = load_file_totals(db, table, version.snapshot.snapshot_id)
        return totals, places.inlined, places.latest
    files, deletes = load_files_of(version)
    hidden = [file.delete_file.delete_count for file in files if file.delete_file]
    merged = [file for file in files if file.delete_file or file.partial_max is not None]
    totals = FileTotals(
        sum(file.record_count for file in files), sum(hidden) + len(deletes), len(merged)
    )
    tables = load_dated_tables(db, table) if table.table_id >= 0 else ()
    return totals, tables, load_latest_snapshot(db).snapshot_id
