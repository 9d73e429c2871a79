"""con.sql's queries: DuckDB binds them on a mirror, their plan becomes one text for Spark."""

from __future__ import annotations

import itertools
import logging
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame
from sqlglot import exp

from ducklake_spark.binder.bind import BoundQuery, bind_query
from ducklake_spark.binder.columns import without_types_of_nulls
from ducklake_spark.binder.errors import Texts
from ducklake_spark.binder.mirror import BindSettings, Mirror
from ducklake_spark.binder.names import find_names
from ducklake_spark.binder.operators import Get
from ducklake_spark.binder.trees import Parsed, edited_text, parse_query
from ducklake_spark.binder.zones import duckdb_zone
from ducklake_spark.errors import NotSupported, SqlSyntaxError
from ducklake_spark.execution.bind import Context, run_query
from ducklake_spark.execution.bound_counts import answer_counts
from ducklake_spark.execution.bound_sources import Rows, Sources
from ducklake_spark.execution.bound_text import TableKey, key_of, spark_text
from ducklake_spark.execution.bound_values import Params, check_used, put_values, variables_of
from ducklake_spark.execution.parameters import PARAMS
from ducklake_spark.execution.settings import binding_settings
from ducklake_spark.model.names import quote_for_spark
from ducklake_spark.model.schema import Schema, build_column
from ducklake_spark.operations.read import TableVersion
from ducklake_spark.spark.engine import register_engine_calls
from ducklake_spark.spark.failures import spark_failures
from ducklake_spark.spark.session import time_zone_of
from ducklake_spark.spark.tags import TYPE_TAG, hidden_type, tag_types
from ducklake_spark.sql.reader import WRITTEN

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection

_LOG: Final = logging.getLogger(__name__)
_ONLY: Final = "DUCKLAKE_SPARK_ONLY_BOUND"
_numbers = itertools.count(1)


def query_frame(
    con: Connection, tree: exp.Expr, context: Context | None = None, *, is_inserted: bool = False
) -> DataFrame:
    """The lazy DataFrame of a query that stands in another statement; of INSERT, if it says so."""
    text = tree.meta.get(WRITTEN)
    if text is not None:
        params = tree.meta.get(PARAMS)
        asked = Asked(text, params, context or Context(), is_inserted=is_inserted)
        try:
            found = _unless_refused(con, asked)
        except SqlSyntaxError:
            # It has been read by us: names that DuckDB reserves, such as "at", may stand in it.
            if os.environ.get(_ONLY):
                raise
        else:
            if found is not None:
                return found
    return run_query(con, tree, context)


def bound_frame(con: Connection, text: str, params: Params | None = None) -> DataFrame | None:
    """The lazy DataFrame of a query; None for what is no query, or is not served here yet."""
    return _unless_refused(con, Asked(text, params, Context(), is_whole=True))


@dataclass(frozen=True)
class Asked:
    """A query: its text, the values of parameters, and where its names are looked up.

    `is_whole` says that the values are for nothing but this query, `is_inserted` that its columns
    take the types of a table's: a NULL without a type has none.
    """

    text: str
    params: Params | None
    context: Context
    is_whole: bool = False
    is_inserted: bool = False


def _unless_refused(con: Connection, asked: Asked) -> DataFrame | None:
    try:
        return run_bound(con, asked)
    except NotSupported as refusal:
        if os.environ.get(_ONLY) or binding_settings(con):
            raise  # nothing else heeds the settings
        _LOG.debug("not bound: %s | %s", refusal.message, asked.text)
        return None


def run_bound(con: Connection, asked: Asked) -> DataFrame | None:
    """The lazy DataFrame of a query; None for what is no query.

    Raises:
        NotSupported: something in it is not served here.
    """
    mirror = mirror_of(con)
    mirror.stand_at(_place(con, asked.context))
    parsed = parse_query(mirror, asked.text)
    if parsed is None:
        return None
    with con.one_snapshot():
        sources = Sources(con, mirror)
        text, bound = _bind(con, mirror, parsed, asked, sources)
        return _run(con, mirror, text, bound, sources, asked)


def mirror_of(con: Connection) -> Mirror:
    """The connection's mirror for the settings as they are."""
    settings = BindSettings(duckdb_zone(time_zone_of(con.spark)), binding_settings(con))
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
    return text, bind_query(mirror, Texts(parsed.text, text))


def _run(
    con: Connection, mirror: Mirror, text: str, bound: BoundQuery, sources: Sources, asked: Asked
) -> DataFrame:
    def version(get: Get) -> TableVersion | None:
        found = sources.rows.get(key_of(get))
        return found.version if found else None

    plan = answer_counts(bound.plan, version)
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
