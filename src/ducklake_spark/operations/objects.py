"""Create and drop schemas and tables."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ducklake_spark.commit.apply_objects import RESERVED_COLUMNS
from ducklake_spark.commit.transaction import Transaction
from ducklake_spark.errors import (
    AlreadyExists,
    InvalidInput,
    NotFound,
    NotSupported,
    SchemaNotFound,
)
from ducklake_spark.lake import Lake
from ducklake_spark.model.changes import (
    CreateSchema,
    CreateTable,
    DropMacro,
    DropSchema,
    DropTable,
    DropView,
)
from ducklake_spark.model.entities import (
    PartitionSpec,
    SchemaEntry,
    SortKey,
    SortSpec,
    TableEntry,
)
from ducklake_spark.model.names import make_uuid7
from ducklake_spark.model.paths import path_for_name
from ducklake_spark.model.schema import Default, Schema, build_column
from ducklake_spark.model.types import DataType, ListType, MapType, ScalarType, StructType
from ducklake_spark.operations.layouts import Key, partition_fields

_UNSUPPORTED_TYPES = frozenset({"variant", "geometry"})


@dataclass(frozen=True, slots=True)
class NewColumn:
    """A column of a table to be made."""

    name: str
    type: DataType
    not_null: bool = False
    default: Default | None = None
    initial_default: str | None = None  # a literal default as text of the column's type


def create_schema(tx: Transaction, name: str, *, if_not_exists: bool = False) -> None:
    """CREATE SCHEMA."""
    if tx.local.find_schema(name) is not None:
        if if_not_exists:
            return
        raise AlreadyExists(
            f'Schema with name "{name}" already exists.', hint="use CREATE SCHEMA IF NOT EXISTS."
        )
    uuid = make_uuid7()
    entry = SchemaEntry(tx.local.provisional_id(), uuid, name, path_for_name(name, uuid))
    tx.stage(CreateSchema(entry))


def drop_schema(
    tx: Transaction, name: str, *, where: str, if_exists: bool = False, cascade: bool = False
) -> None:
    """DROP SCHEMA, with everything in it only if asked to."""
    schema = tx.local.find_schema(name)
    if schema is None:
        if if_exists:
            return
        known = [s.name for s in tx.local.schemas()]
        raise SchemaNotFound.named(name, where=where, candidates=known)
    tables = tx.local.table_names(schema.schema_id)
    views = [v for v in tx.local.views() if v.schema_id == schema.schema_id]
    macros = [m for m in tx.local.macros() if m.schema_id == schema.schema_id]
    if (tables or views or macros) and not cascade:
        inside = [n for _, n in tables] + [v.name for v in views] + [m.name for m in macros]
        raise InvalidInput(
            f'Cannot drop schema "{name}" because there are entries that depend on it: '
            f"{', '.join(sorted(inside)[:5])}{', …' if len(inside) > 5 else ''}.",
            hint="use DROP SCHEMA … CASCADE to drop them too.",
        )
    for view in views:
        tx.stage(DropView(view.view_id, schema.name, view.name))
    for macro in macros:
        tx.stage(DropMacro(macro))
    for _, table_name in tables:
        table = tx.local.find_table(schema.schema_id, table_name)
        if table is not None:
            tx.stage(DropTable(table.table_id, schema.name, table.name))
    tx.stage(DropSchema(schema.schema_id, schema.name))


def create_table(
    lake: Lake,
    tx: Transaction,
    schema: SchemaEntry,
    name: str,
    columns: Sequence[NewColumn],
    *,
    or_replace: bool = False,
    partitioned_by: Sequence[Key] = (),
    sorted_by: Sequence[SortKey] = (),
) -> TableEntry:
    """Stage a new, empty table. An object of that name is in the way, or replaced if a table."""
    _check_columns(name, columns)
    existing = tx.local.find_table(schema.schema_id, name)
    if existing is not None and or_replace:
        tx.stage(DropTable(existing.table_id, schema.name, existing.name))
    elif existing is not None or tx.local.find_view(schema.schema_id, name) is not None:
        kind = "Table" if existing is not None else "View"
        if or_replace:
            raise AlreadyExists(
                f'Cannot replace "{name}" in schema "{schema.name}": it is of type {kind}, trying '
                "to replace with type Table.",
                hint="drop the view first.",
            )
        raise AlreadyExists(
            f'{kind} with name "{name}" already exists in schema "{schema.name}".',
            hint="use CREATE TABLE IF NOT EXISTS, or CREATE OR REPLACE TABLE.",
        )
    uuid = make_uuid7()
    table_schema = build_schema(columns)
    fields = partition_fields(name, table_schema, partitioned_by)
    local = tx.local
    entry = TableEntry(
        local.provisional_id(),
        uuid,
        schema.schema_id,
        name,
        path_for_name(name, uuid),
        path_is_relative=True,
        schema=table_schema,
        begin_snapshot=tx.snapshot.snapshot_id,
        partition=PartitionSpec(local.provisional_id(), fields) if fields else None,
        sort=SortSpec(local.provisional_id(), tuple(sorted_by)) if sorted_by else None,
    )
    inline = lake.effective_inlining_limit(schema.schema_id) > 0
    for column in columns if inline else ():
        check_reserved(column.name)
    tx.stage(CreateTable(entry, schema.name, inline))
    return entry


def drop_table(
    tx: Transaction, schema: SchemaEntry, name: str, *, if_exists: bool, missing: NotFound
) -> None:
    """DROP TABLE. `missing` is the error for a name that is not there."""
    table = tx.local.find_table(schema.schema_id, name)
    if table is None:
        if tx.local.find_view(schema.schema_id, name) is not None:
            raise InvalidInput(
                f'Cannot drop "{name}": it is of type View, trying to drop type Table; it is a '
                "view, not a table.",
                hint="use DROP VIEW.",
            )
        if if_exists:
            return
        raise missing
    tx.stage(DropTable(table.table_id, schema.name, table.name))


def build_schema(columns: Sequence[NewColumn]) -> Schema:
    """The columns with their ids."""
    ids = itertools.count(1)
    return Schema(
        tuple(
            build_column(
                column.name,
                column.type,
                ids,
                nulls_allowed=not column.not_null,
                # A new table has no older files that would show it, but the extension stores it.
                initial_default=column.initial_default,
                default=column.default,
            )
            for column in columns
        )
    )


def _check_columns(table: str, columns: Sequence[NewColumn]) -> None:
    if not columns:
        raise InvalidInput(f'Table "{table}" must have at least one column.')
    seen: set[str] = set()
    for column in columns:
        if column.name.lower() in seen:
            raise InvalidInput(f'Column with name "{column.name}" already exists in "{table}".')
        seen.add(column.name.lower())
        check_column(table, column)


def check_reserved(name: str) -> None:
    """Refuse a column's name that tables of inlined rows have for themselves."""
    if name.lower() in RESERVED_COLUMNS:
        raise InvalidInput(
            f'Column name "{name}" is reserved by DuckLake for internal use while small inserts '
            "are kept in the metadata database.",
            hint="choose another name, or set the option data_inlining_row_limit to 0.",
        )


