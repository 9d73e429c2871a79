"""Values of catalog columns: from Python to a driver and back."""

from __future__ import annotations

import datetime as dt
import re
import uuid
from typing import Any, Final

from ducklake_spark.catalog_db.tables import Kind
from ducklake_spark.errors import CatalogError

_TIMESTAMP = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?"
    r"\s*(?:Z|([+-])(\d\d):?(\d\d)?)?"
)
_PLAIN: Final = frozenset({int, str, bytes, type(None)})
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


def format_timestamp(moment: dt.datetime) -> str:
    """A time as the extension writes it into text columns: UTC, no needless zeros.

    >>> format_timestamp(dt.datetime(2026, 11, 15, 21, 10, 4, 835170, dt.timezone.utc))
    '2026-11-15 21:10:04.83517+00'
    """
    moment = in_utc(moment)
    fraction = f".{moment.microsecond:06d}".rstrip("0").rstrip(".")
    whole = moment.replace(tzinfo=None).isoformat(sep=" ", timespec="seconds")
    return f"{whole}{fraction}+00"


def parse_timestamp(text: str) -> dt.datetime:
    """A time from text of any writer; without an offset it is UTC.

    >>> parse_timestamp("2026-11-15T20:00:00.5+00:00").isoformat()
    '2026-11-15T20:00:00.500000+00:00'
    """
    match = _TIMESTAMP.fullmatch(text.strip())
    if match is None:
        raise CatalogError(f'The catalog holds "{text}" where a time should stand.')
    micros = int(((match[7] or "") + "000000")[:6])
    offset = dt.timedelta(hours=int(match[9] or 0), minutes=int(match[10] or 0))
    year, month, day, hour, minute, second = (int(match[n]) for n in range(1, 7))
    moment = dt.datetime(year, month, day, hour, minute, second, micros, dt.timezone.utc)
    return moment + offset if match[8] == "-" else moment - offset


def in_utc(moment: dt.datetime) -> dt.datetime:
    """The same instant in UTC; a naive time is taken as UTC."""
    if moment.tzinfo is None:
        return moment.replace(tzinfo=dt.timezone.utc)
    return moment.astimezone(dt.timezone.utc)


def decode_value(kind: Kind, value: Any) -> Any:
    """A driver's value of a catalog column as int, bool, str or aware UTC datetime.

    Takes what any of the drivers brings: times as text, microseconds since 1970 or datetime,
    booleans as 0/1, uuids as text or UUID.
    """
    if value is None:
        return None
    match kind:
        case "bigint":
            return int(value)
        case "boolean":
            return value.lower() in {"true", "t", "1"} if isinstance(value, str) else bool(value)
        case "timestamptz":
            return _decode_time(value)
        case "uuid" | "varchar":
            return str(value)


def _decode_time(value: Any) -> dt.datetime:
    if isinstance(value, dt.datetime):
        return in_utc(value)
    if isinstance(value, int):
        return _EPOCH + dt.timedelta(microseconds=value)
    return parse_timestamp(str(value))


def encode_as_text(value: Any) -> Any:
    """For databases that know neither times nor uuids nor booleans: text and 0/1."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, dt.datetime):
        return format_timestamp(value)
    if isinstance(value, uuid.UUID):
        return str(value)
    return int(value) if isinstance(value, bool) else value
