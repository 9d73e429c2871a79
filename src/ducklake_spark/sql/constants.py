"""Constants of an INSERT as the values that their columns hold, with DuckDB's conversions.

A value is what the carrier of the column's type holds in Python: numbers, strings (also for TIME,
TIMESTAMP_NS, INTERVAL, UUID and JSON), bytes, dates, moments, lists, and dicts for structs and
maps.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import struct
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from ducklake_spark.errors import InvalidValue
from ducklake_spark.model.temporal import TEMPORALS
from ducklake_spark.model.types import (
    SIGNED_BITS,
    UNSIGNED_BITS,
    DataType,
    DecimalType,
    ListType,
    MapType,
    ScalarType,
    StructType,
    format_sql_type,
)
from ducklake_spark.sql.blob_text import blob_bytes

_EXACT = Context(prec=2_000)


class NotPlain(Exception):
    """The value has to be converted by Spark."""


def convert(value: Any, kind: DataType) -> Any:
    """`value` as a column of type `kind` holds it.

    Raises:
        InvalidValue: the column cannot hold the value.
        NotPlain: Spark has to do the conversion.
    """
    if value is None:
        return None
    match kind:
        case DecimalType(precision, scale):
            return _decimal(value, precision, scale, kind)
        case ListType(element):
            return [convert(item, element) for item in _expect(value, list)]
        case MapType(key, item):
            pairs = _expect(value, dict).items()
            return {convert(k, key): convert(v, item) for k, v in pairs}
        case StructType():
            return _struct(value, kind)
        case ScalarType(name):
            return _scalar(value, name, kind)


def _expect(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise NotPlain
    return value


def _bad(value: Any, kind: DataType) -> InvalidValue:
    shown = str(value) if isinstance(value, Decimal) else repr(value)
    return InvalidValue(f"The value {shown} does not fit a column of type {format_sql_type(kind)}.")


def _struct(value: Any, kind: StructType) -> dict[str, Any]:
    given = {str(name).lower(): item for name, item in _expect(value, dict).items()}
    if given.keys().isdisjoint(field.name.lower() for field in kind.fields):
        raise NotPlain  # DuckDB says what is wrong; fields that the type lacks are left out
    return {field.name: convert(given.get(field.name.lower()), field.type) for field in kind.fields}


def _scalar(value: Any, name: str, kind: DataType) -> Any:
    if name in SIGNED_BITS or name in UNSIGNED_BITS:
        return _integer(value, name, kind)
    if name in _NO_NUMBERS and isinstance(value, (bool, int, float, Decimal)):
        raise _bad(value, kind)
    converter = _CONVERTERS.get(name)
    if converter is None:
        raise NotPlain
    try:
        return converter(value)
    except (ValueError, InvalidOperation, OverflowError):
        raise _bad(value, kind) from None


def _integer(value: Any, name: str, kind: DataType) -> int:
    if isinstance(value, bool):
        return int(value)
    if not isinstance(value, (int, float, Decimal, str)):
        raise NotPlain
    rounding = ROUND_HALF_EVEN if isinstance(value, float) else ROUND_HALF_UP
    try:
        exact = Decimal(str(value).strip())
        number = int(exact.to_integral_value(rounding=rounding))
    except (InvalidOperation, ValueError, OverflowError):
        raise _bad(value, kind) from None
    low, high = _range(name)
    if not low <= number <= high:
        raise _bad(value, kind)
    return number


def _range(name: str) -> tuple[int, int]:
    if name in UNSIGNED_BITS:
        return 0, 2 ** UNSIGNED_BITS[name] - 1
    bits = SIGNED_BITS[name]
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def _decimal(value: Any, precision: int, scale: int, kind: DataType) -> Decimal:
    if isinstance(value, (bool, float)) or not isinstance(value, (int, Decimal, str)):
        raise NotPlain
    try:
        number = Decimal(str(value).strip())
        if not number.is_finite():
            raise _bad(value, kind)
        # Python's own context would round to 28 digits.
        sized = int(number.scaleb(scale, _EXACT).to_integral_value(ROUND_HALF_UP, _EXACT))
    except InvalidOperation:
        raise _bad(value, kind) from None
    if abs(sized) >= 10**precision:
        raise _bad(value, kind)
    return Decimal((int(sized < 0), tuple(map(int, str(abs(sized)))), -scale))


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value != 0
    word = _expect(value, str).strip().lower()
    if word in ("true", "t", "1", "yes", "y"):
        return True
    if word in ("false", "f", "0", "no", "n"):
        return False
    raise ValueError(value)


def _float(value: Any) -> float:
    if isinstance(value, (list, dict, bytes, dt.date, dt.time)):
        raise NotPlain
    return float(value)


def _float32(value: Any) -> float:
    packed = struct.pack("<f", _float(value))  # an OverflowError when it is too large
    (number,) = struct.unpack("<f", packed)
    return float(number)


def _varchar(value: Any) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | Decimal():
            return str(value)
        case dt.datetime() if value.tzinfo is None:
            return _moment_text(value)
        case dt.date() if not isinstance(value, dt.datetime):
            return value.isoformat()
    raise NotPlain


def _moment_text(value: dt.datetime) -> str:
    whole = value.replace(microsecond=0).isoformat(sep=" ")
    fraction = f".{value.microsecond:06d}".rstrip("0") if value.microsecond else ""
    return whole + fraction


_ISO_DATE = re.compile(r"\s*(\d{4})-(\d{1,2})-(\d{1,2})\s*")
_ISO_MOMENT = re.compile(
    r"\s*(\d{4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?)?"
    r"\s*(Z|UTC|[+-]\d{2}(?::?\d{2})?)?\s*"
)
_ISO_TIME = re.compile(r"\s*(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?\s*")


def _date(value: Any) -> dt.date:
    if isinstance(value, dt.datetime):
        if value.tzinfo is not None:
            raise NotPlain
        return value.date()
    if isinstance(value, dt.date):
        return value
    match = _ISO_DATE.fullmatch(_expect(value, str))
    if match is None:
        raise NotPlain  # other spellings of a date, and moments
    return dt.date(*(int(part) for part in match.groups()))


def _timestamp(value: Any) -> dt.datetime:
    moment = _moment(value)
    if moment.tzinfo is not None and isinstance(value, dt.datetime):
        raise NotPlain  # it is one of the session's zone
    return moment.replace(tzinfo=None)  # as DuckDB, which overlooks the zone in a text


def _timestamptz(value: Any) -> dt.datetime:
    moment = _moment(value)
    if moment.tzinfo is None:
        raise NotPlain  # the zone is the session's
    return moment.astimezone(dt.timezone.utc)


def _moment(value: Any) -> dt.datetime:
    if isinstance(value, dt.datetime):
        return value
    if isinstance(value, dt.date):
        return dt.datetime.combine(value, dt.time())
    match = _ISO_MOMENT.fullmatch(_expect(value, str))
    if match is None:
        raise NotPlain
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    micros = int((match[7] or "").ljust(6, "0"))
    return dt.datetime(year, month, day, hour, minute, second, micros, _zone(match[8]))


def _zone(text: str | None) -> dt.timezone | None:
    if not text:
        return None
    if text in ("Z", "UTC"):
        return dt.timezone.utc
    digits = text[1:].replace(":", "").ljust(4, "0")
    offset = dt.timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return dt.timezone(-offset if text[0] == "-" else offset)


def _time(value: Any) -> str:
    if isinstance(value, dt.time) and value.tzinfo is None:
        parts = [value.hour, value.minute, value.second, value.microsecond]
    else:
        match = _ISO_TIME.fullmatch(_expect(value, str))
        if match is None:
            raise NotPlain
        parts = [
            int(match[1]),
            int(match[2]),
            int(match[3] or 0),
            int((match[4] or "").ljust(6, "0")),
        ]
    hour, minute, second, micros = parts
    if hour > 24 or minute > 59 or second > 59 or (hour == 24 and (minute or second or micros)):
        raise ValueError(value)
    fraction = f".{micros:06d}".rstrip("0") if micros else ""
    return f"{hour:02d}:{minute:02d}:{second:02d}{fraction}"


def _blob(value: Any) -> bytes:
    return (
        bytes(value) if isinstance(value, (bytes, bytearray)) else blob_bytes(_expect(value, str))
    )


def _uuid(value: Any) -> str:
    return str(UUID(_expect(value, str).strip()))


def _json(value: Any) -> str:
    document = _expect(value, str)
    json.loads(document)
    return str(document)


# DuckDB casts no number to these; Spark would take one for seconds.
_NO_NUMBERS = TEMPORALS | {"timetz", "interval", "uuid", "blob"}

_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "boolean": _boolean,
    "float32": _float32,
    "float64": _float,
    "varchar": _varchar,
    "date": _date,
    "timestamp": _timestamp,
    "timestamptz": _timestamptz,
    "time": _time,
    "blob": _blob,
    "uuid": _uuid,
    "json": _json,
}
