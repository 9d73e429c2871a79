"""Window functions that Spark computes as DuckDB does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ducklake_spark.binder.expressions import Aggregate, Expression, Order, Window
from ducklake_spark.translate.aggregates import native, simplified
from ducklake_spark.translate.fragments import EMPTY, Fragment, joined, sql
from ducklake_spark.translate.frames import constant_integer, frame_text
from ducklake_spark.translate.rules import AggregateCall, Expressions
from ducklake_spark.translate.types import is_equal_in_spark

# Of the whole partition, whatever the frame is. Spark counts in INT where DuckDB has BIGINT.
_RANKS: Final = {
    "ROW_NUMBER": "CAST(row_number() {} AS BIGINT)",
    "RANK": "CAST(rank() {} AS BIGINT)",
    "DENSE_RANK": "CAST(dense_rank() {} AS BIGINT)",
    "PERCENT_RANK": "percent_rank() {}",
    "CUME_DIST": "cume_dist() {}",
}
_EDGES: Final = {"FIRST_VALUE": "first_value", "LAST_VALUE": "last_value"}
_LARGEST_INT: Final = 2**31 - 1


def label_of(node: Window) -> str:
    """What is called, for whoever reads a plan or a message."""
    return node.name or node.kind.lower()


def native_window(
    node: Window, columns: Sequence[Fragment], expressions: Expressions
) -> Fragment | None:
    """Spark SQL for a window function over rows with those columns.

    None where Spark has no window that answers as DuckDB does: `windows_in_tasks` has them all.
    """
    if node.kind == "AGGREGATE":
        node = _simplified(node)
    if node.exclude != "NO OTHERS" or node.argument_orders or node.is_distinct:
        return None
    if not all(is_equal_in_spark(each.type) for each in node.partitions):
        return None
    translation = _Translation(node, columns, expressions)
    match node.kind:
        case kind if kind in _RANKS:
            return sql(_RANKS[kind], translation.over(framed=False))
        case "NTILE":
            return translation.ntile()
        case "LAG" | "LEAD":
            return translation.neighbour()
        case "FIRST_VALUE" | "LAST_VALUE":
            return translation.framed(f"{_EDGES[node.kind]}({{}}){translation.nulls}", 1)
        case "NTH_VALUE":
            return translation.nth_value()
        case "AGGREGATE":
            return translation.aggregate()
        case _:
            return None


class _Translation:
    """One window function of Spark.

    Args:
        node: its window has no EXCLUDE and no ORDER BY inside the call.
    """

    def __init__(self, node: Window, columns: Sequence[Fragment], expressions: Expressions) -> None:
        self._node = node
        self._columns = columns
        self._expressions = expressions

    @property
    def nulls(self) -> str:
        """What is said of NULLs behind the call."""
        return " IGNORE NULLS" if self._node.ignores_nulls else ""

    def over(self, *, framed: bool) -> Fragment:
        """OVER with its window, without a frame or with the whole partition as it."""
        return self._over(EMPTY if framed else None)

    def _scalar(self, node: Expression) -> Fragment:
        return self._expressions.scalar(node, self._columns)

    def _over(self, frame: Fragment | None) -> Fragment:
        """OVER; without a frame Spark wants an order, which a constant is."""
        node, parts = self._node, []
        if node.partitions:
            keys = joined(", ", map(self._scalar, node.partitions))
            parts.append(sql("PARTITION BY {}", keys))
        if node.orders:
            parts.append(sql("ORDER BY {}", joined(", ", map(self._key, node.orders))))
        elif frame is None:
            parts.append(sql("ORDER BY NULL"))
        if frame is not None and frame.pieces:
            parts.append(frame)
        return sql("OVER ({})", joined(" ", parts))

    def _key(self, order: Order) -> Fragment:
        return self._expressions.ordering(
            self._scalar(order.expression),
            order.expression.type,
            is_descending=order.is_descending,
            nulls_first=order.nulls_first,
        )

    def _frame(self) -> Fragment | None:
        text = frame_text(self._node)
        return None if text is None else sql("{}", text)

    def framed(self, template: str, arguments: int) -> Fragment | None:
        """A function of the rows of the frame."""
        frame = self._frame()
        if frame is None:
            return None
        values = map(self._scalar, self._node.children[:arguments])
        return sql(f"{template} {{}}", *values, self._over(frame))

    def ntile(self) -> Fragment | None:
        count = constant_integer(self._node.children[0])
        if count is None or not 0 < count <= _LARGEST_INT:
            return None
        return sql(f"CAST(ntile({count}) {{}} AS BIGINT)", self._over(None))

    def neighbour(self) -> Fragment | None:
        node = self._node
        offset = 1 if node.offset is None else constant_integer(node.offset)
        if offset is None or abs(offset) > _LARGEST_INT or (offset <= 0 and node.ignores_nulls):
            return None
        default = sql("NULL") if node.default is None else self._scalar(node.default)
        call = sql(
            f"{node.kind.lower()}({{}}, {offset}, {{}})", self._scalar(node.children[0]), default
        )
        return sql(f"{{}}{self.nulls} {{}}", call, self._over(None))

    def nth_value(self) -> Fragment | None:
        place = constant_integer(self._node.children[1])
        if place is None or not 0 < place <= _LARGEST_INT:
            return None
        return self.framed(f"nth_value({{}}, {place}){self.nulls}", 1)

    def aggregate(self) -> Fragment | None:
        """An aggregate of the rows of the frame; a FILTER becomes NULLs in its arguments."""
        frame = self._frame()
        if frame is None:
            return None
        node = self._node
        mask = None if node.filter is None else self._scalar(node.filter)
        values = [self._scalar(child) for child in node.children]
        if mask is not None:
            values = [sql("CASE WHEN {} THEN {} END", mask, value) for value in values]
        call = AggregateCall(
            aggregate_of(node), tuple(values), (), self._over(frame), mask, is_window=True
        )
        return native(call)


def aggregate_of(node: Window) -> Aggregate:
    """The call of the aggregate that a window function is."""
    types = tuple(child.type for child in node.children)
    return Aggregate(
        node.name,
        node.children,
        types,
        node.type,
        node.is_distinct,
        node.filter,
        node.argument_orders,
        node.bind_data,
        node.location,
    )


def _simplified(node: Window) -> Window:
    call = simplified(aggregate_of(node))
    return replace(node, is_distinct=call.is_distinct, argument_orders=call.orders)
