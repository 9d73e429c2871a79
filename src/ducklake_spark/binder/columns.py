"""What DuckDB makes of the columns of a result, besides what the query says. Pure."""

from __future__ import annotations

from dataclasses import replace

from ducklake_spark.binder.expressions import Cast, Expression
from ducklake_spark.binder.operators import (
    Distinct,
    Filter,
    Limit,
    Plan,
    Projection,
    SetOperation,
    Sorting,
)


def without_types_of_nulls(plan: Plan) -> Plan:
    """The plan whose columns of nothing but NULL have no type, where DuckDB says INTEGER."""
    match plan:
        case Projection():
            found = tuple(map(_untyped, plan.expressions))
            return plan if found == plan.expressions else replace(plan, expressions=found)
        case Sorting() | Limit() | Distinct() | Filter():
            child = without_types_of_nulls(plan.child)
            return plan if child is plan.child else replace(plan, child=child)
        case SetOperation():
            children = tuple(map(without_types_of_nulls, plan.children))
            same = all(a is b for a, b in zip(children, plan.children, strict=True))
            return plan if same else replace(plan, children=children)
        case _:
            return plan


def _untyped(node: Expression) -> Expression:
    is_null = isinstance(node, Cast) and node.child.type.id == "NULL"
    return node.child if is_null and isinstance(node, Cast) else node
