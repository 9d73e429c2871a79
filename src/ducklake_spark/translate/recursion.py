"""Recursive common table expressions.

Spark's own recursion knows UNION ALL, and takes the rows of the last step in few places. Everything
else runs as a recursion of one row: it holds the rows of the last step as an array, and for UNION
those of all steps, and the step is a lateral subquery over them.
"""

from __future__ import annotations

from typing import Final

from ducklake_spark.binder.operators import (
    CrossProduct,
    CteRef,
    Filter,
    Join,
    Plan,
    Projection,
    RecursiveCte,
    types_of,
)
from ducklake_spark.errors import NotSupported
from ducklake_spark.translate.context import Context
from ducklake_spark.translate.fragments import Fragment, joined, literal_text, sql
from ducklake_spark.translate.relations import whole
from ducklake_spark.translate.stability import references
from ducklake_spark.translate.types import holds, is_equal_in_spark

_LEVELS: Final = "MAX RECURSION LEVEL 1000000000"


def define_recursive(plan: RecursiveCte, name: str, context: Context) -> None:
    """Write the definition in front of the query."""
    if plan.keys:
        raise NotSupported("WITH RECURSIVE ... USING KEY is not supported.")
    anchor = whole(context.rows(plan.anchor))
    if plan.keeps_all and _is_plain_step(plan.step, plan.index):
        context.ctes[plan.index] = name
        step = whole(context.rows(plan.step))
        called = f"{name}({_names(plan.columns)}) {_LEVELS}"
        context.define(called, sql("({}) UNION ALL ({})", anchor, step), is_recursive=True)
    else:
        _define_in_arrays(plan, name, anchor, context)


def _names(count: int) -> str:
    return ", ".join(f"c{index}" for index in range(count))


def _is_plain_step(step: Plan, index: int) -> bool:
    """Whether the rows of the last step are read once, where Spark's recursion allows it."""
    match step:
        case CteRef():
            return True
        case Projection() | Filter():
            return _is_plain_step(step.child, index)
        case CrossProduct() | Join():
            left, right = references(step.left, index), references(step.right, index)
            kind = "INNER" if isinstance(step, CrossProduct) else step.kind
            if left + right > 1 or (right and kind != "INNER") or (left and kind == "FULL"):
                return False
            if left and kind == "RIGHT":
                return False
            side = step.left if left else step.right
            return left + right == 0 or _is_plain_step(side, index)
        case _:
            return references(step, index) == 0


def _define_in_arrays(plan: RecursiveCte, name: str, anchor: Fragment, context: Context) -> None:
    """The recursion of one row with arrays; UNION needs an equality of rows that is DuckDB's."""
    types = types_of(plan.anchor)
    floats = any(holds(each, "FLOAT") or holds(each, "DOUBLE") for each in types)
    if not plan.keeps_all and (floats or not all(map(is_equal_in_spark, types))):
        raise NotSupported("WITH RECURSIVE with UNION over these types is not supported.")
    names = _names(plan.columns)
    state, last = f"{name}s", context.item()
    before = len(context.definitions)
    context.ctes[plan.index] = f"(SELECT inline({last}.fresh) AS ({names}))"
    step = whole(context.rows(plan.step))
    if any(f"{last}.fresh" in str(each.text) for each in context.definitions[before:]):
        raise NotSupported("A correlated subquery over the rows of a recursive step.")
    gather = "collect_list" if plan.keeps_all else "collect_set"
    first = _gathered(gather, anchor, plan.columns, context)
    found = _gathered(gather, step, plan.columns, context)
    fresh = "y.s" if plan.keeps_all else f"array_except(y.s, {last}.seen)"
    seen = "array()" if plan.keeps_all else f"array_union({last}.seen, y.s)"
    start = "array()" if plan.keeps_all else "x.s"
    body = sql(
        "SELECT {}, x.s FROM ({}) x UNION ALL SELECT {}, {} FROM {} {} CROSS JOIN LATERAL ({}) y "
        "WHERE size({}.fresh) > 0",
        *(start, first, seen, fresh, state, last, found, last),
    )
    context.define(f"{state}(seen, fresh) {_LEVELS}", body, is_recursive=True)
    context.define(name, sql("SELECT inline(fresh) AS ({}) FROM {}", names, state))


def _gathered(gather: str, rows: Fragment, count: int, context: Context) -> Fragment:
    item = context.item()
    fields = joined(
        ", ", (sql("{}, {}.c{}", literal_text(f"c{i}"), item, str(i)) for i in range(count))
    )
    return sql("SELECT {}(named_struct({})) AS s FROM ({}) {}", gather, fields, rows, item)
