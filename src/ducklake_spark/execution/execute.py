"""Statements to actions: each statement of the dialect calls one operation."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from pyspark.sql import DataFrame

from ducklake_spark.errors import InvalidInput, NotFound, NotSupported
from ducklake_spark.execution import alter, views
from ducklake_spark.execution.bound_queries import bound_frame, composed_frame
from ducklake_spark.execution.change_rows import delete, truncate, update
from ducklake_spark.execution.changes import call_change_function, is_change_function
from ducklake_spark.execution.checkpoint import checkpoint
from ducklake_spark.execution.compute import compute_all
from ducklake_spark.execution.copy import copy_from, copy_to
from ducklake_spark.execution.copy_database import copy_database
from ducklake_spark.execution.explain import explain_frame
from ducklake_spark.execution.functions import call_lake_function
from ducklake_spark.execution.insert import create_table, insert
from ducklake_spark.execution.layouts import set_partitioned_by, set_sorted_by
from ducklake_spark.execution.merge import merge
from ducklake_spark.execution.parameters import Params, bind_parameters, needs_binding, number_marks
from ducklake_spark.execution.pragmas import pragma
from ducklake_spark.execution.queries import query_frame
from ducklake_spark.execution.secrets import create_secret, drop_secret, resolve_secret
from ducklake_spark.execution.settings import apply_to_lakes, reset_setting, set_setting
from ducklake_spark.execution.sources import attach_source, detach_source
from ducklake_spark.execution.system import seen_lakes, system_table
from ducklake_spark.execution.temporary import drop_temporary_table
from ducklake_spark.execution.variables import (
    deallocate,
    prepare,
    prepared_statement,
    set_variable,
)
from ducklake_spark.model.moments import moment_of_sql
from ducklake_spark.model.names import quote_identifier
from ducklake_spark.operations import describe, objects
from ducklake_spark.operations.attach import default_name
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.operations.summarize import summarize
from ducklake_spark.operations.system_tables import show_all_tables
from ducklake_spark.result import Result
from ducklake_spark.sql import statements as st
from ducklake_spark.sql.composed import Composed, as_written
from ducklake_spark.sql.parse import parse
from ducklake_spark.sql.relations import TableFunctionCall

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection

Outcome = DataFrame | Result
_NOTHING = RowSet(())
_SECRET_WORDS = ("secret", "password", "token", "key")


def execute(
    con: Connection,
    text: str,
    *,
    params: Params | None,
    dialect: Literal["duckdb", "spark"],
) -> Outcome:
    """Run the statements of a text in order; the outcome is the last one's."""
    statements = _parsed(text, dialect)
    if not statements:
        raise InvalidInput("The text holds no statement.")
    outcome: Outcome = con.result(_NOTHING)
    con.log.note_query(_loggable(text, statements))
    for index, statement in enumerate(statements, 1):
        # As in DuckDB, the parameters of a text are those of its last statement.
        given = params if index == len(statements) else None
        outcome = run(con, _bound(con, statement, given))
    return outcome


def _parsed(text: str, dialect: Literal["duckdb", "spark"]) -> list[st.Statement]:
    """The statements of a text; queries in DuckDB's dialect are not taken apart."""
    found = parse(text, dialect, reads_queries=False)
    if dialect == "spark" or "?" not in text:
        return found
    numbered = parse(number_marks(text), dialect, reads_queries=False)
    pairs = zip(found, numbered, strict=True)
    return [one if isinstance(one, st.QueryText) else other for one, other in pairs]


def _loggable(text: str, statements: list[st.Statement]) -> str:
    """The text for the log, which no secret may enter."""
    for statement in statements:
        name = statement.name.lower() if isinstance(statement, st.SetSetting) else ""
        if isinstance(statement, st.CreateSecret) or any(word in name for word in _SECRET_WORDS):
            return f"{type(statement).__name__} (its text is not logged)"
    return text


