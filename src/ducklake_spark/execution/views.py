"""CREATE VIEW, CREATE MACRO, COMMENT ON and their opposites."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from ducklake_spark.binder.formatting import format_query
from ducklake_spark.binder.trees import Tree
from ducklake_spark.commit.transaction import Transaction
from ducklake_spark.errors import InvalidInput, NotSupported, TableNotFound
from ducklake_spark.execution.contexts import CATALOG_PLACEHOLDER, Context
from ducklake_spark.execution.queries import query_frame
from ducklake_spark.lake import Lake
from ducklake_spark.model.entities import (
    MacroImplementation,
    MacroParameter,
    SchemaEntry,
    TableEntry,
    ViewEntry,
)
from ducklake_spark.model.types import format_type
from ducklake_spark.operations import views
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.sql import statements as st
from ducklake_spark.sql.literals import is_constant, literal_value
from ducklake_spark.sql.reader import WRITTEN
from ducklake_spark.sql.sources import is_spark

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection

_NOTHING = RowSet(())
_MARK = "__ducklake_catalog__"


def create_view(con: Connection, s: st.CreateView) -> RowSet:
    """CREATE VIEW: the query must run; its text is stored in DuckDB's dialect."""
    if s.temporary:
        raise NotSupported(
            "A lake has no temporary views.", hint="use df.createOrReplaceTempView(name)."
        )
    lake, schema_name, name = con.place(s.parts)
    with con.writing(lake, f'create view "{name}"') as tx:
        schema = con.schema_entry(lake, tx, schema_name)
        frame = query_frame(con, s.query, Context(home=(lake, schema.name)))
        if len(s.column_aliases) > len(frame.columns):
            raise InvalidInput(
                f'View "{name}" names {len(s.column_aliases)} columns, but its query has '
                f"{len(frame.columns)}."
            )
        views.create_view(
            tx,
            schema,
            name,
            stored_text(s.query, lake, has_schema=tx.local.find_schema(lake.name) is not None),
            s.column_aliases,
            or_replace=s.or_replace,
            if_not_exists=s.if_not_exists,
        )
    return _NOTHING


def stored_text(
    query: exp.Expr, lake: Lake, *, has_schema: bool, is_only_catalog: bool = False
) -> str:
    """DuckDB's text, in which the lake's own name is a placeholder: it may be attached as other.

    Args:
        query: of a view.
        lake: that the view is in.
        has_schema: whether the lake has a schema of its own name: ``x.t`` then means that.
        is_only_catalog: whether every catalog that is named is to be the lake.
    """
    if is_spark(query):
        _check_same_meaning(query)
        text = query.sql(dialect="duckdb")
    else:
        text = query.meta[WRITTEN].text
    own = None if is_only_catalog else lake.name.lower()
    named = format_query(text, partial(_put_placeholder, own, has_schema))
    return re.sub(rf'"?{_MARK}"?', CATALOG_PLACEHOLDER, named)


def _put_placeholder(own: str | None, has_schema: bool, tables: Iterable[Tree]) -> None:
    for table in tables:
        has_catalog = bool(table.get("catalog_name")) or has_schema or own is None
        part = "catalog_name" if has_catalog else "schema_name"
        name = str(table.get(part) or "").lower()
        if name and own in (None, name):
            table[part] = _MARK


# What reads the same in both dialects and gives the same.
_NEUTRAL: Final = (
    *(exp.Select, exp.From, exp.Table, exp.TableAlias, exp.Identifier, exp.Column, exp.Star),
    *(exp.Alias, exp.Where, exp.Join, exp.Group, exp.Having, exp.Paren, exp.Subquery, exp.Union),
    *(exp.With, exp.CTE, exp.Distinct, exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.GT),
    *(exp.GTE, exp.LT, exp.LTE, exp.Is, exp.In, exp.Between, exp.Null, exp.Boolean, exp.Literal),
    *(exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Case, exp.If, exp.Coalesce, exp.Count, exp.Sum),
    *(exp.Min, exp.Max, exp.Avg, exp.Version),
)


def _check_same_meaning(query: exp.Expr) -> None:
    """Refuse what a view would mean something else by, for its text is read as DuckDB's."""
    for node in query.walk():
        if not isinstance(node, _NEUTRAL):
            raise NotSupported(
                f"Cannot store {node.sql(dialect='spark')[:60]} in a view: a lake keeps views in "
                "DuckDB's dialect, where it may mean something else.",
                hint='create the view without dialect="spark", in DuckDB\'s SQL.',
            )


