"""The files of a large table that a filter leaves, without fetching the others.

A file is plain when its age alone decides how it is read: nothing hides rows of it, it has its
columns by field id, and the catalog says which. Plain files are counted by age with one statement
and fetched when a filter is known; the others, which are few in most tables, are fetched at once.
Driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ducklake_spark.catalog.bound_lists import list_sql
from ducklake_spark.catalog.exclude import excluded_files, excluding_test, not_among
from ducklake_spark.catalog.file_facts import FileFacts, facts_queries, read_facts
from ducklake_spark.catalog.files import (
    DATA_COLUMNS,
    DELETE_COLUMNS,
    FILE_COLUMNS,
    load_positions,
    read_data_file,
    read_files,
)
from ducklake_spark.catalog_db.connection import Database
from ducklake_spark.catalog_db.statements import Statement, visible_at
from ducklake_spark.model.entities import DataFile
from ducklake_spark.model.predicate import Predicate, columns_of
from ducklake_spark.model.types import DataType

_KEPT_COLUMNS = ", ".join(FILE_COLUMNS[: len(DATA_COLUMNS.split(","))])
_NO_DELETE_FILE = (None,) * len(DELETE_COLUMNS.split(","))
# Kinds of rows of one statement, besides those of `file_facts`.
_FILE, _STATE = 0, 9
# The columns of `PlainFiles.groups_query`; in the third place there is nothing.
GROUP_COLUMNS = ("age", "ids", "NULL", "begun", "sample", "files", "bytes", "held")


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
    """All plain files of a table by age, how many others it has, and the latest snapshot then.

    `ids` is the text of a list of the ids of all plain files, if it was asked for.
    """

    groups: tuple[PlainGroup, ...]
    others: int
    latest: int
    ids: str | None = None

    @property
    def files(self) -> int:
        """How many plain files there are."""
        return sum(group.files for group in self.groups)

    @property
    def size(self) -> int:
        """Their bytes."""
        return sum(group.size for group in self.groups)


def read_groups(rows: Iterable[Sequence[Any]], latest: int) -> PlainGroups:
    """The groups in rows of GROUP_COLUMNS."""
    found = list(rows)
    numbers = sorted([int(row[0]), *map(int, row[3:])] for row in found)
    groups = tuple(PlainGroup(*row[1:]) for row in numbers if row[0] >= 0)
    lists = [row[1] for row in found if int(row[0]) >= 0]
    ids = f"[{','.join(text[1:-1] for text in lists)}]" if lists and all(lists) else None
    return PlainGroups(groups, sum(row[3] for row in numbers if row[0] < 0), latest, ids)


@dataclass(frozen=True, slots=True)
class _Kept:
    """A query of the files that a filter keeps, and where their statistics are if not apart."""

    query: Statement
    stats: Statement | None = None


@dataclass(frozen=True, slots=True)
class PlainFiles:
    """Which files of a table at a snapshot are plain.

    Attributes:
        doubtful: snapshots whose files may have other columns than the snapshot shows.
        has_inlined_deletes: the catalog itself may delete rows of some files.
        with_ids: the ids of all files are wanted when they are counted.
    """

    db: Database
    table_id: int
    snapshot_id: int
    directory: str
    doubtful: tuple[int, ...] = ()
    has_inlined_deletes: bool = False
    with_ids: bool = False

    def condition(self) -> Statement:
        """What makes a file of `source` plain."""
        conditions = [
            "d.mapping_id IS NULL AND d.encryption_key IS NULL AND d.row_id_start IS NOT NULL "
            "AND (d.partial_max IS NULL OR d.partial_max <= ?) AND x.data_file_id IS NULL"
        ]
        if self.has_inlined_deletes:
            conditions.append("i.file_id IS NULL")
        if self.doubtful:
            marks = ", ".join("?" for _ in self.doubtful)
            conditions.append(f"d.begin_snapshot NOT IN ({marks})")
        return Statement(" AND ".join(conditions), (self.snapshot_id, *self.doubtful))

    def source(self, column_id: int | None = None) -> Statement:
        """The files that the snapshot sees, with what hides rows, and statistics of a column."""
        db, at = self.db, self.snapshot_id
        joins = (
            f" LEFT JOIN (SELECT * FROM {db.table('ducklake_delete_file')} "
            f"WHERE table_id = ? AND {visible_at()}) x ON x.data_file_id = d.data_file_id"
        )
        params: tuple[int, ...] = (self.table_id, at, at)
        if self.has_inlined_deletes:
            name = db.table(f"ducklake_inlined_delete_{self.table_id}")
            joins += (
                f" LEFT JOIN (SELECT DISTINCT file_id FROM {name} WHERE begin_snapshot <= ?) i "
                "ON i.file_id = d.data_file_id"
            )
            params = (*params, at)
        if column_id is not None:
            joins += (
                f" LEFT JOIN (SELECT * FROM {db.table('ducklake_file_column_stats')} "
                "WHERE table_id = ? AND column_id = ?) s ON s.data_file_id = d.data_file_id"
            )
            params = (*params, self.table_id, column_id)
        return Statement(
            f"FROM {db.table('ducklake_data_file')} d{joins} "
            f"WHERE d.table_id = ? AND {visible_at('d')}",
            (*params, self.table_id, at, at),
        )

    def groups_query(self, points: Sequence[int]) -> Statement:
        """Counts the files by age; `points` are the snapshots at which columns changed.

        Its columns are those of GROUP_COLUMNS that have a name.
        """
        plain, source = self.condition(), self.source()
        cases = "".join(
            f" WHEN d.begin_snapshot >= {int(point)} THEN {number}"
            for number, point in sorted(enumerate(points, 1), key=lambda pair: -pair[1])
        )
        group = f"CASE WHEN NOT ({plain.sql}) THEN -1{cases} ELSE 0 END"
        ids = list_sql(self.db, "g.data_file_id") if self.with_ids else None
        return Statement(
            f"SELECT g.age, {ids or 'NULL'} AS ids, "
            "min(g.begin_snapshot) AS begun, min(g.data_file_id) AS sample, "
            "count(*) AS files, sum(g.file_size_bytes) AS bytes, sum(g.record_count) AS held FROM "
            "(SELECT d.begin_snapshot, d.data_file_id, d.file_size_bytes, "
            f"d.record_count, {group} AS age {source.sql}) g GROUP BY g.age",
            (*plain.params, *source.params),
        )

    def load_others(self) -> tuple[list[DataFile], list[tuple[int, int]]]:
        """All that are not plain, with what hides their rows; as `load_files` gives them."""
        db, plain, source = self.db, self.condition(), self.source()
        rows = db.fetch(
            f"SELECT {DATA_COLUMNS}, {DELETE_COLUMNS} {source.sql} AND NOT ({plain.sql}) "
            "ORDER BY d.data_file_id",
            (*source.params, *plain.params),
        )
        positions: list[tuple[int, int]] = []
        if self.has_inlined_deletes:
            positions = load_positions(db, self.table_id, self.snapshot_id)
        return read_files(db, rows, self.directory, positions)

    def load(
        self,
        groups: PlainGroups,
        predicate: Predicate,
        kinds: Mapping[int, DataType],
    ) -> tuple[list[DataFile], FileFacts] | None:
        """Plain files, some of those left out of which no row can match the predicate.

        With what is known of them, by one statement. None when the catalog no longer shows the
        files that were counted.
        """
        kept = self._joined_query(predicate, kinds) or self._kept_query(predicate, kinds)
        return self._load_kept(groups, kept, sorted(columns_of(predicate)))

    def load_some(
        self, groups: PlainGroups, file_ids: Sequence[int]
    ) -> tuple[list[DataFile], FileFacts] | None:
        """The plain files of these ids, and their partitions; otherwise as `load`."""
        plain, source = self.condition(), self.source()
        marks = ", ".join("?" for _ in file_ids) or "NULL"
        query = Statement(
            f"SELECT {DATA_COLUMNS} {source.sql} AND {plain.sql} AND d.data_file_id IN ({marks})",
            (*source.params, *plain.params, *file_ids),
        )
        return self._load_kept(groups, _Kept(query), ())

    def _load_kept(
        self, groups: PlainGroups, kept: _Kept, columns: Sequence[int]
    ) -> tuple[list[DataFile], FileFacts] | None:
        db = self.db
        parts = [
            Statement(f"SELECT {_FILE}, {_KEPT_COLUMNS} FROM kept"),
            *facts_queries(
                db,
                self.table_id,
                columns,
                Statement("SELECT data_file_id FROM kept"),
                source=kept.stats,
            ),
            self._state_query(),
        ]
        found = db.fetch(
            f"WITH kept AS ({kept.query.sql}) {' UNION ALL '.join(part.sql for part in parts)}",
            (*kept.query.params, *(value for part in parts for value in part.params)),
        )
        state = next(row for row in found if row[0] == _STATE)
        if (int(state[1]), int(state[4])) != (groups.latest, 1) and not self._still_there(groups):
            return None
        rows = sorted((row[1:] for row in found if row[0] == _FILE), key=lambda row: int(row[0]))
        files = [read_data_file(db, (*row, *_NO_DELETE_FILE), self.directory, 0) for row in rows]
        return files, read_facts(db, found, columns)

    def _joined_query(self, predicate: Predicate, kinds: Mapping[int, DataType]) -> _Kept | None:
        """Files and statistics by one look at each, where one column decides."""
        test = excluding_test(self.db, self.table_id, predicate, kinds)
        if test is None:
            return None
        (column_id,) = columns_of(predicate)
        plain, source = self.condition(), self.source(column_id)
        query = Statement(
            f"SELECT {DATA_COLUMNS}, s.column_id, s.value_count, s.null_count, s.min_value, "
            f"s.max_value, s.contains_nan {source.sql} AND {plain.sql} "
            f"AND ({test.sql}) IS NOT TRUE",
            (*source.params, *plain.params, *test.params),
        )
        return _Kept(query, Statement("kept WHERE column_id IS NOT NULL"))

    def _kept_query(self, predicate: Predicate, kinds: Mapping[int, DataType]) -> _Kept:
        plain, source = self.condition(), self.source()
        excluded = excluded_files(self.db, self.table_id, predicate, kinds)
        may = not_among(self.db, "d.data_file_id", excluded) if excluded else Statement("1 = 1")
        query = Statement(
            f"SELECT {DATA_COLUMNS} {source.sql} AND {plain.sql} AND {may.sql}",
            (*source.params, *plain.params, *may.params),
        )
        return _Kept(query)

    def _state_query(self) -> Statement:
        """The newest snapshot, and whether ours is still there."""
        snapshots = self.db.table("ducklake_snapshot")
        return Statement(
            f"SELECT {_STATE}, (SELECT max(snapshot_id) FROM {snapshots}), NULL, NULL, "
            f"(SELECT count(*) FROM {snapshots} WHERE snapshot_id = ?), "
            "NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL",
            (self.snapshot_id,),
        )

    def _still_there(self, groups: PlainGroups) -> bool:
        """Whether later commits left the files as they were: compaction changes the past."""
        plain, source = self.condition(), self.source()
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
