"""What the operators of a plan are over, and whether computing them twice gives the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ducklake_spark.binder.expressions import Window
from ducklake_spark.binder.operators import (
    Aggregation,
    AsofJoin,
    CrossProduct,
    Cte,
    CteRef,
    DelimJoin,
    Distinct,
    Join,
    Limit,
    Plan,
    PositionalJoin,
    RecursiveCte,
    Sample,
    SetOperation,
    TableFunction,
    Windows,
)

# Aggregates whose answer depends on the order of the rows.
_PICKING: Final = frozenset(
    {"first", "last", "any_value", "arbitrary", "list", "array_agg", "string_agg", "listagg"}
    | {"group_concat", "arg_min", "arg_max", "min_by", "max_by", "mode", "approx_quantile"}
)


def children_of(plan: Plan) -> tuple[Plan, ...]:
    """The operators directly below."""
    match plan:
        case Join() | DelimJoin() | CrossProduct() | AsofJoin() | PositionalJoin():
            return (plan.left, plan.right)
        case Cte():
            return (plan.definition, plan.child)
        case RecursiveCte():
            return (plan.anchor, plan.step)
        case SetOperation():
            return plan.children
        case TableFunction():
            return () if plan.child is None else (plan.child,)
        case _:
            child: Plan | None = getattr(plan, "child", None)
            return () if child is None else (child,)


def operators(plan: Plan) -> Iterator[Plan]:
    """The operator and all below it."""
    yield plan
    for child in children_of(plan):
        yield from operators(child)


def is_stable(plan: Plan) -> bool:
    """Whether computing the rows twice surely gives the same rows."""
    return all(map(_is_stable, operators(plan)))


def _is_stable(plan: Plan) -> bool:
    match plan:
        case Limit() | Sample():
            return False
        case Windows():
            return all(map(_is_stable_window, plan.windows))
        case Distinct():
            return plan.targets is None
        case Aggregation():
            return not any(each.name in _PICKING for each in plan.aggregates)
        case _:
            return True


def _is_stable_window(node: Window) -> bool:
    """Whether rows with the same sort keys get the same answer."""
    if node.kind == "AGGREGATE":
        return node.unit == "RANGE" and node.name not in _PICKING
    return node.kind in ("RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST")


def references(plan: Plan, index: int) -> int:
    """How often the rows of a common table expression are read."""
    return sum(isinstance(each, CteRef) and each.index == index for each in operators(plan))
