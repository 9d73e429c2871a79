"""ALTER TABLE: each form finds its table and calls one operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from ducklake_spark.commit.transaction import Transaction
from ducklake_spark.errors import InvalidInput, NotSupported
from ducklake_spark.execution.defaults import initial_default
from ducklake_spark.lake import Lake
from ducklake_spark.model.entities import SchemaEntry, SortSpec, TableEntry
from ducklake_spark.model.types import parse_sql_type
from ducklake_spark.operations import alter
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.operations.objects import NewColumn
from ducklake_spark.sql import statements as st
from ducklake_spark.sql.sort_keys import columns_of_key, rename_in_key

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection

_NOTHING = RowSet(())


def alter_table(con: Connection, s: AlterStep) -> RowSet:
    """One change of a table, as a statement of its own."""
    with altering(con, s.table, if_exists=s.if_exists) as found:
        if found is not None:
            apply_step(con, found, s)
    return _NOTHING


def add_columns(con: Connection, s: st.AddColumns) -> RowSet:
    """ADD COLUMNS: all of them or none."""
    first = s.columns[0]
    with altering(con, first.table, if_exists=first.if_exists) as found:
        if found is not None:
            for added in s.columns:
                apply_step(con, found, added)
    return _NOTHING


def apply_step(con: Connection, found: Found, s: AlterStep) -> None:
    """Make one change part of the transaction; the table is taken as earlier steps have left it."""
    lake, tx, schema, table = found
    now = (lake, tx, schema, tx.local.table(table.table_id))
    _STEPS[type(s)](con, now, s)


def _add_column(_con: Connection, found: Found, s: st.AddColumn) -> None:
    lake, tx, _, table = found
    c = s.column
    text = initial_default(c.name, c.type, c.default)
    column = NewColumn(c.name, c.type, c.not_null, c.default, text)
    alter.add_column(lake, tx, table, s.path, column, if_not_exists=s.if_not_exists)


def _drop_column(_con: Connection, found: Found, s: st.DropColumn) -> None:
    lake, tx, _, table = found
    _check_unsorted(table, s.path)
    alter.drop_column(lake, tx, table, s.path, if_exists=s.column_if_exists)


def _rename_column(_con: Connection, found: Found, s: st.RenameColumn) -> None:
    lake, tx, _, table = found
    alter.rename_column(lake, tx, table, s.path, s.to, sort=_renamed_keys(table, s.path, s.to))


def _rename_table(_con: Connection, found: Found, s: st.RenameTable) -> None:
    lake, tx, schema, table = found
    alter.rename_table(lake, tx, schema, table, s.to)


def _set_column_type(_con: Connection, found: Found, s: st.SetColumnType) -> None:
    if s.using is not None and not _is_plain_cast(s):
        raise NotSupported(
            f'The type of "{".".join(s.path)}" cannot be changed with USING: files are not '
            "written again.",
            hint="add a column of the other type, and fill it with UPDATE.",
        )
    lake, tx, _, table = found
    alter.change_type(lake, tx, table, s.path, s.type)


def _is_plain_cast(s: st.SetColumnType) -> bool:
    """``USING CAST(column AS type)`` says what happens anyway."""
    tree = s.using
    if not isinstance(tree, exp.Cast) or not isinstance(tree.this, exp.Column):
        return False
    return tree.this.name.lower() == s.path[-1].lower() and s.type == parse_sql_type(
        tree.to.sql(dialect="duckdb")
    )


def _set_default(_con: Connection, found: Found, s: st.SetDefault) -> None:
    lake, tx, _, table = found
    if s.default is not None and len(s.path) == 1:
        column = table.schema.get(s.path[0], table=table.name)
        initial_default(column.name, column.type, s.default)  # it must fit
    alter.set_default(lake, tx, table, s.path, s.default)


def _set_not_null(con: Connection, found: Found, s: st.SetNotNull) -> None:
    lake, tx, _, table = found
    tx.let_go()  # it may have to look at the rows
    alter.set_not_null(lake, tx, table, s.path, not_null=s.not_null, spark=lambda: con.spark)


AlterStep = (
    st.AddColumn
    | st.DropColumn
    | st.RenameColumn
    | st.RenameTable
    | st.SetColumnType
    | st.SetDefault
    | st.SetNotNull
)

_STEPS: Final[Mapping[type, Callable[..., None]]] = {
    st.AddColumn: _add_column,
    st.DropColumn: _drop_column,
    st.RenameColumn: _rename_column,
    st.RenameTable: _rename_table,
    st.SetColumnType: _set_column_type,
    st.SetDefault: _set_default,
    st.SetNotNull: _set_not_null,
}


Found = tuple[Lake, Transaction, SchemaEntry, TableEntry]


@contextmanager
def altering(con: Connection, parts: st.Parts, *, if_exists: bool) -> Iterator[Found | None]:
    """The table to change, inside a transaction; None when it may be missing and is."""
    lake, schema_name, name = con.place(parts)
    with con.writing(lake, f'alter table "{name}"', hold=True) as tx:
        schema = con.schema_entry(lake, tx, schema_name)
        table = tx.local.find_table(schema.schema_id, name)
        if table is None and tx.local.find_view(schema.schema_id, name) is not None:
            raise InvalidInput(
                f'Cannot use ALTER TABLE on "{name}": it is a view, not a table.',
                hint="a view can only be renamed, with ALTER VIEW.",
            )
        if table is None and not if_exists:
            raise con.missing_table(tx, lake, schema, name)
        yield None if table is None else (lake, tx, schema, table)


def _check_unsorted(table: TableEntry, path: st.Parts) -> None:
    if table.sort is None or len(path) > 1:
        return
    column = table.schema.find(path[0])
    if column is None:
        return
    for key in table.sort.keys:
        if column.name.lower() in columns_of_key(key.expression):
            raise InvalidInput(
                f'Cannot drop column "{column.name}" of table "{table.name}": the table is sorted '
                "by this column.",
                hint="reset or change the sort order first: ALTER TABLE … RESET SORTED BY.",
            )


def _renamed_keys(table: TableEntry, path: st.Parts, to: str) -> SortSpec | None:
    """The sort keys with the new name of a column; they are kept as text."""
    if table.sort is None or len(path) > 1:
        return None
    keys = tuple(
        replace(key, expression=rename_in_key(key.expression, path[0], to))
        if key.dialect == "duckdb"
        else key
        for key in table.sort.keys
    )
    return SortSpec(table.sort.sort_id, keys)
