"""Create, rename and drop views and macros; comment on tables, views and columns."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace

from ducklake_spark.commit.transaction import Transaction
from ducklake_spark.errors import AlreadyExists, InvalidInput, NotFound, TableNotFound
from ducklake_spark.model.changes import CommentOn, CreateMacro, CreateView, DropMacro, DropView
from ducklake_spark.model.entities import (
    MacroEntry,
    MacroImplementation,
    SchemaEntry,
    TableEntry,
    ViewEntry,
)


def create_view(
    tx: Transaction,
    schema: SchemaEntry,
    name: str,
    sql: str,
    column_aliases: Sequence[str],
    *,
    or_replace: bool = False,
    if_not_exists: bool = False,
) -> None:
    """CREATE VIEW: the text is DuckDB's dialect."""
    existing = tx.local.find_view(schema.schema_id, name)
    if tx.local.find_table(schema.schema_id, name) is not None:
        replacing = " is of type Table, trying to replace with type View" if or_replace else ""
        raise AlreadyExists(
            f'Table with name "{name}" already exists{replacing}.', hint="choose another name."
        )
    if existing is not None:
        if if_not_exists:
            return
        if not or_replace:
            raise AlreadyExists(
                f'View with name "{name}" already exists.', hint="use CREATE OR REPLACE VIEW."
            )
        tx.stage(DropView(existing.view_id, schema.name, existing.name))
    view = ViewEntry(
        tx.local.provisional_id(),
        str(uuid.uuid4()),
        schema.schema_id,
        name,
        "duckdb",
        sql,
        tuple(column_aliases),
    )
    tx.stage(CreateView(view, schema.name))


def rename_view(tx: Transaction, schema: SchemaEntry, view: ViewEntry, to: str) -> None:
    """ALTER VIEW … RENAME TO."""
    taken = tx.local.find_view(schema.schema_id, to) or tx.local.find_table(schema.schema_id, to)
    if taken is not None and taken != view:
        raise AlreadyExists(f'"{to}" already exists in schema "{schema.name}".')
    tx.stage(CreateView(replace(view, name=to), schema.name))


def drop_view(
    tx: Transaction, schema: SchemaEntry, name: str, *, if_exists: bool, missing: NotFound
) -> None:
    """DROP VIEW. `missing` is the error for a name that is not there."""
    view = tx.local.find_view(schema.schema_id, name)
    if view is not None:
        tx.stage(DropView(view.view_id, schema.name, view.name))
    elif tx.local.find_table(schema.schema_id, name) is not None:
        raise InvalidInput(
            f'Cannot drop "{name}": it is of type Table, trying to drop type View; it is a table, '
            "not a view.",
            hint="use DROP TABLE.",
        )
    elif not if_exists:
        raise missing


def create_macro(
    tx: Transaction,
    schema: SchemaEntry,
    name: str,
    implementations: Sequence[MacroImplementation],
    *,
    or_replace: bool = False,
    if_not_exists: bool = False,
) -> None:
    """CREATE MACRO with one or more overloads, all scalar or all of tables."""
    if len({impl.type for impl in implementations}) > 1:
        raise InvalidInput(f'Macro "{name}": its overloads must all be scalar or all be TABLE.')
    is_table = implementations[0].type == "table"
    existing = tx.local.find_macro(schema.schema_id, name, is_table=is_table)
    if existing is not None:
        if if_not_exists:
            return
        if not or_replace:
            raise AlreadyExists(
                f'{"Table " * is_table}Macro Function with name "{name}" already exists.',
                hint="use CREATE OR REPLACE MACRO.",
            )
        tx.stage(DropMacro(existing))
    macro = MacroEntry(tx.local.provisional_id(), schema.schema_id, name, tuple(implementations))
    tx.stage(CreateMacro(macro, schema.name))


def drop_macro(
    tx: Transaction, schema: SchemaEntry, name: str, *, is_table: bool, if_exists: bool
) -> None:
    """DROP MACRO [TABLE]."""
    macro = tx.local.find_macro(schema.schema_id, name, is_table=is_table)
    if macro is not None:
        tx.stage(DropMacro(macro))
        return
    if not if_exists:
        kind = "Table macro" if is_table else "Macro"
        known = [m.name for m in tx.local.macros() if m.is_table == is_table]
        error = TableNotFound.named(name, where=f'schema "{schema.name}"', candidates=known)
        raise NotFound(error.message.replace("Table", kind, 1), hint=error.hint)


def comment_on(
    tx: Transaction, target: TableEntry | ViewEntry, comment: str | None, *, column: str | None
) -> None:
    """COMMENT ON TABLE, VIEW or COLUMN; None takes the comment away."""
    if column is None:
        tx.stage(CommentOn(target, comment))
        return
    if isinstance(target, ViewEntry):
        raise InvalidInput(f'Columns of the view "{target.name}" cannot have comments.')
    found = target.schema.get(column, table=target.name)
    tx.stage(CommentOn(target, comment, found.column_id))
