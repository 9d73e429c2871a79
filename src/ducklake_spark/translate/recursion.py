"""Recursive common table expressions.

Spark's own recursion knows UNION ALL, and takes the rows of the last step in few places. Everything
else runs as a recursion of one row: it holds the rows of the last step as an array, and those of
all steps where they are asked for, and the step is a lateral subquery over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ducklake_spark.binder.expressions import Ref
from ducklake_spark.binder.operators import (
    CrossProduct,
    CteRef,
    Filter,
    Join,
    Limit,
    Plan,
    Projection,
    RecursiveCte,
    types_of,
)
from ducklake_spark.binder.types import BoundType
from ducklake_spark.errors import NotSupported
from ducklake_spark.translate.context import Context, Step
from ducklake_spark.translate.fragments import Fragment, joined, literal_text, sql
from ducklake_spark.translate.relations import (
    Relation,
    item_columns,
    select,
    subquery,
    whole,
)
from ducklake_spark.translate.stability import operators, references
from ducklake_spark.translate.types import carrier, holds, is_equal_in_spark, spark_type

_LEVELS: Final = "MAX RECURSION LEVEL 1000000000"


def define_recursive(plan: RecursiveCte, name: str, wanted: int | None, context: Context) -> None:
    """Write the definition in front of the query; it may stop at `wanted` rows."""
    anchor = _with_nulls(plan, whole(context.rows(plan.anchor)), context)
    if plan.keeps_all and not plan.keys and _is_plain_step(plan.step, plan.index):
        context.ctes[plan.index] = name
        step = whole(context.rows(plan.step))
        called = f"{name}({_names(plan.columns)}) {_LEVELS}"
        context.define(called, sql("({}) UNION ALL ({})", anchor, step), is_recursive=True)
    else:
        _define_in_arrays(plan, name, anchor, wanted, context)


def _with_nulls(plan: RecursiveCte, anchor: Fragment, context: Context) -> Fragment:
    """The rows of the anchor in types whose inner values may be NULL, as those of a step may be.

    Spark takes the types of the anchor for all steps, and reads what cannot be NULL unchecked.
    """
    item = context.item()
    cells = item_columns(item, plan.columns)
    casts = [
        sql("CAST({} AS {})", cell, spark_type(kind)) if _is_nested(kind) else cell
        for cell, kind in zip(cells, types_of(plan.anchor), strict=True)
    ]
    if casts == list(cells):
        return anchor
    return select(Relation(tuple(casts), subquery(anchor, item)))


def _is_nested(kind: BoundType) -> bool:
    return carrier(kind).id in ("LIST", "STRUCT", "MAP")


def rows_wanted(plan: Plan, index: int) -> int | None:
    """How many rows of a common table expression a query takes, if a LIMIT says so.

    A recursion without an end stops where DuckDB has enough rows.
    """
    if references(plan, index) != 1:
        return None
    for each in operators(plan):
        if isinstance(each, Limit) and _is_below(each.child, index):
            bounds = [0 if b is None else b.value for b in (each.limit, each.offset)]
            if each.limit is None or each.limit.is_percentage:
                return None
            numbers = [bound for bound in bounds if isinstance(bound, int)]
            return sum(numbers) if len(numbers) == len(bounds) else None
    return None


def _is_below(plan: Plan, index: int) -> bool:
    """Whether the rows are those of the common table expression, one for one."""
    while isinstance(plan, Projection):
        plan = plan.child
    return isinstance(plan, CteRef) and plan.index == index


def _names(count: int) -> str:
    return ", ".join(f"c{index}" for index in range(count))


def _is_plain_step(step: Plan, index: int) -> bool:
    """Whether the rows of the last step are read once, where Spark's recursion allows it."""
    match step:
        case CteRef():
            return not step.is_recurring
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


@dataclass(frozen=True, slots=True)
class _Arrays:
    """What the row of a recursion holds, as text over the rows `x` of the anchor, `y` of a step.

    Attributes:
        gather: the aggregate that makes an array of rows.
        first: the rows of the anchor, each once if that is asked for.
        seen: all rows so far.
        fresh: the rows of the step.
        result: the rows that the whole recursion gives.
    """

    gather: str
    first: tuple[str, str]
    seen: str
    fresh: str
    result: str


