"""Correlated subqueries, and scalar ones that are not.

DuckDB's binder decorrelates: the right side of a `DelimJoin` reads distinct keys of the left one.
Here the keys stay symbolic (`Outer`), and what reads them is pulled up to the join, which then is
what Spark makes of such a query itself. Where that is impossible the keys are computed: the left
side becomes a common table expression, its distinct keys another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ducklake_spark.binder.expressions import (
    Case,
    Comparison,
    Function,
    Ref,
    Window,
)
from ducklake_spark.binder.operators import (
    Aggregation,
    DelimGet,
    DelimJoin,
    Filter,
    Join,
    Projection,
    Windows,
)
from ducklake_spark.errors import TOO_MANY_ROWS, NotSupported
from ducklake_spark.translate.context import Context, Scope
from ducklake_spark.translate.failures import raise_text
from ducklake_spark.translate.fragments import (
    Column,
    Fragment,
    Outer,
    fragment_of,
    joined,
    outer,
    sql,
)
from ducklake_spark.translate.joins import (
    attached,
    condition_nodes,
    existential,
    exists_mark,
    inner_source,
    is_one_item,
    join,
    joined_relation,
    refuse_inner_step,
    single_item,
)
from ducklake_spark.translate.relations import (
    Carried,
    Cell,
    NotPullable,
    Relation,
    cell_outers,
    item_columns,
    rest_of,
    select,
    select_list,
    subquery,
    whole,
)
from ducklake_spark.translate.sets import computed_once
from ducklake_spark.translate.stability import is_stable
from ducklake_spark.translate.types import is_equal_in_spark

# --- not correlated ------------------------------------------------------------------------------


def scalar_rows(plan: Projection) -> Projection | None:
    """The rows of a scalar subquery that is not correlated; None if the plan is something else.

    The binder takes the first one, and an error if there are more.
    """
    if len(plan.expressions) != 1:
        return None
    node, below = plan.expressions[0], plan.child
    if not isinstance(below, Aggregation) or below.groups or not isinstance(node, Case):
        return None
    if [each.name for each in below.aggregates] != ["first", "count_star"]:
        return None
    fails = node.checks[0][1] if len(node.checks) == 1 else None
    if not isinstance(fails, Function) or fails.name != "error":
        return None
    return Projection(below.child, (below.aggregates[0].children[0],))


# --- correlated ----------------------------------------------------------------------------------


def delim_get(plan: DelimGet, context: Context) -> Relation:
    """The keys of the nearest correlated join."""
    scope = context.scopes[-1]
    if scope.domain is None:
        return Relation(tuple(outer(scope.join, index) for index in range(len(plan.types))))
    item = context.item()
    return Relation(item_columns(item, len(plan.types)), Fragment((f"{scope.domain} {item}",)))


def single_join(plan: Join, context: Context) -> Relation:
    """A join, which may want one row at most of the right side for each row of the left."""
    if plan.kind != "SINGLE" or plan.predicate is not None or not plan.conditions:
        return join(plan, context)
    left, right = context.relation(plan.left), context.relation(plan.right)
    return _computed_single(plan, left, right, context)


def delim_join(plan: DelimJoin, context: Context) -> Relation:
    """A join with a correlated subquery."""
    left = context.relation(plan.left)
    if left.is_optional:
        raise NotPullable("a correlated subquery for rows that may be missing")
    mark = len(context.definitions)
    try:
        return _pulled(plan, context.movable(left), context)
    except NotPullable:
        del context.definitions[mark:]
        return _computed(plan, left, context)


def _pulled(plan: DelimJoin, left: Relation, context: Context) -> Relation:
    """The join with the keys symbolic below it, and with what reads them in its condition."""
    join = context.number()
    with context.scope(Scope(join)):
        right = context.relation(plan.right)
    keys = [context.scalar(node, left.columns) for node in plan.keys]
    around: dict[Column | Outer, Fragment] = {
        Outer(join, index): key for index, key in enumerate(keys)
    }
    if plan.kind == "MARK":
        return _pulled_mark(plan, left, right, around, context)
    if plan.kind == "INNER":
        return _pulled_inner(plan, left, right, around, context)
    if plan.kind in ("SINGLE", "LEFT", "SEMI", "ANTI"):
        return _pulled_outer(plan, left, right, around, context)
    raise NotPullable(f"a correlated {plan.kind} join")


Around = dict[Column | Outer, Fragment]


def _conditions(
    plan: DelimJoin, left: Relation, right: Sequence[Cell], around: Around, context: Context
) -> list[Fragment]:
    """The conditions but those that compare a key with itself."""
    found = []
    for each in plan.conditions:
        if each.kind == "IS NOT DISTINCT FROM" and isinstance(each.right, Ref):
            key = right[each.right.index]
            value = context.scalar(each.left, left.columns)
            if cell_outers(key) and key.replace(around) == value:
                continue
        (node,) = condition_nodes((each,), None, len(left.columns))
        cells = [cell.replace(around) for cell in right]
        found.append(context.scalar(node, (*left.columns, *cells)))
    return found


def _pulled_mark(
    plan: DelimJoin, left: Relation, right: Relation, around: Around, context: Context
) -> Relation:
    if right.is_optional or any(each.is_nested for each in right.carried):
        raise NotPullable("a mark over a nested subquery")
    rows = existential(right, context)
    values = _conditions(plan, left, rows.columns, around, context)
    rows = replace(
        rows,
        source=None if rows.source is None else rows.source.replace(around),
        where=tuple(each.replace(around) for each in rows.where),
    )
    return replace(left, columns=(*left.columns, exists_mark(rows, values)))


def _pulled_inner(
    plan: DelimJoin, left: Relation, right: Relation, around: Around, context: Context
) -> Relation:
    right = context.ready(right)
    if right.is_optional:
        raise NotPullable("an inner join of rows that may be missing")
    cells = tuple(cell.replace(around) for cell in right.columns)
    on = _conditions(plan, left, right.columns, around, context)
    carried = [each.replace(around) for each in right.carried]
    still = [each for each in carried if each.text.outers]
    on += [each.text for each in carried if not each.text.outers]
    if any(text.outers for text in on):
        raise NotPullable("a condition on two queries around")
    source = right.source.replace(around) if right.source is not None else None
    where = tuple(each.replace(around) for each in right.where)
    source, rest = inner_source(left, replace(right, source=source), on)
    return Relation(
        (*left.columns, *cells),
        source,
        (*left.where, *where, *rest),
        (*left.carried, *still),
        is_item=is_one_item(left, right),
    )


def _pulled_outer(
    plan: DelimJoin, left: Relation, right: Relation, around: Around, context: Context
) -> Relation:
    """SINGLE, LEFT, SEMI and ANTI: the right side as one item, its predicates in ON."""
    if any(each.is_nested for each in right.carried):
        raise NotPullable("a nested subquery in the condition of an outer join")
    right = _one_row_each(plan, right, context)
    shown = right.columns
    if right.is_optional:
        if plan.kind != "SINGLE" or not right.is_item or right.where or right.source is None:
            raise NotPullable("rows that may be missing")
        right = replace(right, is_optional=False)
    else:
        right = _item(context.unordered(right), context)
        shown = right.columns
        if plan.kind in ("SINGLE", "LEFT"):
            _refuse_outer_values(plan, shown)
    if left.source is None:
        left = context.wrapped(left)
    on = _conditions(plan, left, shown, around, context)
    on += [each.text.replace(around) for each in right.carried]
    if any(text.outers for text in on):
        raise NotPullable("a condition on two queries around")
    refuse_inner_step(plan.kind, left, right, context)
    cells = tuple(cell.replace(around) for cell in shown)
    source = None if right.source is None else right.source.replace(around)
    kind = "LEFT" if plan.kind == "SINGLE" else plan.kind
    return attached(kind, left, replace(right, columns=cells, source=source), on)


def _item(right: Relation, context: Context) -> Relation:
    return single_item(right, context) if right.is_item else context.wrapped(right)


def _refuse_outer_values(plan: DelimJoin, shown: Sequence[Cell]) -> None:
    """A key is a value of the left row even where there is no row: only conditions may read it."""
    compared = {each.right.index for each in plan.conditions if isinstance(each.right, Ref)}
    for index, cell in enumerate(shown):
        if cell_outers(cell) and index not in compared:
            raise NotPullable("a column that is computed from the query around")


def _one_row_each(plan: DelimJoin, right: Relation, context: Context) -> Relation:
    """For a SINGLE join: rows of which each row of the left side finds one at most.

    Spark counts the rows of each key; two of them are an error where a left row needs them.
    """
    if plan.kind != "SINGLE" or right.is_unique:
        return right
    if right.is_optional or not right.carried:
        raise NotPullable("more than one row for a row of the query around")
    right = context.ready(right)
    equalities = [each.equality for each in right.carried]
    if not all(each is not None and is_equal_in_spark(each.type) for each in equalities):
        raise NotPullable("more than one row for a row of the query around")
    return _counted(right, plan, context)


def _counted(right: Relation, plan: DelimJoin, context: Context) -> Relation:
    """The rows grouped by the inner sides of the equalities, values guarded by their count."""
    if any(cell_outers(cell) and not _is_key(cell) for cell in right.columns):
        raise NotPullable("a column that is computed from the query around")
    inners = [each.equality.inner for each in right.carried if each.equality is not None]
    if not all(inner.column for inner in inners):
        count = len(right.columns)
        right = context.wrapped(replace(right, columns=(*right.columns, *inners)))
        inners = list(right.values[count:])
        right = replace(right, columns=right.columns[:count])
    item = context.item()
    firsts: list[Fragment] = []
    cells: list[Cell] = []
    for cell in right.columns:
        if _is_key(cell):
            cells.append(cell)
        else:
            place = item_columns(item, len(firsts) + 1)[-1]
            cells.append(guarded(place, item_columns(item, 1, prefix="n")[0]))
            firsts.append(sql("first({})", right.values[right.columns.index(cell)]))
    names = [*(f"c{i}" for i in range(len(firsts))), "n0", *(f"h{i}" for i in range(len(inners)))]
    listed = select_list((*firsts, Fragment(("count(1)",)), *inners), names)
    rows = replace(right, order=(), carried=())
    text = fragment_of(("SELECT ", listed, rest_of(rows), " GROUP BY ", joined(", ", inners)))
    hidden = item_columns(item, len(inners), prefix="h")
    carried = tuple(
        _on_hidden(each, place, context) for each, place in zip(right.carried, hidden, strict=True)
    )
    found = Relation(tuple(cells), subquery(text, item), carried=carried, is_unique=True)
    return replace(found, is_optional=True)


def _is_key(cell: Cell) -> bool:
    return isinstance(cell, Fragment) and cell.outer is not None


def _on_hidden(each: Carried, place: Fragment, context: Context) -> Carried:
    equal = each.equality
    if equal is None:
        raise TypeError("only equalities are grouped by")
    node = Comparison(equal.kind, Ref(0, equal.type), Ref(1, equal.type))
    text = context.scalar(node, (place, equal.outer))
    return Carried(text, replace(equal, inner=place))


def guarded(value: Fragment, count: Fragment) -> Fragment:
    """A value that is an error where there is more than one row."""
    return sql("CASE WHEN {} > 1 THEN {} ELSE {} END", count, raise_text(TOO_MANY_ROWS), value)


# --- the general form ----------------------------------------------------------------------------


def _computed(plan: DelimJoin, left: Relation, context: Context) -> Relation:
    """The left side and its distinct keys as common table expressions."""
    number = context.number()
    rows = _numbered(plan, left, context)
    if not is_stable(plan.left):
        rows = computed_once(rows, context)
    shared = context.shared(f"l{number}", whole(rows))
    item, other = context.item(), context.item()
    width = len(left.columns)
    left = Relation(item_columns(item, width), Fragment((f"{shared} {item}",)))
    below = Relation(item_columns(other, width), Fragment((f"{shared} {other}",)))
    if not all(is_equal_in_spark(node.type) for node in plan.keys):
        raise NotSupported("A subquery correlated by a column of INTERVAL or MAP is not supported.")
    keys = tuple(context.scalar(node, below.columns) for node in plan.keys)
    distinct = select(replace(below, columns=keys), is_distinct=True)
    domain = context.shared(f"d{number}", distinct)
    with context.scope(Scope(number, domain)):
        right = context.relation(plan.right)
    if plan.kind == "SINGLE" and not _groups_by_keys(plan):
        return _computed_single(plan, left, right, context)
    kind = "LEFT" if plan.kind == "SINGLE" else plan.kind
    if plan.kind == "MARK":
        rows = existential(right, context)
        nodes = condition_nodes(plan.conditions, None, width)
        values = [context.scalar(node, (*left.columns, *rows.columns)) for node in nodes]
        return replace(left, columns=(*left.columns, exists_mark(rows, values)))
    nodes = condition_nodes(plan.conditions, None, width)
    return joined_relation(kind, left, right, nodes, context)


def _groups_by_keys(plan: DelimJoin) -> bool:
    """Whether the right side is the keys with one group for each."""
    below = plan.right
    while isinstance(below, Projection):
        below = below.child
    if not isinstance(below, Join) or not isinstance(below.left, DelimGet):
        return False
    grouped = below.right
    while isinstance(grouped, Projection | Filter):
        grouped = grouped.child
    keys = len(below.left.types)
    return isinstance(grouped, Aggregation) and len(grouped.groups) == keys == len(plan.keys)


def _numbered(plan: DelimJoin, left: Relation, context: Context) -> Relation:
    """The left side with row numbers that stay the same however often it is read.

    The binder numbers rows where keys are lists and the like; any distinct numbers will do.
    """
    if not _is_row_number(plan):
        return left
    if not isinstance(plan.left, Windows):
        raise TypeError("row numbers come from a window")
    rows = context.ready(context.relation(plan.left.child))
    if context.reads_step(rows.source):
        raise NotSupported("A subquery for each row of a recursive step is not supported here.")
    number = Fragment(("monotonically_increasing_id()",))
    return replace(rows, columns=(*rows.columns, number))


def _is_row_number(plan: DelimJoin) -> bool:
    below = plan.left
    if not isinstance(below, Windows) or len(below.windows) != 1:
        return False
    window = below.windows[0]
    return _numbers_rows(window) and not window.partitions and not window.orders


def _numbers_rows(window: Window) -> bool:
    return window.kind == "ROW_NUMBER" and window.filter is None


def _computed_single(
    plan: Join | DelimJoin, left: Relation, right: Relation, context: Context
) -> Relation:
    """The subquery's rows grouped by the keys, an error where a key has two of them."""
    right = context.ready(right)
    places = sorted({each.right.index for each in plan.conditions if isinstance(each.right, Ref)})
    if len(places) != len(plan.conditions):
        raise NotSupported("A correlated subquery with a computed key is not supported.")
    values = right.values
    item = context.item()
    names = [f"c{index}" for index in range(len(values))]
    written = [v if i in places else sql("first({})", v) for i, v in enumerate(values)]
    listed = select_list((*written, Fragment(("count(1)",))), (*names, "n0"))
    keys = joined(", ", (values[place] for place in places))
    text = fragment_of(("SELECT ", listed, rest_of(right), " GROUP BY ", keys))
    cells = item_columns(item, len(values))
    grouped = Relation(cells, subquery(text, item))
    nodes = condition_nodes(plan.conditions, None, len(left.columns))
    found = joined_relation("LEFT", left, grouped, nodes, context)
    count = item_columns(item, 1, prefix="n")[0]
    shown = [c if i in places else guarded(c, count) for i, c in enumerate(cells)]
    return replace(found, columns=(*left.columns, *shown))
