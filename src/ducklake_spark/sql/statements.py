"""What a SQL text can ask for: the closed union `Statement`.

Names are tuples of parts as written (``lake.schema.table`` is three parts, unquoted); queries and
expressions stay sqlglot trees, because they are bound and rendered only when the statement runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from sqlglot import exp

from ducklake_spark.model.schema import Default
from ducklake_spark.model.types import DataType

Parts = tuple[str, ...]
# A constant as a Python value, or the tree of an expression that is no constant.
Argument = object


# --- lakes and schemas ---------------------------------------------------------------------------


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


# --- tables, views, macros -----------------------------------------------------------------------


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
    """A key of SORTED BY. `text` is the expression in DuckDB's SQL, as the catalog stores it."""

    expression: exp.Expr
    text: str
    descending: bool = False
    nulls_first: bool = False


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


# --- ALTER ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AddColumn:
    """ADD COLUMN [path.]name type. `path` holds the struct column's names, outermost first."""

    table: Parts
    path: Parts
    column: ColumnDefinition
    if_not_exists: bool = False
    if_exists: bool = False


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


AlterTable = (
    AddColumn
    | DropColumn
    | RenameColumn
    | RenameTable
    | RenameView
    | SetColumnType
    | SetDefault
    | SetNotNull
    | SetPartitionedBy
    | SetSortedBy
)


# --- changing rows -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DefaultValues:
    """The source of INSERT … DEFAULT VALUES: one row of defaults."""


@dataclass(frozen=True, slots=True)
class Insert:
    """INSERT INTO table [BY NAME] [(columns)] source. Leading CTEs are part of the source."""

    table: Parts
    source: exp.Expr | DefaultValues
    columns: tuple[str, ...] | None = None
    by_name: bool = False


@dataclass(frozen=True, slots=True)
class Delete:
    """DELETE FROM table [AS alias] [USING sources] [WHERE condition]."""

    table: Parts
    alias: str | None = None
    using: tuple[exp.Expr, ...] = ()
    where: exp.Expr | None = None
    ctes: exp.With | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """column = value; `value` may be the word DEFAULT as an `exp.Var`."""

    column: Parts
    value: exp.Expr


@dataclass(frozen=True, slots=True)
class Update:
    """UPDATE table [AS alias] SET assignments [FROM source] [WHERE condition]."""

    table: Parts
    assignments: tuple[Assignment, ...]
    alias: str | None = None
    source: exp.From | None = None
    where: exp.Expr | None = None
    ctes: exp.With | None = None


@dataclass(frozen=True, slots=True)
class MergeUpdate:
    """THEN UPDATE: the assignments, or None for every column of the source, by name or place."""

    assignments: tuple[Assignment, ...] | None = None
    by_name: bool = False


@dataclass(frozen=True, slots=True)
class MergeInsert:
    """THEN INSERT: values for columns, or None for every column of the source."""

    columns: tuple[str, ...] | None = None
    values: tuple[exp.Expr, ...] | None = None
    by_name: bool = False
    default_values: bool = False


@dataclass(frozen=True, slots=True)
class MergeDelete:
    """THEN DELETE."""


@dataclass(frozen=True, slots=True)
class MergeNothing:
    """THEN DO NOTHING."""


@dataclass(frozen=True, slots=True)
class MergeError:
    """THEN ERROR [message]: the statement fails when a row reaches it."""

    message: exp.Expr | None = None


MergeAction = MergeUpdate | MergeInsert | MergeDelete | MergeNothing | MergeError


@dataclass(frozen=True, slots=True)
class MergeClause:
    """WHEN [NOT] MATCHED [BY SOURCE | TARGET] [AND condition] THEN action."""

    when: Literal["matched", "not_matched", "not_matched_by_source"]
    action: MergeAction
    condition: exp.Expr | None = None


@dataclass(frozen=True, slots=True)
class Merge:
    """MERGE INTO table USING source ON condition (or USING (columns)) clauses."""

    table: Parts
    source: exp.Expr
    clauses: tuple[MergeClause, ...]
    alias: str | None = None
    on: exp.Expr | None = None
    using: tuple[str, ...] = ()
    ctes: exp.With | None = None


@dataclass(frozen=True, slots=True)
class Truncate:
    """TRUNCATE [TABLE] name."""

    parts: Parts


