"""Frames of windows: those that Spark has, with the very rows that DuckDB takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ducklake_spark.binder.expressions import (
    Cast,
    Constant,
    Expression,
    FrameBound,
    Function,
    Window,
)
from ducklake_spark.binder.types import BIGINT, DOUBLE, FLOATS, INTEGERS, BoundType
from ducklake_spark.translate.constants import spark_literal
from ducklake_spark.translate.types import spark_type

_EVERYTHING: Final = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
_LARGEST_INT: Final = 2**31 - 1
_NUMBERS: Final = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE"})
_DAYS: Final = {"to_days": 1, "to_weeks": 7}
_MONTHS: Final = {"to_months": 1, "to_years": 12, "to_quarters": 3, "to_decades": 120}
_SECONDS: Final = {"to_hours": 3600, "to_minutes": 60}
_PLACES: Final = {
    "UNBOUNDED PRECEDING": -2,
    "PRECEDING": -1,
    "CURRENT ROW": 0,
    "FOLLOWING": 1,
    "UNBOUNDED FOLLOWING": 2,
}


def frame_text(node: Window) -> str | None:
    """The frame in Spark SQL; None where Spark has none with the same rows."""
    if node.unit == "GROUPS":
        return None
    offsets = [each for each in (node.start, node.end) if each.offset is not None]
    if node.unit == "RANGE" and not node.orders:
        return None if offsets else _EVERYTHING  # all rows are peers
    if node.unit == "RANGE" and offsets and len(node.orders) != 1:
        return None
    start, end = _bound(node, node.start), _bound(node, node.end)
    if start is None or end is None or not _is_ordered(node, start, end):
        return None
    return f"{node.unit} BETWEEN {start} AND {end}"


def _bound(node: Window, bound: FrameBound) -> str | None:
    if bound.offset is None:
        return bound.kind
    if node.unit == "ROWS":
        count = constant_integer(bound.offset)
        known = count is not None and 0 <= count <= _LARGEST_INT
        return f"{count} {bound.kind}" if known else None
    distance = range_offset(bound.offset)
    text = None if distance is None else _distance(distance, node.orders[0].expression.type)
    return None if text is None else f"{text} {bound.kind}"


def _is_ordered(node: Window, start: str, end: str) -> bool:
    """Whether the frame does not end before it starts, as Spark wants it."""
    places = _PLACES[node.start.kind], _PLACES[node.end.kind]
    if places[0] != places[1] or node.start.offset is None or start == end:
        return places[0] <= places[1] and places[0] < 2 and places[1] > -2
    if node.unit != "ROWS":
        return False  # of two distances on one side nobody compares here
    first, last = int(start.partition(" ")[0]), int(end.partition(" ")[0])
    return first >= last if node.start.kind == "PRECEDING" else first <= last


def range_offset(bound: Expression) -> Expression | None:
    """The distance of a RANGE frame: the binder has made the value at the bound of it."""
    while isinstance(bound, Cast):
        bound = bound.child
    if isinstance(bound, Function) and bound.name in ("+", "-") and len(bound.children) == 2:
        return bound.children[1]
    return None


def _distance(node: Expression, key: BoundType) -> str | None:
    """A distance that is known and not negative, as a literal for keys of that type."""
    if key.id in ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS"):
        return _interval(node)
    value = constant_number(node)
    if value is None or value.value is None:
        return None
    if value.value < 0 or value.value != value.value:
        return None
    if key.id == "DATE" and value.type.id in INTEGERS:
        return str(value.value)
    text = spark_literal(value)
    is_exact = key.id in _NUMBERS or (key.id == "DECIMAL" and value.type.scale <= key.scale)
    return f"CAST({text} AS {spark_type(key)})" if is_exact and text is not None else None


def _interval(node: Expression) -> str | None:
    """An interval of one unit: months, days, or less."""
    if isinstance(node, Constant) and node.type.id == "INTERVAL" and node.value is not None:
        return _interval_literal(*_parts(node.value))
    if not isinstance(node, Function) or len(node.children) != 1:
        return None
    found = constant_number(node.children[0])
    if found is None or not isinstance(found.value, int):
        return None
    count = found.value
    if node.name in _MONTHS:
        return _interval_literal(count * _MONTHS[node.name], 0, 0)
    if node.name in _DAYS:
        return _interval_literal(0, count * _DAYS[node.name], 0)
    if node.name in _SECONDS:
        return _interval_literal(0, 0, count * _SECONDS[node.name] * 1_000_000)
    return None


def _parts(value: Any) -> tuple[int, int, int]:
    if isinstance(value, Mapping):
        return value.get("months", 0), value.get("days", 0), value.get("micros", 0)
    months, days, micros = value
    return months, days, micros


def _interval_literal(months: int, days: int, micros: int) -> str | None:
    if min(months, days, micros) < 0 or (months and (days or micros)) or (days and micros):
        return None
    if months:
        return f"INTERVAL '{months}' MONTH"
    if days:
        return f"INTERVAL '{days}' DAY"
    return f"INTERVAL '{micros // 1_000_000}.{micros % 1_000_000:06}' SECOND"


def constant_number(node: Expression) -> Constant | None:
    """A constant under casts between numbers that keep its value, and under trunc()."""
    if isinstance(node, Constant):
        return node if isinstance(node.value, int | float) else None
    if isinstance(node, Function) and node.name == "trunc" and len(node.children) == 1:
        return constant_number(node.children[0])
    if not isinstance(node, Cast):
        return None
    inner = constant_number(node.child)
    if inner is None or not isinstance(inner.value, int) or isinstance(inner.value, bool):
        return None
    return _cast(inner, node.type)


def _cast(inner: Constant, kind: BoundType) -> Constant | None:
    """A whole number or a decimal as another type of number."""
    scale = inner.type.scale if inner.type.id == "DECIMAL" else 0
    value = int(inner.value)
    if kind.id in FLOATS and scale:
        return Constant(value / 10**scale, DOUBLE)
    if kind.id in INTEGERS or kind.id in FLOATS:
        return Constant(value, BIGINT) if not scale else None
    if kind.id == "DECIMAL" and kind.scale >= scale:
        return Constant(value * 10 ** (kind.scale - scale), kind)
    return None


def constant_integer(node: Expression) -> int | None:
    """The whole number that an expression is; None for one that is not known here."""
    found = constant_number(node)
    if found is None or found.type.id not in INTEGERS or not isinstance(found.value, int):
        return None
    return found.value
