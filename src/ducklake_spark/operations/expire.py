"""Expire snapshots: forget old versions, and let go of what only they needed.

All of it is one transaction of the metadata database. Files are not removed: they are scheduled,
and `cleanup` removes them when they are old enough.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

from ducklake_spark.catalog.snapshots import SnapshotRecord, load_snapshots
from ducklake_spark.catalog_db.connection import Database
from ducklake_spark.catalog_db.tables import FILES_SCHEDULED_FOR_DELETION
from ducklake_spark.commit.repeat import in_one_transaction
from ducklake_spark.commit.retry import RetryPolicy
from ducklake_spark.errors import InvalidInput
from ducklake_spark.lake import Lake
from ducklake_spark.limits import limits
from ducklake_spark.operations.ages import moment_ago
from ducklake_spark.operations.describe import RowSet, snapshot_rows
from ducklake_spark.operations.directories import load_directories

_OF_FILE: Final = (
    "ducklake_data_file",
    "ducklake_file_column_stats",
    "ducklake_file_variant_stats",
    "ducklake_file_partition_value",
)
_OF_TABLE: Final = (
    "ducklake_table",
    "ducklake_table_stats",
    "ducklake_table_column_stats",
    "ducklake_partition_info",
    "ducklake_partition_column",
    "ducklake_column",
    "ducklake_column_tag",
    "ducklake_sort_info",
    "ducklake_sort_expression",
    "ducklake_schema_versions",
    "ducklake_inlined_data_tables",
    "ducklake_column_mapping",
)
_WITH_RANGE: Final = ("ducklake_schema", "ducklake_view", "ducklake_tag", "ducklake_macro")
_PARTS: Final = (
    ("ducklake_macro_impl", "macro_id", "ducklake_macro"),
    ("ducklake_macro_parameters", "macro_id", "ducklake_macro"),
    ("ducklake_name_mapping", "mapping_id", "ducklake_column_mapping"),
)


def expire_snapshots(
    lake: Lake,
    *,
    versions: Collection[int] | None = None,
    older_than: dt.datetime | None = None,
    dry_run: bool = False,
    retry: RetryPolicy | None = None,
) -> RowSet:
    """Expire snapshots by number or by age; the newest one always stays. Driver.

    Args:
        lake: which.
        versions: the numbers; those that do not exist are passed over.
        older_than: all that are older than this moment. With neither, the option
            expire_older_than decides; if it is not set, nothing happens.
        dry_run: only tell which they would be.
        retry: how often to try when others change the catalog at the same time.

    Returns:
        The snapshots that are gone, with the columns of `snapshots`.
    """
    if versions is not None and older_than is not None:
        raise InvalidInput(
            "ducklake_expire_snapshots: cannot specify both 'versions' and 'older_than' "
            "parameters at the same time.",
            hint="use only one of them.",
        )
    if not dry_run:
        lake.check_writable("expire snapshots")
    limit = older_than
    if versions is None and limit is None:
        age = lake.settings().get("expire_older_than")
        if not age:
            return snapshot_rows(())
        limit = moment_ago(age)

    def expire() -> list[SnapshotRecord]:
        expired = _choose(load_snapshots(lake.db), versions, limit)
        if expired:
            _forget(lake, [record.snapshot.snapshot_id for record in expired])
        return expired

    if dry_run:
        return snapshot_rows(_choose(load_snapshots(lake.db), versions, limit))
    return snapshot_rows(in_one_transaction(lake.db, expire, retry or RetryPolicy()))


def _choose(
    records: Sequence[SnapshotRecord],
    versions: Collection[int] | None,
    limit: dt.datetime | None,
) -> list[SnapshotRecord]:
    """Those to expire, of all snapshots in order."""
    wanted = None if versions is None else set(versions)
    return [
        record
        for record in records[:-1]  # never the newest
        if (wanted is not None and record.snapshot.snapshot_id in wanted)
        or (limit is not None and record.snapshot.snapshot_time < limit)
    ]


def _forget(lake: Lake, snapshot_ids: Sequence[int]) -> None:
    db = lake.db
    for name in ("ducklake_snapshot", "ducklake_snapshot_changes"):
        _delete(db, name, "snapshot_id", snapshot_ids)
    tables = _unreachable_tables(db)
    _schedule_files(lake, tables)
    _forget_tables(db, tables)
    for name in _WITH_RANGE:
        db.execute(f"DELETE FROM {db.table(name)} WHERE {_unreachable(db)}")
    for name, key, whole in _PARTS:
        db.execute(
            f"DELETE FROM {db.table(name)} WHERE {key} NOT IN (SELECT {key} FROM {db.table(whole)})"
        )


def _unreachable(db: Database, alias: str = "") -> str:
    """The clause for rows that have ended and that no snapshot sees any more."""
    of = f"{alias}." if alias else ""
    return (
        f"{of}end_snapshot IS NOT NULL AND NOT EXISTS (SELECT 1 FROM "
        f"{db.table('ducklake_snapshot')} s WHERE s.snapshot_id >= {of}begin_snapshot "
        f"AND s.snapshot_id < {of}end_snapshot)"
    )


def _unreachable_tables(db: Database) -> list[int]:
    """Tables of which no snapshot sees any version. A renamed table has several."""
    table = db.table("ducklake_table")
    rows = db.fetch(
        f"SELECT DISTINCT t.table_id FROM {table} t WHERE NOT EXISTS "
        f"(SELECT 1 FROM {table} o WHERE o.table_id = t.table_id AND NOT ({_unreachable(db, 'o')}))"
    )
    return sorted(int(row[0]) for row in rows)


def _schedule_files(lake: Lake, tables: Sequence[int]) -> None:
    """Put the files that no snapshot needs on the list of those to be removed, in chunks."""
    directories = load_directories(lake.db)
    for file_ids in _chunks(_unreachable_files(lake.db, "data_file", tables)):
        _schedule(lake, "data_file", file_ids, directories)
        deletes = _ids(lake.db, "delete_file", "data_file_id", file_ids)
        _schedule(lake, "delete_file", deletes, directories)
    for file_ids in _chunks(_unreachable_files(lake.db, "delete_file", tables)):
        _schedule(lake, "delete_file", file_ids, directories)


def _unreachable_files(db: Database, kind: str, tables: Sequence[int]) -> list[int]:
    name = db.table(f"ducklake_{kind}")
    rows = db.fetch(f"SELECT {kind}_id FROM {name} f WHERE {_unreachable(db, 'f')}")
    found = {int(row[0]) for row in rows}
    for chunk in _chunks(tables):
        found.update(_ids(db, kind, "table_id", chunk))
    return sorted(found)


def _ids(db: Database, kind: str, key: str, values: Sequence[int]) -> list[int]:
    rows = db.fetch(
        f"SELECT {kind}_id FROM {db.table(f'ducklake_{kind}')} WHERE {key} IN ({_marks(values)})",
        values,
    )
    return [int(row[0]) for row in rows]


def _schedule(
    lake: Lake, kind: str, file_ids: Sequence[int], directories: dict[int, tuple[str, bool]]
) -> None:
    """Move files of one kind from the catalog to the schedule."""
    if not file_ids:
        return
    db, key, now = lake.db, f"{kind}_id", dt.datetime.now(dt.timezone.utc)
    rows = db.fetch(
        f"SELECT {key}, table_id, path, path_is_relative FROM {db.table(f'ducklake_{kind}')} "
        f"WHERE {key} IN ({_marks(file_ids)}) ORDER BY {key}",
        file_ids,
    )
    scheduled: list[tuple[Any, ...]] = []
    for file_id, table_id, path, relative in rows:
        place = _scheduled_path(
            lake, directories.get(table_id), path, db.decode("boolean", relative)
        )
        if place is not None:
            scheduled.append((file_id, *place, now))
    for name in _OF_FILE if kind == "data_file" else ("ducklake_delete_file",):
        _delete(db, name, key, file_ids)
    db.insert(FILES_SCHEDULED_FOR_DELETION, scheduled)


def _scheduled_path(
    lake: Lake, directory: tuple[str, bool] | None, path: str, relative: bool
) -> tuple[str, bool] | None:
    """The path as the schedule keeps it: relative to the data path where it is below it.

    None when the file's table is in no row of the catalog, so that nobody can tell where the file
    is; it stays in the storage, and a search for orphans finds it.
    """
    if relative:
        if directory is None:
            return None
        below, relative = directory
        path = f"{below}{path}"
    if not relative and path.startswith(lake.data_path):
        return path[len(lake.data_path) :], True
    return path, relative


def _forget_tables(db: Database, tables: Sequence[int]) -> None:
    for chunk in _chunks(tables):
        inlined = db.fetch(
            f"SELECT table_name FROM {db.table('ducklake_inlined_data_tables')} "
            f"WHERE table_id IN ({_marks(chunk)})",
            chunk,
        )
        names = [str(row[0]) for row in inlined]
        names += [f"ducklake_inlined_delete_{table_id}" for table_id in chunk]
        for name in _OF_TABLE:
            _delete(db, name, "table_id", chunk)
        if db.kind != "mysql":  # which has no inlined tables, and ends a transaction at a DROP
            for name in names:
                db.execute(f"DROP TABLE IF EXISTS {db.table(name)}")


def _delete(db: Database, name: str, key: str, ids: Sequence[int]) -> None:
    for chunk in _chunks(ids):
        db.execute(f"DELETE FROM {db.table(name)} WHERE {key} IN ({_marks(chunk)})", chunk)


def _chunks(values: Sequence[int]) -> Iterator[Sequence[int]]:
    size = limits().expired_ids_per_statement
    for start in range(0, len(values), size):
        yield values[start : start + size]


def _marks(values: Sequence[int]) -> str:
    return ", ".join("?" for _ in values)
