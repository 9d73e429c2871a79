"""Dates, timestamps and times as integers, and their text.

Python's own classes end at the years 1 and 9999 and know neither infinity nor nanoseconds, so the
form that is compared, stored as a bound and hashed is an integer: days since 1970-01-01 for a
date, microseconds since 1970-01-01 (UTC) for every timestamp but ``timestamp_ns``, which counts
nanoseconds, and microseconds since midnight for a time. The infinities are DuckDB's own numbers,
which lie outside of all finite values. All functions are pure; driver and task.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Any, Final

from ducklake_spark.errors import InvalidValue
from ducklake_spark.model.civil import civil_from_days, days_from_civil

DATE_INFINITY: Final = 2**31 - 1
TIMESTAMP_INFINITY: Final = 2**63 - 1

TIMESTAMPS: Final = frozenset(
    {"timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns", "timestamptz"}
)
TEMPORALS: Final = TIMESTAMPS | {"date", "time"}

_DAY_MICROS: Final = 86_400_000_000
_EPOCH: Final = dt.date(1970, 1, 1).toordinal()
_MIDNIGHT: Final = dt.datetime(1970, 1, 1)
_DATE_TEXT: Final = r"(?P<year>\d{1,9})-(?P<month>\d{1,2})-(?P<day>\d{1,2})(?P<bc> \(BC\))?"
_TIME_TEXT: Final = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.(?P<frac>\d+))?)?"
)
_ZONE_TEXT: Final = r"(?P<zone>Z|(?:\s*UTC)|\s?[+-]\d{1,2}(?::?\d{2}(?::?\d{2})?)?)?"
_DATE: Final = re.compile(_DATE_TEXT)
_TIME: Final = re.compile(_TIME_TEXT)
_TIMESTAMP: Final = re.compile(rf"{_DATE_TEXT}(?:[ T]{_TIME_TEXT}{_ZONE_TEXT})?")
_OFFSET: Final = re.compile(r"\s?([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?")


def parse_ordinal(text: str, name: str) -> int:
    """The integer of a date, timestamp or time from DuckDB's text; `name` is the catalog type.

    >>> parse_ordinal("1970-01-02", "date"), parse_ordinal("0001-01-01 (BC)", "date")
    (1, -719528)
    >>> parse_ordinal("1970-01-01 02:00:00.5+02", "timestamptz")
    500000
    """
    trimmed = text.strip()
    if name == "time":
        return _parse_time(trimmed)
    infinity = DATE_INFINITY if name == "date" else TIMESTAMP_INFINITY
    if trimmed.lower() in ("infinity", "-infinity"):
        return -infinity if trimmed[0] == "-" else infinity
    if name == "date":
        match = _DATE.fullmatch(trimmed)
        if match is None:
            raise _unreadable(text, name)
        return _days_of(match, text)
    return _parse_common(trimmed, name) or _parse_timestamp(trimmed, name)


def parse_moment(text: str) -> dt.datetime:
    """A date or a timestamp as users write it: naive, or in UTC if a zone is given.

    >>> parse_moment("2024-05-01").isoformat(), parse_moment("2024-05-01 10:00+02").isoformat()
    ('2024-05-01T00:00:00', '2024-05-01T08:00:00+00:00')
    """
    match = _TIMESTAMP.fullmatch(text.strip())
    if match is None:
        raise _unreadable(text, "timestamptz")
    name = "timestamp" if match["zone"] is None else "timestamptz"
    moment: dt.datetime = from_ordinal(parse_ordinal(text, name), name)
    return moment


def format_ordinal(ordinal: int, name: str) -> str:
    """DuckDB's text of an integer of `parse_ordinal`; timestamptz is always in UTC.

    >>> format_ordinal(1, "date"), format_ordinal(500_000, "timestamptz")
    ('1970-01-02', '1970-01-01 00:00:00.5+00')
    """
    if name == "time":
        return format_time(ordinal)
    infinity = DATE_INFINITY if name == "date" else TIMESTAMP_INFINITY
    if abs(ordinal) >= infinity:
        return "infinity" if ordinal > 0 else "-infinity"
    if name == "date":
        return _format_date(ordinal)
    digits = 9 if name == "timestamp_ns" else 6
    days, rest = divmod(ordinal, 86_400 * 10**digits)
    zone = "+00" if name == "timestamptz" else ""
    return f"{_format_date(days)} {_format_clock(rest, digits)}{zone}"


def format_time(micros: int) -> str:
    """Text of microseconds since midnight, the fraction without trailing zeros.

    >>> format_time(3_600_500_000)
    '01:00:00.5'
    """
    return _format_clock(micros, 6)


def to_ordinal(value: Any, name: str) -> int:
    """The integer of a Python date, datetime, time, of a text, or of an integer that it is already.

    A datetime is naive for all timestamps but timestamptz, for which a naive one is taken as UTC.
    """
    match value:
        case bool():
            raise _wrong(value, name)
        case int():
            return value
        case str():
            return parse_ordinal(value, name)
        case dt.datetime() if name in TIMESTAMPS:
            return _datetime_ordinal(value, name)
        case dt.date() if not isinstance(value, dt.datetime) and name != "time":
            days = value.toordinal() - _EPOCH
            return days if name == "date" else days * _per_day(name)
        case dt.time() if name == "time" and value.tzinfo is None:
            return _clock(value.hour, value.minute, value.second) + value.microsecond
        case _:
            raise _wrong(value, name)


def from_ordinal(ordinal: int, name: str) -> Any:
    """The Python value that Spark takes: date, or datetime (aware in UTC for timestamptz).

    A ``timestamp_ns`` and a ``time`` give their text, since Python has neither nanoseconds nor
    24:00. What lies outside of the years 1 to 9999, infinity among it, is an InvalidValue: cutting
    it would change it.
    """
    if name in ("timestamp_ns", "time"):
        return format_ordinal(ordinal, name)
    try:
        if name == "date":
            return dt.date.fromordinal(ordinal + _EPOCH)
        moment = _MIDNIGHT + dt.timedelta(microseconds=ordinal)
    except (OverflowError, ValueError) as error:
        raise InvalidValue(
            f"Cannot show the {name} {format_ordinal(ordinal, name)}: "
            "it lies outside of the years 1 to 9999 that Python and Spark can hold.",
            hint="cast it to VARCHAR in DuckDB, or leave the row out.",
        ) from error
    return moment.replace(tzinfo=dt.timezone.utc) if name == "timestamptz" else moment


def parse_offset(text: str) -> int:
    """Seconds east of UTC from ``+02``, ``-05:30``, ``+01:02:03``, ``Z`` or ``UTC``.

    >>> parse_offset("-05:30")
    -19800
    """
    if text.strip().upper() in ("Z", "UTC"):
        return 0
    match = _OFFSET.fullmatch(text)
    if match is None:
        raise InvalidValue(f"{text!r} is not an offset from UTC.")
    seconds = _clock(int(match[2]), int(match[3] or 0), int(match[4] or 0)) // 1_000_000
    return -seconds if match[1] == "-" else seconds


def _per_day(name: str) -> int:
    return _DAY_MICROS * 1000 if name == "timestamp_ns" else _DAY_MICROS


def _clock(hour: int, minute: int, second: int) -> int:
    return ((hour * 60 + minute) * 60 + second) * 1_000_000


def _datetime_ordinal(value: dt.datetime, name: str) -> int:
    if value.tzinfo is not None:
        if name != "timestamptz":
            raise _wrong(value, name)
        value = value.astimezone(dt.timezone.utc).replace(tzinfo=None)
    micros = (value - _MIDNIGHT) // dt.timedelta(microseconds=1)
    return micros * 1000 if name == "timestamp_ns" else micros


def _parse_time(text: str) -> int:
    match = _TIME.fullmatch(text)
    if match is None:
        raise _unreadable(text, "time")
    return _clock_of(match, text, "time", 6)


def _parse_common(text: str, name: str) -> int | None:
    """A timestamp of the years 1 to 9999 without a zone: bounds of files are read by thousands."""
    if len(text) < 19 or len(text) > 26 or text[-3] in "+-" or text[10] != " ":
        return None
    try:
        moment = dt.datetime.fromisoformat(text[:19])
        fraction = int(text[20:].ljust(6, "0")) if text[19:20] == "." else 0
    except ValueError:
        return None
    if name == "timestamptz" or (len(text) > 19 and not text[20:].isdecimal()):
        return None
    return _datetime_ordinal(moment, name) + fraction * (1000 if name == "timestamp_ns" else 1)


def _parse_timestamp(text: str, name: str) -> int:
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise _unreadable(text, name)
    digits = 9 if name == "timestamp_ns" else 6
    clock = 0 if match["hour"] is None else _clock_of(match, text, name, digits)
    if (match["zone"] is not None) != (name == "timestamptz"):
        raise _unreadable(text, name)
    offset = parse_offset(match["zone"]) if match["zone"] else 0
    return (_days_of(match, text) * 86_400 - offset) * int(10**digits) + clock


def _clock_of(match: re.Match[str], text: str, name: str, digits: int) -> int:
    hour, minute, second = int(match["hour"]), int(match["minute"]), int(match["second"] or 0)
    fraction = (match["frac"] or "").ljust(digits, "0")
    if fraction[digits:].strip("0") or minute > 59 or second > 59:
        raise _unreadable(text, name)
    per_second = int(10**digits)
    clock = (hour * 3600 + minute * 60 + second) * per_second + int(fraction[:digits])
    if clock > 86_400 * per_second:
        raise _unreadable(text, name)
    return clock


def _days_of(match: re.Match[str], text: str) -> int:
    year, month, day = int(match["year"]), int(match["month"]), int(match["day"])
    if match["bc"]:
        year = 1 - year
    if 1 <= month <= 12:
        days = days_from_civil(year, month, day)
        if civil_from_days(days) == (year, month, day):
            return days
    raise _unreadable(text, "date")


def _format_date(days: int) -> str:
    year, month, day = civil_from_days(days)
    era = ""
    if year <= 0:
        year, era = 1 - year, " (BC)"
    return f"{year:04d}-{month:02d}-{day:02d}{era}"


def _format_clock(ticks: int, digits: int) -> str:
    seconds, fraction = divmod(ticks, 10**digits)
    hour, rest = divmod(seconds, 3600)
    minute, second = divmod(rest, 60)
    shown = f".{fraction:0{digits}d}".rstrip("0") if fraction else ""
    return f"{hour:02d}:{minute:02d}:{second:02d}{shown}"


def _unreadable(text: str, name: str) -> InvalidValue:
    return InvalidValue(f"Cannot read {text!r} as a {name}.")


def _wrong(value: object, name: str) -> InvalidValue:
    return InvalidValue(f"{value!r} ({type(value).__name__}) is not a value for a {name}.")
