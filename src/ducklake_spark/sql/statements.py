"""What a SQL text can ask for: the closed union `Statement`.

Names are tuples of parts as written (``lake.schema.table`` is three parts, unquoted); queries and
expressions stay sqlglot trees, because they are bound and rendered only when the statement runs.
"""

from __future__ import annotations

from dataclasses import dataclass

from ducklake_spark.sql.statements_change import (
    Assignment,
    DefaultValues,
    Delete,
    Insert,
    Merge,
    MergeAction,
    MergeClause,
    MergeDelete,
    MergeError,
    MergeInsert,
    MergeNothing,
    MergeUpdate,
    Truncate,
    Update,
)
from ducklake_spark.sql.statements_definition import (
    AddColumn,
    AddColumns,
    Attach,
    ColumnDefinition,
    Comment,
    CreateMacro,
    CreateSchema,
    CreateSecret,
    CreateTable,
    CreateView,
    Detach,
    DropColumn,
    DropMacro,
    DropSchema,
    DropSecret,
    DropTable,
    DropView,
    MacroBody,
    MacroParameter,
    PartitionKey,
    Parts,
    RenameColumn,
    RenameTable,
    RenameView,
    SetColumnType,
    SetDefault,
    SetNotNull,
    SetPartitionedBy,
    SetSortedBy,
    SortKey,
    Use,
)
from ducklake_spark.sql.statements_session import (
    Argument,
    Begin,
    Call,
    Checkpoint,
    Commit,
    CopyDatabase,
    CopyFrom,
    CopyTo,
    Deallocate,
    Describe,
    Execute,
    Install,
    Load,
    Pragma,
    Query,
    QueryText,
    ResetSetting,
    Rollback,
    SetSetting,
    SetVariable,
    ShowDatabases,
    ShowSchemas,
    ShowTables,
    Summarize,
)

__all__ = [
    "AddColumn",
    "AddColumns",
    "AlterTable",
    "Argument",
    "Assignment",
    "Attach",
    "Begin",
    "Call",
    "Checkpoint",
    "ColumnDefinition",
    "Comment",
    "Commit",
    "CopyDatabase",
    "CopyFrom",
    "CopyTo",
    "CreateMacro",
    "CreateSchema",
    "CreateSecret",
    "CreateTable",
    "CreateView",
    "Deallocate",
    "DefaultValues",
    "Delete",
    "Describe",
    "Detach",
    "DropColumn",
    "DropMacro",
    "DropSchema",
    "DropSecret",
    "DropTable",
    "DropView",
    "Execute",
    "Explain",
    "Insert",
    "Install",
    "Load",
    "MacroBody",
    "MacroParameter",
    "Merge",
    "MergeAction",
    "MergeClause",
    "MergeDelete",
    "MergeError",
    "MergeInsert",
    "MergeNothing",
    "MergeUpdate",
    "PartitionKey",
    "Parts",
    "Pragma",
    "Prepare",
    "Query",
    "QueryText",
    "RenameColumn",
    "RenameTable",
    "RenameView",
    "ResetSetting",
    "Rollback",
    "SetColumnType",
    "SetDefault",
    "SetNotNull",
    "SetPartitionedBy",
    "SetSetting",
    "SetSortedBy",
    "SetVariable",
    "ShowDatabases",
    "ShowSchemas",
    "ShowTables",
    "SortKey",
    "Statement",
    "Summarize",
    "Truncate",
    "Update",
    "Use",
]

AlterTable = (
    AddColumn
    | AddColumns
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


@dataclass(frozen=True, slots=True)
class Explain:
    """EXPLAIN [ANALYZE] statement."""

    statement: Statement
    analyze: bool = False


@dataclass(frozen=True, slots=True)
class Prepare:
    """PREPARE name AS statement."""

    name: str
    statement: Statement


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
    | QueryText
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
