"""Counts, least and greatest values of a whole table in a bound plan, answered by the catalog.

``SELECT count(*), min(c), max(c), count(c) FROM t`` opens no data file if the statistics of the
files are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ducklake_spark.binder.expressions import Aggregate, Cast, Constant, Expression, Ref
from ducklake_spark.binder.operators import (
    Aggregation,
    DummyScan,
    Get,
    Plan,
    Projection,
    with_inputs,
)
from ducklake_spark.binder.types import BIGINT, VARCHAR
from ducklake_spark.errors import DuckLakeError
from ducklake_spark.model.literals import format_text
from ducklake_spark.model.schema import Column
from ducklake_spark.operations.column_totals import TableTotals, find_totals
from ducklake_spark.operations.contents import TableVersion
from ducklake_spark.operations.count_rows import count_rows

Find = Callable[[Get], TableVersion | None]
_COUNTS: Final = ("count_star", "count")
_BOUNDS: Final = ("min", "max")


def answer_counts(plan: Plan, find: Find) -> Plan:
    """The plan with aggregates of whole tables replaced by values, where the catalog has them.

    `find` gives the table of a lake that a table of the mirror is, or None.
    """
    if isinstance(plan, Aggregation):
        answered = _answered(plan, find)
        if answered is not None:
            return answered
    return with_inputs(plan, lambda each: answer_counts(each, find))


def _answered(plan: Aggregation, find: Find) -> Plan | None:
    if plan.groups or plan.sets != ((),) or plan.grouping_calls or not plan.aggregates:
        return None
    get, places = _source(plan.child)
    if get is None or not all(map(_is_plain, plan.aggregates)):
        return None
    version = find(get)
    if version is None:
        return None
    try:
        names = [_column_name(each, get, places) for each in plan.aggregates]
        columns = [None if name is None else _column(version, name) for name in names]
        totals = _totals(version, plan.aggregates, columns)
        if totals is None:
            return None
        answers = zip(plan.aggregates, columns, strict=True)
        return Projection(DummyScan(), tuple(_answer(a, c, totals) for a, c in answers))
    except DuckLakeError:
        return None  # the query itself will say what is wrong


def _source(plan: Plan) -> tuple[Get | None, tuple[Expression, ...] | None]:
    """The table below, and what a projection between makes of its columns."""
    if isinstance(plan, Get):
        return plan, None
    if isinstance(plan, Projection) and isinstance(plan.child, Get):
        return plan.child, plan.expressions
    return None, None


def _is_plain(call: Aggregate) -> bool:
    if call.is_distinct or call.filter is not None or call.orders or call.bind_data:
        return False
    if call.name == "count_star":
        return not call.children
    return call.name in (*_COUNTS, *_BOUNDS) and len(call.children) == 1


def _column_name(call: Aggregate, get: Get, places: tuple[Expression, ...] | None) -> str | None:
    """The column that an aggregate is about; None for the rows. A column only, or it is no use."""
    if call.name == "count_star":
        return None
    node: Expression = call.children[0]
    if isinstance(node, Constant) and node.value is not None and call.name == "count":
        return None
    if isinstance(node, Ref) and places is not None:
        node = places[node.index]
    if not isinstance(node, Ref) or (name := get.columns[node.index]) is None:
        raise _Unclear("the aggregate is not about a column")
    return name


class _Unclear(DuckLakeError):
    """An aggregate that the catalog cannot answer."""


def _column(version: TableVersion, name: str) -> Column:
    found = version.table.schema.find(name)
    if found is None:
        raise _Unclear(name)
    return found


def _totals(
    version: TableVersion, calls: tuple[Aggregate, ...], columns: list[Column | None]
) -> TableTotals | None:
    asked: dict[int, bool] = {}
    for call, column in zip(calls, columns, strict=True):
        if column is not None:
            number = column.column_id
            asked[number] = asked.get(number, False) or call.name in _BOUNDS
    if asked:
        return find_totals(version, asked)
    rows = count_rows(version)
    return None if rows is None else TableTotals(rows, {})


def _answer(call: Aggregate, column: Column | None, totals: TableTotals) -> Expression:
    if column is None:
        return Constant(totals.rows, BIGINT)
    found: Mapping[int, Any] = totals.columns
    of_column = found[column.column_id]
    if call.name == "count":
        return Constant(of_column.values, BIGINT)
    value = of_column.low if call.name == "min" else of_column.high
    if value is None:
        return Constant(None, call.type)
    return Cast(Constant(format_text(value, column.type), VARCHAR), call.type)
