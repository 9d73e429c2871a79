"""Where the lake is now: its newest snapshot and its options, in one statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ducklake_spark.catalog.settings import Settings
from ducklake_spark.catalog.snapshots import SNAPSHOT_COLUMNS, follows, newest_clause, newest_of
from ducklake_spark.catalog_db.connection import Database, Statement
from ducklake_spark.model.entities import Snapshot


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest snapshot, and the options that were stored when it was read.

    `follows` tells whether the snapshot that was known before is still there as it was.
    """

    snapshot: Snapshot
    settings: Settings
    follows: bool = False


def newest_query(db: Database, known: Snapshot | None) -> Statement:
    """Asks for both; `known` is a snapshot that has been the newest, and saves a search."""
    where, params = newest_clause(db, known)
    return Statement(
        f'SELECT {SNAPSHOT_COLUMNS}, m.scope, m.scope_id, m."key", m."value" '
        f"FROM {db.table('ducklake_snapshot')} s, {db.table('ducklake_metadata')} m "
        f"WHERE {where}",
        params,
    )


def read_newest(
    db: Database, rows: Sequence[tuple[Any, ...]], known: Snapshot | None = None
) -> Newest:
    """The answer to `newest_query`."""
    snapshot = newest_of(db, [row[:5] for row in rows])
    settings = Settings({row[5:8]: row[8] for row in rows})
    return Newest(snapshot, settings, follows(db, snapshot, known, rows))


def load_newest(db: Database, known: Snapshot | None = None) -> Newest:
    """The newest snapshot and the options."""
    query = newest_query(db, known)
    rows = db.fetch(query.sql, query.params)
    if not rows and known is not None:
        return load_newest(db)
    return read_newest(db, rows, known)
