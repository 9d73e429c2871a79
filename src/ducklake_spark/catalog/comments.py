"""Comments on tables, views and columns: tags with the key ``comment``."""

from __future__ import annotations

from ducklake_spark.catalog_db.connection import Database, Statement
from ducklake_spark.catalog_db.statements import visible_at


def comments_query(db: Database, snapshot_id: int) -> Statement:
    """Asks for id and comment of tables and views, whose ids are of one sequence."""
    return Statement(
        f"SELECT object_id, value FROM {db.table('ducklake_tag')} "
        f"WHERE {visible_at()} AND key = 'comment' AND value IS NOT NULL",
        (snapshot_id, snapshot_id),
    )


def column_comments_query(db: Database, snapshot_id: int, table_id: int) -> Statement:
    """Asks for id and comment of the columns of a table."""
    return Statement(
        f"SELECT column_id, value FROM {db.table('ducklake_column_tag')} "
        f"WHERE {visible_at()} AND table_id = ? AND key = 'comment' AND value IS NOT NULL",
        (snapshot_id, snapshot_id, table_id),
    )
