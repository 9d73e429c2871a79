"""The few aggregates and windows that the queries of operators use."""

from __future__ import annotations

from collections.abc import Sequence

from ducklake_spark.binder.expressions import Aggregate, Window
from ducklake_spark.translate.expressions import Expressions
from ducklake_spark.translate.fragments import Fragment, joined, sql
from ducklake_spark.translate.types import spark_type


def aggregate(node: Aggregate, columns: Sequence[Fragment], expressions: Expressions) -> Fragment:
    """A call of an aggregate."""
    values = [expressions.scalar(each, columns) for each in node.children]
    listed = joined(", ", values) if values else Fragment(("1",))
    name = {"count_star": "count"}.get(node.name, node.name)
    text = sql("{}({}{})", name, "DISTINCT " if node.is_distinct else "", listed)
    if node.filter is not None:
        text = sql("{} FILTER (WHERE {})", text, expressions.scalar(node.filter, columns))
    return sql("CAST({} AS {})", text, spark_type(node.type))


def window(node: Window, columns: Sequence[Fragment], expressions: Expressions) -> Fragment:
    """A window function over its whole partition, or over the rows up to this one."""
    values = [expressions.scalar(each, columns) for each in node.children]
    keys = [expressions.scalar(each, columns) for each in node.partitions]
    parts = [sql("PARTITION BY {} ", joined(", ", keys))] if keys else []
    orders = [
        expressions.ordering(
            expressions.scalar(each.expression, columns),
            each.expression.type,
            is_descending=each.is_descending,
            nulls_first=each.nulls_first,
        )
        for each in node.orders
    ]
    if orders or node.kind != "AGGREGATE":
        parts.append(sql("ORDER BY {}", joined(", ", orders) if orders else "NULL"))
    name = node.name if node.kind == "AGGREGATE" else node.kind.lower()
    name = {"count_star": "count"}.get(name, name)
    listed = joined(", ", values) if values or node.kind != "AGGREGATE" else Fragment(("1",))
    over = joined("", parts)
    return sql("CAST({}({}) OVER ({}) AS {})", name, listed, over, spark_type(node.type))
