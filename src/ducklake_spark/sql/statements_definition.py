"""Statements that define things: lakes, schemas, tables, views, macros, secrets, and ALTER."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from sqlglot import exp

from ducklake_spark.model.schema import Default
from ducklake_spark.model.types import DataType

Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Attach:
    """ATTACH 'uri' AS alias (OPTION value, …). Option names are upper case."""

    uri: str
    alias: str | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True, slots=True)
class Detach:
    """DETACH name."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class Use:
    """USE lake[.schema]."""

    parts: Parts


@dataclass(frozen=True, slots=True)
class CreateSchema:
    """CREATE SCHEMA [lake.]name."""

    parts: Parts
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True, slots=True)
class DropSchema:
    """DROP SCHEMA [lake.]name [CASCADE]."""

    parts: Parts
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class CreateSecret:
    """CREATE SECRET [name] (OPTION value, …). Option names are upper case."""

    name: str | None
    options: Mapping[str, object]
    or_replace: bool = False
    if_not_exists: bool = False
    persistent: bool = False


@dataclass(frozen=True, slots=True)
class DropSecret:
    """DROP SECRET name."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """A column as CREATE TABLE or ADD COLUMN states it."""

    name: str
    type: DataType
    not_null: bool = False
    default: Default | None = None


@dataclass(frozen=True, slots=True)
class PartitionKey:
    """A key of PARTITIONED BY: ``year(ts)``, ``bucket(8, id)``, or a bare column (identity)."""

    transform: str
    column: str
    argument: int | None = None


@dataclass(frozen=True, slots=True)
class SortKey:
    """A key of SORTED BY. `text` is the expression in DuckDB's SQL, as the catalog stores it.

    `places_nulls` is whether it says where NULLs go.
    """

    expression: exp.Expr
    text: str
    descending: bool = False
    nulls_first: bool = False
    places_nulls: bool = False


@dataclass(frozen=True, slots=True)
class CreateTable:
    """CREATE TABLE name (columns) or CREATE TABLE name [(names)] AS query."""

    name: Parts
    columns: tuple[ColumnDefinition, ...] = ()
    query: exp.Expr | None = None
    column_aliases: tuple[str, ...] = ()
    with_no_data: bool = False
    if_not_exists: bool = False
    or_replace: bool = False
    temporary: bool = False
    partitioned_by: tuple[PartitionKey, ...] = ()
    sorted_by: tuple[SortKey, ...] = ()


@dataclass(frozen=True, slots=True)
class DropTable:
    """DROP TABLE name."""

    parts: Parts
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class CreateView:
    """CREATE VIEW name [(names)] AS query. `text` is the query as it was typed."""

    parts: Parts
    query: exp.Expr
    text: str
    column_aliases: tuple[str, ...] = ()
    or_replace: bool = False
    if_not_exists: bool = False
    temporary: bool = False


@dataclass(frozen=True, slots=True)
class DropView:
    """DROP VIEW name."""

    parts: Parts
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class MacroParameter:
    """A parameter of a macro; `default` is a tree, `default_text` DuckDB's SQL of it."""

    name: str
    type: DataType | None = None
    default: exp.Expr | None = None
    default_text: str | None = None


@dataclass(frozen=True, slots=True)
class MacroBody:
    """One overload. `text` is the body in DuckDB's SQL; a table macro's body is a query."""

    parameters: tuple[MacroParameter, ...]
    body: exp.Expr
    text: str
    is_table: bool = False


@dataclass(frozen=True, slots=True)
class CreateMacro:
    """CREATE MACRO name(parameters) AS [TABLE] body [, (parameters) AS [TABLE] body …]."""

    parts: Parts
    overloads: tuple[MacroBody, ...]
    or_replace: bool = False
    if_not_exists: bool = False
    temporary: bool = False


@dataclass(frozen=True, slots=True)
class DropMacro:
    """DROP MACRO [TABLE] name."""

    parts: Parts
    if_exists: bool = False
    is_table: bool = False


@dataclass(frozen=True, slots=True)
class Comment:
    """COMMENT ON kind name IS text; None takes the comment away."""

    kind: Literal["table", "view", "column", "schema", "database", "macro"]
    parts: Parts
    text: str | None


@dataclass(frozen=True, slots=True)
class AddColumn:
    """ADD COLUMN [path.]name type. `path` holds the struct column's names, outermost first."""

    table: Parts
    path: Parts
    column: ColumnDefinition
    if_not_exists: bool = False
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class AddColumns:
    """ADD COLUMNS (name type, …), as Spark writes it."""

    columns: tuple[AddColumn, ...]


@dataclass(frozen=True, slots=True)
class DropColumn:
    """DROP COLUMN path."""

    table: Parts
    path: Parts
    column_if_exists: bool = False
    cascade: bool = False
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """RENAME [COLUMN] path TO name."""

    table: Parts
    path: Parts
    to: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class RenameTable:
    """ALTER TABLE name RENAME TO name."""

    table: Parts
    to: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class RenameView:
    """ALTER VIEW name RENAME TO name."""

    view: Parts
    to: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class SetColumnType:
    """ALTER COLUMN path [SET DATA] TYPE type [USING expression]."""

    table: Parts
    path: Parts
    type: DataType
    using: exp.Expr | None = None
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class SetDefault:
    """ALTER COLUMN path SET DEFAULT expression, or DROP DEFAULT with None."""

    table: Parts
    path: Parts
    default: Default | None
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class SetNotNull:
    """ALTER COLUMN path SET NOT NULL, or DROP NOT NULL with False."""

    table: Parts
    path: Parts
    not_null: bool
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class SetPartitionedBy:
    """SET PARTITIONED BY (keys); no keys for RESET PARTITIONED BY."""

    table: Parts
    keys: tuple[PartitionKey, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class SetSortedBy:
    """SET SORTED BY (keys); no keys for RESET SORTED BY."""

    table: Parts
    keys: tuple[SortKey, ...]
    if_exists: bool = False
