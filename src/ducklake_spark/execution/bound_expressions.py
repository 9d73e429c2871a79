"""Expressions in DuckDB's dialect that stand by themselves: sort keys, defaults, constants."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NoReturn

from pyspark.sql import SparkSession

from ducklake_spark.binder.bind import bind_query
from ducklake_spark.binder.errors import Texts
from ducklake_spark.binder.evaluate import evaluator
from ducklake_spark.binder.mirror import (
    RELATIONS,
    BindSettings,
    Mirror,
    MirrorTable,
    Name,
)
from ducklake_spark.binder.names import find_names
from ducklake_spark.binder.operators import DummyScan, Get, Plan, Projection
from ducklake_spark.binder.trees import Tree, expect_query, table_ref, text_of
from ducklake_spark.binder.zones import duckdb_zone
from ducklake_spark.caching import declare
from ducklake_spark.errors import NotSupported
from ducklake_spark.execution.bound_sources import Queries, Sources
from ducklake_spark.execution.contexts import Context
from ducklake_spark.model.engine_call import EngineCall
from ducklake_spark.model.names import quote_for_spark
from ducklake_spark.model.schema import Column
from ducklake_spark.model.types import format_sql_type
from ducklake_spark.spark.engine import register_engine_calls
from ducklake_spark.spark.session import time_zone_of
from ducklake_spark.translate.expressions import Expressions
from ducklake_spark.translate.fragments import Fragment

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection
    from ducklake_spark.lake import Lake

_ROWS: Final = Name(RELATIONS, "main", "rows_of_an_expression")
_LOCK: Final = threading.Lock()
_MIRROR: Final = declare(
    "mirrors without tables",
    key="the time zone",
    depends_on="nothing else: they hold no object",
    seen_by="process",
    emptied="never",
    entries=4,
).make()
_TEXTS: Final = declare(
    "constant expressions for Spark",
    key="the text and the time zone",
    depends_on="what is in the key; a text with the time or a random number in it is not kept",
    seen_by="process",
    emptied="never",
    entries=256,
).make()


def expression_text(
    con: Connection, mirror: Mirror, text: str, columns: Sequence[Column], home: tuple[Lake, str]
) -> str:
    """The Spark SQL of an expression over columns, its macros looked up in a schema of a lake.

    Raises:
        DuckLakeError: what DuckDB says about it.
        NotSupported: it is more than a value of each row by itself.
    """
    mirror.stand_at((home[0].name, home[1]))
    parsed = expect_query(mirror, f"SELECT ({text})")
    sources = Sources(con, mirror, Queries(_no_query, _no_query), parsed.node)
    sources.enter(find_names(parsed.node), Context(home=home))
    rows = MirrorTable(_ROWS, tuple((c.name, format_sql_type(c.type)) for c in columns))
    sources.keep(rows)
    sources.ready()
    parsed.node["from_table"] = table_ref(_ROWS.catalog, _ROWS.schema, _ROWS.name)
    found, calls, _ = _translated(mirror, text, parsed.tree)
    register_engine_calls(con.spark, calls)
    return found


def constant_text(spark: SparkSession, text: str) -> str:
    """The Spark SQL of an expression without columns."""
    zone = duckdb_zone(time_zone_of(spark))
    with _LOCK:
        known: tuple[str, tuple[EngineCall, ...]] | None = _TEXTS.get((text, zone))
        if known is None:
            mirror: Mirror = _MIRROR.find(zone, lambda: Mirror(BindSettings(zone)))
            parsed = expect_query(mirror, f"SELECT ({text})")
            found, calls, is_repeatable = _translated(mirror, text, parsed.tree)
            known = found, calls
            if is_repeatable:
                _TEXTS.put((text, zone), known)
    register_engine_calls(spark, known[1])
    return known[0]


def _translated(mirror: Mirror, text: str, tree: Tree) -> tuple[str, tuple[EngineCall, ...], bool]:
    made = text_of(mirror, tree)
    plan = bind_query(mirror, Texts(f"SELECT ({text})", made)).plan
    settings = mirror.settings
    expressions = Expressions(evaluator(mirror), mirror.time_zone, settings.others)
    if not isinstance(plan, Projection) or len(plan.expressions) != 1:
        raise _not_of_a_row(text)
    found = str(expressions.scalar(plan.expressions[0], _columns(plan.child, text)))
    return found, expressions.engine.calls, expressions.folding.is_repeatable


def _columns(rows: Plan, text: str) -> list[Fragment]:
    if isinstance(rows, DummyScan):
        return []
    if not isinstance(rows, Get) or None in rows.columns:
        raise _not_of_a_row(text)
    return [Fragment((quote_for_spark(str(name)),)) for name in rows.columns]


def _no_query(text: str, _: Context | None = None) -> NoReturn:
    raise _not_of_a_row(text)


def _not_of_a_row(text: str) -> NotSupported:
    return NotSupported(
        f"The expression {text} is not a value of each row by itself.",
        hint="leave out subqueries, aggregates and window functions.",
    )