# --- procedures, transactions, settings ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Call:
    """CALL [lake.]function(arguments, name => argument). Constants are Python values."""

    function: Parts
    arguments: tuple[Argument, ...] = ()
    named: Mapping[str, Argument] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Begin:
    """BEGIN / START TRANSACTION."""


@dataclass(frozen=True, slots=True)
class Commit:
    """COMMIT / END."""


@dataclass(frozen=True, slots=True)
class Rollback:
    """ROLLBACK / ABORT."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """CHECKPOINT [lake]."""

    lake: str | None = None


@dataclass(frozen=True, slots=True)
class SetVariable:
    """SET VARIABLE name = expression."""

    name: str
    expression: exp.Expr


@dataclass(frozen=True, slots=True)
class SetSetting:
    """SET [GLOBAL | SESSION | LOCAL] name = value."""

    name: str
    value: Argument
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class ResetSetting:
    """RESET [GLOBAL | SESSION | LOCAL] name, or RESET VARIABLE name."""

    name: str
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class Pragma:
    """PRAGMA name, PRAGMA name = value, PRAGMA name(arguments)."""

    name: str
    arguments: tuple[Argument, ...] = ()
    value: Argument | None = None


@dataclass(frozen=True, slots=True)
class Load:
    """LOAD extension: accepted, does nothing."""

    name: str


@dataclass(frozen=True, slots=True)
class Install:
    """INSTALL extension: accepted, does nothing."""

    name: str


# --- questions -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Query:
    """SELECT, FROM, VALUES, WITH … SELECT, PIVOT: anything that gives rows."""

    tree: exp.Expr


@dataclass(frozen=True, slots=True)
class Describe:
    """DESCRIBE table, or DESCRIBE query."""

    parts: Parts | None = None
    query: exp.Expr | None = None


@dataclass(frozen=True, slots=True)
class Summarize:
    """SUMMARIZE table, or SUMMARIZE query."""

    parts: Parts | None = None
    query: exp.Expr | None = None


@dataclass(frozen=True, slots=True)
class ShowTables:
    """SHOW TABLES [FROM name], SHOW ALL TABLES."""

    everywhere: bool = False
    source: Parts = ()


@dataclass(frozen=True, slots=True)
class ShowSchemas:
    """SHOW SCHEMAS [FROM name]."""

    source: Parts = ()


@dataclass(frozen=True, slots=True)
class ShowDatabases:
    """SHOW DATABASES."""


@dataclass(frozen=True, slots=True)
class Explain:
    """EXPLAIN [ANALYZE] statement."""

    statement: Statement
    analyze: bool = False


@dataclass(frozen=True, slots=True)
class CopyTo:
    """COPY (query) TO 'path' (options), or COPY table [(columns)] TO 'path' (options)."""

    path: str
    query: exp.Expr | None = None
    table: Parts | None = None
    columns: tuple[str, ...] = ()
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CopyFrom:
    """COPY table [(columns)] FROM 'path' (options)."""

    table: Parts
    path: str
    columns: tuple[str, ...] = ()
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CopyDatabase:
    """COPY FROM DATABASE source TO target [(SCHEMA | DATA)]."""

    source: str
    target: str
    part: Literal["schema", "data"] | None = None


@dataclass(frozen=True, slots=True)
class Prepare:
    """PREPARE name AS statement."""

    name: str
    statement: Statement


@dataclass(frozen=True, slots=True)
class Execute:
    """EXECUTE name(arguments, name := argument)."""

    name: str
    arguments: tuple[Argument, ...] = ()
    named: Mapping[str, Argument] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Deallocate:
    """DEALLOCATE [PREPARE] name."""

    name: str


Statement = (
    Attach
    | Detach
    | Use
    | CreateSchema
    | DropSchema
    | CreateSecret
    | DropSecret
    | CreateTable
    | DropTable
    | CreateView
    | DropView
    | CreateMacro
    | DropMacro
    | Comment
    | AlterTable
    | Insert
    | Delete
    | Update
    | Merge
    | Truncate
    | Call
    | Begin
    | Commit
    | Rollback
    | Checkpoint
    | SetVariable
    | SetSetting
    | ResetSetting
    | Pragma
    | Load
    | Install
    | Query
    | Describe
    | Summarize
    | ShowTables
    | ShowSchemas
    | ShowDatabases
    | Explain
    | CopyTo
    | CopyFrom
    | CopyDatabase
    | Prepare
    | Execute
    | Deallocate
)
