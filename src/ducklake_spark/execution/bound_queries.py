"""con.sql's queries: DuckDB binds them on a mirror, their plan becomes one text for Spark."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import DataFrame

from ducklake_spark.binder.bind import BoundQuery, bind_query
from ducklake_spark.binder.columns import without_types_of_nulls
from ducklake_spark.binder.errors import Source, Texts
from ducklake_spark.binder.mirror import BindSettings, Mirror
from ducklake_spark.binder.names import find_names
from ducklake_spark.binder.operators import DummyScan, Get, Projection
from ducklake_spark.binder.trees import Parsed, edited_text, parse_query
from ducklake_spark.binder.zones import duckdb_zone
from ducklake_spark.errors import InvalidInput, NotSupported, SqlSyntaxError
from ducklake_spark.execution.bound_counts import answer_counts
from ducklake_spark.execution.bound_sources import Queries, Rows, Sources
from ducklake_spark.execution.bound_text import TableKey, key_of, spark_text
from ducklake_spark.execution.bound_values import (
    Params,
    check_used,
    constant_value,
    put_values,
    variables_of,
)
from ducklake_spark.execution.compute import only_value
from ducklake_spark.execution.contexts import Context
from ducklake_spark.execution.joined_rows import JoinedRows
from ducklake_spark.execution.settings import binding_settings
from ducklake_spark.model.names import quote_for_spark, quote_identifier
from ducklake_spark.model.schema import Schema, build_column
from ducklake_spark.operations.contents import TableVersion
from ducklake_spark.spark.engine import register_engine_calls
from ducklake_spark.spark.failures import spark_failures
from ducklake_spark.spark.jobs import run_job
from ducklake_spark.spark.tags import TYPE_TAG, hidden_type, tag_types
from ducklake_spark.sql.composed import Composed
from ducklake_spark.sql.dynamic_pivots import find_missing_values
from ducklake_spark.sql.dynamic_pivots import put_values as put_pivoted_values
from ducklake_spark.sql.variables import TypedValue

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection
    from ducklake_spark.operations.row_changes import Target

_numbers = itertools.count(1)
_MOST_PIVOTED: Final = 10_000


def composed_frame(
    con: Connection,
    query: Composed,
    context: Context | None = None,
    *,
    target: Target | None = None,
    joined: JoinedRows | None = None,
    is_inserted: bool = False,
) -> DataFrame:
    """The lazy DataFrame of a query that stands in another statement, or was made for one."""
    asked = Asked(
        query,
        query.params,
        context or Context(),
        is_inserted=is_inserted,
        target=target,
        joined=joined,
    )
    frame = run_bound(con, asked)
    if frame is None:
        raise SqlSyntaxError(f"Expected a query, but got {query.text.strip()[:80]!r}.")
    return frame


def view_frame(con: Connection, name: tuple[str, ...], context: Context | None = None) -> DataFrame:
    """The lazy DataFrame of all rows of a view."""
    text = f"FROM {'.'.join(map(quote_identifier, name))}"
    return composed_frame(con, Composed(text), context)


def scalar_value(con: Connection, query: Composed, context: Context | None = None) -> Any:
    """The value of a query with one row and one column. Moments come in UTC, structs as dicts."""
    return typed_value(con, query, context).value


def typed_value(con: Connection, query: Composed, context: Context | None = None) -> TypedValue:
    """The same with its type in DuckDB."""
    asked = Asked(query, query.params, context or Context())
    mirror, parsed = _parsed(con, asked)
    if parsed is None:
        raise SqlSyntaxError(f"Expected a value, but got {query.text.strip()[:80]!r}.")
    with con.one_snapshot():
        sources = _sources(con, mirror, parsed, asked)
        text, bound = _bind(con, mirror, parsed, asked, sources)
        if isinstance(bound.plan, Projection) and isinstance(bound.plan.child, DummyScan):
            return constant_value(mirror, text)
        if con.time_zone_name() is None:
            con.spark  # noqa: B018 - it is started, and says which zone counts
            return typed_value(con, query, context)
        frame = _run(con, mirror, text, bound, sources, asked)
    with spark_failures("compute a value"):
        return TypedValue(only_value(frame), bound.types[0], None)


def bound_frame(con: Connection, query: Composed, params: Params | None = None) -> DataFrame | None:
    """The lazy DataFrame of a text; None if it is no query."""
    return run_bound(con, Asked(query, params, Context(), is_whole=True))


@dataclass(frozen=True)
class Asked:
    """A query: its text, the values of parameters, and where its names are looked up.

    `is_whole` says that the values are for nothing but this query, `is_inserted` that its columns
    take the types of a table's: a NULL without a type has none.
    """

    query: Composed
    params: Params | None
    context: Context
    is_whole: bool = False
    is_inserted: bool = False
    target: Target | None = None
    joined: JoinedRows | None = None


def run_bound(con: Connection, asked: Asked) -> DataFrame | None:
    """The lazy DataFrame of a query; None for what is no query.

    Raises:
        NotSupported: something in it is not served here.
    """
    con.spark  # noqa: B018 - it is started: its time zone counts
    with con.one_snapshot():
        asked = _with_pivoted_values(con, asked)
        mirror, parsed = _parsed(con, asked)
        if parsed is None:
            return None
        sources = _sources(con, mirror, parsed, asked)
        text, bound = _bind(con, mirror, parsed, asked, sources)
        return _run(con, mirror, text, bound, sources, asked)


def _with_pivoted_values(con: Connection, asked: Asked) -> Asked:
    """The query with the values that a PIVOT without a list of them finds in its table."""
    while "pivot" in asked.query.text.lower():
        missing = find_missing_values(asked.query.text)
        if not missing:
            break
        values = [_pivoted_values(con, asked, each.question) for each in missing]
        asked = replace(asked, query=put_pivoted_values(asked.query, missing, values))
    return asked


def _pivoted_values(con: Connection, asked: Asked, question: str) -> list[str]:
    frame = composed_frame(con, Composed(question, params=asked.params), asked.context)
    with spark_failures("look for the values of a PIVOT"):
        rows = run_job(con.spark, frame.limit(_MOST_PIVOTED + 1).collect)
    if not rows:
        raise NotSupported(
            "A PIVOT over no value at all is not supported.", hint="list the values: ON c IN (…)."
        )
    if len(rows) > _MOST_PIVOTED:
        raise InvalidInput(
            f"A PIVOT has more than {_MOST_PIVOTED:,} values.",
            hint="list those that are wanted: ON c IN (…).",
        )
    return [row[0] for row in rows]


def _parsed(con: Connection, asked: Asked) -> tuple[Mirror, Parsed | None]:
    mirror = mirror_of(con)
    mirror.stand_at(_place(con, asked.context))
    query = asked.query
    source = None if query.written is None else Source(query.written, query.places)
    return mirror, parse_query(mirror, query.text, source)


def _sources(con: Connection, mirror: Mirror, parsed: Parsed, asked: Asked) -> Sources:
    def value(text: str, context: Context) -> Any:
        return scalar_value(con, Composed(f"SELECT ({text})"), context)

    def statement(text: str) -> Any:
        from ducklake_spark.execution.execute import execute

        return execute(con, text, params=None, dialect="duckdb")

    return Sources(con, mirror, Queries(value, statement), parsed.node, asked.target, asked.joined)


def mirror_of(con: Connection) -> Mirror:
    """The connection's mirror for the settings as they are."""
    zone = con.time_zone_name()
    settings = BindSettings(None if zone is None else duckdb_zone(zone), binding_settings(con))
    found: Mirror = con.mirrors.find(settings, lambda: Mirror(settings))
    return found


