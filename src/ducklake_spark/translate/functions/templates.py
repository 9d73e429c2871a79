"""Small rules out of templates, and what rules ask of a call."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from typing import Final

from ducklake_spark.binder.expressions import Cast, Constant, Expression, Function
from ducklake_spark.binder.types import INTEGERS, NUMBERS, simple
from ducklake_spark.errors import InvalidValue
from ducklake_spark.model.intervals import parse_interval
from ducklake_spark.translate.fragments import Fragment, sql
from ducklake_spark.translate.rules import Call, Rule

TEXT: Final = frozenset({"VARCHAR"})
DAYS: Final = frozenset({"DATE"})
LOCAL: Final = frozenset({"TIMESTAMP"})
ZONED: Final = "TIMESTAMP WITH TIME ZONE"
_LOCAL_TYPE: Final = simple("TIMESTAMP")
DATED: Final = frozenset({"DATE", "TIMESTAMP"})
BINARY: Final = frozenset({"BLOB"})
REAL: Final = frozenset({"DOUBLE"})


def on(template: str, *kinds: Collection[str]) -> Rule:
    """Spark SQL for arguments of these types, in which ``{}`` stands for the arguments."""

    def rule(call: Call) -> Fragment | None:
        return sql(template, *call.arguments) if has_types(call, *kinds) else None

    return rule


def first_of(*rules: Rule) -> Rule:
    """The answer of the first rule that has one."""

    def rule(call: Call) -> Fragment | None:
        found = (each(call) for each in rules)
        return next((each for each in found if each is not None), None)

    return rule


def in_utc(rule: Rule) -> Rule:
    """A rule of TIMESTAMPs for those with a time zone too, where all clocks show UTC.

    In another zone both would have to know the same history of its clocks: they do not in all.
    """

    def wrapped(call: Call) -> Fragment | None:
        if ZONED not in call.ids():
            return rule(call)
        if call.time_zone != "UTC":
            return None
        found = rule(_local(call))
        return sql("CAST({} AS TIMESTAMP)", found) if found and call.type.id == ZONED else found

    return wrapped


def _local(call: Call) -> Call:
    pairs = list(zip(call.arguments, call.types, strict=True))
    return replace(
        call,
        arguments=tuple(
            sql("CAST({} AS TIMESTAMP_NTZ)", a) if t.id == ZONED else a for a, t in pairs
        ),
        types=tuple(_LOCAL_TYPE if t.id == ZONED else t for t in call.types),
        type=_LOCAL_TYPE if call.type.id == ZONED else call.type,
    )


def has_types(call: Call, *kinds: Collection[str]) -> bool:
    """Whether the call has these and no more arguments."""
    ids = call.ids()
    return len(ids) == len(kinds) and all(i in k for i, k in zip(ids, kinds, strict=True))


def text_of(call: Call, index: int) -> str | None:
    """The argument if it is a text constant."""
    found = call.constant(index)
    return found.value if found is not None and isinstance(found.value, str) else None


def number_of(call: Call, index: int) -> int | None:
    """The argument if it is a constant integer."""
    found = call.constant(index)
    is_number = found is not None and isinstance(found.value, int) and not _is_scaled(found)
    if found is None or not is_number:
        return None
    value: int = found.value
    return value if -_LARGE <= value < _LARGE or call.ids()[index] != "INTEGER" else None


def interval_of(node: Expression) -> tuple[int, int, int] | None:
    """Months, days and microseconds of a constant interval, if it is one."""
    if isinstance(node, Constant) and node.type.id == "INTERVAL" and node.value is not None:
        months, days, micros = node.value
        return months, days, micros
    if isinstance(node, Cast) and node.type.id == "INTERVAL":
        return _interval_of_text(node.child)
    if isinstance(node, Function) and node.name in _UNITS and len(node.children) == 1:
        count = _whole(node.children[0])
        months, days, micros = _UNITS[node.name]
        return _fitting(count * months, count * days, count * micros) if count is not None else None
    return None


def is_nonzero(call: Call, index: int) -> bool:
    """Whether the argument is a constant number other than zero."""
    node: Expression = call.nodes[index]
    while isinstance(node, Cast) and node.type.id in ("FLOAT", "DOUBLE"):
        node = node.child
    while isinstance(node, Cast) and node.type.id in INTEGERS | {"DECIMAL"} and _is_whole(node):
        node = node.child
    return isinstance(node, Constant) and _is_number(node) and node.value != 0


def _is_whole(node: Cast) -> bool:
    return node.child.type.id in INTEGERS


def _is_number(node: Constant) -> bool:
    return isinstance(node.value, int | float) and node.type.id in NUMBERS


def _interval_of_text(node: Expression) -> tuple[int, int, int] | None:
    if not isinstance(node, Constant) or not isinstance(node.value, str):
        return None
    try:
        return parse_interval(node.value)
    except InvalidValue:
        return None


def _fitting(months: int, days: int, micros: int) -> tuple[int, int, int] | None:
    """None for what DuckDB has no interval for."""
    fits = max(abs(months), abs(days)) < _LARGE and abs(micros) < _LARGE**2
    return (months, days, micros) if fits else None


def _is_scaled(found: Constant) -> bool:
    return isinstance(found.value, bool) or found.type.id not in INTEGERS


def _whole(node: Expression) -> int | None:
    """What ``CAST(trunc(CAST(3 AS DOUBLE)) AS INTEGER)`` is: so DuckDB writes INTERVAL 3 DAY."""
    while isinstance(node, Cast) or (isinstance(node, Function) and node.name == "trunc"):
        node = node.child if isinstance(node, Cast) else node.children[0]
    if not isinstance(node, Constant) or node.value is None:
        return None
    if isinstance(node.value, str) and _DIGITS.fullmatch(node.value):
        return int(node.value)
    if _is_scaled(node):
        return None
    value: int = node.value
    return value if abs(value) < _LARGE else None


_DIGITS: Final = re.compile(r"-?[0-9]{1,9}")
_LARGE: Final = 2**31
_UNITS: Final = {
    "to_years": (12, 0, 0),
    "to_quarters": (3, 0, 0),
    "to_months": (1, 0, 0),
    "to_weeks": (0, 7, 0),
    "to_days": (0, 1, 0),
    "to_hours": (0, 0, 3_600_000_000),
    "to_minutes": (0, 0, 60_000_000),
    "to_microseconds": (0, 0, 1),
}
