"""Joins of all kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from ducklake_spark.binder.expressions import Comparison, Expression, Ref
from ducklake_spark.binder.operators import (
    Aggregation,
    CrossProduct,
    Join,
    JoinKind,
    Limit,
    Plan,
    Projection,
)
from ducklake_spark.errors import NotSupported
from ducklake_spark.translate.context import Context
from ducklake_spark.translate.fragments import (
    TRUE,
    Fragment,
    Outer,
    fragment_of,
    joined,
    sql,
)
from ducklake_spark.translate.nodes import shifted
from ducklake_spark.translate.predicates import carried_or_plain
from ducklake_spark.translate.relations import (
    Cell,
    Mark,
    NotPullable,
    Relation,
    and_text,
    cell_outers,
    reads_around,
    rest_of,
    whole,
)

_WORDS: Final[dict[str, str]] = {
    "LEFT": "LEFT JOIN",
    "RIGHT": "RIGHT JOIN",
    "FULL": "FULL JOIN",
    "SEMI": "LEFT SEMI JOIN",
    "ANTI": "LEFT ANTI JOIN",
}
Condition = Callable[[Sequence[Cell], Sequence[Cell]], list[Fragment]]


def join(plan: Join, context: Context) -> Relation:
    """A join that is not correlated, or one inside a correlated subquery."""
    left = context.relation(plan.left)
    if left.source is None and left.columns and all(map(cell_outers, left.columns)):
        return _join_with_keys(plan, left, context)
    if plan.kind == "MARK":
        return mark_join(plan, left, context)
    right = context.relation(plan.right)
    if plan.kind == "SINGLE":
        raise NotSupported("A join to a single row that is not correlated is not supported.")
    nodes = condition_nodes(plan.conditions, plan.predicate, len(left.columns))
    return joined_relation(plan.kind, left, right, nodes, context)


def cross_product(plan: CrossProduct, context: Context) -> Relation:
    """All pairs of rows."""
    left, right = context.relation(plan.left), context.relation(plan.right)
    if _asks_for_rows(plan.right):
        right = as_scalar(right, context)
    return joined_relation("INNER", left, right, (), context)


def _asks_for_rows(plan: Plan) -> bool:
    """Whether an operator is what the binder makes of an EXISTS that is not correlated.

    Rows of an aggregate that the query names in FROM are joined instead: they may be read often.
    """
    match plan:
        case Projection(child=Aggregation(child=Limit()) as counted, expressions=(Comparison(),)):
            return not counted.groups and [each.name for each in counted.aggregates] == [
                "count_star"
            ]
        case _:
            return False


def as_scalar(rows: Relation, context: Context) -> Relation:
    """One row with one column as a scalar subquery, if it reads no query around.

    Spark computes it once before the query, where a cross product is a nested loop.
    """
    if rows.source is None or rows.is_optional or reads_around(rows):
        return rows
    if context.reads_step(rows.source):
        return rows
    return Relation((Fragment((f"({whole(rows)})",)),))


def condition_nodes(
    conditions: Sequence[Comparison], predicate: Expression | None, width: int
) -> tuple[Expression, ...]:
    """Conditions over left and then right rows."""
    found: list[Expression] = [
        Comparison(each.kind, each.left, shifted(each.right, width)) for each in conditions
    ]
    return (*found, *(() if predicate is None else (predicate,)))


def joined_relation(
    kind: JoinKind,
    left: Relation,
    right: Relation,
    nodes: Sequence[Expression],
    context: Context,
) -> Relation:
    """Two relations joined on conditions over left and then right rows."""
    if left.is_optional or right.is_optional:
        raise NotPullable("a join of rows that may be missing")
    left, right = context.movable(left), context.movable(right)
    if kind == "INNER":
        return _inner(left, right, nodes, context)
    if right.carried or any(map(cell_outers, right.columns)):
        raise NotPullable(f"the inner side of a {kind} join depends on the query around")
    if kind in ("RIGHT", "FULL") and (left.carried or any(map(cell_outers, left.columns))):
        raise NotPullable(f"a {kind} join depends on the query around")
    refuse_inner_step(kind, left, right, context)
    left = _outer_side(left, context, loses_rows=kind in ("RIGHT", "FULL"))
    right = single_item(right, context)
    on = [context.scalar(node, (*left.columns, *right.columns)) for node in nodes]
    if any(text.outers for text in on):
        raise NotPullable(f"the condition of a {kind} join depends on the query around")
    return attached(kind, left, right, on)


def refuse_inner_step(kind: str, left: Relation, right: Relation, context: Context) -> None:
    """The rows of a recursive step are those of a query around, which Spark joins in few places."""
    inner = {"RIGHT": (left,), "FULL": (left, right)}.get(kind, (right,))
    if any(context.reads_step(each.source) for each in inner):
        shown = {"SINGLE": "correlated subquery", "MARK": "condition"}.get(kind, f"{kind} JOIN")
        raise NotSupported(
            f"A {shown} that looks for the rows of a recursive step is not supported.",
            hint="an inner join with them is.",
        )


def _outer_side(left: Relation, context: Context, *, loses_rows: bool) -> Relation:
    """The left side of a join that is not inner: predicates may stay where its rows do."""
    if left.source is None or (loses_rows and (left.where or not left.is_nullable)):
        return context.wrapped(left)
    return left


def single_item(right: Relation, context: Context) -> Relation:
    """The right side of a join that is not inner: an item without predicates."""
    if right.source is None or right.where or not right.is_nullable:
        return context.wrapped(right)
    return right


def attached(
    kind: JoinKind, left: Relation, right: Relation, on: Sequence[Fragment], *, word: str = ""
) -> Relation:
    """The FROM clause of a join that is not inner; the right side has no predicates."""
    if left.source is None or right.source is None:
        raise TypeError("an outer join needs two FROM clauses")
    item = right.source if right.is_item else sql("({})", right.source)
    condition = and_text(on) if on else TRUE
    source = fragment_of((left.source, f" {word or _WORDS[kind]} ", item, " ON ", condition))
    columns = left.columns if kind in ("SEMI", "ANTI") else (*left.columns, *right.columns)
    is_unique = left.is_unique and (kind in ("SEMI", "ANTI") or right.is_unique)
    return Relation(columns, source, left.where, left.carried, is_item=False, is_unique=is_unique)


def _inner(
    left: Relation, right: Relation, nodes: Sequence[Expression], context: Context
) -> Relation:
    columns = (*left.columns, *right.columns)
    plain, carried = carried_or_plain(nodes, columns, context)
    source, where = inner_source(left, right, plain)
    return Relation(
        columns,
        source,
        (*left.where, *right.where, *where),
        (*left.carried, *right.carried, *carried),
        is_item=is_one_item(left, right),
        is_lateral=left.is_lateral or right.is_lateral,
        is_unique=left.is_unique and right.is_unique,
    )


def is_one_item(left: Relation, right: Relation) -> bool:
    """Whether the FROM clause of an inner join is one item: that of the only side that has one."""
    if left.source is None or right.source is None:
        return left.is_item and right.is_item
    return False


def inner_source(
    left: Relation, right: Relation, on: Sequence[Fragment]
) -> tuple[Fragment | None, tuple[Fragment, ...]]:
    """The FROM clause of an inner join, and what of its condition is left for WHERE."""
    if left.source is None or right.source is None:
        return left.source or right.source, tuple(on)
    item = right.source if right.is_item or right.is_lateral else sql("({})", right.source)
    if right.is_lateral and not right.is_item:
        raise NotPullable("a lateral item inside a join")
    if not on or right.is_lateral:
        return fragment_of((left.source, " CROSS JOIN ", item)), tuple(on)
    return fragment_of((left.source, " JOIN ", item, " ON ", and_text(on))), ()


def _join_with_keys(plan: Join, keys: Relation, context: Context) -> Relation:
    """The keys of a query around, still symbolic, joined with rows that have them too.

    The keys add nothing to an inner join; in a left join the rows may be missing for a key.
    """
    right = context.relation(plan.right)
    for each in plan.conditions:
        if not (isinstance(each.left, Ref) and isinstance(each.right, Ref)):
            raise NotPullable("keys joined on an expression")
        if each.kind != "IS NOT DISTINCT FROM":
            raise NotPullable("keys joined without their NULLs")
        one, other = keys.columns[each.left.index], right.columns[each.right.index]
        if one != other or not isinstance(one, Fragment) or one.outer is None:
            raise NotPullable("keys joined on something else")
    if plan.predicate is not None or plan.kind not in ("INNER", "LEFT") or right.is_optional:
        raise NotPullable(f"keys in a {plan.kind} join")
    found = replace(right, columns=(*keys.columns, *right.columns))
    return found if plan.kind == "INNER" else replace(found, is_optional=True)


# --- marks ---------------------------------------------------------------------------------------


def mark_join(plan: Join, left: Relation, context: Context) -> Relation:
    """The rows of the left side and whether their value is among those of the right side."""
    if left.is_optional:
        raise NotPullable("a mark for rows that may be missing")
    left = context.movable(left)
    right = context.relation(plan.right)
    if right.is_optional:
        raise NotPullable("a mark over rows that may be missing")
    found = _in_subquery(plan, left, right, context)
    if found is None:
        right = existential(right, context)
        nodes = condition_nodes(plan.conditions, plan.predicate, len(left.columns))
        cells = (*left.columns, *right.columns)
        values = [context.scalar(node, cells) for node in nodes]
        spreads = plan.spreads_null and len(nodes) > 1
        sides = [side for each in nodes for side in _sides(each)] if spreads else []
        found = exists_mark(right, values, [context.scalar(side, cells) for side in sides])
    return replace(left, columns=(*left.columns, found))


def _in_subquery(plan: Join, left: Relation, right: Relation, context: Context) -> Mark | None:
    """IN, where Spark's equality inside IN is the one of the only condition."""
    if len(plan.conditions) != 1 or plan.predicate is not None or reads_around(right):
        return None
    condition = plan.conditions[0]
    probe = Comparison("=", Ref(0, condition.left.type), Ref(1, condition.right.type))
    text = context.scalar(probe, (Fragment(("a",)), Fragment(("b",))))
    if condition.kind != "=" or str(text) not in ("(a = b)", "a = b"):
        return None
    right = context.ready(right)
    _refuse_step(right, context)
    value = context.scalar(condition.left, left.columns)
    among = context.scalar(condition.right, right.columns)
    if value.outers:
        return None
    query = str(whole(replace(right, columns=(among,))))
    positive, negative = (sql("({} {} ({}))", value, word, query) for word in ("IN", "NOT IN"))
    return Mark(positive, negative)


