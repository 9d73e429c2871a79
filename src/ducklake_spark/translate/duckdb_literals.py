"""Constants as literals of DuckDB."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from ducklake_spark.binder.expressions import Constant
from ducklake_spark.binder.types import INTEGERS, BoundType
from ducklake_spark.errors import NotSupported
from ducklake_spark.translate.constants import decimal_text, enum_text, float_text
from ducklake_spark.translate.types import cast_text, null_text, quote_text

_DAY: Final = 86_400_000_000  # in microseconds


def duckdb_literal(constant: Constant) -> str:
    """DuckDB's literal of a constant.

    Written as a user would where that has the same type: a literal may take part in the choice of
    an overload otherwise than a cast does.
    """
    value, kind = constant.value, constant.type
    if value is None:
        return null_text(kind)
    match kind.id:
        case "VARCHAR" if not kind.alias:
            return quote_text(str(value))
        case "LIST" | "ARRAY" | "STRUCT" | "MAP":
            return _nested_text(constant)
        case "DECIMAL":
            return _decimal_literal(int(value), kind)
        case "DOUBLE" if math.isfinite(value):
            return f"{float(value)!r}" if "e" in repr(float(value)) else f"{float(value)!r}e0"
        case "INTEGER" | "BIGINT" | "HUGEINT" if value >= 0 and _literal_type(value) == kind.id:
            return str(value)
        case _:
            return cast_text(_scalar_text(value, kind), kind)


def _scalar_text(value: Any, kind: BoundType) -> str:
    """DuckDB's SQL of a scalar that a cast makes one of its type."""
    if kind.id in INTEGERS:
        return quote_text(str(value))
    make = _FROM_RAW.get(kind.id)
    if make is None:
        raise NotSupported(f"A constant of type {kind} is not understood.")
    return make(value, kind)


def _time_text(micros: int, _: BoundType) -> str:
    return f"(TIME '00:00:00' + to_microseconds({micros}))" if micros < _DAY else "'24:00:00'"


def _interval_text(value: Any, _: BoundType) -> str:
    months, days, micros = value
    return f"(to_months({months}) + to_days({days}) + to_microseconds({micros}))"


_FROM_RAW: Final[dict[str, Callable[[Any, BoundType], str]]] = {
    "FLOAT": lambda value, _: quote_text(float_text(value)),
    "DOUBLE": lambda value, _: quote_text(float_text(value)),
    "BOOLEAN": lambda value, _: "'t'" if value else "'f'",
    "DATE": lambda value, _: f"make_date({int(value)})",
    "TIMESTAMP": lambda value, _: f"make_timestamp({int(value)})",
    "TIMESTAMP_MS": lambda value, _: f"make_timestamp_ms({int(value)})",
    "TIMESTAMP_S": lambda value, _: f"make_timestamp({int(value) * 1_000_000})",
    "TIMESTAMP_NS": lambda value, _: f"make_timestamp_ns({int(value)})",
    "TIMESTAMP WITH TIME ZONE": lambda value, _: f"make_timestamptz({int(value)})",
    "TIME": _time_text,
    "INTERVAL": _interval_text,
    "ENUM": lambda value, kind: quote_text(enum_text(value, kind)),
    "VARCHAR": lambda value, _: quote_text(str(value)),
}


def _literal_type(value: int) -> str:
    return "INTEGER" if value < 2**31 else "BIGINT" if value < 2**63 else "HUGEINT"


def _decimal_literal(unscaled: int, kind: BoundType) -> str:
    text = decimal_text(unscaled, kind.scale)
    if unscaled >= 0 and kind.scale and len(text) - 1 == kind.width:
        return text
    return cast_text(quote_text(text), kind)


def _nested_text(constant: Constant) -> str:
    kind = constant.type
    parts = [duckdb_literal(each) for each in constant.value]
    match kind.id:
        case "STRUCT" if kind.fields and not kind.fields[0][0]:
            return cast_text(f"row({', '.join(parts)})", kind)
        case "STRUCT":
            named = (f"{quote_text(n)}: {v}" for (n, _), v in zip(kind.fields, parts, strict=True))
            return cast_text(f"{{{', '.join(named)}}}", kind)
        case "MAP":
            return cast_text(f"map_from_entries([{', '.join(parts)}])", kind)
        case _:
            return cast_text(f"[{', '.join(parts)}]", kind)
