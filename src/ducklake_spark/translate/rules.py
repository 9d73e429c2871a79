"""What a rule of the function registry sees of a call, and where it stands.

The registry denies by default: a call reaches Spark by a rule that gives DuckDB's very answer, else
DuckDB itself computes it inside Spark's tasks, else the query is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ducklake_spark.binder.expressions import Aggregate, Cast, Constant, Expression, Function
from ducklake_spark.binder.types import BoundType
from ducklake_spark.translate.fragments import Fragment


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a scalar function whose arguments are Spark SQL already.

    Attributes:
        arguments: Spark SQL of the arguments, whose carriers are those of `types`.
        types: of the arguments, as they are (not as the overload declares them).
        nodes: the bound arguments, for rules that look for constants.
    """

    name: str
    arguments: tuple[Fragment, ...]
    types: tuple[BoundType, ...]
    type: BoundType
    nodes: tuple[Expression, ...] = ()
    bind_data: Mapping[str, Any] = field(default_factory=dict)

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
    """A call of an aggregate. Spark's text is `function` + FILTER or OVER + what `finish` makes."""

    node: Aggregate
    arguments: tuple[Fragment, ...]
    types: tuple[BoundType, ...]
    orders: Fragment | None


@dataclass(frozen=True, slots=True)
class AggregateText:
    """Spark SQL of an aggregate: ``function`` with a ``{}`` where FILTER or OVER stands.

    An answer may need several aggregates: the template has one ``{}`` behind each of them, and
    `template` is completed by the same clause everywhere.
    """

    template: str
    parts: tuple[Fragment, ...] = ()


AggregateRule = Callable[[AggregateCall], "AggregateText | None"]


def is_function(node: Expression, name: str) -> bool:
    """Whether an expression is a call of that function."""
    return isinstance(node, Function) and node.name == name
