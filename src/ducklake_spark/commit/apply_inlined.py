"""Small inserts: rows that go into a table of the metadata database instead of a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ducklake_spark.commit.apply_objects import create_inlined_table
from ducklake_spark.commit.rows import CommitRows
from ducklake_spark.model.entities import TableEntry
from ducklake_spark.model.literals import format_text
from ducklake_spark.model.schema import Schema
from ducklake_spark.model.types import DataType, ScalarType

NewRow = tuple[int | None, Sequence[Any]]
"""The id of a row that replaces another, None for a new one; and its values."""


def insert_inlined_rows(
    commit: CommitRows,
    table: TableEntry,
    table_id: int,
    rows: Sequence[NewRow],
    row_id: int,
) -> int:
    """Insert rows into the newest inlined table, making one if needed.

    Rows without an id get consecutive ones from `row_id` on; returns the next that is free.
    """
    kinds = [column.type for column in table.schema.columns]
    name = _find_inlined_table(commit, table, table_id)
    if name is None:
        # Readers cache the catalog by schema version: a new place for rows must change it.
        commit.changes_schema = True
        name = create_inlined_table(commit, table_id, table.schema)
    texts: list[tuple[Any, ...]] = []
    for kept_id, row in rows:
        given = row_id if kept_id is None else kept_id
        row_id += kept_id is None
        texts.append((given, commit.snapshot_id, None, *map(_text, row, kinds)))
    commit.statements += commit.db.insert_inlined_statements(name, kinds, texts)
    return row_id


def _find_inlined_table(commit: CommitRows, table: TableEntry, table_id: int) -> str | None:
    """The one of the latest schema version; it may be of this very commit.

    If the table was altered while nothing could be inlined, there is none with its columns.
    """
    made = [row for row in commit.rows["ducklake_inlined_data_tables"] if row[0] == table_id]
    if made:
        return str(made[-1][1])
    since = commit.base.inlined_since.get(table_id)
    if since is not None and commit.history is not None:
        stored = commit.history(table_id).schema_at(since)
        if _layout(stored) != _layout(table.schema):
            return None
    return commit.base.inlined_tables.get(table_id)


def _layout(schema: Schema) -> list[tuple[int, str, DataType]]:
    return [(column.column_id, column.name, column.type) for column in schema.columns]


def _text(value: Any, kind: DataType) -> str | None:
    if value is None:
        return None
    if kind == ScalarType("blob"):
        return bytes(value).hex().upper()
    return format_text(value, kind)