def _bound(con: Connection, statement: st.Statement, params: Params | None) -> st.Statement:
    """The statement with its parameters; those of PREPARE stay open until EXECUTE."""
    if isinstance(statement, st.QueryText):
        return replace(statement, params=params)
    if isinstance(statement, st.Explain):
        return replace(statement, statement=_bound(con, statement.statement, params))
    if isinstance(statement, st.Prepare) or (params is None and not needs_binding(statement)):
        return statement
    return bind_parameters(con, statement, params)


def explain(con: Connection, text: str) -> str:
    """What a query would read, and Spark's plan for it."""
    statements = parse(text, reads_queries=False)
    if len(statements) != 1:
        raise InvalidInput("explain takes exactly one query.")
    statement = statements[0]
    if isinstance(statement, st.Explain):
        statement = statement.statement
    return explain_frame(_queried(con, _bound(con, statement, None)))


def run(con: Connection, statement: st.Statement) -> Outcome:
    """Run one statement."""
    action = _ACTIONS.get(type(statement))
    if action is None:
        words = type(statement).__name__
        raise NotSupported(
            f"The statement {words} is not supported yet.", hint="see docs/compatibility.md."
        )
    outcome = action(con, statement)
    return con.result(outcome) if isinstance(outcome, RowSet) else outcome


# --- lakes ---------------------------------------------------------------------------------------


def _attach(con: Connection, s: st.Attach) -> RowSet:
    if not s.uri.lower().startswith("ducklake:"):
        attach_source(con, s)
        return _NOTHING
    _, given = compute_all(con, (), s.options)
    uri, options = resolve_secret(con, s.uri, given)
    options = {key: _sql_value(con, value) for key, value in options.items()}
    name = s.alias or _secret_alias(s.uri, uri) or default_name(uri)
    if s.if_not_exists and name.lower() in con.lakes:
        return _NOTHING
    con.attach(uri, name, or_replace=s.or_replace, **options)
    apply_to_lakes(con)
    return _NOTHING


def _sql_value(con: Connection, value: Any) -> Any:
    """A TIMESTAMP of SQL is of the session's zone; a datetime of Python is of the machine's."""
    return moment_of_sql(value, con.time_zone) if isinstance(value, dt.date) else value


def _secret_alias(written: str, meant: str) -> str | None:
    """A lake attached by the name of a secret has that name, unless another is given."""
    name = written.partition(":")[2]
    return name if name and written != meant and ":" not in name else None


def _is_memory(con: Connection, parts: tuple[str, ...]) -> bool:
    """Whether the name is that of DuckDB's default database, which is here no lake at all."""
    words = tuple(part.lower() for part in parts)
    if words not in (("memory",), ("memory", "main")) or "memory" in con.lakes:
        return False
    if con.current is None:
        return True
    with con.reading(con.current_lake()) as tx:
        return tx.local.find_schema(words[0]) is None


def _detach(con: Connection, s: st.Detach) -> RowSet:
    if detach_source(con, s.name) or (s.if_exists and s.name.lower() not in con.lakes):
        return _NOTHING
    con.detach(s.name)
    return _NOTHING


def _use(con: Connection, s: st.Use) -> RowSet:
    if _is_memory(con, s.parts):
        con.use_none()
        return _NOTHING
    if len(s.parts) == 1 and s.parts[0].lower() in con.lakes:
        con.use(s.parts[0])
    else:
        lake, schema = con.schema_place(s.parts)
        con.use(lake.name, schema)
    return _NOTHING


# --- objects -------------------------------------------------------------------------------------


def _create_schema(con: Connection, s: st.CreateSchema) -> RowSet:
    lake, name = _schema_name(con, s.parts)
    with con.writing(lake, f'create schema "{name}"') as tx:
        objects.create_schema(tx, name, if_not_exists=s.if_not_exists)
    return _NOTHING


