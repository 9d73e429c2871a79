"""ASOF joins, to the nearest row, and POSITIONAL joins, of rows with the same number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ducklake_spark.binder.expressions import Expression
from ducklake_spark.binder.operators import AsofJoin, Get, Plan, PositionalJoin, types_of
from ducklake_spark.errors import NotSupported
from ducklake_spark.translate.context import Context
from ducklake_spark.translate.fragments import Fragment, fragment_of, joined, literal_text, sql
from ducklake_spark.translate.joins import condition_nodes
from ducklake_spark.translate.relations import (
    NotPullable,
    Relation,
    and_text,
    reads_around,
    rest_of,
    select_list,
    subquery,
)
from ducklake_spark.translate.sort_keys import group_key
from ducklake_spark.translate.stability import operators
from ducklake_spark.translate.types import is_ordered_in_spark

# Which way the rows are walked, and whether a right row with the same key is seen before.
_WALKS: Final = {
    ">=": ("ASC", "ASC"),
    ">": ("ASC", "DESC"),
    "<=": ("DESC", "ASC"),
    "<": ("DESC", "DESC"),
}
_KINDS: Final = {
    "INNER": "{matched}",
    "SEMI": "{matched}",
    "ANTI": "{side} = 1 AND {found} IS NULL",
    "LEFT": "{side} = 1",
    "RIGHT": "({matched} OR {alone})",
    "FULL": "({side} = 1 OR {alone})",
}


def asof_join(plan: AsofJoin, context: Context) -> Relation:
    """Each left row with the last right row before it.

    Both sides are walked in one order, right rows as side 0 and left rows as side 1, and each left
    row takes the right row that was seen last. A right row is alone if no left row comes next.
    """
    left, right = context.ready(context.rows(plan.left)), context.ready(context.rows(plan.right))
    if reads_around(left) or reads_around(right):
        raise NotPullable("an ASOF join inside a correlated subquery")
    *equal, last = plan.conditions
    if any(each.kind != "=" for each in equal) or last.kind not in _WALKS:
        raise NotSupported("An ASOF join takes equalities and one inequality behind them.")
    if not is_ordered_in_spark(last.left.type):
        raise NotSupported(f"An ASOF join by {last.left.type} is not supported.")
    if plan.predicate is not None:
        return _filtered(plan, left, right, context)
    ours = _side(left, [each.left for each in (*equal, last)], "1", context)
    theirs = _side(right, [each.right for each in (*equal, last)], "0", context)
    return _picked(plan, sql("{} UNION ALL {}", ours, theirs), context)


def _filtered(plan: AsofJoin, left: Relation, right: Relation, context: Context) -> Relation:
    """A join with a further condition: only right rows that meet it are looked at.

    All pairs are joined, and of those of a left row the last one is taken, as DuckDB does.
    """
    is_nested = any(not is_ordered_in_spark(each.left.type) for each in plan.conditions)
    if plan.kind not in ("INNER", "LEFT") or is_nested:
        raise NotSupported(f"A further condition of this {plan.kind} ASOF join is not supported.")
    width, number = len(left.columns), Fragment(("monotonically_increasing_id()",))
    left = context.wrapped(replace(left, columns=(*left.columns, number)))
    last = plan.conditions[-1]
    moment = context.scalar(last.right, right.columns)
    right = context.wrapped(replace(right, columns=(*right.columns, moment)))
    ours, theirs = left.values[:width], right.values[:-1]
    nodes = condition_nodes(plan.conditions, plan.predicate, width)
    on = and_text(context.scalar(node, (*ours, *theirs)) for node in nodes)
    picks = "max_by" if last.kind in (">", ">=") else "min_by"
    best = sql("{}({}, {})", picks, _struct(theirs), right.values[-1])
    if left.source is None or right.source is None:
        raise TypeError("a wrapped relation has a FROM clause")
    source = fragment_of((left.source, f" {plan.kind} JOIN ", right.source, " ON ", on))
    listed = select_list((sql("first({})", _struct(ours)), best), ("ours", "theirs"))
    item = context.item()
    text = fragment_of(("SELECT ", listed, " FROM ", source, " GROUP BY ", left.values[-1]))
    columns = [sql("{}.ours.c{}", item, str(index)) for index in range(width)]
    columns += [sql("{}.theirs.c{}", item, str(index)) for index in range(len(theirs))]
    return context.wrapped(Relation(tuple(columns), subquery(text, item)))


def _side(rows: Relation, nodes: Sequence[Expression], tag: str, context: Context) -> Fragment:
    """The rows of a side: which one, whether a key is NULL, the keys, and the rows as structs."""
    *equal, moment = nodes
    keys = [group_key(node, rows.columns, context) for node in equal]
    keys.append(context.scalar(moment, rows.columns))
    is_null = joined(" OR ", (sql("({} IS NULL)", key) for key in keys))
    packed = _struct(rows.values)
    ours, theirs = (packed, "NULL") if tag == "1" else ("NULL", packed)
    written = (Fragment((tag,)), is_null, sql("{}", ours), sql("{}", theirs), *keys)
    names = ("side", "empty", "ours", "theirs", *(f"k{index}" for index in range(len(keys))))
    return fragment_of(("SELECT ", select_list(written, names), rest_of(rows)))


def _struct(values: Sequence[Fragment]) -> Fragment:
    fields = (sql("{}, {}", literal_text(f"c{i}"), value) for i, value in enumerate(values))
    return sql("named_struct({})", joined(", ", fields))


def _picked(plan: AsofJoin, sides: Fragment, context: Context) -> Relation:
    """The rows of both sides in one order, and of them those that the join gives."""
    direction, tie = _WALKS[plan.conditions[-1].kind]
    count = len(plan.conditions)
    keys = ", ".join(("empty", *(f"k{index}" for index in range(count - 1))))
    window = f"PARTITION BY {keys} ORDER BY k{count - 1} {direction}, side {tie}"
    seen = f"last_value(theirs) IGNORE NULLS OVER ({window} ROWS UNBOUNDED PRECEDING)"
    inner, item = context.item(), context.item()
    text = (
        f"SELECT side, ours, theirs, CASE WHEN NOT empty AND side = 1 THEN {seen} END AS found, "
        f"CASE WHEN NOT empty THEN lead(side) OVER ({window}) END AS next FROM ("
    )
    source = fragment_of(("(", text, sides, f") {inner}) {item}"))
    words = {
        "side": f"{item}.side",
        "found": f"{item}.found",
        "matched": f"({item}.side = 1 AND {item}.found IS NOT NULL)",
        "alone": f"({item}.side = 0 AND coalesce({item}.next, 0) = 0)",
    }
    if plan.kind not in _KINDS:
        raise NotSupported(f"A {plan.kind} ASOF join is not supported.")
    kept = Fragment((_KINDS[plan.kind].format_map(words),))
    return _unpacked(plan, Relation((), source, (kept,)), item, context)


def _unpacked(plan: AsofJoin, rows: Relation, item: str, context: Context) -> Relation:
    """The fields of the two structs as columns."""
    left, right = len(types_of(plan.left)), len(types_of(plan.right))
    columns = [sql("{}.ours.c{}", item, str(index)) for index in range(left)]
    if plan.kind not in ("SEMI", "ANTI"):
        theirs = f"CASE WHEN {item}.side = 1 THEN {item}.found ELSE {item}.theirs END"
        columns += [sql("({}).c{}", theirs, str(index)) for index in range(right)]
    return context.wrapped(replace(rows, columns=tuple(columns)))


def positional_join(plan: PositionalJoin, context: Context) -> Relation:
    """Rows with the same number side by side; NULLs where one side has fewer."""
    left = _numbered(plan.left, context)
    right = _numbered(plan.right, context)
    on = sql("{} = {}", left.values[-1], right.values[-1])
    if left.source is None or right.source is None:
        raise TypeError("numbered rows have a FROM clause")
    source = fragment_of((left.source, " FULL JOIN ", right.source, " ON ", on))
    return Relation((*left.columns[:-1], *right.columns[:-1]), source, is_item=False)


def _numbered(plan: Plan, context: Context) -> Relation:
    rows = context.rows(plan)
    if reads_around(rows):
        raise NotPullable("a POSITIONAL join inside a correlated subquery")
    if not rows.order and any(isinstance(each, Get) for each in operators(plan)):
        raise NotSupported(
            "A POSITIONAL join of rows without an order is not supported. "
            "Hint: join subqueries with ORDER BY."
        )
    if rows.limit or not rows.is_plain:
        rows = context.wrapped(rows)
    order = joined(", ", rows.order) if rows.order else "monotonically_increasing_id()"
    number = sql("row_number() OVER (ORDER BY {})", order)
    return context.wrapped(replace(rows, columns=(*rows.columns, number), order=()))
