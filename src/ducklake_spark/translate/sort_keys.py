"""Keys to order and group by, where Spark's order or equality of a carrier is not DuckDB's."""

from __future__ import annotations

from collections.abc import Sequence

from ducklake_spark.binder.expressions import Constant, Expression, Function, Order
from ducklake_spark.binder.types import VARCHAR, simple
from ducklake_spark.translate.context import Context
from ducklake_spark.translate.fragments import Fragment
from ducklake_spark.translate.relations import Cell, is_plain
from ducklake_spark.translate.types import is_equal_in_spark


def order_text(
    orders: Sequence[Order], columns: Sequence[Cell], context: Context
) -> list[Fragment]:
    """The keys of an ORDER BY; those that are the same for every row are left out.

    Spark would take a literal for the place of a column.
    """
    found = ((each, context.scalar(each.expression, columns)) for each in orders)
    return [
        context.expressions.ordering(
            text,
            each.expression.type,
            is_descending=each.is_descending,
            nulls_first=each.nulls_first,
        )
        for each, text in found
        if text.columns or not is_plain(text)
    ]


def group_key(node: Expression, columns: Sequence[Cell], context: Context) -> Fragment:
    """What Spark groups by, so that its groups are DuckDB's: the value or DuckDB's own key."""
    if is_equal_in_spark(node.type):
        return context.scalar(node, columns)
    arguments = (node, Constant("ASC NULLS LAST", VARCHAR))
    kinds = (node.type, VARCHAR)
    key = Function("create_sort_key", arguments, kinds, simple("BLOB"))
    return context.scalar(key, columns)
