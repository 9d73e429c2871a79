"""Bound expressions to Spark SQL: natively where Spark's answer is DuckDB's, else by DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ducklake_spark.binder.expressions import (
    Between,
    Case,
    Cast,
    Comparison,
    Conjunction,
    Constant,
    Expression,
    Function,
    Operator,
    Ref,
    children_of,
)
from ducklake_spark.binder.types import BoundType
from ducklake_spark.errors import NotSupported
from ducklake_spark.translate.casts import native_cast
from ducklake_spark.translate.comparisons import native_comparison, native_in
from ducklake_spark.translate.engine_calls import EngineCalls, Evaluate, Setting
from ducklake_spark.translate.engine_text import EngineText, Nature, nature_of
from ducklake_spark.translate.failures import raising
from ducklake_spark.translate.folding import Folding, literal_by_itself
from ducklake_spark.translate.fragments import Fragment, joined, sql
from ducklake_spark.translate.functions import SCALARS
from ducklake_spark.translate.rules import Call
from ducklake_spark.translate.types import is_ordered_in_spark

Columns = Sequence[Fragment]
_LABELS: Final = {"IN": "in", "NOT IN": "not_in", "TRY": "try"}


class Expressions:
    """Translates the expressions of one query.

    Args:
        evaluate: runs a SELECT without tables in DuckDB, when the query is planned.
        time_zone: of the session, which DuckDB has too.
        settings: further settings of DuckDB that answers depend on, with their values.

    Attributes:
        engine: what DuckDB has to compute in tasks.
        folding: what it computes when the query is planned.
    """

    def __init__(
        self, evaluate: Evaluate, time_zone: str = "UTC", settings: Sequence[Setting] = ()
    ) -> None:
        everything = (("TimeZone", time_zone), *settings)
        self.engine = EngineCalls(evaluate, everything)
        self.folding = Folding(evaluate, everything)
        self._time_zone = time_zone
        # By the identity of a node, which is held so that no other gets it.
        self._refused: dict[int, tuple[Expression, NotSupported]] = {}
        self._natures: dict[int, tuple[Expression, Nature]] = {}

    def scalar(self, node: Expression, columns: Columns) -> Fragment:
        """Spark SQL of an expression over columns; NotSupported where nobody can compute it."""
        if isinstance(node, Ref):
            return columns[node.index]
        if isinstance(node, Constant | Cast) and (known := literal_by_itself(node)) is not None:
            return Fragment((known,))
        if isinstance(node, Cast) and _is_error(node):
            return self._error(node, columns)
        nature = self._nature(node)
        if nature.is_volatile:  # a template may name its argument more than once
            return self._by_engine(node, columns)
        if nature.is_constant:
            folded = self.folding.literal(node)
            if folded is not None:
                return folded
        return self._computed(node, columns)

    def ordering(
        self, value: Fragment, kind: BoundType, *, is_descending: bool, nulls_first: bool
    ) -> Fragment:
        """A key of ORDER BY, with its direction, that sorts values of a type as DuckDB does.

        What Spark would sort otherwise is sorted by DuckDB's own binary key.
        """
        words = f"{'DESC' if is_descending else 'ASC'} NULLS {'FIRST' if nulls_first else 'LAST'}"
        if is_ordered_in_spark(kind):
            return sql(f"{{}} {words}", value)
        # With a text behind it the key is bytes for every type, and not a number for small ones.
        text = f"create_sort_key(a0, '{words}', '', 'ASC NULLS LAST')"
        key = self.engine.call("sort_key", text, [(value, kind)], BoundType("BLOB"))
        return sql("{} ASC", key)

    def _nature(self, node: Expression) -> Nature:
        known = self._natures.get(id(node))
        if known is not None:
            return known[1]
        found = nature_of(node, [self._nature(child) for child in children_of(node)])
        self._natures[id(node)] = (node, found)
        return found

    def _computed(self, node: Expression, columns: Columns) -> Fragment:
        """An answer for each row; what was refused once is refused again without a look."""
        if (refused := self._refused.get(id(node))) is not None:
            raise refused[1]
        before = self.engine.uses, self.engine.calls
        try:
            native = self._native(node, columns)
        except NotSupported:
            native = None
        if native is not None:
            return native
        self.engine.rewind(*before)
        try:
            return self._by_engine(node, columns)
        except NotSupported as error:
            self._refused[id(node)] = (node, error)
            raise

    # --- natively -----------------------------------------------------------------------------

    def _native(self, node: Expression, columns: Columns) -> Fragment | None:
        match node:
            case Cast():
                return self._cast(node, columns)
            case Comparison():
                left, right = self.scalar(node.left, columns), self.scalar(node.right, columns)
                return native_comparison(node.kind, left, right, node.left.type)
            case Between():
                return self._between(node, columns)
            case Conjunction(kind="AND"):
                return self._and(node, columns)
            case Conjunction():
                return self._without_calls(node.children, "({})", " OR ", columns)
            case Case():
                return self._case(node, columns)
            case Operator():
                return self._operator(node, columns)
            case Function():
                return self._function(node, columns)
            case _:
                return None

    def _cast(self, node: Cast, columns: Columns) -> Fragment | None:
        value = self.scalar(node.child, columns)
        return native_cast(
            value, node.child.type, node.type, is_try=node.is_try, time_zone=self._time_zone
        )

    def _between(self, node: Between, columns: Columns) -> Fragment | None:
        value, lower, upper = (
            self.scalar(each, columns) for each in (node.child, node.lower, node.upper)
        )
        above = ">=" if node.includes_lower else ">"
        below = "<=" if node.includes_upper else "<"
        if not is_ordered_in_spark(node.child.type):
            return None
        return sql(f"({{0}} {above} {{1}} AND {{0}} {below} {{2}})", value, lower, upper)

    def _without_calls(
        self, nodes: Sequence[Expression], template: str, separator: str, columns: Columns
    ) -> Fragment | None:
        """What computes all parts but the first for some rows only.

        Spark has DuckDB compute a call for all rows of a batch: where that might raise an error for
        rows that do not reach it, DuckDB computes the whole.
        """
        first = self.scalar(nodes[0], columns)
        uses = self.engine.uses
        parts = [first, *(self.scalar(node, columns) for node in nodes[1:])]
        return sql(template, joined(separator, parts)) if self.engine.uses == uses else None

    def _and(self, node: Conjunction, columns: Columns) -> Fragment:
        """Spark asks the parts without a call first; parts with one are a single call."""
        native: list[Fragment] = []
        called: list[Expression] = []
        single: list[Fragment] = []
        for child in node.children:
            before = self.engine.uses
            found = self.scalar(child, columns)
            if self.engine.uses == before:
                native.append(found)
            else:
                called.append(child)
                single.append(found)
        if len(called) > 1:
            single = [self._by_engine(Conjunction("AND", tuple(called)), columns)]
        parts = [*native, *single]
        return sql("({})", joined(" AND ", parts))

    def _case(self, node: Case, columns: Columns) -> Fragment | None:
        nodes = [*(each for check in node.checks for each in check), node.otherwise]
        first = self.scalar(nodes[0], columns)
        uses = self.engine.uses
        parts = [first, *(self.scalar(each, columns) for each in nodes[1:])]
        checks = "WHEN {} THEN {} " * len(node.checks)
        return sql(f"CASE {checks}ELSE {{}} END", *parts) if self.engine.uses == uses else None

    def _operator(self, node: Operator, columns: Columns) -> Fragment | None:
        match node.kind:
            case "NOT":
                return sql("(NOT {})", self.scalar(node.children[0], columns))
            case "IS NULL" | "IS NOT NULL":
                return sql(f"({{}} {node.kind})", self.scalar(node.children[0], columns))
            case "COALESCE":
                return self._without_calls(node.children, "coalesce({})", ", ", columns)
            case "IN" | "NOT IN":
                return self._in(node, columns)
            case _:
                return None

    def _in(self, node: Operator, columns: Columns) -> Fragment | None:
        """Long lists of constants are evaluated together."""
        first, *others = node.children
        value = self.scalar(first, columns)
        known = self.folding.literals(others)
        choices = [
            self.scalar(other, columns) if literal is None else Fragment((literal,))
            for other, literal in zip(others, known, strict=True)
        ]
        return native_in(value, choices, first.type, negated=node.kind == "NOT IN")

    def _function(self, node: Function, columns: Columns) -> Fragment | None:
        rule = SCALARS.get(node.name)
        if rule is None or node.body is not None:
            return None
        arguments = tuple(self.scalar(child, columns) for child in node.children)
        types = tuple(child.type for child in node.children)
        told = (node.name, arguments, types, node.type, node.children, node.bind_data)
        return rule(Call(*told, time_zone=self._time_zone))

    def _error(self, node: Cast, columns: Columns) -> Fragment:
        inner: Expression = node
        while isinstance(inner, Cast):
            inner = inner.child
        message = self.scalar(children_of(inner)[0], columns)
        return raising(sql("concat('Invalid Input Error: ', {})", message), node.type)

    # --- by DuckDB ----------------------------------------------------------------------------

    def _by_engine(self, node: Expression, columns: Columns) -> Fragment:
        """DuckDB computes the whole expression; what it cannot tell is computed by Spark before."""
        known: dict[tuple[Fragment, BoundType], str] = {}

        def argument(value: Fragment, kind: BoundType) -> str:
            return known.setdefault((value, kind), f"a{len(known)}")

        def leaf(each: Expression) -> str | None:
            if isinstance(each, Ref):
                return argument(columns[each.index], each.type)
            return self.folding.known(each)

        def cut(each: Expression) -> str | None:
            if each is node:
                return None
            try:
                return argument(self.scalar(each, columns), each.type)
            except NotSupported:
                return None

        text = _reached(node, EngineText(leaf, cut))
        volatile = self._nature(node).is_volatile
        return self.engine.call(_label(node), text, list(known), node.type, is_volatile=volatile)


def _reached(node: Expression, writer: EngineText) -> str:
    """The text of a condition: as in a filter, what decides leaves the rest uncomputed."""
    if not isinstance(node, Conjunction):
        return writer.of(node)
    *firsts, text = (_reached(child, writer) for child in node.children)
    for first in reversed(firsts):
        decided = f"WHEN {first} THEN true" if node.kind == "OR" else f"WHEN NOT {first} THEN false"
        text = f"(CASE {decided} ELSE ({first} {node.kind} {text}) END)"
    return text


def _is_error(node: Expression) -> bool:
    """A call of error(), which the binder casts to the type that is needed."""
    if not isinstance(node, Cast):
        return False
    child = node.child
    return _is_error(child) or (isinstance(child, Function) and child.name == "error")


def _label(node: Expression) -> str:
    match node:
        case Function():
            return node.name
        case Cast():
            return f"{'try_' if node.is_try else ''}cast_to_{node.type.id}"
        case Operator():
            return _LABELS.get(node.kind, node.kind)
        case _:
            return type(node).__name__
