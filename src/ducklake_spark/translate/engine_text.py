"""DuckDB's SQL of a bound expression: bound again it is the same expression."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

from ducklake_spark.binder.expressions import (
    Aggregate,
    Between,
    Case,
    Cast,
    Comparison,
    Conjunction,
    Constant,
    Expression,
    Function,
    Operator,
    OuterColumn,
    Ref,
    Unnest,
    Window,
    children_of,
)
from ducklake_spark.errors import NotSupported
from ducklake_spark.translate.casts import is_total
from ducklake_spark.translate.duckdb_literals import duckdb_literal
from ducklake_spark.translate.engine_arguments import extra_arguments
from ducklake_spark.translate.types import cast_text

VOLATILE: Final = frozenset({"random", "uuid", "uuidv4", "uuidv7", "gen_random_uuid"})
"""Functions that answer anew for every row."""

STATEMENT: Final = {
    "now": "{now}",
    "transaction_timestamp": "{now}",
    "get_current_timestamp": "{now}",
    "current_date": "CAST({now} AS DATE)",
    "today": "CAST({now} AS DATE)",
    "current_localtimestamp": "CAST({now} AS TIMESTAMP)",
    "current_localtime": "CAST(CAST({now} AS TIMESTAMP) AS TIME)",
    "get_current_time": "CAST({now} AS TIMETZ)",
}
"""Functions that answer the same for a whole statement, by its time."""

SESSION: Final = frozenset(
    {"current_schema", "current_schemas", "current_database", "in_search_path", "current_setting"}
)
"""Functions of which only the connection that has bound the query knows the answer."""

# What they answer is about the place where they run, or they change something there.
_REFUSED: Final = frozenset(
    {
        *("nextval", "currval", "setseed", "write_log", "sleep_ms", "stats", "vector_type"),
        *("alias", "txid_current", "current_query", "current_query_id", "current_connection_id"),
        *("current_transaction_id", "getenv", "parse_duckdb_log_message"),
    }
)
_WORD: Final = re.compile(r"\w+")
_SLICES: Final = frozenset({"array_slice", "list_slice"})
_WIDENING: Final = frozenset({"+", "-", "*", "add", "subtract", "multiply"})
_REDUCES: Final = frozenset({"list_reduce", "array_reduce", "reduce"})
_WITHOUT_INITIAL: Final = 2  # arguments of list_reduce()
_POSTFIX: Final = "!__postfix"

Leaf = Callable[[Expression], str | None]


class EngineText:
    """Writes expressions for DuckDB.

    Args:
        leaf: the text of what stands for itself: of a reference, and of whatever else shall not be
            looked into. None to go on inside.
        cut: the text of an expression that cannot be written, as something computed elsewhere;
            None if it cannot be computed there either.
    """

    def __init__(self, leaf: Leaf, cut: Leaf = lambda _: None) -> None:
        self._leaf = leaf
        self._cut = cut
        self._names = count()

    def of(self, node: Expression) -> str:
        """The text of an expression; NotSupported for what cannot be written."""
        found = self._leaf(node)
        if found is not None:
            return found
        try:
            return self._write(node)
        except NotSupported:
            cut = self._cut(node)
            if cut is None:
                raise
            return cut

    def _all(self, nodes: Sequence[Expression]) -> str:
        return ", ".join(map(self.of, nodes))

    def _write(self, node: Expression) -> str:
        match node:
            case Constant():
                return duckdb_literal(node)
            case Cast():
                return cast_text(self.of(node.child), node.type, is_try=node.is_try)
            case Comparison():
                return f"({self.of(node.left)} {node.kind} {self.of(node.right)})"
            case Conjunction():
                return f"({f' {node.kind} '.join(map(self.of, node.children))})"
            case Between():
                return self._between(node)
            case Case():
                checks = (f"WHEN {self.of(a)} THEN {self.of(b)}" for a, b in node.checks)
                return f"CASE {' '.join(checks)} ELSE {self.of(node.otherwise)} END"
            case Operator():
                return self._operator(node)
            case Function():
                return self._function(node)
            case _:
                raise NotSupported(f"{type(node).__name__} cannot be computed by DuckDB here.")

    def _between(self, node: Between) -> str:
        value = self.of(node.child)
        if node.includes_lower and node.includes_upper:  # a random value is one for both bounds
            return f"({value} BETWEEN {self.of(node.lower)} AND {self.of(node.upper)})"
        lower = f"{value} >{'=' * node.includes_lower} {self.of(node.lower)}"
        upper = f"{value} <{'=' * node.includes_upper} {self.of(node.upper)}"
        return f"({lower} AND {upper})"

    def _operator(self, node: Operator) -> str:
        match node.kind:
            case "IN" | "NOT IN":
                return f"({self.of(node.children[0])} {node.kind} ({self._all(node.children[1:])}))"
            case "NOT":
                return f"(NOT {self.of(node.children[0])})"
            case "IS NULL" | "IS NOT NULL":
                return f"({self.of(node.children[0])} {node.kind})"
            case "COALESCE" | "TRY" | "NULLIF":
                return f"{node.kind}({self._all(node.children)})"
            case _:
                raise NotSupported(f"The operator {node.kind} cannot be computed by DuckDB here.")

    def _function(self, node: Function) -> str:
        name = node.name
        if name in _REFUSED:
            raise NotSupported(f"The function {name} is not supported here.")
        if node.body is not None:
            return self._with_lambda(node)
        if name in _SLICES:
            return self._slice(node)
        extra = extra_arguments(node, [self.of(child) for child in _operands(node)])
        if extra is not None:
            return extra
        arguments = [self.of(child) for child in _operands(node)]
        if _WORD.fullmatch(name) or name == "/":  # as an operator it may be set to divide integers
            return f'"{name}"({", ".join(arguments)})'
        if name == _POSTFIX:
            return f"({arguments[0]} !)"
        if len(arguments) == 1:
            return f"({name} {arguments[0]})"
        return f"({arguments[0]} {name} {arguments[1]})"

    def _slice(self, node: Function) -> str:
        """An open bound is an empty list."""
        value, *bounds = node.children
        texts = ["" if _is_open(bound) else self.of(bound) for bound in bounds]
        if len(texts) == 3 and not texts[1]:
            texts[1] = "-"
        return f"({self.of(value)})[{':'.join(texts)}]"

    def _with_lambda(self, node: Function) -> str:
        """The parameters come in reverse in the body, and then what it captures."""
        if node.body is None or node.bind_data.keys() - {"has_initial"}:
            raise NotSupported(f"This lambda of {node.name} is not understood.")
        names = [f"p{next(self._names)}" for _ in range(node.body.parameters)]
        # An initial value of list_reduce() stands before what is captured.
        has_initial = node.name in _REDUCES and len(node.arguments) > _WITHOUT_INITIAL
        first, *values = map(self.of, node.children)
        extra, captured = (values[:1], values[1:]) if has_initial else ([], values)
        scope = dict(enumerate([*reversed(names), *captured]))
        outer, cut = self._leaf, self._cut
        self._leaf, self._cut = lambda n: scope[n.index] if isinstance(n, Ref) else None, _nothing
        try:
            body = self.of(node.body.body)
        finally:
            self._leaf, self._cut = outer, cut
        told = [first, f"lambda {', '.join(names)}: {body}", *extra]
        return f'"{node.name}"({", ".join(told)})'


def _nothing(_: Expression) -> None:
    return None


def _is_open(node: Expression) -> bool:
    return isinstance(node, Constant) and node.type.id == "LIST"


def _operands(node: Function) -> Sequence[Expression]:
    """The arguments, without the casts that the binder adds to those of decimal arithmetic.

    It widens operands to the width of the result; bound once more they would be widened again.
    """
    if node.type.id != "DECIMAL" or node.name not in _WIDENING or len(node.children) == 1:
        return node.children
    return [_not_widened(child, node.type.width) for child in node.children]


def _not_widened(node: Expression, width: int) -> Expression:
    if not isinstance(node, Cast) or node.type.width != width:
        return node
    return node.child if is_total(node.child.type, node.type) else node


@dataclass(frozen=True, slots=True)
class Nature:
    """When an expression can be computed.

    Attributes:
        is_constant: it reads no row.
        is_volatile: it may answer differently for each row, also inside lambdas.
        is_repeatable: the answer is not about the statement or the session.
    """

    is_constant: bool
    is_volatile: bool
    is_repeatable: bool


def nature_of(node: Expression, children: Sequence[Nature] | None = None) -> Nature:
    """The nature of an expression, from those of its children where they are known."""
    if children is None:
        children = [nature_of(child) for child in children_of(node)]
    name = node.name if isinstance(node, Function) else ""
    inside = children
    if isinstance(node, Function) and node.body is not None:
        inside = [*children, nature_of(node.body.body)]
    return Nature(
        all(child.is_constant for child in children) and not isinstance(node, _READING),
        name in VOLATILE or any(child.is_volatile for child in inside),
        name not in _PASSING and all(child.is_repeatable for child in inside),
    )


_READING: Final = (Ref, OuterColumn, Aggregate, Window, Unnest)
_PASSING: Final = SESSION | STATEMENT.keys()
