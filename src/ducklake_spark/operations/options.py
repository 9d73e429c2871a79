"""Set and show the options of a lake, which stand in ducklake_metadata and have no history."""

from __future__ import annotations

from typing import Any

from ducklake_spark.commit.local import LocalState
from ducklake_spark.commit.transaction import Transaction
from ducklake_spark.errors import InvalidInput, TransactionError
from ducklake_spark.lake import Lake
from ducklake_spark.model.entities import SchemaEntry, TableEntry
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.options import OPTIONS, find_option

Scope = TableEntry | SchemaEntry | None

# Columns that the tables of inlined rows have themselves.
_RESERVED = ("row_id", "begin_snapshot", "end_snapshot")


def set_option(
    lake: Lake,
    tx: Transaction,
    name: str,
    value: Any,
    scope: Scope = None,
    *,
    is_new: bool = False,
) -> None:
    """Set an option for a table, a schema or (None) the whole lake.

    The transaction works with it at once, others when it is committed. No snapshot is made.
    `is_new` says that the same statement has made the table, and that it may have options.
    """
    option = find_option(name)
    text = option.store(value)
    kind, scope_id = _scope_of(scope, is_new=is_new)
    if option.name == "data_inlining_row_limit" and text != "0":
        _check_inlinable(lake, tx.local, scope)
    tx.options[kind, scope_id, option.name] = text
    lake.pending = tx.options


def _scope_of(scope: Scope, *, is_new: bool) -> tuple[str | None, int | None]:
    if scope is None:
        return None, None
    kind, scope_id = (
        ("table", scope.table_id) if isinstance(scope, TableEntry) else ("schema", scope.schema_id)
    )
    if scope_id < 0 and not is_new:
        raise TransactionError(
            f'Cannot set an option for "{scope.name}": settings cannot be set for '
            f"transaction-local {kind}s.",
            hint="COMMIT first.",
        )
    return kind, scope_id


def _check_inlinable(lake: Lake, local: LocalState, scope: Scope) -> None:
    """A table with a column named as one of the inlined table's own cannot be inlined."""
    settings = lake.settings()
    for table in local.tables():
        if isinstance(scope, TableEntry) and table.table_id != scope.table_id:
            continue
        if isinstance(scope, SchemaEntry) and table.schema_id != scope.schema_id:
            continue
        own = [("table", table.table_id)] if not isinstance(scope, TableEntry) else []
        own += [("schema", table.schema_id)] if scope is None else []
        if any(settings.values.get((*place, "data_inlining_row_limit")) == "0" for place in own):
            continue
        taken = [name for name in table.schema.names if name.lower() in _RESERVED]
        if taken:
            raise InvalidInput(
                f'Cannot switch data inlining on for table "{table.name}": its column '
                f'"{taken[0]}" has a name that tables of inlined rows use themselves.',
                hint="rename the column, or set the option for other tables only.",
            )


def list_options(lake: Lake, local: LocalState) -> RowSet:
    """Every stored option with its meaning and the object it belongs to, sorted by name."""
    columns = tuple(
        (name, "VARCHAR")
        for name in ("option_name", "description", "value", "scope", "scope_entry")
    )
    tables = {table.table_id: table for table in local.tables()}
    schemas = {schema.schema_id: schema for schema in local.schemas()}
    rows = []
    for (scope, scope_id, key), value in lake.settings().values.items():
        sentence = OPTIONS[key].sentence if key in OPTIONS else None
        entry = None
        if scope == "schema" and scope_id in schemas:
            entry = schemas[scope_id].name
        elif scope == "table" and scope_id in tables:
            table = tables[scope_id]
            entry = f"{local.schema(table.schema_id).name}.{table.name}"
        rows.append((key, sentence, value, (scope or "global").upper(), entry))
    return RowSet(columns, tuple(sorted(rows, key=lambda row: (row[0], row[3], row[4] or ""))))