def _drop_schema(con: Connection, s: st.DropSchema) -> RowSet:
    lake, name = _schema_name(con, s.parts)
    with con.writing(lake, f'drop schema "{name}"') as tx:
        objects.drop_schema(
            tx, name, where=f'lake "{lake.name}"', if_exists=s.if_exists, cascade=s.cascade
        )
    return _NOTHING


def _schema_name(con: Connection, parts: tuple[str, ...]) -> tuple[Any, str]:
    if len(parts) == 1:
        return con.current_lake(), parts[0]
    return con.lake(parts[0]), parts[-1]


def _drop_table(con: Connection, s: st.DropTable) -> RowSet:
    if drop_temporary_table(con, s.parts):
        return _NOTHING
    lake, schema_name, name = con.place(s.parts)
    with con.writing(lake, f'drop table "{name}"') as tx:
        schema = con.schema_entry(lake, tx, schema_name)
        objects.drop_table(
            tx,
            schema,
            name,
            if_exists=s.if_exists,
            missing=con.missing_table(tx, lake, schema, name),
        )
    return _NOTHING


# --- transactions --------------------------------------------------------------------------------


def _begin(con: Connection, _: st.Begin) -> RowSet:
    con.begin()
    return _NOTHING


def _commit(con: Connection, _: st.Commit) -> RowSet:
    con.commit()
    return _NOTHING


def _rollback(con: Connection, _: st.Rollback) -> RowSet:
    con.rollback()
    return _NOTHING


# --- questions -----------------------------------------------------------------------------------


def _query(con: Connection, s: st.Query) -> DataFrame:
    return query_frame(con, s.tree)


def _query_text(con: Connection, s: st.QueryText) -> Outcome:
    """DuckDB binds the query; what is none, such as WITH … INSERT, is read by us."""
    frame = bound_frame(con, as_written(s.written), s.params)
    if frame is not None:
        return frame
    (statement,) = parse(number_marks(s.written.text))
    return run(con, _bound(con, statement, s.params))


def _queried(con: Connection, statement: st.Statement) -> DataFrame:
    if isinstance(statement, st.QueryText):
        outcome = _query_text(con, statement)
        return outcome.frame if isinstance(outcome, Result) else outcome
    if not isinstance(statement, st.Query):
        raise NotSupported(
            f"EXPLAIN of {type(statement).__name__} is not supported.", hint="explain a query."
        )
    return query_frame(con, statement.tree)


def _explain(con: Connection, s: st.Explain) -> RowSet:
    text = explain_frame(_queried(con, s.statement), analyze=s.analyze)
    key = "analyzed_plan" if s.analyze else "physical_plan"
    return RowSet((("explain_key", "VARCHAR"), ("explain_value", "VARCHAR")), ((key, text),))


def _call(con: Connection, s: st.Call) -> DataFrame | RowSet:
    if is_change_function(s.function):
        call = TableFunctionCall(s.function, s.arguments, s.named)
        return call_change_function(con, call, None)[0]
    return call_lake_function(con, s.function, s.arguments, s.named)


def _describe(con: Connection, s: st.Describe) -> RowSet:
    if s.parts is None:
        return describe.describe_frame(_rows_of(con, s))
    system = system_table(con, s.parts)
    if system is not None:
        rows = tuple((name, kind, "YES", None, None, None) for name, kind in system.columns)
        return RowSet(describe.DESCRIBE_COLUMNS, rows)
    try:
        return describe.describe(con.table_version(s.parts).table)
    except (NotFound, InvalidInput):  # a view, or a table of Spark's own
        return describe.describe_frame(_rows_of(con, s))


def _summarize(con: Connection, s: st.Summarize) -> RowSet:
    return summarize(_rows_of(con, s))


