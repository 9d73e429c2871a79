"""How many rows the files of a table hold, counted by the metadata database. Driver."""

from __future__ import annotations

from dataclasses import dataclass

from ducklake_spark.catalog_db.connection import Database
from ducklake_spark.catalog_db.statements import visible_at


@dataclass(frozen=True, slots=True)
class FileTotals:
    """Sums over the files that a snapshot sees.

    Attributes:
        rows: in the files.
        deleted: of these, by delete files and inside the catalog.
        with_history: files that hold rows or deletes of several snapshots, perhaps.
    """

    rows: int
    deleted: int
    with_history: int


def load_file_totals(db: Database, table_id: int, snapshot_id: int) -> FileTotals:
    """Count without fetching a file."""
    at = (snapshot_id, snapshot_id)
    rows, deleted, with_history = db.fetch(
        "SELECT sum(d.record_count), sum(x.delete_count), "
        "count(CASE WHEN x.delete_file_id IS NOT NULL OR d.partial_max IS NOT NULL THEN 1 END) "
        f"FROM {db.table('ducklake_data_file')} d "
        f"LEFT JOIN (SELECT * FROM {db.table('ducklake_delete_file')} "
        f"WHERE table_id = ? AND {visible_at()}) x ON x.data_file_id = d.data_file_id "
        f"WHERE d.table_id = ? AND {visible_at('d')}",
        (table_id, *at, table_id, *at),
    )[0]
    inlined = _count_inlined_deletes(db, table_id, snapshot_id)
    return FileTotals(int(rows or 0), int(deleted or 0) + inlined, int(with_history))


def _count_inlined_deletes(db: Database, table_id: int, snapshot_id: int) -> int:
    """Rows of visible files only: deletes of files that later commits ended stay behind."""
    name = f"ducklake_inlined_delete_{table_id}"
    if not db.has_table(name):
        return 0
    found = db.fetch(
        "SELECT count(*) FROM (SELECT DISTINCT i.file_id, i.row_id "
        f"FROM {db.table(name)} i JOIN {db.table('ducklake_data_file')} d "
        "ON d.data_file_id = i.file_id WHERE i.begin_snapshot <= ? "
        f"AND d.table_id = ? AND {visible_at('d')}) p",
        (snapshot_id, table_id, snapshot_id, snapshot_id),
    )
    return int(found[0][0])
