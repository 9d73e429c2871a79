"""Functions in FROM: unnest, range and generate_series, over constants or over rows."""

from __future__ import annotations

from collections.abc import Sequence

from ducklake_spark.binder.expressions import (
    Cast,
    Expression,
    Function,
    Ref,
)
from ducklake_spark.binder.operators import (
    DelimGet,
    Projection,
    TableFunction,
    Unnesting,
    types_of,
)
from ducklake_spark.binder.types import BIGINT, INTEGERS, BoundType, list_of
from ducklake_spark.errors import NotSupported
from ducklake_spark.translate.context import Context
from ducklake_spark.translate.fragments import Fragment, column, fragment_of, joined, sql
from ducklake_spark.translate.nodes import Leaf, with_leaves
from ducklake_spark.translate.relations import (
    Cell,
    NotPullable,
    Relation,
    item_columns,
)

_LARGEST = 2**63 - 1
_SERIES = ("range", "generate_series")


def table_function(plan: TableFunction, context: Context) -> Relation:
    """The rows of a function in FROM."""
    if plan.name not in (*_SERIES, "unnest"):
        raise NotSupported(f"The table function {plan.name} is not supported.")
    if plan.named_parameters or plan.bind_data:
        raise NotSupported(f"These arguments of the table function {plan.name} are not supported.")
    if plan.child is not None:
        return _over_rows(plan, context)
    numbers = _numbers(plan)
    if numbers is not None and not plan.with_ordinality:
        return _series(numbers, plan, context)
    return _elements(plan, plan.parameters, context)


# --- series --------------------------------------------------------------------------------------


def _numbers(plan: TableFunction) -> tuple[int, ...] | None:
    """The arguments of a series of numbers."""
    if plan.name not in _SERIES or any(each.type != BIGINT for each in plan.parameters):
        return None
    return tuple(each.value for each in plan.parameters)


