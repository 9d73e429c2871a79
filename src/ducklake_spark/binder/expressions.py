"""Bound expressions: names are places in the rows below, and every implicit cast is written out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ducklake_spark.binder.types import BOOLEAN, BoundType

ComparisonKind = Literal[
    "=", "<>", "<", ">", "<=", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"
]


@dataclass(frozen=True, slots=True)
class Ref:
    """The column at a place of the rows that the operator reads."""

    index: int
    type: BoundType


@dataclass(frozen=True, slots=True)
class OuterColumn:
    """A column that is still named by its table's number: in lateral table functions."""

    table: int
    column: int
    type: BoundType


@dataclass(frozen=True, slots=True)
class Constant:
    """A value as DuckDB serialises it; None for NULL.

    Numbers of 128 bits are Python integers, DECIMALs their unscaled integer, times and dates their
    count of the type's unit, lists and structs tuples of `Constant`.
    """

    value: Any
    type: BoundType


@dataclass(frozen=True, slots=True)
class Cast:
    """A cast, implicit or not."""

    child: Expression
    type: BoundType
    is_try: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of two values of one type."""

    kind: ComparisonKind
    left: Expression
    right: Expression

    @property
    def type(self) -> BoundType:
        """BOOLEAN."""
        return BOOLEAN


@dataclass(frozen=True, slots=True)
class Conjunction:
    """AND or OR of two and more."""

    kind: Literal["AND", "OR"]
    children: tuple[Expression, ...]

    @property
    def type(self) -> BoundType:
        """BOOLEAN."""
        return BOOLEAN


@dataclass(frozen=True, slots=True)
class Between:
    """Whether a value lies between two others."""

    child: Expression
    lower: Expression
    upper: Expression
    includes_lower: bool = True
    includes_upper: bool = True

    @property
    def type(self) -> BoundType:
        """BOOLEAN."""
        return BOOLEAN


@dataclass(frozen=True, slots=True)
class Case:
    """CASE with conditions; the parser has made them of the short form."""

    checks: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression
    type: BoundType


OperatorKind = Literal[
    "IN", "NOT IN", "NOT", "IS NULL", "IS NOT NULL", "COALESCE", "TRY", "NULLIF", "ARRAY_EXTRACT",
    "ARRAY_SLICE", "STRUCT_EXTRACT", "ARRAY_CONSTRUCTOR", "UNPACK",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Operator:
    """What DuckDB calls an operator expression."""

    kind: OperatorKind
    children: tuple[Expression, ...]
    type: BoundType


@dataclass(frozen=True, slots=True)
class Lambda:
    """The body of a lambda, over its parameters (in reverse) and then what it captures.

    ``Ref(0)`` is the last parameter. Captured values are the children of the call after the list.
    """

    body: Expression
    parameters: int


@dataclass(frozen=True, slots=True)
class Function:
    """A call of a scalar function, its overload chosen.

    Attributes:
        name: DuckDB's, as it is registered: operators are functions too (``+``, ``~~``, ``||``).
        arguments: the types of the chosen overload.
        bind_data: what the binder has taken out of the arguments, as DuckDB serialises it. What is
            not understood there must be refused.
        body: of a function that takes a lambda.
        location: in the user's text, for error messages; -1 if there is none.
    """

    name: str
    children: tuple[Expression, ...]
    arguments: tuple[BoundType, ...]
    type: BoundType
    bind_data: Mapping[str, Any] = field(default_factory=dict)
    body: Lambda | None = None
    location: int = -1


@dataclass(frozen=True, slots=True)
class Order:
    """One key of an ORDER BY."""

    expression: Expression
    is_descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A call of an aggregate function."""

    name: str
    children: tuple[Expression, ...]
    arguments: tuple[BoundType, ...]
    type: BoundType
    is_distinct: bool = False
    filter: Expression | None = None
    orders: tuple[Order, ...] = ()
    bind_data: Mapping[str, Any] = field(default_factory=dict)
    location: int = -1


@dataclass(frozen=True, slots=True)
class FrameBound:
    """One end of a window's frame."""

    kind: Literal[
        "UNBOUNDED PRECEDING", "UNBOUNDED FOLLOWING", "CURRENT ROW", "PRECEDING", "FOLLOWING"
    ]
    offset: Expression | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """A window function with its window.

    Attributes:
        kind: ``AGGREGATE`` (then `name` is an aggregate's), else the function: ``ROW_NUMBER``,
            ``RANK``, ``DENSE_RANK``, ``PERCENT_RANK``, ``CUME_DIST``, ``NTILE``, ``LAG``, ``LEAD``,
            ``FIRST_VALUE``, ``LAST_VALUE``, ``NTH_VALUE``, ``FILL``.
        argument_orders: ORDER BY inside the parentheses of the call.
        offset: of LAG and LEAD; `default` too.
        exclude: ``NO OTHERS``, ``CURRENT ROW``, ``GROUP`` or ``TIES``.
    """

    kind: str
    name: str
    children: tuple[Expression, ...]
    type: BoundType
    partitions: tuple[Expression, ...]
    orders: tuple[Order, ...]
    unit: Literal["ROWS", "RANGE", "GROUPS"]
    start: FrameBound
    end: FrameBound
    exclude: str = "NO OTHERS"
    filter: Expression | None = None
    offset: Expression | None = None
    default: Expression | None = None
    ignores_nulls: bool = False
    is_distinct: bool = False
    argument_orders: tuple[Order, ...] = ()
    bind_data: Mapping[str, Any] = field(default_factory=dict)
    location: int = -1


@dataclass(frozen=True, slots=True)
class Unnest:
    """unnest() of a list, in an operator of its own."""

    child: Expression
    type: BoundType


Expression = (
    Ref
    | OuterColumn
    | Constant
    | Cast
    | Comparison
    | Conjunction
    | Between
    | Case
    | Operator
    | Function
    | Aggregate
    | Window
    | Unnest
)


def children_of(node: Expression) -> tuple[Expression, ...]:
    """The expressions directly inside, without those of aggregates' and windows' clauses."""
    match node:
        case Cast() | Unnest():
            return (node.child,)
        case Comparison():
            return (node.left, node.right)
        case Between():
            return (node.child, node.lower, node.upper)
        case Case():
            return (*(each for check in node.checks for each in check), node.otherwise)
        case Conjunction() | Operator() | Function() | Aggregate() | Window():
            return node.children
        case _:
            return ()


def clauses_of(node: Expression) -> tuple[Expression, ...]:
    """`children_of` and what stands in the clauses of an aggregate or window."""
    match node:
        case Aggregate():
            extra = [node.filter, *(o.expression for o in node.orders)]
        case Window():
            extra = [
                node.filter,
                node.offset,
                node.default,
                node.start.offset,
                node.end.offset,
                *node.partitions,
                *(o.expression for o in (*node.orders, *node.argument_orders)),
            ]
        case _:
            extra = []
    return (*children_of(node), *(each for each in extra if each is not None))


def walk(node: Expression) -> Iterator[Expression]:
    """The expression and everything inside it; bodies of lambdas are not entered."""
    yield node
    for child in clauses_of(node):
        yield from walk(child)


def refs_of(node: Expression) -> frozenset[int]:
    """The places of the rows below that an expression reads."""
    return frozenset(each.index for each in walk(node) if isinstance(each, Ref))


def is_constant(node: Expression) -> bool:
    """Whether an expression reads no row."""
    return not any(isinstance(each, Ref | OuterColumn) for each in walk(node))
