"""What the snapshots after a given one have brought to a table, for those who follow it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ducklake_spark.catalog.inlined import load_inlined_tables
from ducklake_spark.catalog_db.connection import Database, Statement


@dataclass(frozen=True, slots=True)
class Logged:
    """A snapshot that still exists, and the text of its change log."""

    snapshot_id: int
    changes: str | None


def load_log(db: Database, after: int, until: int) -> list[Logged]:
    """The snapshots behind one up to another that still exist, oldest first."""
    rows = db.fetch(
        f"SELECT s.snapshot_id, c.changes_made FROM {db.table('ducklake_snapshot')} s "
        f"LEFT JOIN {db.table('ducklake_snapshot_changes')} c ON c.snapshot_id = s.snapshot_id "
        "WHERE s.snapshot_id > ? AND s.snapshot_id <= ? ORDER BY s.snapshot_id",
        (after, until),
    )
    return [Logged(int(number), text) for number, text in rows]


def load_arrivals(
    db: Database, table_id: int, after: int, until: int
) -> tuple[Counter[int], Counter[int]]:
    """How many files and how many rows each snapshot has added to a table.

    Where files were merged, all that they hold counts for the oldest snapshot among their rows.
    """
    data = db.fetch(
        "SELECT begin_snapshot, count(*), sum(record_count) FROM "
        f"{db.table('ducklake_data_file')} WHERE table_id = ? AND begin_snapshot > ? "
        "AND begin_snapshot <= ? GROUP BY begin_snapshot",
        (table_id, after, until),
    )
    files = Counter({int(snapshot): int(count) for snapshot, count, _ in data})
    rows = Counter({int(snapshot): int(total) for snapshot, _, total in data})
    queries = [
        Statement(
            f"SELECT begin_snapshot, count(*) FROM {db.table(each.table_name)} "
            "WHERE begin_snapshot > ? AND begin_snapshot <= ? GROUP BY begin_snapshot",
            (after, until),
        )
        for each in load_inlined_tables(db, table_id)
    ]
    for found in db.fetch_batch(queries) if queries else ():
        rows.update({int(snapshot): int(count) for snapshot, count in found})
    return files, rows
