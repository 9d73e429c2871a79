"""A bound plan as one Spark text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from ducklake_spark.binder import operators as op
from ducklake_spark.binder.expressions import Expression, Ref, refs_of
from ducklake_spark.errors import NotSupported
from ducklake_spark.translate import (
    grouping,
    joins,
    limits,
    ordered_joins,
    pivots,
    sets,
    subqueries,
    table_functions,
    windowing,
)
from ducklake_spark.translate.columns_read import row_ids_read
from ducklake_spark.translate.context import Context, with_definitions
from ducklake_spark.translate.expressions import Expressions
from ducklake_spark.translate.fragments import Fragment, column
from ducklake_spark.translate.predicates import carried_or_plain, conjuncts
from ducklake_spark.translate.relations import (
    Mark,
    NotPullable,
    Relation,
    is_plain,
    reads_around,
    select,
)
from ducklake_spark.translate.subqueries import scalar_rows

_KEEPS_LEFT_ROWS = ("SINGLE", "MARK", "LEFT", "SEMI", "ANTI")


def translate_query(
    plan: op.Plan,
    names: Sequence[str],
    expressions: Expressions,
    table: Callable[[op.Get], str],
) -> str:
    """One Spark text for a bound plan.

    Args:
        plan: what DuckDB's binder made of the query.
        names: of the columns of the result, which may be anything and the same more than once.
        expressions: translates scalar expressions.
        table: answers the Spark name of a table of the mirror.

    Raises:
        NotSupported: the plan has something that is not served.
    """
    read = row_ids_read(plan)

    def operator(each: op.Plan, context: Context) -> Relation:
        if isinstance(each, op.Get):
            return _get(each, context, reads_row_id=id(each) in read)
        return _operator(each, context)

    context = Context(expressions, table, operator)
    try:
        found = context.rows(plan)
    except NotPullable as reason:
        raise NotSupported(f"This correlated subquery is not supported: {reason}.") from None
    except RecursionError:
        raise NotSupported("This query is nested too deeply.") from None
    if reads_around(found) or len(found.columns) < len(names):
        raise NotSupported("This correlated subquery is not supported.")
    shown = replace(found, columns=found.columns[: len(names)])
    return str(with_definitions(context.definitions, select(shown, names)))


def _operator(plan: op.Plan, context: Context) -> Relation:
    translate = _OPERATORS.get(type(plan))
    if translate is None:
        raise NotSupported(f"The operator {type(plan).__name__} is not supported.")
    return translate(plan, context)


def _get(plan: op.Get, context: Context, *, reads_row_id: bool) -> Relation:
    """The columns of a table; a row id only where somebody reads it."""
    item = context.item()
    row_id = column(item, "rowid") if reads_row_id else Fragment(("1L",))
    columns = tuple(row_id if name is None else column(item, name) for name in plan.columns)
    return Relation(columns, Fragment((f"{context.table(plan)} {item}",)))


def _projection(plan: op.Projection, context: Context) -> Relation:
    """Expressions over the rows of the child, in the same SELECT unless something is doubled."""
    rows = scalar_rows(plan)
    if rows is None:
        return _plain_projection(plan, context)
    mark = len(context.definitions)
    found = _plain_projection(rows, context)
    is_deep = context.reads_step(found.source)
    if not found.is_optional and not reads_around(found) and not is_deep:
        return joins.as_scalar(found, context)
    del context.definitions[mark:]
    return _plain_projection(plan, context)


def _plain_projection(plan: op.Projection, context: Context) -> Relation:
    child = context.relation(plan.child)
    if not child.is_optional and _doubles(child, plan.expressions):
        child = context.wrapped(child)
    columns = [
        child.columns[node.index] if isinstance(node, Ref) else context.scalar(node, child.columns)
        for node in plan.expressions
    ]
    return replace(child, columns=tuple(columns))


def _doubles(child: Relation, nodes: Sequence[Expression]) -> bool:
    """Whether a column would be computed twice, or for rows that a LIMIT leaves out."""
    passed = [node.index for node in nodes if isinstance(node, Ref)]
    read = [i for node in nodes if not isinstance(node, Ref) for i in refs_of(node)]
    if child.limit and len(passed) < len(nodes):
        return True
    return any(
        not is_plain(child.columns[index]) and (index in read or passed.count(index) > 1)
        for index in {*passed, *read}
    )


def _filter(plan: op.Filter, context: Context) -> Relation:
    """The rows for which all conditions are true."""
    below, nodes = _pushed(plan)
    child = context.rows(below)
    used = [child.columns[index] for node in nodes for index in refs_of(node)]
    if child.limit or not all(isinstance(cell, Mark) or is_plain(cell) for cell in used):
        child = context.wrapped(child)
    plain, carried = carried_or_plain(nodes, child.columns, context)
    return replace(
        child,
        where=(*child.where, *plain),
        carried=(*child.carried, *carried),
    )


def _pushed(plan: op.Filter) -> tuple[op.Plan, list[Expression]]:
    """The operator below with the conditions on its left rows already in it, and the others.

    The keys of a correlated subquery are those of fewer rows then.
    """
    nodes = list(conjuncts(plan.expressions))
    below = plan.child
    if not isinstance(below, op.Join | op.DelimJoin) or below.kind not in _KEEPS_LEFT_ROWS:
        return below, nodes
    width = len(op.types_of(below.left))
    low = [node for node in nodes if refs_of(node) and max(refs_of(node)) < width]
    if not low:
        return below, nodes
    left = op.Filter(below.left, tuple(low))
    return replace(below, left=left), [node for node in nodes if node not in low]


def _one_row(plan: op.DummyScan, context: Context) -> Relation:
    return Relation((Fragment(("NULL",)),))


_OPERATORS: Final[dict[type, Callable[[Any, Context], Relation]]] = {
    op.Projection: _projection,
    op.Filter: _filter,
    op.Join: subqueries.single_join,
    op.CrossProduct: joins.cross_product,
    op.AsofJoin: ordered_joins.asof_join,
    op.PositionalJoin: ordered_joins.positional_join,
    op.DelimJoin: subqueries.delim_join,
    op.DelimGet: subqueries.delim_get,
    op.Aggregation: grouping.aggregation,
    op.Windows: windowing.windows,
    op.Distinct: grouping.distinct,
    op.Sorting: limits.sorting,
    op.Limit: limits.limit,
    op.Sample: limits.sample,
    op.SetOperation: sets.set_operation,
    op.Cte: sets.cte,
    op.CteRef: sets.cte_ref,
    op.Values: sets.values,
    op.EmptyResult: sets.empty_result,
    op.DummyScan: _one_row,
    op.TableFunction: table_functions.table_function,
    op.Pivot: pivots.pivot,
    op.Unnesting: table_functions.unnesting,
}
