"""The order of the rows below: aggregates and window functions that depend on it keep it."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ducklake_spark.binder.expressions import Order, Ref
from ducklake_spark.binder.operators import (
    Aggregation,
    Filter,
    Limit,
    Plan,
    Projection,
    Sorting,
    Windows,
    types_of,
)

_AGGREGATES: Final = frozenset(
    {"list", "array_agg", "string_agg", "group_concat", "listagg", "first", "last", "arbitrary"}
)
_WINDOWS: Final = frozenset({"ROW_NUMBER", "LAG", "LEAD", "NTILE"})
_Ordered = tuple[Plan, tuple[Order, ...]]


def with_input_order(plan: Aggregation) -> Aggregation:
    """The aggregation with the ORDER BY of the rows below in the calls that see it.

    Spark does not keep the order of rows that it shuffles.
    """
    if not any(_sees(each.name, each.orders) for each in plan.aggregates):
        return plan
    child, orders = _ordered(plan.child)
    if not orders:
        return plan
    aggregates = tuple(
        replace(each, orders=orders) if _sees(each.name, each.orders) else each
        for each in plan.aggregates
    )
    return replace(plan, child=child, aggregates=aggregates)


def _sees(name: str, orders: tuple[Order, ...]) -> bool:
    return name in _AGGREGATES and not orders


def with_input_order_in_windows(plan: Windows) -> tuple[Windows, int]:
    """The windows with the ORDER BY of the rows below, and how many columns that adds to them."""
    if not any(each.kind in _WINDOWS and not each.orders for each in plan.windows):
        return plan, 0
    child, orders = _ordered(plan.child)
    if not orders:
        return plan, 0
    windows = tuple(
        replace(each, orders=orders) if each.kind in _WINDOWS and not each.orders else each
        for each in plan.windows
    )
    added = len(types_of(child)) - len(types_of(plan.child))
    return replace(plan, child=child, windows=windows), added


def _ordered(plan: Plan) -> _Ordered:
    """The rows with their keys among the columns, new ones last, and the order by them."""
    match plan:
        case Sorting():
            return plan, plan.orders
        case Limit() | Filter():
            child, orders = _ordered(plan.child)
            return replace(plan, child=child), orders
        case Projection():
            child, orders = _ordered(plan.child)
            keys = tuple(each.expression for each in orders)
            first = len(plan.expressions)
            moved = tuple(
                replace(each, expression=Ref(first + index, each.expression.type))
                for index, each in enumerate(orders)
            )
            return replace(plan, child=child, expressions=(*plan.expressions, *keys)), moved
        case _:
            return plan, ()