def check_column(table: str, column: NewColumn) -> None:
    """Refuse a column that cannot be made in any table."""
    for name in _scalar_names(column.type):
        if name in _UNSUPPORTED_TYPES:
            raise NotSupported(
                f'Cannot create column "{column.name}" of table "{table}": the type {name} '
                "is not supported yet."
            )
    if column.default is not None and not isinstance(column.type, ScalarType):
        _check_default(column)


def _check_default(column: NewColumn) -> None:
    if isinstance(column.type, ListType | MapType | StructType):
        kind = type(column.type).__name__.removesuffix("Type").upper()
        raise NotSupported(
            f'Column "{column.name}": a default value for the type {kind} is not supported.'
        )


def _scalar_names(kind: DataType) -> list[str]:
    match kind:
        case ScalarType(name):
            return [name]
        case ListType(element):
            return _scalar_names(element)
        case MapType(key, value):
            return _scalar_names(key) + _scalar_names(value)
        case StructType(fields):
            return [name for field in fields for name in _scalar_names(field.type)]
        case _:
            return []


def rename_columns(columns: Sequence[NewColumn], names: Sequence[str]) -> list[NewColumn]:
    """Give the first columns the names of a column list, as CREATE TABLE t(a, b) AS does."""
    if len(names) > len(columns):
        raise InvalidInput(
            f"The column list has {len(names)} names, but the query has {len(columns)} columns."
        )
    renamed = [replace(c, name=n) for c, n in zip(columns, names, strict=False)]
    return [*renamed, *columns[len(names) :]]