def _rows_of(con: Connection, s: st.Describe | st.Summarize) -> DataFrame:
    """The rows of the table or query that a question is about."""
    if s.query is not None:
        return query_frame(con, s.query)
    if s.parts is None:
        raise InvalidInput("DESCRIBE and SUMMARIZE need a table or a query.")
    return composed_frame(con, Composed(f"FROM {'.'.join(map(quote_identifier, s.parts))}"))


def _execute_prepared(con: Connection, s: st.Execute) -> Outcome:
    return run(con, prepared_statement(con, s))


def _show_tables(con: Connection, s: st.ShowTables) -> RowSet:
    if s.everywhere:
        return show_all_tables(seen_lakes(con))
    if s.source:
        lake, schema_name = con.schema_place(s.source)
    else:
        lake, schema_name = con.current_lake(), con.current_schema()
    with con.reading(lake) as tx:
        schema = con.schema_entry(lake, tx, schema_name)
        return describe.show_tables(tx.local, schema.schema_id)


def _show_schemas(con: Connection, s: st.ShowSchemas) -> RowSet:
    lake = con.lake(s.source[0]) if s.source else con.current_lake()
    with con.reading(lake) as tx:
        names = sorted(schema.name for schema in tx.local.schemas())
    return RowSet((("schema_name", "VARCHAR"),), tuple((name,) for name in names))


def _show_databases(con: Connection, _: st.ShowDatabases) -> RowSet:
    lakes = [lake.name for lake in con.lakes.values()]
    names = sorted(lakes + [source.name for source in con.sources.values()])
    return RowSet((("database_name", "VARCHAR"),), tuple((name,) for name in names))


def _accept(con: Connection, s: st.Load | st.Install) -> RowSet:
    """LOAD ducklake and INSTALL ducklake stand in scripts written for DuckDB; nothing to do."""
    return _NOTHING


_ACTIONS: dict[type[Any], Callable[[Any, Any], DataFrame | Result | RowSet]] = {
    st.Attach: _attach,
    st.Detach: _detach,
    st.Use: _use,
    st.CreateSchema: _create_schema,
    st.DropSchema: _drop_schema,
    st.CreateTable: create_table,
    st.DropTable: _drop_table,
    st.AddColumn: alter.alter_table,
    st.AddColumns: alter.add_columns,
    st.DropColumn: alter.alter_table,
    st.RenameColumn: alter.alter_table,
    st.RenameTable: alter.alter_table,
    st.SetColumnType: alter.alter_table,
    st.SetDefault: alter.alter_table,
    st.SetNotNull: alter.alter_table,
    st.CreateView: views.create_view,
    st.DropView: views.drop_view,
    st.RenameView: views.rename_view,
    st.CreateMacro: views.create_macro,
    st.DropMacro: views.drop_macro,
    st.Comment: views.comment,
    st.SetPartitionedBy: set_partitioned_by,
    st.SetSortedBy: set_sorted_by,
    st.Insert: insert,
    st.Delete: delete,
    st.Update: update,
    st.Merge: merge,
    st.Truncate: truncate,
    st.Begin: _begin,
    st.Commit: _commit,
    st.Rollback: _rollback,
    st.Query: _query,
    st.QueryText: _query_text,
    st.Explain: _explain,
    st.Call: _call,
    st.Checkpoint: checkpoint,
    st.Describe: _describe,
    st.ShowTables: _show_tables,
    st.ShowSchemas: _show_schemas,
    st.ShowDatabases: _show_databases,
    st.Summarize: _summarize,
    st.SetVariable: set_variable,
    st.SetSetting: set_setting,
    st.ResetSetting: reset_setting,
    st.Pragma: pragma,
    st.Prepare: prepare,
    st.Execute: _execute_prepared,
    st.Deallocate: deallocate,
    st.CreateSecret: create_secret,
    st.DropSecret: drop_secret,
    st.CopyTo: copy_to,
    st.CopyFrom: copy_from,
    st.CopyDatabase: copy_database,
    st.Load: _accept,
    st.Install: _accept,
}
