"""What one snapshot shows: schemas, tables and views, loaded as they are asked for.

The names of all objects come with one statement; the columns of a table come when it is first
used. Both stay valid for every snapshot of the same schema version, so they are cached by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ducklake_spark.catalog.columns import (
    ColumnHistory,
    column_history_query,
    read_column_history,
)
from ducklake_spark.catalog.comments import column_comments_query, comments_query
from ducklake_spark.catalog.macros import macro_queries, read_macros
from ducklake_spark.catalog_db.connection import Database, Statement
from ducklake_spark.catalog_db.statements import visible_at
from ducklake_spark.model.entities import (
    MacroEntry,
    PartitionField,
    PartitionSpec,
    SchemaEntry,
    Snapshot,
    SortKey,
    SortSpec,
    TableEntry,
    ViewEntry,
)
from ducklake_spark.model.schema import Schema


@dataclass(frozen=True, slots=True)
class TableName:
    """A table that exists, before its columns are loaded."""

    table_id: int
    table_uuid: str
    begin_snapshot: int
    schema_id: int
    name: str
    path: str
    path_is_relative: bool


@dataclass
class CatalogState:
    """The objects of one schema version. Look-ups ignore the case of names, as DuckDB does."""

    db: Database
    snapshot: Snapshot
    schemas: dict[int, SchemaEntry]
    tables: dict[int, TableName]
    views: dict[int, ViewEntry]
    macros: dict[int, MacroEntry]
    comments: dict[int, str]
    _entries: dict[int, TableEntry] = field(default_factory=dict)
    _histories: dict[int, ColumnHistory] = field(default_factory=dict)

    def find_schema(self, name: str) -> SchemaEntry | None:
        """The schema of that name."""
        wanted = name.lower()
        return next((s for s in self.schemas.values() if s.name.lower() == wanted), None)

    def find_table(self, schema_id: int, name: str) -> TableEntry | None:
        """The table of that name with its columns."""
        found = _find(self.tables.values(), schema_id, name)
        return self.table(found.table_id) if found else None

    def find_view(self, schema_id: int, name: str) -> ViewEntry | None:
        """The view of that name."""
        return _find(self.views.values(), schema_id, name)

    def find_macro(self, schema_id: int, name: str, *, is_table: bool) -> MacroEntry | None:
        """The scalar or table macro of that name."""
        of_kind = [macro for macro in self.macros.values() if macro.is_table == is_table]
        return _find(of_kind, schema_id, name)

    def table(self, table_id: int) -> TableEntry:
        """The table of that id with its columns, in one round trip."""
        if table_id not in self._entries:
            at = self.snapshot.snapshot_id
            columns, partition, sort, comments = self.db.fetch_batch(
                (
                    column_history_query(self.db, table_id),
                    _partition_query(self.db, at, table_id),
                    _sort_query(self.db, at, table_id),
                    column_comments_query(self.db, at, table_id),
                )
            )
            history = read_column_history(self.db, columns)
            self._histories.setdefault(table_id, history)
            self._entries[table_id] = replace(
                _entry(self.tables[table_id], history.schema_at(at)),
                # The row of a renamed table begins with its new name.
                begin_snapshot=history.first_snapshot,
                partition=_partition(partition),
                sort=_sort(sort),
                comment=self.comments.get(table_id),
                column_comments=dict(comments),
            )
        return self._entries[table_id]

    def history(self, table_id: int) -> ColumnHistory:
        """All versions of the table's columns."""
        if table_id not in self._histories:
            (rows,) = self.db.fetch_batch([column_history_query(self.db, table_id)])
            self._histories[table_id] = read_column_history(self.db, rows)
        return self._histories[table_id]

    def after(
        self,
        snapshot: Snapshot,
        tables: Iterable[TableEntry],
        histories: Mapping[int, ColumnHistory],
    ) -> CatalogState:
        """The state of the next snapshot, in which nothing but these tables is different."""
        names = dict(self.tables)
        for table in tables:
            old = names[table.table_id]
            if old.name != table.name:
                names[table.table_id] = replace(
                    old, name=table.name, begin_snapshot=snapshot.snapshot_id
                )
        return replace(
            self,
            snapshot=snapshot,
            tables=names,
            _entries={**self._entries, **{table.table_id: table for table in tables}},
            _histories={**self._histories, **histories},
        )


Named = TypeVar("Named", TableName, ViewEntry, MacroEntry)


def _find(entries: Iterable[Named], schema_id: int, name: str) -> Named | None:
    wanted = name.lower()
    return next((e for e in entries if e.schema_id == schema_id and e.name.lower() == wanted), None)


