"""The rows and statements of one commit, collected before any of them is sent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ducklake_spark.catalog.columns import ColumnHistory
from ducklake_spark.catalog_db.connection import Database, Statement
from ducklake_spark.commit.base import CommitBase, TableTotals
from ducklake_spark.model.entities import Snapshot
from ducklake_spark.model.schema import Schema
from ducklake_spark.model.stats import TableColumnStats


@dataclass
class CommitRows:
    """What one commit writes, with the ids that it takes. Made anew for every attempt.

    Ids are counted on from `base.latest`, the newest snapshot as read inside the commit's own
    transaction: the primary key of the snapshot decides a race, so none is ever given twice.
    """

    db: Database
    base: CommitBase
    rows: dict[str, list[tuple[Any, ...]]] = field(default_factory=lambda: defaultdict(list))
    statements: list[Statement] = field(default_factory=list)
    changes_schema: bool = False
    new_versions: dict[int, Schema | None] = field(default_factory=dict)
    history: Callable[[int], ColumnHistory] | None = None  # the columns of a table, of all times
    totals: dict[int, TableTotals] = field(default_factory=dict)  # of tables after this commit
    column_stats: dict[int, dict[int, TableColumnStats]] = field(default_factory=dict)
    _ids: dict[int, int] = field(default_factory=dict)
    _next_catalog_id: int = -1
    _next_file_id: int = -1

    def __post_init__(self) -> None:
        self._next_catalog_id = self.base.latest.next_catalog_id
        self._next_file_id = self.base.latest.next_file_id

    @property
    def snapshot_id(self) -> int:
        """The number of the snapshot being made."""
        return self.base.latest.snapshot_id + 1

    @property
    def schema_version(self) -> int:
        """The schema version after this commit."""
        return self.base.latest.schema_version + (1 if self.changes_schema else 0)

    def insert(self, table: str, *values: Any) -> None:
        """Add a row, values in the table's physical order."""
        self.rows[table].append(values)

    def execute(self, sql: str, *params: Any) -> None:
        """Add a statement; all of them run before the inserts."""
        self.statements.append(Statement(sql, params))

    def end(self, table: str, key: str, value: int) -> None:
        """End the live rows of `table` where `key` has the value."""
        self.execute(
            f"UPDATE {self.db.table(table)} SET end_snapshot = ? "
            f"WHERE {key} = ? AND end_snapshot IS NULL",
            self.snapshot_id,
            value,
        )

    def change_table(self, table_id: int, schema: Schema, *, inline: bool) -> None:
        """Note that a table which exists has changed: it gets a schema version, and only one.

        With `inline` it also gets a new place for rows in the metadata database, with the columns
        that the last change of the commit leaves.
        """
        self.new_versions[table_id] = schema if inline else None

    def take_catalog_id(self, provisional: int | None = None) -> int:
        """The next id for a schema, table, view, macro, partition or sort spec."""
        taken = self._next_catalog_id
        self._next_catalog_id += 1
        if provisional is not None:
            self._ids[provisional] = taken
        return taken

    def take_file_id(self) -> int:
        """The next id for a data file, delete file or name mapping."""
        taken = self._next_file_id
        self._next_file_id += 1
        return taken

    def real_id(self, object_id: int) -> int:
        """The id in the catalog of an object that this transaction may have made itself."""
        return object_id if object_id >= 0 else self._ids[object_id]

    def snapshot_values(self, now: Any) -> tuple[Any, ...]:
        """The row of ducklake_snapshot."""
        return (
            self.snapshot_id,
            now,
            self.schema_version,
            self._next_catalog_id,
            self._next_file_id,
        )

    def next_base(self, snapshot: Snapshot) -> CommitBase:
        """What the next commit finds, if this one did nothing but add rows to tables."""
        return replace(
            self.base,
            latest=snapshot,
            others=(),
            sent=None,
            totals={**self.base.totals, **self.totals},
            column_stats={**self.base.column_stats, **self.column_stats},
            deleted_files=frozenset(),
        )
