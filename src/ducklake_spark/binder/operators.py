"""Bound operators: the small algebra that a query is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Literal

from ducklake_spark.binder.expressions import (
    Aggregate,
    Comparison,
    Constant,
    Expression,
    Order,
    Unnest,
    Window,
)
from ducklake_spark.binder.types import BIGINT, BOOLEAN, BoundType

JoinKind = Literal["INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI", "MARK", "SINGLE"]
ROW_ID = 2**64 - 1  # the index of a table's row id; also where no column is read


@dataclass(frozen=True, slots=True)
class Get:
    """A table of the mirror.

    Attributes:
        columns: names in the table, in the order of the rows that come out; None for the row id
            (or for rows of which nothing is read).
    """

    catalog: str
    schema: str
    table: str
    columns: tuple[str | None, ...]
    types: tuple[BoundType, ...]


@dataclass(frozen=True, slots=True)
class TableFunction:
    """A function in FROM.

    Attributes:
        columns: the places of its result that come out.
        projected_input: for a function over rows (a child): the places of the child's rows that
            come out after the function's own.
    """

    name: str
    parameters: tuple[Constant, ...]
    named_parameters: Mapping[str, Constant]
    names: tuple[str, ...]
    types: tuple[BoundType, ...]
    columns: tuple[int, ...]
    child: Plan | None = None
    projected_input: tuple[int, ...] = ()
    with_ordinality: bool = False
    bind_data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DummyScan:
    """One row with one column that nobody reads."""


@dataclass(frozen=True, slots=True)
class EmptyResult:
    """No rows."""

    types: tuple[BoundType, ...]


@dataclass(frozen=True, slots=True)
class Values:
    """Rows of expressions that read nothing."""

    rows: tuple[tuple[Expression, ...], ...]
    types: tuple[BoundType, ...]


@dataclass(frozen=True, slots=True)
class Projection:
    """Expressions over the rows of the child."""

    child: Plan
    expressions: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Filter:
    """The rows for which all expressions are true."""

    child: Plan
    expressions: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Join:
    """A join. MARK adds a boolean column; SINGLE is a LEFT JOIN that allows one row at most.

    Attributes:
        conditions: comparisons of which `left` is over the left rows and `right` over the right
            rows, both counted from 0.
        predicate: a further condition over left and then right rows, if there is one.
        spreads_null: whether the mark of several columns is NULL if any of them is NULL in any row,
            as DuckDB 1.x has it; otherwise only where the rest of that row is equal.
    """

    kind: JoinKind
    left: Plan
    right: Plan
    conditions: tuple[Comparison, ...] = ()
    predicate: Expression | None = None
    spreads_null: bool = True


@dataclass(frozen=True, slots=True)
class AsofJoin:
    """A join to the nearest row: the last of the conditions is the inequality.

    `predicate` is a further condition over left and then right rows, for the row that was found.
    """

    kind: JoinKind
    left: Plan
    right: Plan
    conditions: tuple[Comparison, ...]
    predicate: Expression | None = None


@dataclass(frozen=True, slots=True)
class CrossProduct:
    """All pairs of rows."""

    left: Plan
    right: Plan


@dataclass(frozen=True, slots=True)
class PositionalJoin:
    """Rows side by side by their number."""

    left: Plan
    right: Plan


@dataclass(frozen=True, slots=True)
class DelimJoin:
    """A correlated subquery: the right side reads the distinct `keys` of the left by `DelimGet`."""

    kind: JoinKind
    left: Plan
    right: Plan
    keys: tuple[Expression, ...]
    conditions: tuple[Comparison, ...]


@dataclass(frozen=True, slots=True)
class DelimGet:
    """The distinct keys of the nearest `DelimJoin` above."""

    types: tuple[BoundType, ...]


@dataclass(frozen=True, slots=True)
class Aggregation:
    """GROUP BY.

    Attributes:
        sets: places in `groups` for each grouping set; one set with all of them for a plain one.
        grouping_calls: for each GROUPING() its places in `groups`; they come last in the rows.
    """

    child: Plan
    groups: tuple[Expression, ...]
    aggregates: tuple[Aggregate, ...]
    sets: tuple[tuple[int, ...], ...]
    grouping_calls: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Windows:
    """The rows of the child with window functions behind."""

    child: Plan
    windows: tuple[Window, ...]


@dataclass(frozen=True, slots=True)
class Unnesting:
    """The rows of the child with the elements of lists behind, side by side."""

    child: Plan
    unnests: tuple[Unnest, ...]


@dataclass(frozen=True, slots=True)
class Sorting:
    """ORDER BY."""

    child: Plan
    orders: tuple[Order, ...]


@dataclass(frozen=True, slots=True)
class Bound:
    """A LIMIT or OFFSET.

    `value` is a number, or an expression that reads the rows of a subquery (a cross product below).
    """

    value: int | float | Expression
    is_percentage: bool = False


@dataclass(frozen=True, slots=True)
class Limit:
    """LIMIT and OFFSET."""

    child: Plan
    limit: Bound | None
    offset: Bound | None


@dataclass(frozen=True, slots=True)
class Distinct:
    """DISTINCT, or with `targets` DISTINCT ON by the order of `orders`."""

    child: Plan
    targets: tuple[Expression, ...] | None = None
    orders: tuple[Order, ...] = ()


@dataclass(frozen=True, slots=True)
class SetOperation:
    """UNION, INTERSECT, EXCEPT of children with the same types."""

    kind: Literal["UNION", "INTERSECT", "EXCEPT"]
    keeps_all: bool
    children: tuple[Plan, ...]


@dataclass(frozen=True, slots=True)
class Cte:
    """A common table expression and the query that uses it."""

    index: int
    name: str
    definition: Plan
    child: Plan


@dataclass(frozen=True, slots=True)
class RecursiveCte:
    """The definition of a recursive CTE: a `Cte` has it as its definition.

    Attributes:
        index: how `CteRef` names the rows of the last step.
        keys: of USING KEY; empty for the usual kind.
    """

    index: int
    name: str
    keeps_all: bool
    anchor: Plan
    step: Plan
    columns: int
    keys: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class CteRef:
    """The rows of a CTE; `is_recurring` for all rows so far in a step of USING KEY."""

    index: int
    types: tuple[BoundType, ...]
    is_recurring: bool = False


@dataclass(frozen=True, slots=True)
class Sample:
    """Some of the rows."""

    child: Plan
    size: float
    is_percentage: bool
    method: str
    seed: int | None


@dataclass(frozen=True, slots=True)
class Pivot:
    """PIVOT over rows that are grouped already: groups, a list for each aggregate, a list of keys.

    Attributes:
        groups: how many columns of the child are given on.
        keys: for each column behind them the text that its elements have in the list of keys.
        aggregates: the names of the aggregates, which the columns take in turn.
        types: of all columns.
    """

    child: Plan
    groups: int
    keys: tuple[str, ...]
    aggregates: tuple[str, ...]
    types: tuple[BoundType, ...]


Plan = (
    Get
    | TableFunction
    | DummyScan
    | EmptyResult
    | Values
    | Projection
    | Filter
    | Join
    | AsofJoin
    | CrossProduct
    | PositionalJoin
    | DelimJoin
    | DelimGet
    | Aggregation
    | Windows
    | Unnesting
    | Sorting
    | Limit
    | Distinct
    | SetOperation
    | Cte
    | RecursiveCte
    | CteRef
    | Sample
    | Pivot
)


_BELOW: Final = ("child", "left", "right", "definition", "anchor", "step", "children")


def with_inputs(plan: Plan, change: Callable[[Plan], Plan]) -> Plan:
    """The operator over changed inputs; the same object where none has changed."""
    new: dict[str, Any] = {}
    for each in fields(plan):
        value = getattr(plan, each.name) if each.name in _BELOW else None
        if isinstance(value, tuple):
            new[each.name] = tuple(map(change, value))
        elif value is not None:
            new[each.name] = change(value)
    same = all(value == getattr(plan, name) for name, value in new.items())
    return plan if same else replace(plan, **new)


def types_of(plan: Plan) -> tuple[BoundType, ...]:
    """The types of the rows that an operator gives."""
    match plan:
        case Get() | EmptyResult() | Values() | DelimGet() | CteRef() | Pivot():
            return plan.types
        case TableFunction():
            own = tuple(plan.types[index] for index in plan.columns)
            below = types_of(plan.child) if plan.child is not None else ()
            return (*own, *(below[index] for index in plan.projected_input))
        case DummyScan():
            return (BOOLEAN,)
        case Projection():
            return tuple(each.type for each in plan.expressions)
        case Join() | DelimJoin() | AsofJoin() | CrossProduct() | PositionalJoin():
            return _joined_types(plan)
        case Aggregation():
            grouping = (BIGINT,) * len(plan.grouping_calls)
            return (*(each.type for each in (*plan.groups, *plan.aggregates)), *grouping)
        case Windows() | Unnesting():
            added = plan.windows if isinstance(plan, Windows) else plan.unnests
            return (*types_of(plan.child), *(each.type for each in added))
        case _:
            return types_of(_first_child(plan))


def _joined_types(
    plan: Join | DelimJoin | AsofJoin | CrossProduct | PositionalJoin,
) -> tuple[BoundType, ...]:
    left = types_of(plan.left)
    kind = "INNER" if isinstance(plan, CrossProduct | PositionalJoin) else plan.kind
    if kind in ("SEMI", "ANTI"):
        return left
    return (*left, BOOLEAN) if kind == "MARK" else (*left, *types_of(plan.right))


def _first_child(
    plan: SetOperation | RecursiveCte | Cte | Filter | Sorting | Limit | Distinct | Sample,
) -> Plan:
    """The operator below that has the same columns."""
    match plan:
        case SetOperation():
            return plan.children[0]
        case RecursiveCte():
            return plan.anchor
        case _:
            return plan.child
