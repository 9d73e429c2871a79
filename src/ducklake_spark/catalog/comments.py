"""Comments on tables, views and columns: tags with the key ``comment``."""

from __future__ import annotations

from ducklake_spark.catalog_db.connection import Database
from ducklake_spark.catalog_db.statements import visible_at


def load_comments(db: Database, snapshot_id: int) -> dict[int, str]:
    """Comments on tables and views by their ids, which are of one sequence."""
    rows = db.fetch(
        f"SELECT object_id, value FROM {db.table('ducklake_tag')} "
        f"WHERE {visible_at()} AND key = 'comment' AND value IS NOT NULL",
        (snapshot_id, snapshot_id),
    )
    return dict(rows)


def load_column_comments(db: Database, snapshot_id: int, table_id: int) -> dict[int, str]:
    """Comments on the columns of a table by column id."""
    rows = db.fetch(
        f"SELECT column_id, value FROM {db.table('ducklake_column_tag')} "
        f"WHERE {visible_at()} AND table_id = ? AND key = 'comment' AND value IS NOT NULL",
        (snapshot_id, snapshot_id, table_id),
    )
    return dict(rows)
