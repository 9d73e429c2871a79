"""Aggregate calls over groups, computed by DuckDB and by Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from ducklake_spark.binder.expressions import Aggregate
from ducklake_spark.binder.operators import Aggregation, Get, Projection
from ducklake_spark.spark.engine import register_engine_calls
from ducklake_spark.translate.aggregates import aggregate
from ducklake_spark.translate.fragments import Fragment
from ducklake_spark.translate.types import spark_type, to_carrier
from support.both_engines import BothEngines, columns_of, is_near, normal

GROUPS = "FROM t GROUP BY g ORDER BY g"
NOTHING = "FROM t WHERE g < -1000"
ALL = "FROM t"
TOGETHER = 60  # calls in a job: the code that Spark makes of more takes longer than they do


@dataclass
class Bound:
    """A call with Spark's text of it."""

    call: str
    node: Aggregate
    text: Fragment
    is_native: bool


def bind_call(both: BothEngines, call: str) -> Bound:
    """Bind and translate one call of an aggregate."""
    plan = both.plan(f"SELECT g, {call} FROM t GROUP BY g")
    while not isinstance(plan, Aggregation):
        assert isinstance(plan, Projection), call
        plan = plan.child
    node, get = plan.aggregates[0], plan.child
    assert isinstance(get, Get), call
    expressions = both.expressions()
    text = aggregate(node, columns_of(get), expressions)
    calls = expressions.engine.calls
    register_engine_calls(both.spark, calls)
    return Bound(call, node, text, not calls)


def check(
    both: BothEngines, calls: Sequence[str], rows: Sequence[str] = (GROUPS, ALL, NOTHING)
) -> None:
    """Assert that Spark and DuckDB answer alike."""
    bound = [bind_call(both, call) for call in calls]
    told = [each for rest in rows for each in differences(both, bound, rest)]
    assert not told, "\n".join(told)


def differences(both: BothEngines, calls: Sequence[Bound], rest: str) -> list[str]:
    """What Spark answers otherwise than DuckDB; both may fail."""
    found = [
        answer
        for start in range(0, len(calls), TOGETHER)
        for answer in spark_answers(both, calls[start : start + TOGETHER], rest)
    ]
    told = []
    for bound, ours in zip(calls, found, strict=True):
        theirs = duckdb_answer(both, bound, rest)
        if not agree(ours, theirs):
            told.append(f"{bound.call} {rest}:\n  Spark  {ours}\n  DuckDB {theirs}\n  {bound.text}")
    return told


def duckdb_answer(both: BothEngines, bound: Bound, rest: str) -> Any:
    """The values in order, or the error."""
    text = to_carrier(f"({bound.call})", bound.node.type)
    try:
        table = both.duckdb.execute(f"SELECT {text} AS x {rest}").to_arrow_table()
    except duckdb.Error as error:
        return error
    return spark_type(bound.node.type), [row["x"] for row in table.to_pylist()]


def spark_answers(both: BothEngines, calls: Sequence[Bound], rest: str) -> list[Any]:
    """The answers of one job; of a job that fails, those of its halves."""
    selected = ", ".join(f"{bound.text} AS x{at}" for at, bound in enumerate(calls))
    frame = None
    try:
        frame = both.spark.sql(f"SELECT {selected} {rest}")
        rows = frame.toArrow().to_pylist()
    except Exception as error:  # what Spark raises is compared with what DuckDB raises
        if len(calls) == 1:
            return [error]
        half = len(calls) // 2
        return [
            *spark_answers(both, calls[:half], rest),
            *spark_answers(both, calls[half:], rest),
        ]
    types = [field.dataType.simpleString() for field in frame.schema.fields]
    return [(types[at], [row[f"x{at}"] for row in rows]) for at in range(len(calls))]


def agree(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, Exception) or isinstance(theirs, Exception):
        return isinstance(ours, Exception) and isinstance(theirs, Exception)
    kind, values = ours
    expected, others = theirs
    same = is_near if expected == "DOUBLE" else lambda a, b: normal(a) == normal(b)
    return (
        _type_name(kind) == _type_name(expected)
        and len(values) == len(others)
        and all(same(a, b) for a, b in zip(values, others, strict=True))
    )


def _type_name(text: str) -> str:
    return text.lower().replace(" ", "").replace("`", "")