def load_state(db: Database, snapshot: Snapshot) -> CatalogState:
    """Names of everything that the snapshot shows, in one round trip."""
    schemas, tables, views, tags, *of_macros = db.fetch_batch(
        (
            *_name_queries(db, snapshot.snapshot_id),
            comments_query(db, snapshot.snapshot_id),
            *macro_queries(db, snapshot.snapshot_id),
        )
    )
    comments: dict[int, str] = dict(tags)
    return CatalogState(
        db,
        snapshot,
        {row[0]: SchemaEntry(row[0], str(row[1]), row[2], *_path(db, row[3:5])) for row in schemas},
        {
            row[0]: TableName(row[0], str(row[1]), row[2], row[3], row[4], *_path(db, row[5:7]))
            for row in tables
        },
        {row[0]: _view(row, comments) for row in views},
        read_macros(*of_macros),
        comments,
    )


def _name_queries(db: Database, snapshot_id: int) -> tuple[Statement, Statement, Statement]:
    at = (snapshot_id, snapshot_id)
    return (
        Statement(
            "SELECT schema_id, schema_uuid, schema_name, path, path_is_relative "
            f"FROM {db.table('ducklake_schema')} WHERE {visible_at()} ORDER BY schema_id",
            at,
        ),
        Statement(
            "SELECT table_id, table_uuid, begin_snapshot, schema_id, table_name, path, "
            f"path_is_relative FROM {db.table('ducklake_table')} WHERE {visible_at()} "
            "ORDER BY table_id",
            at,
        ),
        Statement(
            "SELECT view_id, view_uuid, schema_id, view_name, dialect, sql, column_aliases "
            f"FROM {db.table('ducklake_view')} WHERE {visible_at()} ORDER BY view_id",
            at,
        ),
    )


def _path(db: Database, row: tuple[Any, ...]) -> tuple[str, bool]:
    """Lakes of old versions have no path for a schema or table: then it is the parent's."""
    path, is_relative = row
    return ("", True) if not path else (str(path), db.decode("boolean", is_relative))


def _view(row: tuple[Any, ...], comments: dict[int, str]) -> ViewEntry:
    view_id, uuid, schema_id, name, dialect, sql, aliases = row
    names, comment = _aliases(aliases), comments.get(view_id)
    return ViewEntry(view_id, str(uuid), schema_id, name, dialect, sql, names, comment)


def _aliases(text: str | None) -> tuple[str, ...]:
    """Read ``"x","y"``; quotes inside a name are doubled."""
    if not text:
        return ()
    return tuple(name.replace('""', '"') for name in text[1:-1].split('","'))


def _entry(name: TableName, schema: Schema) -> TableEntry:
    return TableEntry(
        name.table_id,
        name.table_uuid,
        name.schema_id,
        name.name,
        name.path,
        name.path_is_relative,
        schema,
        name.begin_snapshot,
    )


def load_partition_spec(db: Database, table_id: int, snapshot_id: int) -> PartitionSpec | None:
    """How a table was partitioned at a snapshot."""
    (rows,) = db.fetch_batch([_partition_query(db, snapshot_id, table_id)])
    return _partition(rows)


def _partition_query(db: Database, snapshot_id: int, table_id: int) -> Statement:
    return Statement(
        f"SELECT i.partition_id, c.column_id, c.transform FROM "
        f"{db.table('ducklake_partition_info')} i JOIN {db.table('ducklake_partition_column')} c "
        "ON c.partition_id = i.partition_id AND c.table_id = i.table_id "
        f"WHERE {visible_at('i')} AND i.table_id = ? ORDER BY c.partition_key_index",
        (snapshot_id, snapshot_id, table_id),
    )


def _partition(rows: Sequence[tuple[Any, ...]]) -> PartitionSpec | None:
    if not rows:
        return None
    return PartitionSpec(rows[0][0], tuple(PartitionField(row[1], row[2]) for row in rows))


def _sort_query(db: Database, snapshot_id: int, table_id: int) -> Statement:
    return Statement(
        f"SELECT i.sort_id, e.expression, e.sort_direction, e.null_order, e.dialect FROM "
        f"{db.table('ducklake_sort_info')} i JOIN {db.table('ducklake_sort_expression')} e "
        "ON e.sort_id = i.sort_id AND e.table_id = i.table_id "
        f"WHERE {visible_at('i')} AND i.table_id = ? ORDER BY e.sort_key_index",
        (snapshot_id, snapshot_id, table_id),
    )


def _sort(rows: Sequence[tuple[Any, ...]]) -> SortSpec | None:
    if not rows:
        return None
    return SortSpec(rows[0][0], tuple(SortKey(*row[1:]) for row in rows))
