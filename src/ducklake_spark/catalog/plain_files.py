"""The files of a large table that a filter leaves, without fetching the others.

A file is plain when its age alone decides how it is read: nothing hides rows of it, it has its
columns by field id, and the catalog says which. Plain files are counted by age with one statement
and fetched when a filter is known; the others, which are few in most tables, are fetched at once.
Driver.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ducklake_spark.catalog.exclude import excluded_files
from ducklake_spark.catalog.files import (
    DATA_COLUMNS,
    DELETE_COLUMNS,
    load_inlined_deletes,
    read_data_file,
)
from ducklake_spark.catalog_db.connection import Database
from ducklake_spark.catalog_db.statements import Statement, visible_at
from ducklake_spark.model.entities import DataFile
from ducklake_spark.model.predicate import Predicate
from ducklake_spark.model.types import DataType

_NO_DELETE_FILE = ", ".join("NULL" for _ in DELETE_COLUMNS.split(","))


@dataclass(frozen=True, slots=True)
class PlainGroup:
    """Plain files that began between two changes of the table's columns."""

    begin_snapshot: int  # of one of them
    data_file_id: int  # of one of them
    files: int
    size: int  # bytes
    rows: int


@dataclass(frozen=True, slots=True)
class PlainGroups:
    """All plain files of a table by age, whether it has others, and the latest snapshot then."""

    groups: tuple[PlainGroup, ...]
    has_others: bool
    latest: int

    @property
    def files(self) -> int:
        """How many plain files there are."""
        return sum(group.files for group in self.groups)

    @property
    def size(self) -> int:
        """Their bytes."""
        return sum(group.size for group in self.groups)