def _place(con: Connection, context: Context) -> tuple[str, str] | None:
    if context.home is not None:
        return context.home[0].name, context.home[1]
    return con.current


def _bind(
    con: Connection, mirror: Mirror, parsed: Parsed, asked: Asked, sources: Sources
) -> tuple[str, BoundQuery]:
    names = find_names(parsed.node)
    if asked.is_whole:
        check_used(asked.params, names)
    values = put_values(con, names, asked.params)
    mirror.know(variables_of(con, values))
    changed = sources.enter(names, asked.context)
    edited = changed or bool(values) or bool(names.parameters)
    sources.ready()
    text = edited_text(mirror, parsed) if edited else parsed.text
    return text, bind_query(mirror, Texts(parsed.text, text, parsed.source))


def _run(
    con: Connection, mirror: Mirror, text: str, bound: BoundQuery, sources: Sources, asked: Asked
) -> DataFrame:
    def version(get: Get) -> TableVersion | None:
        found = sources.rows.get(key_of(get))
        return found.version if found else None

    plan = answer_counts(sources.joined_plan(bound.plan), version)
    plan = without_types_of_nulls(plan) if asked.is_inserted else plan
    made = spark_text(mirror, bound, plan, text, is_answered=plan is not bound.plan)
    register_engine_calls(con.spark, made.calls)
    views: dict[TableKey, str] = {}
    try:
        for key in dict.fromkeys(made.tables):
            views[key] = _view(_rows(sources, key).frame())
        with spark_failures("run the query"):
            frame = con.spark.sql(made.text(lambda key: quote_for_spark(views[key])))
        return _tagged(frame, bound)
    finally:
        # The DataFrame has taken the relations in; their names are not needed any more.
        for name in views.values():
            con.spark.catalog.dropTempView(name)


def _tagged(frame: DataFrame, bound: BoundQuery) -> DataFrame:
    """The rows with the types that Spark's types do not tell, so that a table gets them."""
    kinds = {name: kind for name, text in zip(bound.names, bound.types, strict=True)
             if (kind := hidden_type(text)) is not None}  # fmt: skip
    if not kinds or len(set(bound.names)) < len(bound.names):
        return frame
    told = {field.name for field in frame.schema.fields if TYPE_TAG in field.metadata}
    if told >= kinds.keys():
        return frame
    columns = (build_column(name, kind, itertools.count(1)) for name, kind in kinds.items())
    return tag_types(frame, Schema(tuple(columns)))


def _rows(sources: Sources, key: TableKey) -> Rows:
    found = sources.rows.get(key)
    if found is None:
        raise NotSupported(f'The table "{key[2]}" is named in no FROM clause.')
    return found


def _view(frame: DataFrame) -> str:
    name = f"_ducklake_{next(_numbers)}"
    frame.createOrReplaceTempView(name)
    return name
