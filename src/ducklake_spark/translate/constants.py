"""Constants as literals of Spark."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any, Final

from ducklake_spark.binder.expressions import Constant
from ducklake_spark.binder.types import INTEGERS, BoundType
from ducklake_spark.errors import NotSupported
from ducklake_spark.translate.fragments import literal_text
from ducklake_spark.translate.types import (
    TEXT_CARRIED,
    named_fields,
    spark_type,
)

# By the type; unsigned ones have the carrier of the next size.
_SUFFIXES: Final = {
    "TINYINT": "Y",
    "SMALLINT": "S",
    "INTEGER": "",
    "BIGINT": "L",
    "UTINYINT": "S",
    "USMALLINT": "",
    "UINTEGER": "L",
}
_TOO_LARGE: Final = 10**38
_EPOCH: Final = datetime(1970, 1, 1)
_DAYS: Final = range((date.min - _EPOCH.date()).days, (date.max - _EPOCH.date()).days + 1)
_DAY: Final = 86_400_000_000  # in microseconds
_UNITS: Final = {"TIMESTAMP": 1, "TIMESTAMP_MS": 1_000, "TIMESTAMP_S": 1_000_000}
_SECOND: Final = 1_000_000
_NESTED: Final = frozenset({"LIST", "ARRAY", "STRUCT", "MAP"})
_DATE: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_TIMESTAMP: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?")
_SPECIAL: Final = {"nan": "NaN", "-nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def spark_literal(constant: Constant) -> str | None:
    """Spark's literal of a constant as the binder has it; None where only DuckDB can tell.

    >>> spark_literal(Constant(-5, BoundType("BIGINT")))
    '(-5L)'
    """
    value, kind = constant.value, constant.type
    if value is None:
        return null_literal(kind)
    if kind.id in _NESTED:
        return _nested_literal(constant)
    if kind.id in INTEGERS:
        return integer_literal(int(value), kind)
    make = _FROM_RAW.get(kind.id)
    return make(value, kind) if make else None


def null_literal(kind: BoundType) -> str:
    """NULL of the type."""
    return "NULL" if kind.id == "NULL" else f"CAST(NULL AS {spark_type(kind)})"


def integer_literal(value: int, kind: BoundType) -> str:
    """An integer of any width; NotSupported for one that no number of Spark holds."""
    suffix = _SUFFIXES.get(kind.id)
    if suffix is None:
        if abs(value) >= _TOO_LARGE:
            raise NotSupported(
                f"The {kind} {value} has more than 38 digits, which no number of Spark has.",
                hint="cast it to DOUBLE or to VARCHAR.",
            )
        return f"CAST('{value}' AS {spark_type(kind)})"
    text = f"{value}{suffix}"
    return f"({text})" if value < 0 else text


def instant_literal(micros: int) -> str:
    """A TIMESTAMP WITH TIME ZONE, by the microseconds since 1970."""
    _refuse_infinity(micros, 64)
    return f"timestamp_micros({micros}L)"


def literal_from_value(value: Any, kind: BoundType) -> str:
    """Spark's literal of a value that DuckDB has computed, with texts in the place of scalars.

    Args:
        value: None, bytes for a BLOB, microseconds for a TIMESTAMP WITH TIME ZONE, a list, a dict
            for a STRUCT, a list of dicts for a MAP, and DuckDB's text for all others.
        kind: the type of the value.
    """
    if value is None:
        return null_literal(kind)
    match kind.id:
        case "LIST" | "ARRAY":
            return _array([literal_from_value(each, kind.element) for each in value], kind)
        case "STRUCT":
            parts = [literal_from_value(value[name], t) for name, t in named_fields(kind)]
            return _struct(parts, kind)
        case "MAP":
            entries = (
                pair
                for each in value
                for pair in ((each["key"], kind.key), (each["value"], kind.value))
            )
            return _map([literal_from_value(*each) for each in entries], kind)
        case "BLOB":
            return f"X'{bytes(value).hex()}'"
        case "TIMESTAMP WITH TIME ZONE":
            return instant_literal(int(value))
        case _:
            return literal_from_text(str(value), kind)


def literal_from_text(text: str, kind: BoundType) -> str:
    """Spark's literal of a scalar by DuckDB's text of it."""
    if kind.id in INTEGERS:
        return integer_literal(int(text), kind)
    if kind.id == "VARCHAR" or kind.id in TEXT_CARRIED:
        return literal_text(text)
    make = _FROM_TEXT.get(kind.id)
    if make is None:
        raise NotSupported(f"A constant of type {kind} cannot be told to Spark.")
    return make(text, kind)


def decimal_text(unscaled: int, scale: int) -> str:
    """The text of a DECIMAL by its unscaled integer.

    >>> decimal_text(-5, 2)
    '-0.05'
    """
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    whole = f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits
    return f"-{whole}" if unscaled < 0 else whole


def enum_text(value: Any, kind: BoundType) -> str:
    """The value of an ENUM by its number or its text."""
    return kind.values[value] if isinstance(value, int) else str(value)


def _nested_literal(constant: Constant) -> str | None:
    kind = constant.type
    if kind.id == "MAP":
        entries = [child for entry in constant.value for child in entry.value]
        parts = [spark_literal(each) for each in entries]
        build = _map
    else:
        parts = [spark_literal(each) for each in constant.value]
        build = _struct if kind.id == "STRUCT" else _array
    known = [each for each in parts if each is not None]
    return build(known, kind) if len(known) == len(parts) else None


def _array(parts: list[str], kind: BoundType) -> str:
    return f"array({', '.join(parts)})" if parts else f"CAST(array() AS {spark_type(kind)})"


def _struct(parts: list[str], kind: BoundType) -> str:
    names = (literal_text(name) for name, _ in named_fields(kind))
    return f"named_struct({', '.join(f'{n}, {v}' for n, v in zip(names, parts, strict=True))})"


def _map(parts: list[str], kind: BoundType) -> str:
    return f"map({', '.join(parts)})" if parts else f"CAST(map() AS {spark_type(kind)})"


def float_text(value: Any) -> str:
    """DuckDB's text of a number, or one that both sides read as the same number."""
    number = float(value)
    return "nan" if math.isnan(number) else repr(number)