def _refuse_step(rows: Relation, context: Context) -> None:
    if any(map(context.reads_step, (rows.source, *rows.where))):
        raise NotSupported(
            "IN, EXISTS, ANY and ALL over the rows of a recursive step are not supported.",
            hint="join the rows.",
        )


def existential(right: Relation, context: Context) -> Relation:
    """The rows for an EXISTS: its own columns are text, so that only those around are columns."""
    right = context.ready(right)
    _refuse_step(right, context)
    if right.is_lateral:
        right = context.wrapped(right)
    return replace(
        right,
        columns=tuple(map(as_text, right.values)),
        source=None if right.source is None else as_text(right.source),
        where=tuple(map(as_text, (*right.where, *(each.text for each in right.carried)))),
        carried=(),
    )


def as_text(fragment: Fragment) -> Fragment:
    """The fragment with its columns as text; outer columns stay pieces."""
    return fragment_of(
        Fragment((piece,)) if isinstance(piece, Outer) else str(piece) for piece in fragment.pieces
    )


def _sides(node: Expression) -> tuple[Expression, ...]:
    """The operands of an equality."""
    return (node.left, node.right) if isinstance(node, Comparison) and node.kind == "=" else ()


def exists_mark(
    right: Relation, values: Sequence[Fragment], sides: Sequence[Fragment] = ()
) -> Mark:
    """Whether there is a row for which all values are true; false if for every row one is false.

    Args:
        right: the rows.
        values: the comparisons with a row.
        sides: where several columns are compared: what they are. DuckDB says NULL then if any of
            them is NULL in any row.
    """
    if sides:
        nulls = joined(" OR ", (sql("{} IS NULL", side) for side in sides))
        maybe = [sql("(({}) OR {})", and_text(values), nulls)]
    else:
        maybe = [sql("coalesce({}, true)", value) for value in values]
    return Mark(_exists(right, values), sql("NOT {}", _exists(right, maybe)))


def _exists(right: Relation, values: Sequence[Fragment]) -> Fragment:
    rows = replace(right, where=(*right.where, *values), order=())
    return sql("EXISTS (SELECT 1{})", rest_of(rows))
