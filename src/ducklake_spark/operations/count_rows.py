"""How many rows a table has, from the catalog alone."""

from __future__ import annotations

from ducklake_spark.catalog.file_totals import FileTotals, load_file_totals
from ducklake_spark.catalog.inlined import count_inlined_rows
from ducklake_spark.operations.read import TableVersion, has_own_files, load_files_of


def count_rows(version: TableVersion) -> int | None:
    """How many rows the table has, from the catalog alone; None when only the files can tell.

    Files that were merged or deleted from more than once hold rows and deletes of several
    snapshots: what an older snapshot sees of them stands in the files.
    """
    with version.lake.db.reading():
        return _count_rows(version)


def _count_rows(version: TableVersion) -> int | None:
    totals = _file_totals(version)
    newest = version.snapshot.snapshot_id == version.lake.latest().snapshot_id
    if not newest and totals.with_history:
        return None
    total = totals.rows - totals.deleted
    if version.table.table_id >= 0:
        total += count_inlined_rows(
            version.lake.db, version.table.table_id, version.snapshot.snapshot_id
        )
    if version.local is not None:
        total += len(version.local.local_rows(version.table.table_id))
        own = version.local.inline_deletes(version.table.table_id)
        total -= len(own.rows) if own else 0
    return total


def _file_totals(version: TableVersion) -> FileTotals:
    if version.table.table_id >= 0 and not has_own_files(version):
        return load_file_totals(
            version.lake.db, version.table.table_id, version.snapshot.snapshot_id
        )
    files, deletes = load_files_of(version)
    hidden = [file.delete_file.delete_count for file in files if file.delete_file]
    merged = [file for file in files if file.delete_file or file.partial_max is not None]
    return FileTotals(
        sum(file.record_count for file in files), sum(hidden) + len(deletes), len(merged)
    )
