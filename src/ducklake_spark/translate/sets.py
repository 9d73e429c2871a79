"""Set operations, common table expressions, and rows that the query itself writes down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ducklake_spark.binder.expressions import Constant
from ducklake_spark.binder.operators import (
    Cte,
    CteRef,
    EmptyResult,
    RecursiveCte,
    SetOperation,
    Values,
    types_of,
)
from ducklake_spark.binder.types import BoundType
from ducklake_spark.errors import NotSupported
from ducklake_spark.translate.context import Context
from ducklake_spark.translate.fragments import Fragment, joined, sql
from ducklake_spark.translate.recursion import define_recursive, rows_wanted
from ducklake_spark.translate.relations import (
    NotPullable,
    Relation,
    is_literal,
    item_columns,
    reads_around,
    select,
    select_list,
    subquery,
    whole,
)
from ducklake_spark.translate.stability import is_stable, references
from ducklake_spark.translate.types import is_equal_in_spark


def set_operation(plan: SetOperation, context: Context) -> Relation:
    """UNION, INTERSECT, EXCEPT."""
    types = types_of(plan)
    compares = plan.kind != "UNION" or not plan.keeps_all
    if compares and not all(map(is_equal_in_spark, types)):
        raise NotSupported(f"{plan.kind} of INTERVAL, TIMETZ or MAP columns is not supported.")
    parts = [sql("({})", whole(context.rows(child))) for child in plan.children]
    item = context.item()
    word = f" {plan.kind} ALL " if plan.keeps_all else f" {plan.kind} "
    return Relation(item_columns(item, len(types)), subquery(joined(word, parts), item))


def cte(plan: Cte, context: Context) -> Relation:
    """A query with a common table expression, which is written in front of the whole text."""
    name = f"cte{context.number()}"
    if isinstance(plan.definition, RecursiveCte):
        wanted = rows_wanted(plan.child, plan.index)
        define_recursive(plan.definition, name, wanted, context)
    else:
        rows = context.rows(plan.definition)
        if not is_stable(plan.definition) and references(plan.child, plan.index) > 1:
            rows = computed_once(rows, context)
        name = context.shared(name, whole(rows))
    context.ctes[plan.index] = name
    return context.relation(plan.child)


def computed_once(rows: Relation, context: Context) -> Relation:
    """Rows with a further column that makes Spark compute a repeated expression once only."""
    if context.reads_step(rows.source):
        raise NotSupported(
            "Rows of a recursive step that may differ each time cannot be read more than once."
        )
    number = Fragment(("monotonically_increasing_id()",))
    rows = context.ready(rows)
    return replace(rows, columns=(*rows.columns, number))


def cte_ref(plan: CteRef, context: Context) -> Relation:
    """The rows of a common table expression."""
    item = context.item()
    columns = item_columns(item, len(plan.types))
    rows = context.steps[plan.index].seen if plan.is_recurring else context.ctes[plan.index]
    return Relation(columns, Fragment((f"{rows} {item}",)))


# --- rows in the query ---------------------------------------------------------------------------


def values(plan: Values, context: Context) -> Relation:
    """VALUES; a list of SELECTs where a value is no literal."""
    item = context.item()
    columns = item_columns(item, len(plan.types))
    if not plan.rows:
        return _no_rows(plan.types, context)
    rows = [[context.scalar(node, ()) for node in row] for row in plan.rows]
    names = [f"c{index}" for index in range(len(plan.types))]
    if any(text.outers for row in rows for text in row):
        raise NotPullable("values of the query around")
    if len(rows) == 1:
        return Relation(tuple(rows[0]))
    if all(is_literal(text) for row in rows for text in row):
        listed = joined(", ", (sql("({})", joined(", ", row)) for row in rows))
        return Relation(columns, sql("(VALUES {}) {}({})", listed, item, ", ".join(names)))
    selects = joined(" UNION ALL ", (sql("SELECT {}", select_list(row, names)) for row in rows))
    return Relation(columns, subquery(selects, item))


def empty_result(plan: EmptyResult, context: Context) -> Relation:
    """No rows."""
    return _no_rows(plan.types, context)


def _no_rows(types: Sequence[BoundType], context: Context) -> Relation:
    cells = tuple(context.scalar(Constant(None, kind), ()) for kind in types)
    item = context.item()
    rows = Relation(cells, where=(Fragment(("false",)),))
    if reads_around(rows):
        raise TypeError("a NULL reads nothing")
    return Relation(item_columns(item, len(types)), subquery(select(rows), item))
