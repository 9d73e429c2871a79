"""What a rule of the function registry sees of a call, and where it stands.

The registry denies by default: a call reaches Spark by a rule that gives DuckDB's very answer, else
DuckDB itself computes it inside Spark's tasks, else the query is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ducklake_spark.binder.expressions import Aggregate, Cast, Constant, Expression, Function
from ducklake_spark.binder.types import BoundType
from ducklake_spark.translate.fragments import EMPTY, Fragment, sql


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a scalar function whose arguments are Spark SQL already.

    Attributes:
        arguments: Spark SQL of the arguments, whose carriers are those of `types`.
        types: of the arguments, as they are (not as the overload declares them).
        nodes: the bound arguments, for rules that look for constants.
        time_zone: of the session.
    """

    name: str
    arguments: tuple[Fragment, ...]
    types: tuple[BoundType, ...]
    type: BoundType
    nodes: tuple[Expression, ...] = ()
    bind_data: Mapping[str, Any] = field(default_factory=dict)
    time_zone: str = ""

    def constant(self, index: int) -> Constant | None:
        """The argument if it is a constant, under any casts that keep a number or a text."""
        node = self.nodes[index] if index < len(self.nodes) else None
        while isinstance(node, Cast) and node.type.id in _KEEPING:
            node = node.child
        return node if isinstance(node, Constant) else None

    def ids(self) -> tuple[str, ...]:
        """The names of the argument types."""
        return tuple(each.id for each in self.types)


_KEEPING = frozenset({"INTEGER", "BIGINT", "HUGEINT", "VARCHAR"})

Rule = Callable[[Call], Fragment | None]
"""Spark SQL for a call; None where Spark would answer otherwise than DuckDB."""

Rules = dict[str, Rule]
"""By the function's name."""


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """A call of an aggregate whose arguments are Spark SQL already.

    Attributes:
        arguments: Spark SQL, NULL in the rows that `mask` leaves out.
        orders: the keys of ORDER BY inside the call, in the places of ``node.orders``.
        clause: what stands behind each aggregate function of Spark: FILTER, OVER, or nothing.
        mask: which rows count, where a clause cannot say it.
    """

    node: Aggregate
    arguments: tuple[Fragment, ...]
    orders: tuple[Fragment, ...] = ()
    clause: Fragment = EMPTY
    mask: Fragment | None = None
    is_window: bool = False

    @property
    def argument(self) -> Fragment:
        """The first argument."""
        return self.arguments[0]

    @property
    def type(self) -> BoundType:
        """Of the first argument."""
        return self.node.children[0].type

    @property
    def distinct(self) -> str:
        """The word DISTINCT, if the call has it."""
        return "DISTINCT " if self.node.is_distinct else ""

    def run(self, template: str, *parts: Fragment | str) -> Fragment:
        """An aggregate function of Spark with the clause of this call behind it."""
        found = sql(template, *parts)
        return sql("{} {}", found, self.clause) if self.clause.pieces else found

    def kept(self, value: Fragment | str) -> Fragment:
        """A value of a row, NULL if the row does not count."""
        if self.mask is None:
            return sql("{}", value)
        return sql("CASE WHEN {} THEN {} END", self.mask, value)


AggregateRule = Callable[[AggregateCall], "Fragment | None"]
"""Spark SQL for a call of an aggregate; None where Spark would answer otherwise than DuckDB."""

AggregateRules = dict[str, AggregateRule]
"""By the function's name."""


class Engine(Protocol):
    """DuckDB inside Spark's tasks."""

    def call(
        self,
        label: str,
        text: str,
        arguments: Sequence[tuple[Fragment, BoundType]],
        result: BoundType,
    ) -> Fragment:
        """Spark SQL for DuckDB's SQL over arguments that it calls a0, a1 and so on."""
        ...

    def over_rows(
        self,
        label: str,
        text: str,
        arguments: Sequence[tuple[Fragment, BoundType]],
        result: BoundType,
    ) -> Fragment:
        """Spark SQL for a SELECT of DuckDB's from all rows of a batch."""
        ...


class Expressions(Protocol):
    """What says scalar expressions in Spark SQL."""

    @property
    def engine(self) -> Engine:
        """For what DuckDB has to compute."""
        ...

    def scalar(self, node: Expression, columns: Sequence[Fragment]) -> Fragment:
        """Spark SQL of an expression over the columns of the rows below."""
        ...

    def ordering(
        self, value: Fragment, kind: BoundType, *, is_descending: bool, nulls_first: bool
    ) -> Fragment:
        """A key of ORDER BY with its direction."""
        ...


def is_function(node: Expression, name: str) -> bool:
    """Whether an expression is a call of that function."""
    return isinstance(node, Function) and node.name == name
