"""Calls of aggregate functions: Spark's own where the answer is DuckDB's, else DuckDB in tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal

from ducklake_spark.binder.expressions import Aggregate
from ducklake_spark.errors import NotSupported
from ducklake_spark.translate import aggregates_ordered, aggregates_plain, aggregates_statistics
from ducklake_spark.translate.aggregates_in_tasks import aggregate_in_tasks, call_text
from ducklake_spark.translate.fragments import EMPTY, Fragment, sql
from ducklake_spark.translate.rules import AggregateCall, AggregateRules, Expressions
from ducklake_spark.translate.types import spark_type

AGGREGATES: Final[AggregateRules] = {
    **aggregates_plain.RULES,
    **aggregates_ordered.RULES,
    **aggregates_statistics.RULES,
}

# Each value counts once or many times, and the answer is the same.
_IDEMPOTENT: Final = frozenset({"min", "max", "bool_and", "bool_or", "bit_and", "bit_or"})
_EXACT: Final = frozenset({"BOOLEAN", "DECIMAL", "HUGEINT", "BIGINT", "INTEGER", "SMALLINT"})
_ORDERLESS: Final = _IDEMPOTENT | {
    *("count", "count_star", "count_if", "countif", "bit_xor", "regr_count"),
    "approx_count_distinct",
}
_SUMS: Final = frozenset({"sum", "sum_no_overflow", "avg", "mean"})


def aggregate(node: Aggregate, columns: Sequence[Fragment], expressions: Expressions) -> Fragment:
    """Spark SQL for a call of an aggregate over rows with those columns.

    Raises:
        NotSupported: neither engine can compute it here.
    """
    node = simplified(node)
    call = AggregateCall(
        node,
        tuple(expressions.scalar(child, columns) for child in node.children),
        tuple(expressions.scalar(each.expression, columns) for each in node.orders),
        EMPTY if node.filter is None else _filter(expressions.scalar(node.filter, columns)),
    )
    found = native(call)
    return found if found is not None else aggregate_in_tasks(call, expressions.engine)


def native(call: AggregateCall) -> Fragment | None:
    """Spark's own answer to a call, where it is DuckDB's too."""
    rule = AGGREGATES.get(call.node.name)
    return rule(call) if rule is not None else None


def simplified(node: Aggregate) -> Aggregate:
    """The call without a DISTINCT or ORDER BY that changes nothing."""
    is_single = len(node.children) < 2
    if node.is_distinct and node.name in _IDEMPOTENT and is_single:
        node = replace(node, is_distinct=False)
    is_exact = node.name in _SUMS and node.children[0].type.id in _EXACT
    if node.orders and (is_exact or (node.name in _ORDERLESS and is_single)):
        node = replace(node, orders=())
    return node


def _filter(condition: Fragment) -> Fragment:
    return sql("FILTER (WHERE {})", condition)


def answered_by(node: Aggregate) -> Literal["Spark", "DuckDB", "nobody"]:
    """Who computes a call, whatever its arguments are: for the page of functions."""
    arguments = tuple(Fragment((f"a{at}",)) for at in range(len(node.children)))
    orders = tuple(Fragment((f"o{at}",)) for at in range(len(node.orders)))
    try:
        if native(AggregateCall(simplified(node), arguments, orders)) is not None:
            return "Spark"
        for kind in (node.type, *(child.type for child in node.children)):
            spark_type(kind)
        call_text(node, [str(each) for each in (*arguments, *orders)])
    except NotSupported:
        return "nobody"
    return "DuckDB"
