"""Window functions that DuckDB computes itself: Spark gathers the rows of each partition.

All rows of a partition become one list, DuckDB computes the functions over it, and the rows come
apart again with the answers behind. The largest partition has to fit into the memory of a task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from ducklake_spark.binder.expressions import Expression, FrameBound, Order, Window, is_constant
from ducklake_spark.binder.types import BoundType, list_of, struct_of
from ducklake_spark.errors import NotSupported
from ducklake_spark.translate.aggregates_in_tasks import call_text, order_by_text
from ducklake_spark.translate.fragments import Fragment, joined, sql
from ducklake_spark.translate.frames import range_offset
from ducklake_spark.translate.rules import Expressions
from ducklake_spark.translate.types import is_equal_in_spark
from ducklake_spark.translate.windows import aggregate_of, label_of

_FUNCTIONS: Final = {
    "ROW_NUMBER": "row_number",
    "RANK": "rank",
    "DENSE_RANK": "dense_rank",
    "PERCENT_RANK": "percent_rank",
    "CUME_DIST": "cume_dist",
    "NTILE": "ntile",
    "LAG": "lag",
    "LEAD": "lead",
    "FIRST_VALUE": "first_value",
    "LAST_VALUE": "last_value",
    "NTH_VALUE": "nth_value",
    "FILL": "fill",
}


def windows_in_tasks(
    nodes: Sequence[Window],
    columns: Sequence[Fragment],
    source: Fragment,
    expressions: Expressions,
) -> Fragment:
    """A SELECT of rows and then of window functions over them, called c0, c1 and so on.

    Args:
        nodes: with the same PARTITION BY.
        columns: of the rows of `source`.
        source: what stands behind the columns of a SELECT: FROM and WHERE.
        expressions: translates what stands in the calls.

    Raises:
        NotSupported: a call is not understood.
    """
    fields = _Fields(columns, expressions)
    texts = [f"{_Text(node, fields).of()} AS w{at}" for at, node in enumerate(nodes)]
    native = [each for each in nodes[0].partitions if is_equal_in_spark(each.type)]
    keys = [expressions.scalar(each, columns) for each in native]
    gathered = sql(
        "SELECT collect_list(named_struct('c', {}, 'f', {})) AS rows{}{}",
        _struct("c", columns),
        _struct("f", fields.values),
        source,
        sql(" GROUP BY {}", joined(", ", keys)) if keys else "",
    )
    answers = expressions.engine.over_rows(
        label_of(nodes[0]),
        _query(texts),
        [(sql("transform(rows, r -> r.f)"), list_of(fields.type))],
        list_of(struct_of([(f"w{at}", node.type) for at, node in enumerate(nodes)])),
    )
    pairs = "inline(zip_with(rows, answers, (r, w) -> named_struct('r', r.c, 'w', w)))"
    apart = sql(
        f"SELECT {pairs} FROM (SELECT rows, {{}} AS answers FROM ({{}}))", answers, gathered
    )
    return sql("SELECT {} FROM ({})", _names(len(columns), len(nodes)), apart)


def _struct(prefix: str, values: Sequence[Fragment]) -> Fragment:
    named = (sql(f"'{prefix}{at}', {{}}", value) for at, value in enumerate(values))
    return sql("named_struct({})", joined(", ", named))


def _names(columns: int, nodes: int) -> str:
    rows = [f"r.c{at} AS c{at}" for at in range(columns)]
    return ", ".join([*rows, *(f"w.w{at} AS c{columns + at}" for at in range(nodes))])


def _query(texts: Sequence[str]) -> str:
    """DuckDB's SELECT: for each list one with the answers in the order of its elements."""
    rows = 'SELECT "row", unnest(a0) AS s, generate_subscripts(a0, 1) AS n FROM batch'
    computed = f'SELECT "row", n, {", ".join(texts)} FROM ({rows})'
    answers = ", ".join(f"w{at} := w{at}" for at in range(len(texts)))
    answer = f"list(struct_pack({answers}) ORDER BY n)"
    return f'SELECT "row", {answer} AS answer FROM ({computed}) GROUP BY "row"'


