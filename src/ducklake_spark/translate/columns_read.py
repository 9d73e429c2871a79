"""Which tables' row ids a plan reads: where no column is read the binder names the row id too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ducklake_spark.binder.expressions import Expression, refs_of
from ducklake_spark.binder.operators import (
    Aggregation,
    CrossProduct,
    Cte,
    DelimJoin,
    Filter,
    Get,
    Join,
    Limit,
    Plan,
    Projection,
    Sorting,
    Unnesting,
    Windows,
    types_of,
)
from ducklake_spark.translate.stability import children_of, operators

Needed = frozenset[int]


def row_ids_read(plan: Plan) -> frozenset[int]:
    """The `id` of each `Get` in the plan whose row id somebody reads."""
    if not any(isinstance(each, Get) and None in each.columns for each in operators(plan)):
        return frozenset()
    return frozenset(_read(plan, _all(plan)))


def _read(plan: Plan, needed: Needed) -> Iterator[int]:
    if isinstance(plan, Get):
        if any(plan.columns[index] is None for index in needed):
            yield id(plan)
        return
    for child, below in zip(children_of(plan), _needed_below(plan, needed), strict=True):
        yield from _read(child, below)


def _refs(nodes: Iterable[Expression]) -> Needed:
    return frozenset().union(*map(refs_of, nodes))


def _needed_below(plan: Plan, needed: Needed) -> tuple[Needed, ...]:
    """The places that are read of the rows of each operator below."""
    match plan:
        case Projection():
            return (_refs(plan.expressions[index] for index in needed),)
        case Filter():
            return (needed | _refs(plan.expressions),)
        case Sorting():
            return (needed | _refs(each.expression for each in plan.orders),)
        case Aggregation():
            return (_refs((*plan.groups, *plan.aggregates)),)
        case Windows() | Unnesting():
            added = plan.windows if isinstance(plan, Windows) else plan.unnests
            own = len(types_of(plan.child))
            return (frozenset(i for i in needed if i < own) | _refs(added),)
        case Join() | DelimJoin() | CrossProduct():
            return _needed_by_join(plan, needed)
        case Cte():
            return (_all(plan.definition), needed)
        case Limit() if not any(
            bound is not None and not isinstance(bound.value, int | float)
            for bound in (plan.limit, plan.offset)
        ):
            return (needed,)
        case _:
            return tuple(map(_all, children_of(plan)))


def _all(plan: Plan) -> Needed:
    return frozenset(range(len(types_of(plan))))


def _needed_by_join(plan: Join | DelimJoin | CrossProduct, needed: Needed) -> tuple[Needed, Needed]:
    width, others = len(types_of(plan.left)), len(types_of(plan.right))
    left = frozenset(i for i in needed if i < width)
    right = frozenset(i - width for i in needed if width <= i < width + others)
    if isinstance(plan, CrossProduct):
        return left, right
    if plan.kind == "MARK":
        right = frozenset()
    left |= _refs(each.left for each in plan.conditions)
    right |= _refs(each.right for each in plan.conditions)
    if isinstance(plan, DelimJoin):
        return left | _refs(plan.keys), right
    both = refs_of(plan.predicate) if plan.predicate is not None else frozenset()
    return (
        left | frozenset(i for i in both if i < width),
        right | frozenset(i - width for i in both if i >= width),
    )
