"""Expressions that read no row: DuckDB evaluates them when a query is planned."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from datetime import date
from typing import Any, Final

from ducklake_spark import caching
from ducklake_spark.binder.expressions import Cast, Constant, Expression, Function
from ducklake_spark.binder.types import INTEGERS, BoundType, list_of, simple
from ducklake_spark.binder.types import struct_of as struct
from ducklake_spark.errors import DuckLakeError, NotSupported
from ducklake_spark.translate.casts import range_of
from ducklake_spark.translate.constants import literal_from_value, spark_literal
from ducklake_spark.translate.engine_calls import Evaluate, Setting
from ducklake_spark.translate.engine_text import (
    SESSION,
    STATEMENT,
    EngineText,
    nature_of,
)
from ducklake_spark.translate.failures import raising_error
from ducklake_spark.translate.fragments import Fragment
from ducklake_spark.translate.types import cast_text, null_text, quote_text

_VARCHAR: Final = simple("VARCHAR")
_DATE: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
# Of an infinite time the number of microseconds is NULL for DuckDB.
_MICROS: Final = f"""CASE WHEN answer = TIMESTAMPTZ 'infinity' THEN {2**63 - 1}
    WHEN answer = TIMESTAMPTZ '-infinity' THEN {1 - 2**63} ELSE epoch_us(answer) END"""
_EPOCH: Final = date(1970, 1, 1)
_EXACT: Final = 2**53
_EXACT_POWER: Final = 22  # of ten, as a double
_FEW: Final = 20  # up to so many constants are asked for one by one
_TOGETHER: Final = 2_000  # constants in one question

_FOLDED: Final = caching.declare(
    "folded constants",
    key="DuckDB's settings and the text of the expression",
    depends_on="its key alone: what depends on the statement or the session is not kept",
    seen_by="process",
    emptied="never",
    entries=4_096,
).make()


class Folding:
    """Evaluates expressions in DuckDB.

    Args:
        evaluate: runs a SELECT.
        settings: of DuckDB, with their values.

    Attributes:
        is_repeatable: whether all answers so far are the same in another statement.
    """

    def __init__(self, evaluate: Evaluate, settings: tuple[Setting, ...]) -> None:
        self._evaluate = evaluate
        self._settings = settings
        self._now = f"make_timestamptz({time.time_ns() // 1000})"
        self.is_repeatable = True

    def literal(self, node: Expression) -> Fragment | None:
        """Spark's literal of the value, or an expression that raises what DuckDB raises.

        None for what has to be computed in a task; NotSupported for what cannot be written.
        """
        try:
            return self._ask(self.text(node), node)
        except NotSupported:
            raise
        except DuckLakeError as error:
            return raising_error(error, node.type)

    def literals(self, nodes: Sequence[Expression]) -> list[str | None]:
        """Spark's literals of many expressions of one type, with few questions to DuckDB.

        None for each that has to be looked at by itself.
        """
        found = [literal_by_itself(node) for node in nodes]
        asked = [at for at, literal in enumerate(found) if literal is None]
        if len(asked) < _FEW:
            return found
        for start in range(0, len(asked), _TOGETHER):
            places = asked[start : start + _TOGETHER]
            for at, literal in zip(places, self._together([nodes[p] for p in places]), strict=True):
                found[at] = literal
        return found

    def _together(self, nodes: Sequence[Expression]) -> Sequence[str | None]:
        """The literals by one question; nothing if one of them cannot be answered so."""
        nothing = [None] * len(nodes)
        natures = map(nature_of, nodes)
        if not all(nature.is_constant and not nature.is_volatile for nature in natures):
            return nothing
        kind = nodes[0].type
        form = _by_text(kind)
        try:
            texts = f"[{', '.join(map(self.text, nodes))}]"
            check = f"typeof({texts}) = typeof({cast_text('NULL', list_of(kind))})"
            if form is None or not self._evaluate(f"SELECT {check}")[0]:
                return nothing
            (values,) = self._evaluate(f"SELECT {cast_text(texts, list_of(form))}")
            return [literal_from_value(value, kind) for value in values]
        except DuckLakeError:
            return nothing

    def text(self, node: Expression) -> str:
        """DuckDB's SQL of an expression that reads no row."""
        return EngineText(self.known).of(node)

    def known(self, node: Expression) -> str | None:
        """DuckDB's SQL of what is known by now: the time, and what the session says."""
        if not isinstance(node, Function) or node.name not in (SESSION | STATEMENT.keys()):
            return None
        self.is_repeatable = False
        if node.name in STATEMENT:
            return STATEMENT[node.name].format(now=self._now)
        inside = EngineText(self.known, lambda _: None)
        arguments = ", ".join(inside.of(child) for child in node.children)
        value = self._evaluate(f'SELECT CAST("{node.name}"({arguments}) AS VARCHAR)')[0]
        return null_text(node.type) if value is None else cast_text(quote_text(value), node.type)

    def _ask(self, text: str, node: Expression) -> Fragment | None:
        plain = _plain(text, node.type)
        if plain is None:
            return None
        check = f"typeof(answer) = typeof({cast_text('NULL', node.type)})"
        query = f"SELECT {plain}, {check} FROM (SELECT {text} AS answer)"

        def ask() -> Fragment:
            value, fits = self._evaluate(query)
            if not fits and node.type.id != "NULL":
                raise NotSupported(f"DuckDB gives another type than {node.type} for {text}.")
            return Fragment((literal_from_value(value, node.type),))

        if not nature_of(node).is_repeatable:
            return ask()
        answer: Fragment = _FOLDED.find((self._settings, query), ask)
        return answer


