"""Values <-> the text of the catalog: bounds of statistics, defaults, inlined rows, partitions.

Two forms of a Python value meet here. The *carrier* form is what Spark takes and gives (`date`,
`datetime`, `Decimal` for uint64, text for uuid and timestamp_ns ...): `parse_text` and
`format_text` speak it. The *comparable* form is what statistics and pruning compare, because the
carriers end at the year 9999 and know no infinity: `parse_stat` and `from_python` give it.

    boolean               bool
    int*, uint*           int
    decimal               Decimal
    float32, float64      float, never NaN (a bound that is NaN is unknown)
    date                  int, days since 1970-01-01
    time                  int, microseconds since midnight
    timestamp*            int, microseconds since 1970-01-01 UTC; nanoseconds for timestamp_ns
    varchar, json, uuid   str (code point order is the order of the UTF-8 bytes)
    blob                  bytes
    timetz, interval      none: they have no bounds

Pure; driver and task.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any, Final, Literal

from ducklake_spark.errors import InvalidValue
from ducklake_spark.model import number_text, scalar_text, temporal
from ducklake_spark.model.nested_text import format_nested, parse_nested
from ducklake_spark.model.number_text import FLOATS, INTEGERS
from ducklake_spark.model.scalar_text import format_scalar, parse_scalar
from ducklake_spark.model.temporal import TEMPORALS
from ducklake_spark.model.types import DataType, DecimalType, ScalarType

Bound = Literal["min", "max"]

STAT_BYTES: Final = 256
"""Length at which DuckDB cuts the text of a bound; a maximum of that length may be no maximum."""

_WITHOUT_BOUNDS: Final = frozenset({"timetz", "interval", "variant", "geometry"})


def parse_text(text: str, kind: DataType, *, hex_blob: bool = False) -> Any:
    """The carrier value from DuckDB's text of any value, nested ones included.

    Structs give a tuple in field order, maps a dict, lists a list. A value that the carrier cannot
    hold (a date of the year 20000) is an InvalidValue. With `hex_blob` a blob's text is hex digits,
    as in the statistics of files.

    >>> from ducklake_spark.model.types import ListType
    >>> parse_text("[a, 'b,c', NULL]", ListType(ScalarType("varchar")))
    ['a', 'b,c', None]
    """
    if hex_blob and kind == ScalarType("blob"):
        return scalar_text.parse_hex(text)
    if isinstance(kind, ScalarType | DecimalType):
        return parse_scalar(text, kind)
    return parse_nested(text, kind)


def format_text(value: Any, kind: DataType) -> str:
    """Text that DuckDB casts to the value, and that `parse_text` reads back.

    Temporal values may also be given in the comparable form. NULL has no text of its own at the
    top: the caller stores a NULL.
    """
    if isinstance(kind, ScalarType | DecimalType):
        return format_scalar(value, kind)
    return format_nested(value, kind)


def from_python(value: Any, kind: DataType) -> Any:
    """The comparable form of a value of a predicate; InvalidValue when it has none.

    Text for a temporal column is taken only in DuckDB's own spelling: the order of such texts is
    the order of the values, that of others is not. A text for a timestamp_ns column is such a case.
    """
    if isinstance(kind, DecimalType):
        return _exact(value, kind)
    if not isinstance(kind, ScalarType) or kind.name in _WITHOUT_BOUNDS:
        raise _incomparable(value, kind)
    name = kind.name
    if name in TEMPORALS:
        ordinal = temporal.to_ordinal(value, name)
        if isinstance(value, str) and temporal.format_ordinal(ordinal, name) != value:
            raise _incomparable(value, kind)
        return ordinal
    if name in INTEGERS:
        return _exact(value, kind)
    match name, value:
        case "boolean", bool():
            return value
        case "float32" | "float64", int() | float() if not isinstance(value, bool):
            return float(value)
        case "varchar" | "json" | "uuid", str():
            return value
        case "blob", bytes() | bytearray() | memoryview():
            return bytes(value)
        case _:
            raise _incomparable(value, kind)


def to_ordinal(value: Any, kind: DataType) -> int:
    """The integer of a date, timestamp or time in any of its forms; see the table above."""
    if not isinstance(kind, ScalarType) or kind.name not in TEMPORALS:
        raise _incomparable(value, kind)
    return temporal.to_ordinal(value, kind.name)


def parse_stat(text: str | None, kind: DataType) -> Any | None:
    """The comparable form of a bound, from the text of a file's or an inlined row's statistics.

    None is an unknown bound: no text, a type without bounds, NaN, or text that says nothing about
    this type (a bound may be older than a change of the column's type).

    >>> parse_stat("1", ScalarType("boolean")), parse_stat("1970-01-02", ScalarType("date"))
    (True, 1)
    """
    if text is None:
        return None
    try:
        return _parse_bound(text, kind)
    except InvalidValue:
        return None


def format_stat(value: Any, kind: DataType, *, bound: Bound | None = None) -> str | None:
    """The text of a bound as the extension writes it for files; None for an unknown one.

    Text and bytes that are too long, or hold a NUL, have no exact text. With `bound` they are
    replaced by a shorter text that is still below (min) or above (max) the value.

    >>> format_stat(1.5, ScalarType("float64")), format_stat(b"ab", ScalarType("blob"))
    ('1.5', '6162')
    """
    if value is None or not isinstance(kind, ScalarType | DecimalType):
        return None
    if isinstance(kind, DecimalType):
        return format_scalar(value, kind)
    match kind.name:
        case "boolean":
            return "1" if from_python(value, kind) else "0"
        case "float32" | "float64":
            return _format_float(value, kind.name)
        case "varchar" | "json":
            return _fit_text(from_python(value, kind), bound)
        case "blob":
            fitted = _fit_bytes(from_python(value, kind), bound)
            return None if fitted is None else fitted.hex().upper()
        case name if name in _WITHOUT_BOUNDS:
            return None
        case _:
            return format_scalar(value, kind)


def _parse_bound(text: str, kind: DataType) -> Any | None:
    if isinstance(kind, DecimalType):
        return number_text.parse_decimal(text, kind)
    if not isinstance(kind, ScalarType) or kind.name in _WITHOUT_BOUNDS:
        return None
    name = kind.name
    if name in TEMPORALS:
        return temporal.parse_ordinal(text, name)
    if name in INTEGERS:
        return number_text.parse_integer(text, name)
    if name in FLOATS:
        number = number_text.parse_float(text, name)
        return None if math.isnan(number) else number
    match name:
        case "boolean":
            return scalar_text.parse_boolean(text)
        case "blob":
            return _parse_blob_bound(text)
        case _:
            return text


def _parse_blob_bound(text: str) -> bytes:
    """Hex digits (files) or DuckDB's blob text (inlined rows): bytes are never compared with it."""
    try:
        return scalar_text.parse_hex(text)
    except InvalidValue:
        return scalar_text.parse_blob(text)


def _format_float(value: Any, name: str) -> str | None:
    number = from_python(value, ScalarType(name))
    if math.isnan(number):
        return None
    return number_text.format_float(number + 0.0, name)  # -0.0 + 0.0 is 0.0


def _fit_text(text: str, bound: Bound | None) -> str | None:
    """The text, or one of fewer than 256 bytes without NUL on the right side of it."""
    head, nul, _ = text.partition("\0")
    short = head.encode()[: STAT_BYTES - 2].decode(errors="ignore")
    if short == text:
        return text
    if bound == "min":
        return short
    if bound is None:
        return None
    if nul and short == head:
        return head + "\x01"
    while short:  # the next text of that length, which is above all texts that begin alike
        code = ord(short[-1]) + 1
        code = 0xE000 if 0xD800 <= code <= 0xDFFF else code
        above = short[:-1] + chr(code) if code <= 0x10FFFF else ""
        if above and len(above.encode()) < STAT_BYTES:
            return above
        short = short[:-1]
    return None


def _fit_bytes(value: bytes, bound: Bound | None) -> bytes | None:
    if len(value) < STAT_BYTES:
        return value
    if bound is None:
        return None
    short = value[: STAT_BYTES - 1]
    if bound == "min":
        return short
    short = short.rstrip(b"\xff")
    return short[:-1] + bytes([short[-1] + 1]) if short else None


def _exact(value: Any, kind: DataType) -> int | Decimal:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise _incomparable(value, kind)
    if isinstance(value, Decimal) and not value.is_finite():
        raise _incomparable(value, kind)
    return value


def _incomparable(value: object, kind: DataType) -> InvalidValue:
    return InvalidValue(f"{value!r} cannot be compared with values of the type {kind}.")
