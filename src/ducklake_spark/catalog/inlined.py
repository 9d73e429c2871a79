"""Rows that live in the metadata database instead of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ducklake_spark.catalog.columns import ColumnHistory
from ducklake_spark.catalog_db.connection import Database, Statement
from ducklake_spark.catalog_db.statements import visible_at
from ducklake_spark.model.entities import InlinedTable, TableEntry
from ducklake_spark.model.literals import parse_text
from ducklake_spark.model.number_text import to_float32
from ducklake_spark.model.schema import Column, Schema
from ducklake_spark.model.types import (
    DataType,
    ListType,
    MapType,
    StructField,
    StructType,
)


@dataclass(frozen=True, slots=True)
class InlinedRow:
    """A row with its identity; the values are those of the table's columns, in order.

    A row of an open transaction has no snapshot yet, and no id unless it replaces another.
    """

    row_id: int | None
    snapshot_id: int | None
    values: tuple[Any, ...]
    table_name: str | None = None  # of the metadata database; None for one not committed


DatedTables = Sequence[tuple[InlinedTable, int]]
"""Tables of inlined rows, each with the snapshot at which the columns that it has were new."""


def load_inlined_rows(
    db: Database,
    table: TableEntry,
    history: ColumnHistory,
    snapshot_id: int,
    tables: DatedTables | None = None,
) -> list[InlinedRow]:
    """The inlined rows that a snapshot sees, with the columns that `table` has now.

    Every schema version has a table of its own with the columns of that time; they are matched by
    column id, so that renamed, added, dropped and promoted columns show what they should.

    Args:
        db: the metadata database.
        table: whose rows.
        history: its columns of all times.
        snapshot_id: which state.
        tables: where they are, if that is known.
    """
    if tables is None:
        tables = load_dated_tables(db, table)
    versions = list(_versions(tables, history, snapshot_id))
    if not versions:
        return []
    queries = [_rows_query(db, inlined, stored, snapshot_id) for inlined, stored in versions]
    found = (
        [db.fetch(queries[0].sql, queries[0].params)]
        if len(queries) == 1
        else (db.fetch_batch(queries))
    )
    rows = [
        row
        for (inlined, stored), fetched in zip(versions, found, strict=True)
        for row in _read_rows(fetched, inlined, stored, table.schema)
    ]
    return sorted(rows, key=lambda row: row.row_id or 0)


def _versions(
    tables: DatedTables, history: ColumnHistory, snapshot_id: int
) -> Iterator[tuple[InlinedTable, Schema]]:
    """The inlined tables of which a snapshot may see rows, each with the columns it has."""
    for inlined, version in tables:
        # A newer one has rows of newer snapshots only, and columns that may not be known here.
        if version <= snapshot_id:
            yield inlined, history.schema_at(version)


def evolve_row(values: Sequence[Any], before: Schema, after: Schema) -> tuple[Any, ...]:
    """The values of a row that was made with the columns `before`, for the columns `after`."""
    old = {c.column_id: (value, c) for c, value in zip(before.columns, values, strict=True)}
    return tuple(
        _evolve(*old[column.column_id], column)
        if column.column_id in old
        else _initial_default(column)
        for column in after.columns
    )


@dataclass(frozen=True)
class InlinedSource:
    """A table of inlined rows, the texts to select of it, and what makes a row of them."""

    table: InlinedTable
    columns: str
    read: Callable[[Sequence[Any]], tuple[Any, ...]]


def load_inlined_sources(
    db: Database, table: TableEntry, history: ColumnHistory, snapshot_id: int
) -> list[InlinedSource]:
    """Where the inlined rows are that snapshots up to this one made, as columns of `table`."""
    return [
        _source(db, inlined, stored, table.schema)
        for inlined, stored in _versions(load_dated_tables(db, table), history, snapshot_id)
    ]


def _source(db: Database, inlined: InlinedTable, stored: Schema, wanted: Schema) -> InlinedSource:
    texts = [db.inlined_text(column.name, column.type) for column in stored.columns]
    readers = [_reader(column, stored) for column in wanted.columns]
    return InlinedSource(
        inlined, ", ".join(texts), lambda values: tuple(read(values) for read in readers)
    )


def count_inlined_rows(db: Database, tables: DatedTables, snapshot_id: int) -> int:
    """How many rows of these tables a snapshot sees, by one statement."""
    if not tables:
        return 0
    counts = " UNION ALL ".join(
        f"SELECT count(*) FROM {db.table(inlined.table_name)} WHERE {visible_at()}"
        for inlined, _ in tables
    )
    rows = db.fetch(counts, (snapshot_id, snapshot_id) * len(tables))
    return sum(int(row[0]) for row in rows)


def load_inlined_tables(db: Database, table_id: int) -> list[InlinedTable]:
    """The tables that hold inlined rows of a table, one for each schema version, oldest first."""
    rows = db.fetch(
        "SELECT table_id, table_name, schema_version FROM "
        f"{db.table('ducklake_inlined_data_tables')} WHERE table_id = ? ORDER BY schema_version",
        (table_id,),
    )
    return [InlinedTable(*row) for row in rows]


def load_dated_tables(db: Database, table: TableEntry) -> list[tuple[InlinedTable, int]]:
    """`load_inlined_tables`, each with its `load_version_snapshot`, by one statement."""
    rows = db.fetch(
        "SELECT t.table_id, t.table_name, t.schema_version, (SELECT max(v.begin_snapshot) "
        f"FROM {db.table('ducklake_schema_versions')} v WHERE v.table_id = t.table_id "
        "AND v.schema_version <= t.schema_version) "
        f"FROM {db.table('ducklake_inlined_data_tables')} t WHERE t.table_id = ? "
        "ORDER BY t.schema_version",
        (table.table_id,),
    )
    return [
        (InlinedTable(*row[:3]), table.begin_snapshot if row[3] is None else int(row[3]))
        for row in rows
    ]


def load_version_snapshot(db: Database, table: TableEntry, inlined: InlinedTable) -> int:
    """The first snapshot of the schema version that the inlined table was made for.

    A version that came about only by making the inlined table has no row of its own: the one
    before it is in force.
    """
    row = db.fetch(
        f"SELECT max(begin_snapshot) FROM {db.table('ducklake_schema_versions')} "
        "WHERE table_id = ? AND schema_version <= ?",
        (table.table_id, inlined.schema_version),
    )[0]
    return table.begin_snapshot if row[0] is None else int(row[0])


@dataclass(frozen=True, slots=True)
class StoredRow:
    """An inlined row of any age, with the columns it was stored with."""

    row_id: int
    begin_snapshot: int
    end_snapshot: int | None
    values: tuple[Any, ...]


def count_stored_rows(db: Database, inlined: InlinedTable, until: int) -> int:
    """How many rows were put there up to a snapshot, ended ones among them."""
    found = db.fetch(
        f"SELECT count(*) FROM {db.table(inlined.table_name)} WHERE begin_snapshot <= ?", (until,)
    )
    return int(found[0][0])


def load_stored_rows(
    db: Database,
    inlined: InlinedTable,
    stored: Schema,
    until: int,
    *,
    after: tuple[int, int],
    limit: int,
) -> list[StoredRow]:
    """Some of the rows that were put there up to a snapshot, by row id and begin.

    Args:
        db: the metadata database.
        inlined: the table of inlined rows.
        stored: its columns.
        until: the snapshot.
        after: row id and begin of the last row that is known already.
        limit: how many rows at most.
    """
    texts = [db.inlined_text(column.name, column.type) for column in stored.columns]
    rows = db.fetch(
        f"SELECT row_id, begin_snapshot, end_snapshot, {', '.join(texts)} "
        f"FROM {db.table(inlined.table_name)} WHERE begin_snapshot <= ? "
        "AND (row_id > ? OR (row_id = ? AND begin_snapshot > ?)) "
        f"ORDER BY row_id, begin_snapshot LIMIT {limit}",
        (until, after[0], *after),
    )
    readers = [_reader(column, stored) for column in stored.columns]
    return [
        StoredRow(row_id, begin, end, tuple(read(values) for read in readers))
        for row_id, begin, end, *values in rows
    ]


def _rows_query(db: Database, inlined: InlinedTable, stored: Schema, snapshot_id: int) -> Statement:
    texts = [db.inlined_text(column.name, column.type) for column in stored.columns]
    return Statement(
        f"SELECT row_id, begin_snapshot, {', '.join(texts)} FROM {db.table(inlined.table_name)} "
        f"WHERE {visible_at()} ORDER BY row_id",
        (snapshot_id, snapshot_id),
    )


def _read_rows(
    rows: Iterable[Sequence[Any]], inlined: InlinedTable, stored: Schema, wanted: Schema
) -> Iterator[InlinedRow]:
    readers = [_reader(column, stored) for column in wanted.columns]
    for row_id, begin, *values in rows:
        read = tuple(reader(values) for reader in readers)
        yield InlinedRow(row_id, begin, read, inlined.table_name)


def _reader(column: Column, stored: Schema) -> Callable[[Sequence[Any]], Any]:
    """How to get the value of `column` out of a stored row of texts."""
    position = next(
        (i for i, c in enumerate(stored.columns) if c.column_id == column.column_id), None
    )
    if position is None:
        default = _initial_default(column)
        return lambda _: default
    old = stored.columns[position]
    kind = _reading_type(old, column)

    def read(texts: Sequence[Any]) -> Any:
        text = texts[position]
        if text is None:
            return None
        # A blob that is no part of something else comes as hexadecimal digits.
        return _evolve(parse_text(text, kind, hex_blob=not old.children), old, column)

    return read


def _initial_default(column: Column) -> Any:
    text = column.initial_default
    return None if text is None else parse_text(text, column.type)


def _reading_type(old: Column, new: Column | None) -> DataType:
    """The structure that was stored, its leaves with the types they have been promoted to."""
    below = {child.column_id: child for child in new.children} if new else {}
    kinds = [_reading_type(child, below.get(child.column_id)) for child in old.children]
    match old.type_name.lower():
        case "list":
            return ListType(kinds[0])
        case "map":
            return MapType(kinds[0], kinds[1])
        case "struct":
            return StructType(
                tuple(StructField(c.name, k) for c, k in zip(old.children, kinds, strict=True))
            )
        case "float32":
            return old.type  # its text is the shortest for 32 bits: read as 64 it is another number
        case _:
            return new.type if new and not new.children else old.type


def _evolve(value: Any, old: Column, new: Column) -> Any:
    """Give a value the shape and type that the column has now."""
    if value is None:
        return None
    if not old.children:
        widened = old.type_name.lower() == "float32" and new.type_name.lower() == "float64"
        return to_float32(value) if widened else value
    match old.type_name.lower():
        case "list":
            return [_evolve(item, old.children[0], new.children[0]) for item in value]
        case "map":
            (old_key, old_value), (new_key, new_value) = old.children, new.children
            pairs = value.items() if isinstance(value, dict) else value
            return {
                _evolve(k, old_key, new_key): _evolve(v, old_value, new_value) for k, v in pairs
            }
        case _:
            fields = value.values() if isinstance(value, dict) else value
            return evolve_row(tuple(fields), Schema(old.children), Schema(new.children))