def _plain(text: str, kind: BoundType) -> str | None:
    """DuckDB's SQL of the value ``answer`` as Python reads it without loss, if there is one."""
    if kind.id == "TIMESTAMP WITH TIME ZONE":
        return _MICROS
    if kind.id == "MAP":
        entry = struct([("key", kind.key), ("value", kind.value)])
        plain = _by_text(list_of(entry))
        return None if plain is None else cast_text("map_entries(answer)", plain)
    form = _by_text(kind)
    return None if form is None else cast_text("answer", form)


def _by_text(kind: BoundType) -> BoundType | None:
    """The type with VARCHAR for each scalar; None if something is lost so."""
    match kind.id:
        case "LIST" | "ARRAY":
            child = _by_text(kind.element)
            return None if child is None else list_of(child)
        case "STRUCT" if kind.fields and kind.fields[0][0]:
            inner = [(name, _by_text(child)) for name, child in kind.fields]
            known = [(name, child) for name, child in inner if child is not None]
            return struct(known) if len(known) == len(inner) else None
        case "STRUCT" | "MAP" | "TIMESTAMP WITH TIME ZONE":
            return None
        case "BLOB":
            return kind
        case _:
            return _VARCHAR


def literal_by_itself(node: Expression) -> str | None:
    """Spark's literal of a constant, or of casts of one, where nobody needs to be asked."""
    simpler = folded_by_itself(node)
    return None if simpler is None else spark_literal(simpler)


def folded_by_itself(node: Expression) -> Constant | None:
    """The constant that a cast of a constant is, where nobody needs to be asked."""
    if isinstance(node, Constant):
        return node
    if not isinstance(node, Cast):
        return None
    child = folded_by_itself(node.child)
    if child is None:
        return None
    if child.value is None or child.type == node.type:
        return Constant(child.value, node.type)
    value = _converted(child, node.type)
    return None if value is None else Constant(value, node.type)


def _converted(child: Constant, kind: BoundType) -> Any:
    if child.type.id in INTEGERS:
        return _converted_integer(int(child.value), kind)
    if child.type.id == "DECIMAL":
        return _converted_decimal(int(child.value), child.type, kind)
    if child.type.id == "VARCHAR" and kind.id == "DATE":
        return _converted_date(str(child.value))
    if child.type.id == "VARCHAR" and kind.id == "BOOLEAN":
        return {"t": True, "f": False}.get(child.value)
    return None


def _converted_integer(value: int, kind: BoundType) -> Any:
    if kind.id in INTEGERS:
        low, high = range_of(kind.id)
        return value if low <= value <= high else None
    if kind.id == "DECIMAL":
        unscaled = value * 10**kind.scale
        return unscaled if abs(unscaled) < 10**kind.width else None
    return float(value) if kind.id == "DOUBLE" and abs(value) <= _EXACT else None


def _converted_decimal(unscaled: int, source: BoundType, kind: BoundType) -> Any:
    if kind.id == "DOUBLE" and abs(unscaled) <= _EXACT and source.scale <= _EXACT_POWER:
        return unscaled / 10**source.scale
    if kind.id == "DECIMAL" and kind.scale >= source.scale:
        found = unscaled * 10 ** (kind.scale - source.scale)
        return found if abs(found) < 10**kind.width else None
    return None


def _converted_date(text: str) -> int | None:
    found = _DATE.fullmatch(text)
    try:
        return (date(*map(int, found.groups())) - _EPOCH).days if found else None
    except ValueError:
        return None
