"""How many rows the files of a table hold, counted by the metadata database. Driver."""

from __future__ import annotations

from dataclasses import dataclass

from ducklake_spark.catalog.places import Places, load_with_places
from ducklake_spark.catalog_db.connection import Database, Statement
from ducklake_spark.catalog_db.statements import visible_at
from ducklake_spark.model.entities import TableEntry


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


def load_file_totals(
    db: Database, table: TableEntry, snapshot_id: int
) -> tuple[FileTotals, Places]:
    """Count without fetching a file; with where else there are rows of the table."""
    at = (snapshot_id, snapshot_id)
    query = Statement(
        "SELECT sum(d.record_count) AS held, sum(x.delete_count) AS deleted, "
        "count(CASE WHEN x.delete_file_id IS NOT NULL OR d.partial_max IS NOT NULL THEN 1 END) "
        f"AS with_history FROM {db.table('ducklake_data_file')} d "
        f"LEFT JOIN (SELECT * FROM {db.table('ducklake_delete_file')} "
        f"WHERE table_id = ? AND {visible_at()}) x ON x.data_file_id = d.data_file_id "
        f"WHERE d.table_id = ? AND {visible_at('d')}",
        (table.table_id, *at, table.table_id, *at),
    )
    columns = ("held", "NULL", "NULL", "deleted", "with_history")
    ((rows, _, _, deleted, with_history),), places = load_with_places(db, table, query, columns)
    hidden = int(deleted or 0)
    if rows and places.has_deletes:
        hidden += _count_inlined_deletes(db, table.table_id, snapshot_id)
    return FileTotals(int(rows or 0), hidden, int(with_history)), places


def _count_inlined_deletes(db: Database, table_id: int, snapshot_id: int) -> int:
    """Rows of visible files only: deletes of files that later commits ended stay behind."""
    name = f"ducklake_inlined_delete_{table_id}"
    found = db.fetch(
        "SELECT count(*) FROM (SELECT DISTINCT i.file_id, i.row_id "
        f"FROM {db.table(name)} i JOIN {db.table('ducklake_data_file')} d "
        "ON d.data_file_id = i.file_id WHERE i.begin_snapshot <= ? "
        f"AND d.table_id = ? AND {visible_at('d')}) p",
        (snapshot_id, table_id, snapshot_id, snapshot_id),
    )
    return int(found[0][0])