def _define_in_arrays(
    plan: RecursiveCte, name: str, anchor: Fragment, wanted: int | None, context: Context
) -> None:
    """The recursion of one row with arrays. DuckDB takes one step even from no rows at all."""
    names, types = _names(plan.columns), types_of(plan.anchor)
    state, last = f"{name}s", context.item()
    arrays = _arrays(plan, last)
    before = len(context.definitions)
    context.ctes[plan.index] = f"(SELECT inline({last}.fresh) AS ({names}))"
    context.steps[plan.index] = Step(last, f"(SELECT inline({last}.seen) AS ({names}))")
    step = whole(context.rows(plan.step))
    del context.steps[plan.index]
    if any(f"inline({last}." in str(each.text) for each in context.definitions[before:]):
        raise NotSupported("A recursion over the rows of a recursive step is not supported.")
    found = _gathered(arrays.gather, step, types, context)
    more = f"({last}.at = 0 OR size({last}.fresh) > 0)"
    if wanted is not None and not plan.keys:
        more += f" AND {last}.total < {wanted}L"
    total = "CAST({} AS BIGINT)"
    body = sql(
        "SELECT 0L, {}, {}, {} FROM ({}) x UNION ALL "
        "SELECT {}.at + 1L, {} + {}, {}, {} FROM {} {} CROSS JOIN LATERAL ({}) y WHERE {}",
        *(total.format(f"size({arrays.first[1]})"), *arrays.first),
        _gathered(arrays.gather, anchor, types, context),
        *(last, f"{last}.total", total.format(f"size({arrays.fresh})"), arrays.seen, arrays.fresh),
        *(state, last, found, more),
    )
    context.define(f"{state}(at, total, seen, fresh) {_LEVELS}", body, is_recursive=True)
    context.define(name, sql("SELECT inline({}) AS ({}) FROM {}", arrays.result, names, state))


def _arrays(plan: RecursiveCte, last: str) -> _Arrays:
    """The arrays of each kind; UNION and keys need an equality of values that is DuckDB's."""
    types = types_of(plan.anchor)
    if plan.keys:
        keys = [node.index for node in plan.keys if isinstance(node, Ref)]
        _refuse_unequal([types[key] for key in keys], "USING KEY")
        first, seen = (_latest(old, new, keys) for old, new in ((None, "x.s"), (last, "y.s")))
        result = "CASE WHEN at > 0 AND size(fresh) = 0 THEN seen END"
        return _Arrays("collect_list", (first, "x.s"), seen, "y.s", result)
    if plan.keeps_all:
        is_read = any(isinstance(e, CteRef) and e.is_recurring for e in operators(plan.step))
        seen = f"concat({last}.seen, y.s)" if is_read else "array()"
        return _Arrays(
            "collect_list", ("x.s" if is_read else "array()", "x.s"), seen, "y.s", "fresh"
        )
    _refuse_unequal(types, "UNION")
    # A set tells zeros and NaNs apart by their bits, what removes duplicates of an array does not.
    floats = any(holds(each, "FLOAT") or holds(each, "DOUBLE") for each in types)
    gather, first = ("collect_list", "array_distinct(x.s)") if floats else ("collect_set", "x.s")
    seen = f"array_union({last}.seen, y.s)"
    return _Arrays(gather, (first, first), seen, f"array_except(y.s, {last}.seen)", "fresh")


def _refuse_unequal(types: Sequence[BoundType], word: str) -> None:
    if not all(map(is_equal_in_spark, types)):
        raise NotSupported(f"WITH RECURSIVE with {word} over these types is not supported.")


def _latest(old: str | None, new: str, keys: Sequence[int]) -> str:
    """Of all rows with the same key the last one, as DuckDB keeps it."""

    def same(one: str, other: str) -> str:
        return " AND ".join(f"{one}.c{key} <=> {other}.c{key}" for key in keys)

    rest = f"slice({new}, p + 2, size({new}) - p - 1)"
    kept = f"filter({new}, (n, p) -> NOT exists({rest}, m -> {same('n', 'm')}))"
    if old is None:
        return kept
    stays = f"filter({old}.seen, o -> NOT exists({new}, n -> {same('o', 'n')}))"
    return f"concat({stays}, {kept})"


def _gathered(
    gather: str, rows: Fragment, types: Sequence[BoundType], context: Context
) -> Fragment:
    """The rows as an array of structs whose fields may be NULL."""
    item = context.item()
    fields = joined(
        ", ",
        (sql("{}, {}.c{}", literal_text(f"c{i}"), item, str(i)) for i in range(len(types))),
    )
    inner = ", ".join(f"c{index}: {spark_type(kind)}" for index, kind in enumerate(types))
    return sql(
        "SELECT CAST({}(named_struct({})) AS ARRAY<STRUCT<{}>>) AS s FROM ({}) {}",
        *(gather, fields, inner, rows, item),
    )