def drop_view(con: Connection, s: st.DropView) -> RowSet:
    """DROP VIEW."""
    lake, schema_name, name = con.place(s.parts)
    with con.writing(lake, f'drop view "{name}"') as tx:
        schema = con.schema_entry(lake, tx, schema_name)
        missing = _missing_view(tx, schema, name)
        views.drop_view(tx, schema, name, if_exists=s.if_exists, missing=missing)
    return _NOTHING


def rename_view(con: Connection, s: st.RenameView) -> RowSet:
    """ALTER VIEW … RENAME TO."""
    lake, schema_name, name = con.place(s.view)
    with con.writing(lake, f'rename view "{name}"') as tx:
        schema = con.schema_entry(lake, tx, schema_name)
        view = tx.local.find_view(schema.schema_id, name)
        if view is not None:
            views.rename_view(tx, schema, view, s.to)
        elif not s.if_exists:
            raise _missing_view(tx, schema, name)
    return _NOTHING


def _missing_view(tx: Transaction, schema: SchemaEntry, name: str) -> TableNotFound:
    known = [v.name for v in tx.local.views() if v.schema_id == schema.schema_id]
    error = TableNotFound.named(name, where=f'schema "{schema.name}"', candidates=known)
    return TableNotFound(error.message.replace("Table", "View", 1), hint=error.hint)


def create_macro(con: Connection, s: st.CreateMacro) -> RowSet:
    """CREATE MACRO."""
    if s.temporary:
        raise NotSupported("A lake has no temporary macros.")
    lake, schema_name, name = con.place(s.parts)
    with con.writing(lake, f'create macro "{name}"') as tx:
        create_macro_in(tx, con.schema_entry(lake, tx, schema_name), name, s)
    return _NOTHING


def create_macro_in(tx: Transaction, schema: SchemaEntry, name: str, s: st.CreateMacro) -> None:
    """Stage the macro of a statement in a schema."""
    views.create_macro(
        tx,
        schema,
        name,
        [_implementation(body) for body in s.overloads],
        or_replace=s.or_replace,
        if_not_exists=s.if_not_exists,
    )


def _implementation(body: st.MacroBody) -> MacroImplementation:
    return MacroImplementation(
        "duckdb",
        body.text,
        "table" if body.is_table else "scalar",
        tuple(_parameter(p) for p in body.parameters),
    )


def _parameter(p: st.MacroParameter) -> MacroParameter:
    type_name = "unknown" if p.type is None else format_type(p.type)
    if p.default is None:
        return MacroParameter(p.name, type_name)
    if not is_constant(p.default):
        raise NotSupported(f'The default of the macro parameter "{p.name}" must be a constant.')
    value = literal_value(p.default)
    kinds = {bool: "boolean", int: "int32", str: "varchar", float: "float64"}
    default_type = kinds.get(type(value), "varchar")
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**31:
        default_type = "int64"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return MacroParameter(p.name, type_name, text, default_type)


def drop_macro(con: Connection, s: st.DropMacro) -> RowSet:
    """DROP MACRO [TABLE]."""
    lake, schema_name, name = con.place(s.parts)
    with con.writing(lake, f'drop macro "{name}"') as tx:
        schema = con.schema_entry(lake, tx, schema_name)
        views.drop_macro(tx, schema, name, is_table=s.is_table, if_exists=s.if_exists)
    return _NOTHING


def comment(con: Connection, s: st.Comment) -> RowSet:
    """COMMENT ON TABLE, VIEW or COLUMN."""
    if s.kind not in ("table", "view", "column"):
        raise NotSupported(f"COMMENT ON {s.kind.upper()} is not possible in a lake.")
    parts, column = (s.parts[:-1], s.parts[-1]) if s.kind == "column" else (s.parts, None)
    lake, schema_name, name = con.place(parts)
    with con.writing(lake, f'comment on "{name}"') as tx:
        target = _comment_target(con, tx, lake, schema_name, name, s.kind)
        views.comment_on(tx, target, s.text, column=column)
    return _NOTHING


def _comment_target(
    con: Connection, tx: Transaction, lake: Lake, schema_name: str, name: str, kind: str
) -> TableEntry | ViewEntry:
    schema = con.schema_entry(lake, tx, schema_name)
    view = tx.local.find_view(schema.schema_id, name)
    if view is not None and kind != "table":
        return view
    table = tx.local.find_table(schema.schema_id, name)
    if kind == "view" and table is not None:
        raise InvalidInput(f'"{name}" is a table, not a view.', hint="use COMMENT ON TABLE.")
    if kind == "table" and view is not None:
        raise InvalidInput(f'"{name}" is a view, not a table.', hint="use COMMENT ON VIEW.")
    if kind == "view":
        raise _missing_view(tx, schema, name)
    return con.find_table(tx, lake, schema_name, name)[1]
