"""What maintenance has to know of a table's files."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Iterable

from ducklake_spark.catalog.files import load_files, load_partition_values
from ducklake_spark.catalog_db.connection import Database
from ducklake_spark.plan.compaction import Candidate


def load_candidates(
    db: Database, table_id: int, snapshot_id: int, *, directory: str
) -> tuple[list[Candidate], dict[int, list[int]]]:
    """The files that the snapshot sees, and the positions deleted in the catalog, by file id."""
    with db.reading():
        files, deletes = load_files(db, table_id, snapshot_id, directory=directory)
        versions = _load_schema_versions(db, table_id)
        values = load_partition_values(db, table_id)
        deleted = _load_deleted_files(db, table_id)
    candidates = [
        Candidate(
            file,
            _version_at(versions, file.begin_snapshot),
            values.get(file.data_file_id, ()),
            file.data_file_id in deleted,
        )
        for file in files
    ]
    positions: dict[int, list[int]] = defaultdict(list)
    for file_id, position in deletes:
        positions[file_id].append(position)
    return candidates, dict(positions)


def load_columns_without_nan(
    db: Database, table_id: int, file_ids: Iterable[int]
) -> dict[int, set[int]]:
    """Ids of the columns, by file, of which the catalog says that they hold no NaN."""
    wanted = set(file_ids)
    rows = db.fetch(
        f"SELECT data_file_id, column_id, contains_nan FROM "
        f"{db.table('ducklake_file_column_stats')} "
        "WHERE table_id = ? AND contains_nan IS NOT NULL",
        (table_id,),
    )
    found: dict[int, set[int]] = defaultdict(set)
    for file_id, column_id, nan in rows:
        if file_id in wanted and not db.decode("boolean", nan):
            found[file_id].add(column_id)
    return dict(found)


def _load_schema_versions(db: Database, table_id: int) -> list[tuple[int, int]]:
    rows = db.fetch(
        f"SELECT begin_snapshot, schema_version FROM {db.table('ducklake_schema_versions')} "
        "WHERE table_id = ? ORDER BY begin_snapshot",
        (table_id,),
    )
    return [(int(begin), int(version)) for begin, version in rows]


def _version_at(versions: list[tuple[int, int]], snapshot_id: int) -> int | None:
    at = bisect.bisect_right(versions, (snapshot_id, 1 << 62)) - 1
    return versions[at][1] if at >= 0 else None


def _load_deleted_files(db: Database, table_id: int) -> set[int]:
    rows = db.fetch(
        f"SELECT DISTINCT data_file_id FROM {db.table('ducklake_delete_file')} WHERE table_id = ?",
        (table_id,),
    )
    return {int(row[0]) for row in rows}
