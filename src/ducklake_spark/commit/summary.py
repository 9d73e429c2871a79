"""What a transaction has done, in the words of the change log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ducklake_spark.commit.change_log import Kind, LoggedChange
from ducklake_spark.commit.conflicts import Intent
from ducklake_spark.commit.local import LocalState
from ducklake_spark.model.changes import (
    AlterTable,
    AppendFiles,
    Change,
    CommentOn,
    CreateMacro,
    CreateSchema,
    CreateTable,
    CreateView,
    DeleteFromFiles,
    DropMacro,
    DropSchema,
    DropTable,
    DropView,
    InlineDeletes,
    InlineRows,
    RenameTable,
    SetPartition,
    SetSort,
)
from ducklake_spark.model.compaction import (
    FlushDeletes,
    FlushRows,
    MergeFiles,
    RewriteFiles,
)
from ducklake_spark.model.entities import TableEntry, ViewEntry


def log_changes(
    changes: Iterable[Change], real_id: Callable[[int], int] = lambda object_id: object_id
) -> list[LoggedChange]:
    """The changes as the log of a snapshot lists them, with the ids that the catalog gave."""
    return [_log(change, real_id) for change in changes]


def _log(  # noqa: C901, PLR0911, PLR0912 - one case for each change
    change: Change, real_id: Callable[[int], int]
) -> LoggedChange:
    match change:
        case CreateSchema(schema):
            return LoggedChange(Kind.CREATED_SCHEMA, (schema.name,))
        case DropSchema(schema_id):
            return LoggedChange(Kind.DROPPED_SCHEMA, schema_id)
        case CreateTable(table, schema_name) | RenameTable(table, schema_name):
            return LoggedChange(Kind.CREATED_TABLE, (schema_name, table.name))
        case AlterTable(table):
            return LoggedChange(Kind.ALTERED_TABLE, real_id(table.table_id))
        case DropTable(table_id):
            return LoggedChange(Kind.DROPPED_TABLE, table_id)
        case CreateView(view, schema_name):
            return LoggedChange(Kind.CREATED_VIEW, (schema_name, view.name))
        case DropView(view_id):
            return LoggedChange(Kind.DROPPED_VIEW, view_id)
        case CreateMacro(macro, schema_name):
            made = Kind.CREATED_TABLE_MACRO if macro.is_table else Kind.CREATED_SCALAR_MACRO
            return LoggedChange(made, (schema_name, macro.name))
        case DropMacro(macro):
            gone = Kind.DROPPED_TABLE_MACRO if macro.is_table else Kind.DROPPED_SCALAR_MACRO
            return LoggedChange(gone, macro.macro_id)
        case CommentOn(ViewEntry() as view):
            return LoggedChange(Kind.ALTERED_VIEW, real_id(view.view_id))
        case CommentOn(TableEntry() as table) | SetPartition(table) | SetSort(table):
            return LoggedChange(Kind.ALTERED_TABLE, real_id(table.table_id))
        case AppendFiles(table):
            return LoggedChange(Kind.INSERTED_INTO_TABLE, real_id(table.table_id))
        case InlineRows(table):
            return LoggedChange(Kind.INLINED_INSERT, real_id(table.table_id))
        case MergeFiles(table):
            return LoggedChange(Kind.MERGE_ADJACENT, table.table_id)
        case RewriteFiles(table):
            return LoggedChange(Kind.REWRITE_DELETE, table.table_id)
        case FlushRows(table):
            return LoggedChange(Kind.INLINE_FLUSH, table.table_id)
        case FlushDeletes(table):
            return LoggedChange(Kind.DELETED_FROM_TABLE, table.table_id)
        case DeleteFromFiles(table):
            return LoggedChange(Kind.DELETED_FROM_TABLE, table.table_id)
        case InlineDeletes(table):
            return LoggedChange(Kind.INLINED_DELETE, table.table_id)
        case CommentOn(target):
            raise TypeError(target)


def intent_of(local: LocalState) -> Intent:  # noqa: C901 - one case for each change
    """What the transaction does, as far as others can stand in its way."""
    known = [change for change in local.changes if not _is_new(change)]
    names: dict[int, str] = {}
    schema_names: dict[int, str] = {}
    schema_ids: dict[str, int] = {}
    for change in known:
        match change:
            case DropSchema(schema_id, name):
                schema_names[schema_id] = name
            case DropTable(object_id, schema_name, name) | DropView(object_id, schema_name, name):
                names[object_id] = f"{schema_name}.{name}"
            case CreateTable(table, schema_name) | RenameTable(table, schema_name):
                schema_ids[schema_name] = table.schema_id
                names[table.table_id] = table.name
            case CreateView(view, schema_name):
                schema_ids[schema_name] = view.schema_id
                names[view.view_id] = view.name
            case CreateMacro(macro, schema_name):
                schema_ids[schema_name] = macro.schema_id
            case DropMacro(macro):
                names[macro.macro_id] = macro.name
            case (
                AppendFiles(table)
                | InlineRows(table)
                | AlterTable(table)
                | DeleteFromFiles(table)
                | InlineDeletes(table)
                | CommentOn(TableEntry() as table)
            ):
                names[table.table_id] = table.name
            case SetPartition(table) | SetSort(table):
                names[table.table_id] = table.name
            case CommentOn(ViewEntry() as view):
                names[view.view_id] = view.name
            case FlushRows(table):
                names[table.table_id] = table.name
            case _:
                pass
    return Intent(
        tuple(map(_intend, known)),
        names=names,
        schema_ids=schema_ids,
        schema_names=schema_names,
        delete_files=_files_deleted_from(known),
        renamed=frozenset(_renamed(known)),
        not_null=frozenset(
            c.table.table_id for c in known if isinstance(c, AlterTable) and c.not_null
        ),
    )


def _files_deleted_from(changes: Iterable[Change]) -> frozenset[int]:
    deletes = [change for change in changes if isinstance(change, DeleteFromFiles)]
    some = (each.data_file_id for change in deletes for each in change.deletes)
    return frozenset((*some, *(file_id for change in deletes for file_id in change.ended)))


def _renamed(changes: Iterable[Change]) -> Iterator[int]:
    for change in changes:
        if isinstance(change, CreateView) and change.view.view_id >= 0:
            yield change.view.view_id
        elif isinstance(change, RenameTable):
            yield change.table.table_id


def _intend(change: Change) -> LoggedChange:
    """As logged; but deletes that only move to files do not mind what others insert."""
    if isinstance(change, FlushDeletes):
        return LoggedChange(Kind.REWRITE_DELETE, change.table.table_id)
    return _log(change, lambda object_id: object_id)


def _is_new(change: Change) -> bool:
    """Whether the change is to an object of this transaction, which nobody else can know."""
    match change:
        case (
            AppendFiles(table)
            | InlineRows(table)
            | AlterTable(table)
            | RenameTable(table)
            | CommentOn(TableEntry() as table)
        ):
            return table.table_id < 0
        case SetPartition(table) | SetSort(table):
            return table.table_id < 0
        case CommentOn(ViewEntry() as view):
            return view.view_id < 0
        case _:
            return False