@dataclass
class _Fields:
    """What Spark computes of each row for DuckDB, each once."""

    columns: Sequence[Fragment]
    expressions: Expressions
    _known: dict[tuple[Fragment, BoundType], str] = field(default_factory=dict)

    def name(self, node: Expression) -> str:
        """DuckDB's text of an expression."""
        key = self.expressions.scalar(node, self.columns), node.type
        return self._known.setdefault(key, f"s.f{len(self._known)}")

    @property
    def values(self) -> list[Fragment]:
        """Spark SQL of all fields; there is one at least."""
        return [value for value, _ in self._known] or [sql("true")]

    @property
    def type(self) -> BoundType:
        """Of a row."""
        types = [kind for _, kind in self._known] or [BoundType("BOOLEAN")]
        return struct_of([(f"f{at}", kind) for at, kind in enumerate(types)])


class _Text:
    """DuckDB's SQL of a window function over the fields of rows."""

    def __init__(self, node: Window, fields: _Fields) -> None:
        self._node = node
        self._name = fields.name

    def of(self) -> str:
        """The call with its window."""
        return f"{self._call()} OVER ({self._window()})"

    def _call(self) -> str:
        node = self._node
        if node.kind == "AGGREGATE":
            return self._aggregate()
        function = _FUNCTIONS.get(node.kind)
        if function is None or node.bind_data or node.is_distinct or node.filter is not None:
            raise NotSupported(f"The window function {label_of(node)} is not understood.")
        children = [*node.children, *(e for e in (node.offset, node.default) if e is not None)]
        if node.default is not None and node.offset is None:
            raise NotSupported(f"A default of {function} without an offset is not understood.")
        arguments = ", ".join(map(self._name, children))
        nulls = " IGNORE NULLS" if node.ignores_nulls else ""
        return f"{function}({arguments}{self._argument_orders()}{nulls})"

    def _argument_orders(self) -> str:
        orders = self._node.argument_orders
        return f" {self._order_by(orders)}" if orders else ""

    def _aggregate(self) -> str:
        node = self._node
        call = aggregate_of(node)
        keys = [order.expression for order in node.argument_orders]
        text = call_text(call, [self._name(each) for each in (*node.children, *keys)])
        return text if node.filter is None else f"{text} FILTER (WHERE {self._name(node.filter)})"

    def _order_by(self, orders: Sequence[Order]) -> str:
        return order_by_text(orders, [self._name(each.expression) for each in orders])

    def _window(self) -> str:
        node = self._node
        keys = ", ".join(['"row"', *map(self._name, node.partitions)])
        start, end = self._bound(node.start), self._bound(node.end)
        exclude = f" EXCLUDE {node.exclude}" if node.exclude != "NO OTHERS" else ""
        frame = f"{node.unit} BETWEEN {start} AND {end}{exclude}"
        return " ".join(filter(None, (f"PARTITION BY {keys}", self._order_by(node.orders), frame)))

    def _bound(self, bound: FrameBound) -> str:
        if bound.offset is None:
            return bound.kind
        offset = range_offset(bound.offset) if self._node.unit == "RANGE" else bound.offset
        if offset is None:
            raise NotSupported("The distance of a RANGE frame is not understood.")
        return f"{_known(self._name(offset), offset)} {bound.kind}"


def _known(text: str, node: Expression) -> str:
    """A bound of a frame; of NULL DuckDB would take whatever number lies below it."""
    if is_constant(node):
        return text
    error = "error('Invalid Input Error: The bound of a window frame must not be NULL')"
    return f"CASE WHEN {text} IS NULL THEN CAST({error} AS {node.type}) ELSE {text} END"
