"""GROUP BY with its grouping sets, and DISTINCT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ducklake_spark.binder.expressions import (
    Aggregate,
    Comparison,
    Conjunction,
    Expression,
    Operator,
    Ref,
)
from ducklake_spark.binder.operators import Aggregation, Distinct, types_of
from ducklake_spark.binder.types import BOOLEAN
from ducklake_spark.errors import NotSupported
from ducklake_spark.translate.aggregates import aggregate
from ducklake_spark.translate.context import Context
from ducklake_spark.translate.fragments import Fragment, fragment_of, joined, sql
from ducklake_spark.translate.input_order import with_input_order
from ducklake_spark.translate.relations import (
    Carried,
    Cell,
    Equality,
    NotPullable,
    Relation,
    cell_outers,
    item_columns,
    select,
    subquery,
    value_of,
)
from ducklake_spark.translate.sort_keys import group_key, order_text
from ducklake_spark.translate.types import is_equal_in_spark


def aggregation(plan: Aggregation, context: Context) -> Relation:
    """The rows of a GROUP BY."""
    plan = with_input_order(plan)
    child = context.readable(context.rows(plan.child), (*plan.groups, *plan.aggregates))
    if plan.sets != (tuple(range(len(plan.groups))),):
        return _grouping_sets(plan, child, context)
    return _grouped(plan, child, context)


def _grouped(plan: Aggregation, child: Relation, context: Context) -> Relation:
    equalities = equalities_of(child)
    keys = [group_key(node, child.columns, context) for node in plan.groups]
    firsts = [None if is_equal_in_spark(node.type) else node for node in plan.groups]
    child, keys, inners = _with_keys(child, keys, equalities, context)
    outers = [bool(cell_outers(key)) for key in keys]
    if any(outers) != bool(equalities):
        raise NotPullable("an aggregate for each key of the query around")
    values = _group_values(plan.groups, keys, firsts, child.columns, context)
    aggregates = aggregate_texts(plan.aggregates, child.columns, context)
    calls = [Fragment(("0L",))] * len(plan.grouping_calls)
    item = context.item()
    written = [
        *(value for value, out in zip(values, outers, strict=True) if not out),
        *aggregates,
        *calls,
    ]
    grouped = list(
        dict.fromkeys([*(k for k, out in zip(keys, outers, strict=True) if not out), *inners])
    )
    # Without an aggregate Spark would give each row: HAVING alone makes one of them all.
    single = [] if grouped or aggregates else [sql("count(1)")]
    body = select(replace(child, columns=(*written, *single), carried=()), hidden=inners)
    if grouped:
        body = sql("{} GROUP BY {}", body, joined(", ", grouped))
    places = iter(item_columns(item, len(written)))
    columns = [key if out else next(places) for key, out in zip(keys, outers, strict=True)]
    return Relation(
        (*columns, *places),
        subquery(body, item),
        carried=_carried_on(equalities, item, context),
        is_unique=bool(equalities) and all(outers),
    )


def equalities_of(child: Relation) -> tuple[Equality, ...]:
    """The carried predicates, all of which must be equalities that Spark can group by."""
    found = tuple(each.equality for each in child.carried if each.equality is not None)
    if len(found) != len(child.carried) or not all(is_equal_in_spark(each.type) for each in found):
        raise NotPullable("a correlated condition that is no equality, below groups")
    return found


def _with_keys(
    child: Relation,
    keys: Sequence[Fragment],
    equalities: Sequence[Equality],
    context: Context,
) -> tuple[Relation, list[Fragment], list[Fragment]]:
    """The relation, its group keys and the inner sides of equalities, all as plain columns.

    A literal key would be the place of a column for Spark, and a computed one is written twice.
    """
    inners = [each.inner for each in equalities]
    if any(cell_outers(key) and key.outer is None for key in keys):
        raise NotPullable("a group that is computed from the query around")
    if all(key.column or key.outer for key in (*keys, *inners)):
        return child, list(keys), inners
    count = len(child.columns)
    below = context.wrapped(replace(child, columns=(*child.columns, *keys, *inners)))
    found = [value_of(cell) for cell in below.columns[count:]]
    kept = replace(below, columns=below.columns[:count])
    return kept, found[: len(keys)], found[len(keys) :]


def _group_values(
    groups: Sequence[Expression],
    keys: Sequence[Fragment],
    firsts: Sequence[Expression | None],
    columns: Sequence[Cell],
    context: Context,
) -> list[Fragment]:
    """What is shown of the groups: a value of the group where the key is not the value itself."""
    return [
        key if node is None else sql("first({})", context.scalar(node, columns))
        for _, key, node in zip(groups, keys, firsts, strict=True)
    ]


def aggregate_texts(
    aggregates: Sequence[Aggregate], columns: Sequence[Cell], context: Context
) -> list[Fragment]:
    """Spark SQL of aggregates, which must not read the query around."""
    values = [value_of(cell) for cell in columns]
    found = [aggregate(each, values, context.expressions) for each in aggregates]
    if any(each.outers for each in found):
        raise NotPullable("an aggregate that reads the query around")
    return found


def _carried_on(equalities: Sequence[Equality], item: str, context: Context) -> tuple[Carried, ...]:
    """The equalities over the hidden columns in which a grouped subquery has their inner sides."""
    found = []
    hidden = item_columns(item, len(equalities), prefix="h")
    for each, place in zip(equalities, hidden, strict=True):
        node = Comparison(each.kind, Ref(0, each.type), Ref(1, each.type))
        text = context.scalar(node, (place, each.outer))
        found.append(Carried(text, replace(each, inner=place)))
    return tuple(found)


# --- grouping sets -------------------------------------------------------------------------------


def _grouping_sets(plan: Aggregation, child: Relation, context: Context) -> Relation:
    """Several groupings of the same rows.

    DuckDB gives one row for the empty set over no rows, Spark none: a further row, which all
    aggregates filter out, makes that group.
    """
    if child.carried or any(map(cell_outers, child.columns)):
        raise NotPullable("grouping sets")
    if not plan.groups:
        raise NotSupported("Several empty grouping sets are not supported.")
    if not all(is_equal_in_spark(node.type) for node in plan.groups):
        raise NotSupported("Grouping sets over INTERVAL, TIMETZ or MAP are not supported.")
    count = len(child.columns)
    keys = tuple(context.scalar(node, child.columns) for node in plan.groups)
    has_empty = () in plan.sets
    aggregates = plan.aggregates
    rows = replace(child, columns=(*child.columns, *keys))
    if has_empty:
        below = _with_a_further_row(rows, context)
        aggregates = tuple(_without_further_row(each, count + len(keys)) for each in aggregates)
    else:
        below = context.wrapped(rows)
    found = _sets(plan, aggregates, below, count, context)
    if not has_empty:
        return found
    width = len(types_of(plan))
    real, is_total = found.values[width:]
    keeps = sql("({} OR {})", real, is_total)
    return Relation(found.columns[:width], found.source, where=(keeps,))


def _with_a_further_row(rows: Relation, context: Context) -> Relation:
    marked = select(replace(rows, columns=(*rows.columns, Fragment(("false",)))))
    nulls = joined(", ", ["NULL"] * len(rows.columns))
    item = context.item()
    text = sql("({} UNION ALL SELECT {}, true) {}", marked, nulls, item)
    return Relation(item_columns(item, len(rows.columns) + 1), text)


def _without_further_row(node: Aggregate, place: int) -> Aggregate:
    kept = Operator("NOT", (Ref(place, BOOLEAN),), BOOLEAN)
    if node.filter is None:
        return replace(node, filter=kept)
    return replace(node, filter=Conjunction("AND", (node.filter, kept)))


def _sets(
    plan: Aggregation,
    aggregates: Sequence[Aggregate],
    below: Relation,
    first: int,
    context: Context,
) -> Relation:
    keys = below.values[first : first + len(plan.groups)]
    texts = aggregate_texts(aggregates, below.columns, context)
    calls = [_grouping(call, keys) for call in plan.grouping_calls]
    extra = []
    if () in plan.sets:
        extra.append(sql("bool_or(NOT {})", below.values[-1]))
        extra.append(joined(" AND ", (sql("grouping({}) = 1", key) for key in keys)))
    written = (*keys, *texts, *calls, *extra)
    body = select(replace(below, columns=written))
    sets = joined(
        ", ", (sql("({})", joined(", ", (keys[i] for i in places))) for places in plan.sets)
    )
    item = context.item()
    text = fragment_of((body, " GROUP BY GROUPING SETS (", sets, ")"))
    return Relation(item_columns(item, len(written)), subquery(text, item))


def _grouping(places: Sequence[int], keys: Sequence[Fragment]) -> Fragment:
    """GROUPING(): a bit for each key, the last one lowest."""
    bits = [
        sql("CAST(grouping({}) AS BIGINT) * {}L", keys[place], str(1 << shift))
        for shift, place in enumerate(reversed(places))
    ]
    return sql("({})", joined(" + ", bits))


# --- distinct rows -------------------------------------------------------------------------------


def distinct(plan: Distinct, context: Context) -> Relation:
    """DISTINCT and DISTINCT ON."""
    child = context.rows(plan.child)
    if plan.targets is not None:
        return _distinct_on(plan, child, context)
    types = types_of(plan.child)
    if not all(map(is_equal_in_spark, types)):
        groups = tuple(Ref(index, kind) for index, kind in enumerate(types))
        whole = (tuple(range(len(groups))),)
        return _grouped(Aggregation(plan.child, groups, (), whole), context.ready(child), context)
    child = context.unordered(child)
    equalities = equalities_of(child)
    if any(cell_outers(cell) and not _is_outer(cell) for cell in child.columns):
        raise NotPullable("DISTINCT over a column that reads the query around")
    inners = [each.inner for each in equalities]
    outside = [_is_outer(cell) for cell in child.columns]
    written = tuple(c for c, out in zip(child.columns, outside, strict=True) if not out)
    if any(outside) and not written and not inners:
        raise NotPullable("DISTINCT for each key of the query around")
    item = context.item()
    body = select(replace(child, columns=written, carried=()), hidden=inners, is_distinct=True)
    places = iter(item_columns(item, len(written)))
    columns = tuple(
        cell if out else next(places) for cell, out in zip(child.columns, outside, strict=True)
    )
    carried = _carried_on(equalities, item, context)
    return Relation(columns, subquery(body, item), carried=carried)


def _is_outer(cell: Cell) -> bool:
    return isinstance(cell, Fragment) and cell.outer is not None


def _distinct_on(plan: Distinct, child: Relation, context: Context) -> Relation:
    """The first row of each group: by ORDER BY, else by the order of the rows below."""
    if child.carried or any(map(cell_outers, child.columns)):
        raise NotPullable("DISTINCT ON")
    if child.limit or not child.is_plain:
        child = context.wrapped(child)
    keys = [group_key(node, child.columns, context) for node in plan.targets or ()]
    orders = order_text(plan.orders, child.columns, context) or list(child.order)
    over = sql(
        "row_number() OVER ({}ORDER BY {})",
        sql("PARTITION BY {} ", joined(", ", keys)) if keys else "",
        joined(", ", orders) if orders else "NULL",
    )
    numbered = context.wrapped(replace(child, columns=(*child.columns, over), order=()))
    first = sql("{} = 1", numbered.values[-1])
    return replace(numbered, columns=numbered.columns[:-1], where=(first,))