def _series(numbers: Sequence[int | None], plan: TableFunction, context: Context) -> Relation:
    """Spark's range(); a series that ends at the edge of 64 bits is counted from 0."""
    given = [0, *numbers] if len(numbers) == 1 else [*numbers]
    item = context.item()
    if any(each is None for each in given):
        first, count, step = 0, 0, 1
    else:
        first, last, step = (each or 0 for each in (*given, 1)[:3])
        if step == 0:
            raise NotSupported("The increment of a series cannot be 0.")
        if plan.name == "range":
            last -= 1 if step > 0 else -1
        count = max(0, (last - first) // step + 1)
    end = first + count * step
    name = column(item, "id")
    if -_LARGEST <= end <= _LARGEST:
        source = f"range({first}L, {end}L, {step}L) {item}"
    else:
        source = f"range({count}L) {item}"
        name = sql("({} * {}L + {}L)", name, str(step), str(first))
    return Relation((name,) * len(plan.columns), Fragment((source,)))


def _list(name: str, arguments: Sequence[Expression]) -> Expression:
    """What a function in FROM gives, as a list."""
    if name == "unnest":
        return arguments[0]
    moment = BoundType("TIMESTAMP")  # dates too are a series of these
    arguments = [Cast(each, moment) if each.type.id == "DATE" else each for each in arguments]
    kinds = tuple(each.type for each in arguments)
    return Function(name, tuple(arguments), kinds, list_of(kinds[0]))


def _list_text(
    name: str, arguments: Sequence[Expression], columns: Sequence[Cell], context: Context
) -> Fragment:
    if name == "unnest" or not all(each.type.id in INTEGERS for each in arguments):
        return context.scalar(_list(name, arguments), columns)
    texts = [context.scalar(Cast(each, BIGINT), columns) for each in arguments]
    given = [Fragment(("0L",)), *texts] if len(texts) == 1 else texts
    first, last, step = (*given, Fragment(("1L",)))[:3]
    return _sequence(first, last, step, is_open=name == "range")


def _sequence(first: Fragment, last: Fragment, step: Fragment, *, is_open: bool) -> Fragment:
    """The numbers of a series as an array; NULL where there are none."""
    template = (
        "CASE WHEN {2} = 0L THEN raise_error('The increment of a series cannot be 0') "
        "WHEN {2} > 0L AND {0} {up} {1} THEN sequence({0}, {1} {minus}, {2}) "
        "WHEN {2} < 0L AND {0} {down} {1} THEN sequence({0}, {1} {plus}, {2}) END"
    )
    words = (
        {"up": "<", "down": ">", "minus": "- 1L", "plus": "+ 1L"}
        if is_open
        else {"up": "<=", "down": ">=", "minus": "", "plus": ""}
    )
    for key, word in words.items():
        template = template.replace("{" + key + "}", word)
    return sql(template, first, last, step)


# --- elements ------------------------------------------------------------------------------------


def unnesting(plan: Unnesting, context: Context) -> Relation:
    """The rows of the child with the elements of lists behind, padded with NULLs."""
    child = context.unordered(context.rows(plan.child))
    lists = [context.scalar(each.child, child.columns) for each in plan.unnests]
    if any(each.outers for each in lists):
        raise NotPullable("a list of the query around")
    item = context.item()
    source = _exploded(lists, item)
    if child.source is not None:
        source = fragment_of((child.source, " CROSS JOIN LATERAL ", source))
    columns = (*child.columns, *item_columns(item, len(lists)))
    return Relation(columns, source, child.where, child.carried, is_item=child.source is None)


def _exploded(lists: Sequence[Fragment], item: str, *, with_ordinality: bool = False) -> Fragment:
    """An item of FROM with a row for each element; the number of the row last."""
    if len(lists) > 1:
        whole = joined(", ", (sql("coalesce({}, array())", each) for each in lists))
        call = sql("inline(arrays_zip({}))", whole)
        names = ", ".join(f"c{index}" for index in range(len(lists)))
        return sql("(SELECT {} AS ({})) {}", call, names, item)
    if not with_ordinality:
        return sql("(SELECT explode({}) AS c0) {}", lists[0], item)
    inner = sql("(SELECT posexplode({}) AS (p, c0))", lists[0])
    return sql("(SELECT c0, CAST(p + 1 AS BIGINT) AS c1 FROM {}) {}", inner, item)


def _elements(plan: TableFunction, arguments: Sequence[Expression], context: Context) -> Relation:
    """The elements of a constant list."""
    item = context.item()
    found = _list_text(plan.name, arguments, (), context)
    source = _exploded([found], item, with_ordinality=plan.with_ordinality)
    return Relation(_shown(plan, item), source)


def _shown(plan: TableFunction, item: str) -> tuple[Fragment, ...]:
    """The columns that are read: the element, and its number if there is one."""
    cells = item_columns(item, len(plan.types))
    if len(cells) != 1 + plan.with_ordinality:
        raise NotSupported(f"The columns of the table function {plan.name} are not known.")
    return tuple(
        cells[index] if index < len(cells) else Fragment(("1L",)) for index in plan.columns
    )


# --- over rows -----------------------------------------------------------------------------------


def _over_rows(plan: TableFunction, context: Context) -> Relation:
    """A lateral function: its arguments, then what of its input is given on."""
    below = plan.child
    if not isinstance(below, Projection):
        raise NotSupported(f"The table function {plan.name} over these rows is not supported.")
    rows = context.rows(below.child)
    nodes = [_bound(node, below) for node in below.expressions]
    arguments = [node for index, node in enumerate(nodes) if index not in plan.projected_input]
    found = _list_text(plan.name, arguments, rows.columns, context)
    given = tuple(context.scalar(nodes[index], rows.columns) for index in plan.projected_input)
    item = context.item()
    exploded = _exploded([found], item, with_ordinality=plan.with_ordinality)
    columns = (*_shown(plan, item), *given)
    if rows.source is None:
        lateral = sql("LATERAL {}", exploded)
        return Relation(columns, lateral, rows.where, rows.carried, is_lateral=True)
    source = fragment_of((rows.source, " CROSS JOIN LATERAL ", exploded))
    return Relation(columns, source, rows.where, rows.carried, is_item=False)


def _bound(node: Expression, below: Projection) -> Expression:
    """The expression with places for the columns that are named by their table's number."""

    def place(leaf: Leaf) -> Expression:
        if isinstance(leaf, Ref):
            return leaf
        if not isinstance(below.child, DelimGet | Projection):
            raise NotSupported("A table function over a subquery of this kind is not supported.")
        if leaf.column >= len(types_of(below.child)):
            raise NotSupported("A table function over columns that are not known.")
        return Ref(leaf.column, leaf.type)

    return with_leaves(node, place)
