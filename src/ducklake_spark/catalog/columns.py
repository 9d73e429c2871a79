"""The column rows of a table, of all times, and the schema that any snapshot saw."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ducklake_spark.catalog_db.connection import Database, Statement
from ducklake_spark.model.schema import Column, Default, Schema

# The text that stands for "no default" (a default of the four letters cannot be told from it).
_NO_DEFAULT = "NULL"


@dataclass(frozen=True, slots=True)
class ColumnRow:
    """One version of one node of a table's column trees."""

    column_id: int
    begin_snapshot: int
    end_snapshot: int | None
    column_order: int
    name: str
    type_name: str
    initial_default: str | None
    default_value: str | None
    nulls_allowed: bool
    parent_column: int | None
    default_value_type: str | None
    default_value_dialect: str | None

    def visible_at(self, snapshot_id: int) -> bool:
        """Whether the snapshot sees this version."""
        return self.begin_snapshot <= snapshot_id and (
            self.end_snapshot is None or snapshot_id < self.end_snapshot
        )


@dataclass(frozen=True)
class ColumnHistory:
    """All versions of all columns of one table: files of any age can be understood from it."""

    rows: tuple[ColumnRow, ...]

    def schema_at(self, snapshot_id: int) -> Schema:
        """The columns as that snapshot saw them; see `changes` for one before the first."""
        last, schema = self._last
        if last != snapshot_id:
            schema = self._schema_at(snapshot_id)
            self.__dict__["_last"] = (snapshot_id, schema)  # every small insert asks for the same
        return schema

    @cached_property
    def _last(self) -> tuple[int, Schema]:
        """The snapshot that was last asked for."""
        return self.first_snapshot, self._schema_at(self.first_snapshot)

    def _schema_at(self, snapshot_id: int) -> Schema:
        if snapshot_id < self.first_snapshot:
            return self._first_schema()
        return build_schema(row for row in self.rows if row.visible_at(snapshot_id))

    @cached_property
    def first_snapshot(self) -> int:
        """The snapshot that made the table."""
        return min(row.begin_snapshot for row in self.rows)

    @property
    def changes(self) -> set[int]:
        """The snapshots at which a column came, went or changed.

        The one before the table's first stands for the columns that files of the first have for
        sure: the commit that made the table may have altered it too.
        """
        ends = {row.end_snapshot for row in self.rows if row.end_snapshot is not None}
        return {self.first_snapshot - 1} | {row.begin_snapshot for row in self.rows} | ends

    def _first_schema(self) -> Schema:
        # A column that was changed has left a row that nobody sees; one that shows a default to
        # older rows may have come late.
        first = self.first_snapshot
        rows = {row.column_id: row for row in self.rows if row.begin_snapshot == first}
        unseen = [row for row in self.rows if row.begin_snapshot == row.end_snapshot == first]
        rows |= {row.column_id: row for row in unseen}
        return build_schema(row for row in rows.values() if row.initial_default is None)

    def with_rows(
        self, snapshot_id: int, ended: AbstractSet[int], begun: Iterable[ColumnRow]
    ) -> ColumnHistory:
        """The history after a commit that ends the live rows of some columns and adds others."""
        kept = (
            replace(row, end_snapshot=snapshot_id)
            if row.end_snapshot is None and row.column_id in ended
            else row
            for row in self.rows
        )
        return ColumnHistory((*kept, *begun))

    @property
    def next_column_id(self) -> int:
        """The first id never used: ids of dropped columns are not used again."""
        return max((row.column_id for row in self.rows), default=0) + 1


def column_history_query(db: Database, table_id: int) -> Statement:
    """Asks for every row of ducklake_column for the table; see `read_column_history`."""
    return Statement(
        "SELECT column_id, begin_snapshot, end_snapshot, column_order, column_name, column_type, "
        "initial_default, default_value, nulls_allowed, parent_column, default_value_type, "
        f"default_value_dialect FROM {db.table('ducklake_column')} WHERE table_id = ?",
        (table_id,),
    )


def read_column_history(db: Database, rows: Iterable[tuple[Any, ...]]) -> ColumnHistory:
    """The versions in the fetched rows."""
    return ColumnHistory(
        tuple(ColumnRow(*(*row[:8], db.decode("boolean", row[8]), *row[9:])) for row in rows)
    )


def build_schema(rows: Iterable[ColumnRow]) -> Schema:
    """Put the visible nodes together to trees."""
    children: dict[int | None, list[ColumnRow]] = defaultdict(list)
    for row in rows:
        children[row.parent_column].append(row)
    for siblings in children.values():
        siblings.sort(key=lambda row: row.column_order)

    def node(row: ColumnRow) -> Column:
        return Column(
            row.column_id,
            row.name,
            row.type_name,
            tuple(node(child) for child in children.get(row.column_id, ())),
            # The extension leaves the flag of nested fields unset: it has no meaning there.
            row.nulls_allowed or row.parent_column is not None,
            row.initial_default,
            _default(row),
        )

    return Schema(tuple(node(row) for row in children.get(None, ())))


def _default(row: ColumnRow) -> Default | None:
    if row.default_value is None or row.default_value == _NO_DEFAULT:
        return None
    dialect = row.default_value_dialect or "duckdb"
    if row.default_value_type == "expression":
        return Default(row.default_value, "expression", dialect)
    return Default(row.default_value, "literal", dialect)