def _double_literal(text: str, kind: BoundType) -> str:
    if kind.id == "FLOAT" or text in _SPECIAL:
        return f"CAST('{_SPECIAL.get(text, text)}' AS {kind.id})"
    return f"({text}D)" if text.startswith("-") else f"{text}D"


def _date_literal(days: int) -> str:
    _refuse_infinity(days, 32)
    if days not in _DAYS:
        return f"date_add(DATE'1970-01-01', {days})"
    return f"DATE'{(_EPOCH + timedelta(days=days)).date().isoformat()}'"


def _timestamp_literal(micros: int) -> str:
    _refuse_infinity(micros, 64)
    if micros // _DAY not in _DAYS:
        raise NotSupported("Timestamps before year 1 and after year 9999 cannot be told to Spark.")
    return f"TIMESTAMP_NTZ'{(_EPOCH + timedelta(microseconds=micros)).isoformat(' ')}'"


def _refuse_infinity(value: int, bits: int) -> None:
    if abs(value) == 2 ** (bits - 1) - 1:
        raise NotSupported("An infinite date or timestamp cannot be carried by Spark.")


def _days(text: str) -> int:
    found = _DATE.fullmatch(text)
    if found is None or found[1] == "0000":
        raise NotSupported(f"The date {text} cannot be told to Spark.")
    return (date(int(found[1]), int(found[2]), int(found[3])) - _EPOCH.date()).days


def _micros(text: str) -> int:
    found = _TIMESTAMP.fullmatch(text)
    if found is None or found[1] == "0000":
        raise NotSupported(f"The timestamp {text} cannot be told to Spark.")
    days = _days(text[:10])
    hours, minutes, seconds = (int(found[at]) for at in (4, 5, 6))
    fraction = int((found[7] or "").ljust(6, "0"))
    return days * _DAY + ((hours * 60 + minutes) * 60 + seconds) * _SECOND + fraction


_FROM_RAW: Final[dict[str, Callable[[Any, BoundType], str]]] = {
    "BOOLEAN": lambda value, _: "true" if value else "false",
    "VARCHAR": lambda value, _: literal_text(str(value)),
    "ENUM": lambda value, kind: literal_text(enum_text(value, kind)),
    "DECIMAL": lambda value, kind: literal_from_text(decimal_text(int(value), kind.scale), kind),
    "FLOAT": lambda value, kind: _double_literal(float_text(value), kind),
    "DOUBLE": lambda value, kind: _double_literal(float_text(value), kind),
    "DATE": lambda value, _: _date_literal(int(value)),
    "TIMESTAMP WITH TIME ZONE": lambda value, _: instant_literal(int(value)),
    **{
        name: lambda value, kind: _timestamp_literal(int(value) * _UNITS[kind.id])
        for name in _UNITS
    },
}
_FROM_TEXT: Final[dict[str, Callable[[str, BoundType], str]]] = {
    "BOOLEAN": lambda text, _: text,
    "DATE": lambda text, _: _date_literal(_days(text)),
    "DECIMAL": lambda text, kind: f"CAST('{text}' AS {spark_type(kind)})",
    "FLOAT": _double_literal,
    "DOUBLE": _double_literal,
    **{name: lambda text, _: _timestamp_literal(_micros(text)) for name in _UNITS},
}
