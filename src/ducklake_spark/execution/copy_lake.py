"""COPY FROM DATABASE between two lakes: schemas, tables with their rows, views and macros."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ducklake_spark.commit.transaction import Transaction
from ducklake_spark.errors import InvalidInput
from ducklake_spark.lake import Lake
from ducklake_spark.model.entities import MacroEntry, SchemaEntry, TableEntry
from ducklake_spark.operations import objects, views
from ducklake_spark.operations.append import append
from ducklake_spark.operations.objects import NewColumn
from ducklake_spark.operations.read import read_table

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection


def copy_lake(
    con: Connection, tx: Transaction, source: Lake, target: Lake, *, with_rows: bool
) -> list[tuple[Any, ...]]:
    """Stage a copy of what a lake shows now; returns the report."""
    if source is target:
        raise InvalidInput(f'Cannot copy the lake "{source.name}" to itself.')
    report: list[tuple[Any, ...]] = []
    with con.reading(source) as seen:
        local = seen.local
        for schema in local.schemas():
            if tx.local.find_schema(schema.name) is None:
                objects.create_schema(tx, schema.name)
                report.append(("schema", schema.name, schema.name, "copied", None, None))
        for table in local.tables():
            place = local.schema(table.schema_id)
            entry = _create(tx, target, place, table)
            rows = None
            if with_rows:
                found = con.table_version((source.name, place.name, table.name))
                rows = append(target, tx, entry, read_table(con.spark, found))
            report.append(("table", place.name, table.name, "copied", rows, None))
        for macro in local.macros():
            place = local.schema(macro.schema_id)
            _create_macro(tx, _schema(tx, place.name), macro)
            report.append(("macro", place.name, macro.name, "copied", None, None))
        for view in local.views():
            place = local.schema(view.schema_id)
            inside = _schema(tx, place.name)
            views.create_view(tx, inside, view.name, view.sql, view.column_aliases)
            report.append(("view", place.name, view.name, "copied", None, None))
    return report


def _schema(tx: Transaction, name: str) -> SchemaEntry:
    found = tx.local.find_schema(name)
    assert found is not None  # noqa: S101 - all schemas were made first
    return found


def _create(tx: Transaction, target: Lake, place: SchemaEntry, table: TableEntry) -> TableEntry:
    columns = [
        NewColumn(c.name, c.type, not c.nulls_allowed, c.default, _initial(c.default))
        for c in table.schema.columns
    ]
    made = objects.create_table(target, tx, _schema(tx, place.name), table.name, columns)
    for column_id, text in table.column_comments.items():
        name = table.schema.by_id[column_id].name
        views.comment_on(tx, _current(tx, made), text, column=name)
    if table.comment is not None:
        views.comment_on(tx, _current(tx, made), table.comment, column=None)
    return made


def _initial(default: Any) -> str | None:
    return default.text if default is not None and default.kind == "literal" else None


def _current(tx: Transaction, table: TableEntry) -> TableEntry:
    return tx.local.find_table(table.schema_id, table.name) or table


def _create_macro(tx: Transaction, schema: SchemaEntry, macro: MacroEntry) -> None:
    views.create_macro(tx, schema, macro.name, list(macro.implementations))
