"""What a transaction has done, in the words of the change log."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ducklake_spark.commit.change_log import Kind, LoggedChange
from ducklake_spark.commit.conflicts import Intent
from ducklake_spark.commit.local import LocalState
from ducklake_spark.model.changes import (
    AppendFiles,
    Change,
    CreateSchema,
    CreateTable,
    DropSchema,
    DropTable,
    DropView,
)


def log_changes(
    changes: Iterable[Change], real_id: Callable[[int], int] = lambda object_id: object_id
) -> list[LoggedChange]:
    """The changes as the log of a snapshot lists them, with the ids that the catalog gave."""
    return [_log(change, real_id) for change in changes]


def _log(change: Change, real_id: Callable[[int], int]) -> LoggedChange:
    match change:
        case CreateSchema(schema):
            return LoggedChange(Kind.CREATED_SCHEMA, (schema.name,))
        case DropSchema(schema_id):
            return LoggedChange(Kind.DROPPED_SCHEMA, schema_id)
        case CreateTable(table, schema_name):
            return LoggedChange(Kind.CREATED_TABLE, (schema_name, table.name))
        case DropTable(table_id):
            return LoggedChange(Kind.DROPPED_TABLE, table_id)
        case DropView(view_id):
            return LoggedChange(Kind.DROPPED_VIEW, view_id)
        case AppendFiles(table):
            return LoggedChange(Kind.INSERTED_INTO_TABLE, real_id(table.table_id))


def intent_of(local: LocalState) -> Intent:
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
            case CreateTable(table, schema_name):
                schema_ids[schema_name] = table.schema_id
            case AppendFiles(table):
                names[table.table_id] = table.name
            case CreateSchema():
                pass
    return Intent(
        tuple(log_changes(known)), names=names, schema_ids=schema_ids, schema_names=schema_names
    )


def _is_new(change: Change) -> bool:
    """Whether the change is to a table that nobody else can know."""
    return isinstance(change, AppendFiles) and change.table.table_id < 0
