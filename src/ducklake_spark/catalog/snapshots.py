"""Snapshots: the newest, all of them, and the one that an AT clause means."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ducklake_spark.catalog_db.connection import Database, Statement
from ducklake_spark.errors import NotALake, SnapshotNotFound
from ducklake_spark.model.entities import Snapshot

SNAPSHOT_COLUMNS = "snapshot_id, snapshot_time, schema_version, next_catalog_id, next_file_id"


@dataclass(frozen=True, slots=True)
class SnapshotRecord:
    """A snapshot with what was said about it."""

    snapshot: Snapshot
    changes_made: str | None
    author: str | None
    commit_message: str | None
    commit_extra_info: str | None


def newest_clause(db: Database, known: Snapshot | None) -> tuple[str, tuple[int, ...]]:
    """The condition for the newest snapshot, and maybe some before it: see `newest_of`.

    DuckDB takes more than twice as long to look for the greatest number as for those from one on
    that has been the greatest. Such a snapshot is never removed while no newer one is there.
    """
    if known is not None:
        return "snapshot_id >= ?", (known.snapshot_id,)
    return f"snapshot_id = (SELECT max(snapshot_id) FROM {db.table('ducklake_snapshot')})", ()


def newest_of(db: Database, rows: Sequence[tuple[Any, ...]]) -> Snapshot:
    """The newest of the snapshots that were found; a lake has at least one."""
    if not rows:
        raise NotALake("The lake has no snapshot at all: its catalog is damaged.")
    return read_snapshot(db, max(rows, key=lambda row: int(row[0])))


def snapshot_query(db: Database, snapshot_id: int) -> Statement:
    """Asks for the snapshot of that number."""
    return Statement(
        f"SELECT {SNAPSHOT_COLUMNS} FROM {db.table('ducklake_snapshot')} WHERE snapshot_id = ?",
        (snapshot_id,),
    )


def changes_since_query(db: Database, snapshot_id: int) -> Statement:
    """Asks for number and change log of all snapshots after that one, oldest first."""
    return Statement(
        f"SELECT snapshot_id, changes_made FROM {db.table('ducklake_snapshot_changes')} "
        "WHERE snapshot_id > ? ORDER BY snapshot_id",
        (snapshot_id,),
    )


def load_latest_snapshot(db: Database) -> Snapshot:
    """The newest snapshot: the state of the lake now."""
    return load_latest_after(db, None)[0]


def load_latest_after(db: Database, known: Snapshot | None) -> tuple[Snapshot, bool]:
    """The newest snapshot, and whether it follows `known`, which has been the newest before."""
    where, params = newest_clause(db, known)
    rows = db.fetch(
        f"SELECT {SNAPSHOT_COLUMNS} FROM {db.table('ducklake_snapshot')} WHERE {where}", params
    )
    if not rows and known is not None:
        return load_latest_after(db, None)
    newest = newest_of(db, rows)
    return newest, follows(db, newest, known, rows)


def follows(
    db: Database, newest: Snapshot, known: Snapshot | None, rows: Sequence[tuple[Any, ...]]
) -> bool:
    """Whether `known` is still there as it was, among the rows of it and all that came after.

    If not, it has expired, or the catalog has another history than when it was read. The time of
    a snapshot tells it apart from another of the same number.
    """
    if known is None or newest.snapshot_id == known.snapshot_id:
        return newest == known
    number = known.snapshot_id
    return any(int(row[0]) == number and read_snapshot(db, row[:5]) == known for row in rows)


def is_another(db: Database, known: Snapshot, rows: Sequence[tuple[Any, ...]]) -> bool:
    """Whether the snapshot of that number, if it is among the rows, is not the one known."""
    number = known.snapshot_id
    return any(int(row[0]) == number and read_snapshot(db, row[:5]) != known for row in rows)


def load_snapshot_at_version(db: Database, version: int) -> Snapshot:
    """The snapshot of exactly that number."""
    query = snapshot_query(db, version)
    rows = db.fetch(query.sql, query.params)
    if not rows:
        raise SnapshotNotFound(f"No snapshot found at version {version}.", hint=_available(db))
    return read_snapshot(db, rows[0])


def load_snapshot_at_time(db: Database, moment: dt.datetime) -> Snapshot:
    """The newest snapshot that is not younger than `moment`, an aware datetime."""
    # From the newest on, along the primary key, so that the first one that fits ends the search.
    rows = db.fetch(
        f"SELECT {SNAPSHOT_COLUMNS} FROM {db.table('ducklake_snapshot')} "
        f"WHERE {db.not_after('snapshot_time')} ORDER BY snapshot_id DESC LIMIT 1",
        (moment,),
    )
    if not rows:
        raise SnapshotNotFound(
            f"No snapshot is as old as {moment.isoformat(sep=' ')}.", hint=_available(db)
        )
    return read_snapshot(db, rows[0])


def load_snapshot_since(db: Database, moment: dt.datetime) -> Snapshot:
    """The oldest snapshot that is not older than `moment`, an aware datetime."""
    rows = db.fetch(
        f"SELECT {SNAPSHOT_COLUMNS} FROM {db.table('ducklake_snapshot')} "
        f"WHERE NOT ({db.not_after('snapshot_time')}) ORDER BY snapshot_id LIMIT 1",
        (moment - dt.timedelta(microseconds=1),),
    )
    if not rows:
        raise SnapshotNotFound(
            f"No snapshot found since {moment.isoformat(sep=' ')}.", hint=_available(db)
        )
    return read_snapshot(db, rows[0])


def load_snapshots(db: Database) -> list[SnapshotRecord]:
    """Every snapshot that still exists, oldest first."""
    return load_snapshots_since(db, 0)


def load_snapshots_since(db: Database, snapshot_id: int) -> list[SnapshotRecord]:
    """That snapshot and all after it that still exist, oldest first."""
    rows = db.fetch(
        "SELECT s.snapshot_id, s.snapshot_time, s.schema_version, s.next_catalog_id, "
        "s.next_file_id, c.changes_made, c.author, c.commit_message, c.commit_extra_info "
        f"FROM {db.table('ducklake_snapshot')} s "
        f"LEFT JOIN {db.table('ducklake_snapshot_changes')} c ON c.snapshot_id = s.snapshot_id "
        "WHERE s.snapshot_id >= ? ORDER BY s.snapshot_id",
        (snapshot_id,),
    )
    return [SnapshotRecord(read_snapshot(db, row[:5]), *row[5:]) for row in rows]


def read_snapshot(db: Database, row: tuple[Any, ...]) -> Snapshot:
    """The snapshot of a fetched row."""
    snapshot_id, time, schema_version, next_catalog_id, next_file_id = row
    return Snapshot(
        int(snapshot_id),
        db.decode("timestamptz", time),
        int(schema_version),
        int(next_catalog_id),
        int(next_file_id),
    )


def _available(db: Database) -> str:
    row = db.fetch(
        f"SELECT min(snapshot_id), max(snapshot_id), min(snapshot_time) "
        f"FROM {db.table('ducklake_snapshot')}"
    )[0]
    first = db.decode("timestamptz", row[2]).isoformat(sep=" ", timespec="seconds")
    return f"the lake has snapshots {row[0]} to {row[1]}, the first of {first}."