@dataclass(frozen=True, slots=True)
class PlainFiles:
    """Which files of a table at a snapshot are plain.

    Attributes:
        doubtful: snapshots whose files may have other columns than the snapshot shows.
        has_inlined_deletes: the catalog itself may delete rows of some files.
    """

    db: Database
    table_id: int
    snapshot_id: int
    directory: str
    doubtful: tuple[int, ...] = ()
    has_inlined_deletes: bool = False

    def _plain(self) -> Statement:
        db, at = self.db, self.snapshot_id
        conditions = [
            "d.mapping_id IS NULL AND d.encryption_key IS NULL AND d.row_id_start IS NOT NULL "
            "AND (d.partial_max IS NULL OR d.partial_max <= ?) "
            f"AND d.data_file_id NOT IN (SELECT x.data_file_id FROM "
            f"{db.table('ducklake_delete_file')} x WHERE x.table_id = ? "
            f"AND x.data_file_id IS NOT NULL AND {visible_at('x')})"
        ]
        params: list[int] = [at, self.table_id, at, at]
        if self.has_inlined_deletes:
            name = db.table(f"ducklake_inlined_delete_{self.table_id}")
            conditions.append(
                f"d.data_file_id NOT IN (SELECT i.file_id FROM {name} i "
                "WHERE i.begin_snapshot <= ? AND i.file_id IS NOT NULL)"
            )
            params.append(at)
        if self.doubtful:
            marks = ", ".join("?" for _ in self.doubtful)
            conditions.append(f"d.begin_snapshot NOT IN ({marks})")
            params += self.doubtful
        return Statement(" AND ".join(conditions), tuple(params))

    def _source(self) -> Statement:
        return Statement(
            f"FROM {self.db.table('ducklake_data_file')} d WHERE d.table_id = ? "
            f"AND {visible_at('d')}",
            (self.table_id, self.snapshot_id, self.snapshot_id),
        )

    def load_groups(self, points: Sequence[int]) -> PlainGroups:
        """Count the files by age; `points` are the snapshots at which columns changed."""
        plain, source = self._plain(), self._source()
        cases = "".join(
            f" WHEN d.begin_snapshot >= {int(point)} THEN {number}"
            for number, point in sorted(enumerate(points, 1), key=lambda pair: -pair[1])
        )
        group = f"CASE WHEN NOT ({plain.sql}) THEN -1{cases} ELSE 0 END"
        latest, rows = self.db.fetch_batch(
            [
                Statement(f"SELECT max(snapshot_id) FROM {self.db.table('ducklake_snapshot')}"),
                Statement(
                    "SELECT g.age, min(g.begin_snapshot), min(g.data_file_id), count(*), "
                    "sum(g.file_size_bytes), sum(g.record_count) FROM "
                    "(SELECT d.begin_snapshot, d.data_file_id, d.file_size_bytes, "
                    f"d.record_count, {group} AS age {source.sql}) g GROUP BY g.age ORDER BY 1",
                    (*plain.params, *source.params),
                ),
            ]
        )
        numbers = [[int(value) for value in row] for row in rows]
        groups = tuple(PlainGroup(*row[1:]) for row in numbers if row[0] >= 0)
        return PlainGroups(groups, any(row[0] < 0 for row in numbers), int(latest[0][0]))

    def load_others(self) -> tuple[list[DataFile], list[tuple[int, int]]]:
        """All that are not plain, with what hides their rows; as `load_files` gives them."""
        db, at, plain = self.db, self.snapshot_id, self._plain()
        rows = db.fetch(
            f"SELECT {DATA_COLUMNS}, {DELETE_COLUMNS} "
            f"FROM {db.table('ducklake_data_file')} d "
            f"LEFT JOIN (SELECT * FROM {db.table('ducklake_delete_file')} "
            f"WHERE table_id = ? AND {visible_at()}) x ON x.data_file_id = d.data_file_id "
            f"WHERE d.table_id = ? AND {visible_at('d')} AND NOT ({plain.sql}) "
            "ORDER BY d.data_file_id",
            (self.table_id, at, at, self.table_id, at, at, *plain.params),
        )
        positions = load_inlined_deletes(db, self.table_id, at) if self.has_inlined_deletes else []
        hidden: dict[int, int] = {}
        for file_id, _ in positions:
            hidden[file_id] = hidden.get(file_id, 0) + 1
        files = [read_data_file(db, row, self.directory, hidden.get(row[0], 0)) for row in rows]
        present = {file.data_file_id for file in files}
        return files, [position for position in positions if position[0] in present]

    def load(
        self,
        groups: PlainGroups,
        predicate: Predicate,
        kinds: Mapping[int, DataType],
    ) -> list[DataFile] | None:
        """Plain files, some of those left out of which no row can match the predicate.

        None when the catalog no longer shows the files that were counted.
        """
        plain, source = self._plain(), self._source()
        excluded = excluded_files(self.db, self.table_id, predicate, kinds)
        also = f" AND NOT ({excluded.sql})" if excluded else ""
        snapshots = self.db.table("ducklake_snapshot")
        state, rows = self.db.fetch_batch(
            [
                Statement(
                    f"SELECT (SELECT max(snapshot_id) FROM {snapshots}), "
                    f"(SELECT count(*) FROM {snapshots} WHERE snapshot_id = ?)",
                    (self.snapshot_id,),
                ),
                Statement(
                    f"SELECT {DATA_COLUMNS}, {_NO_DELETE_FILE} {source.sql} "
                    f"AND {plain.sql}{also} ORDER BY d.data_file_id",
                    (*source.params, *plain.params, *(excluded.params if excluded else ())),
                ),
            ]
        )
        if tuple(map(int, state[0])) != (groups.latest, 1) and not self._still_there(groups):
            return None
        return [read_data_file(self.db, row, self.directory, 0) for row in rows]

    def _still_there(self, groups: PlainGroups) -> bool:
        """Whether later commits left the files as they were: compaction changes the past."""
        plain, source = self._plain(), self._source()
        found = self.db.fetch(
            "SELECT count(*), sum(d.record_count), sum(d.file_size_bytes), min(d.data_file_id) "
            f"{source.sql} AND {plain.sql}",
            (*source.params, *plain.params),
        )[0]
        known = (
            *(groups.files, sum(group.rows for group in groups.groups), groups.size),
            min(group.data_file_id for group in groups.groups),
        )
        return tuple(int(value or 0) for value in found) == known
