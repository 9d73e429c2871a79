"""VALUES whose expressions read the rows of the query around, or of subqueries in them."""

from __future__ import annotations

from collections.abc import Sequence

from ducklake_spark.binder import operators as op
from ducklake_spark.binder.expressions import Cast, Expression, Function, Ref, Unnest
from ducklake_spark.binder.types import BoundType, list_of

Row = tuple[Expression, ...]


def values_over_rows(below: op.Plan, rows: Sequence[Row], types: Sequence[BoundType]) -> op.Plan:
    """The rows of VALUES for each row below: the elements of one list for each column.

    What is the same column of the rows below in all of them, as keys are, stays that column.
    """
    width = len(op.types_of(below))
    cells = [tuple(_of_type(row[at], kind) for row in rows) for at, kind in enumerate(types)]
    shared = [isinstance(each[0], Ref) and len({*map(repr, each)}) == 1 for each in cells]
    shared[0] = shared[0] and not all(shared)  # a list says how many rows there are
    unnests: list[Unnest] = []
    shown: list[Expression] = []
    for each, kind, is_shared in zip(cells, types, shared, strict=True):
        if is_shared:
            shown.append(each[0])
            continue
        shown.append(Ref(width + len(unnests), kind))
        listed = Function("list_value", each, (kind,) * len(each), list_of(kind))
        unnests.append(Unnest(listed, kind))
    return op.Projection(op.Unnesting(below, tuple(unnests)), tuple(shown))


def _of_type(node: Expression, kind: BoundType) -> Expression:
    return node if node.type == kind else Cast(node, kind)
