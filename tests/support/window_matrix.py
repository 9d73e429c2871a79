"""Window functions over rows, computed by DuckDB and by Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from ducklake_spark.binder.expressions import Window
from ducklake_spark.binder.operators import Get, Projection, Windows
from ducklake_spark.spark.engine import register_engine_calls
from ducklake_spark.translate.expressions import Expressions
from ducklake_spark.translate.fragments import Fragment, sql
from ducklake_spark.translate.types import spark_type, to_carrier
from ducklake_spark.translate.windows import native_window
from ducklake_spark.translate.windows_in_tasks import windows_in_tasks
from support.aggregate_matrix import agree
from support.both_engines import BothEngines, columns_of

TOGETHER = 40  # calls in a job


@dataclass
class BoundWindow:
    """A window function with Spark's text of it, which is None where DuckDB computes it."""

    call: str
    node: Window
    columns: tuple[Fragment, ...]
    text: Fragment | None
    expressions: Expressions


def bind_window(both: BothEngines, call: str) -> BoundWindow:
    """Bind and translate one window function over the columns of the table."""
    plan = both.plan(f"SELECT *, {call} FROM t")
    while not isinstance(plan, Windows):
        assert isinstance(plan, Projection), call
        plan = plan.child
    node, get = plan.windows[0], plan.child
    assert isinstance(get, Get), call
    expressions = both.expressions()
    columns = columns_of(get)
    text = native_window(node, columns, expressions)
    register_engine_calls(both.spark, expressions.engine.calls)
    return BoundWindow(call, node, columns, text, expressions)


def window_differences(both: BothEngines, calls: Sequence[BoundWindow], rows: str) -> list[str]:
    """What Spark answers otherwise than DuckDB; both may fail."""
    told = []
    native = [each for each in calls if each.text is not None]
    others = [each for each in calls if each.text is None]
    found = [*_in_parts(both, native, rows), *_in_parts(both, others, rows)]
    for bound, ours in zip([*native, *others], found, strict=True):
        theirs = _duckdb_answer(both, bound, rows)
        if not agree(ours, theirs):
            told.append(f"{bound.call}:\n  Spark  {ours}\n  DuckDB {theirs}\n  {bound.text}")
    return told


def _duckdb_answer(both: BothEngines, bound: BoundWindow, rows: str) -> Any:
    answer = to_carrier("x", bound.node.type)
    text = f"SELECT {answer} AS x FROM (SELECT n, {bound.call} AS x FROM t {rows}) ORDER BY n"
    try:
        table = both.duckdb.execute(text).to_arrow_table()
    except duckdb.Error as error:
        return error
    return spark_type(bound.node.type), [row["x"] for row in table.to_pylist()]


def _in_parts(both: BothEngines, calls: Sequence[BoundWindow], rows: str) -> list[Any]:
    parts = (calls[at : at + TOGETHER] for at in range(0, len(calls), TOGETHER))
    return [answer for part in parts for answer in window_answers(both, part, rows)]


def window_answers(both: BothEngines, calls: Sequence[BoundWindow], rows: str) -> list[Any]:
    """The answers of one job in the order of n; of a job that fails, those of its halves."""
    try:
        frame = both.spark.sql(_query(both, calls, rows))
        found = sorted(frame.toArrow().to_pylist(), key=lambda row: row["n"])
    except Exception as error:  # what Spark raises is compared with what DuckDB raises
        if len(calls) == 1:
            return [error]
        half = len(calls) // 2
        return [
            *window_answers(both, calls[:half], rows),
            *window_answers(both, calls[half:], rows),
        ]
    types = [field.dataType.simpleString() for field in frame.schema.fields[1:]]
    return [(types[at], [row[f"x{at}"] for row in found]) for at in range(len(calls))]


def _query(both: BothEngines, calls: Sequence[BoundWindow], rows: str) -> str:
    source = sql(f" FROM t {rows}")
    if all(bound.text is not None for bound in calls):
        texts = "".join(f", {bound.text} AS x{at}" for at, bound in enumerate(calls))
        return f"SELECT n{texts}{source}"
    queries = []
    for at, bound in enumerate(calls):
        text = windows_in_tasks([bound.node], bound.columns, source, bound.expressions)
        register_engine_calls(both.spark, bound.expressions.engine.calls)
        last = len(bound.columns)
        queries.append(f"(SELECT c1 AS n, c{last} AS x{at} FROM ({text}))")
    joins = "".join(f" JOIN {query} USING (n)" for query in queries[1:])
    return f"SELECT * FROM {queries[0]}{joins}"
