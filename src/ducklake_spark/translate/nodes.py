"""Bound expressions with other references in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ducklake_spark.binder.expressions import (
    Aggregate,
    Between,
    Case,
    Cast,
    Comparison,
    Conjunction,
    Expression,
    FrameBound,
    Function,
    Operator,
    Order,
    OuterColumn,
    Ref,
    Unnest,
    Window,
)

Leaf = Ref | OuterColumn
Change = Callable[[Leaf], Expression]


def shifted(node: Expression, by: int) -> Expression:
    """The expression over rows that have `by` columns more on their left."""
    if by == 0:
        return node

    def move(leaf: Leaf) -> Expression:
        return replace(leaf, index=leaf.index + by) if isinstance(leaf, Ref) else leaf

    return with_leaves(node, move)


def with_leaves(node: Expression, change: Change) -> Expression:
    """The expression with what `change` gives in the place of references to columns."""

    def below(child: Expression) -> Expression:
        return with_leaves(child, change)

    match node:
        case Ref() | OuterColumn():
            return change(node)
        case Cast() | Unnest():
            return replace(node, child=below(node.child))
        case Comparison():
            return replace(node, left=below(node.left), right=below(node.right))
        case Conjunction() | Operator() | Function():
            return replace(node, children=tuple(map(below, node.children)))
        case Between():
            return replace(
                node, child=below(node.child), lower=below(node.lower), upper=below(node.upper)
            )
        case Case():
            checks = tuple((below(when), below(then)) for when, then in node.checks)
            return replace(node, checks=checks, otherwise=below(node.otherwise))
        case Aggregate():
            return _aggregate(node, below)
        case Window():
            return _window(node, below)
        case _:
            return node


def _aggregate(node: Aggregate, below: Callable[[Expression], Expression]) -> Aggregate:
    return replace(
        node,
        children=tuple(map(below, node.children)),
        filter=None if node.filter is None else below(node.filter),
        orders=_orders(node.orders, below),
    )


def _window(node: Window, below: Callable[[Expression], Expression]) -> Window:
    def maybe(child: Expression | None) -> Expression | None:
        return None if child is None else below(child)

    def bound(end: FrameBound) -> FrameBound:
        return replace(end, offset=maybe(end.offset))

    return replace(
        node,
        children=tuple(map(below, node.children)),
        partitions=tuple(map(below, node.partitions)),
        orders=_orders(node.orders, below),
        start=bound(node.start),
        end=bound(node.end),
        filter=maybe(node.filter),
        offset=maybe(node.offset),
        default=maybe(node.default),
        argument_orders=_orders(node.argument_orders, below),
    )


def _orders(
    orders: tuple[Order, ...], below: Callable[[Expression], Expression]
) -> tuple[Order, ...]:
    return tuple(replace(each, expression=below(each.expression)) for each in orders)
