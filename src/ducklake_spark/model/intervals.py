"""Intervals and times with an offset: types that Spark shows as DuckDB's text.

Pure; driver and task.
"""

from __future__ import annotations

import re
from typing import Final

from ducklake_spark.errors import InvalidValue
from ducklake_spark.model.temporal import format_time, parse_offset, parse_ordinal

Interval = tuple[int, int, int]
"""Months, days and microseconds, which DuckDB keeps apart."""

_MONTHS: Final = {"millennium": 12_000, "century": 1200, "decade": 120, "year": 12, "quarter": 3}
_MICROS: Final = {
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1000,
    "microsecond": 1,
}
_UNITS: Final[dict[str, tuple[int, int]]] = {
    # unit -> (which of the three numbers, how much of it)
    **{unit: (0, months) for unit, months in _MONTHS.items()},
    "month": (0, 1),
    "mon": (0, 1),
    "week": (1, 7),
    "day": (1, 1),
    **{unit: (2, micros) for unit, micros in _MICROS.items()},
    "y": (0, 12),
    "yr": (0, 12),
    "d": (1, 1),
    "h": (2, 3_600_000_000),
    "hr": (2, 3_600_000_000),
    "m": (2, 60_000_000),
    "min": (2, 60_000_000),
    "s": (2, 1_000_000),
    "sec": (2, 1_000_000),
    "ms": (2, 1000),
    "msec": (2, 1000),
    "us": (2, 1),
    "usec": (2, 1),
    "millennia": (0, 12_000),
    "centurie": (0, 1200),
}
_PART: Final = re.compile(
    r"\s*(?:(?P<sign>[+-]?)(?P<hour>\d+):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.(?P<frac>\d{1,6}))?)?"
    r"|(?P<count>[+-]?\d+)\s*(?P<unit>[A-Za-z]+))\s*"
)
_TIMETZ: Final = re.compile(r"(?P<time>[\d:.]+)\s?(?P<zone>Z|[+-][\d:]+)?")


def parse_interval(text: str) -> Interval:
    """Months, days and microseconds from DuckDB's text, or from any list of counts and units.

    >>> parse_interval("1 year 2 months 3 days 04:05:06.7")
    (14, 3, 14706700000)
    """
    totals = [0, 0, 0]
    position = 0
    while position < len(text):
        match = _PART.match(text, position)
        if match is None:
            raise InvalidValue(f"Cannot read {text!r} as an interval.")
        which, amount = _clock_part(match) if match["hour"] else _unit_part(match, text)
        totals[which] += amount
        position = match.end()
    months, days, micros = totals
    if not text.strip() or max(abs(months), abs(days)) >= 2**31 or abs(micros) >= 2**63:
        raise InvalidValue(f"Cannot read {text!r} as an interval.")
    return months, days, micros


def format_interval(months: int, days: int, micros: int) -> str:
    """DuckDB's text of an interval.

    >>> format_interval(-13, 1, -1), format_interval(0, 0, 0)
    ('-1 year -1 month 1 day -00:00:00.000001', '00:00:00')
    """
    sign = -1 if months < 0 else 1
    years, rest = divmod(abs(months), 12)
    counts = ((sign * years, "year"), (sign * rest, "month"), (days, "day"))
    parts = [f"{n} {unit}{'' if abs(n) == 1 else 's'}" for n, unit in counts if n]
    if micros or not parts:
        parts.append(f"{'-' if micros < 0 else ''}{format_time(abs(micros))}")
    return " ".join(parts)


def normalize_interval(text: str) -> str:
    """The same interval in DuckDB's own spelling.

    >>> normalize_interval("1 months 2 days -3 microseconds")
    '1 month 2 days -00:00:00.000003'
    """
    return format_interval(*parse_interval(text))


def parse_timetz(text: str) -> tuple[int, int]:
    """Microseconds since midnight on the clock shown, and its seconds east of UTC.

    >>> parse_timetz("12:00:00.5-02:30")
    (43200500000, -9000)
    """
    match = _TIMETZ.fullmatch(text.strip())
    offset = parse_offset(match["zone"]) if match and match["zone"] else 0
    if match is None or abs(offset) >= 16 * 3600:
        raise InvalidValue(f"Cannot read {text!r} as a timetz.")
    return parse_ordinal(match["time"], "time"), offset


def format_timetz(micros: int, offset: int) -> str:
    """DuckDB's text of a time with an offset in seconds.

    >>> format_timetz(43_200_500_000, -9000)
    '12:00:00.5-02:30'
    """
    minutes, seconds = divmod(abs(offset), 60)
    hours, minutes = divmod(minutes, 60)
    zone = f"{'-' if offset < 0 else '+'}{hours:02d}"
    if minutes or seconds:
        zone += f":{minutes:02d}"
    return (
        f"{format_time(micros)}{zone}:{seconds:02d}" if seconds else f"{format_time(micros)}{zone}"
    )


def normalize_timetz(text: str) -> str:
    """The same time in DuckDB's own spelling.

    >>> normalize_timetz("01:02:03.500+02:00")
    '01:02:03.5+02'
    """
    return format_timetz(*parse_timetz(text))


def _clock_part(match: re.Match[str]) -> tuple[int, int]:
    seconds = int(match["hour"]) * 3600 + int(match["minute"]) * 60 + int(match["second"] or 0)
    micros = seconds * 1_000_000 + int((match["frac"] or "").ljust(6, "0"))
    return 2, -micros if match["sign"] == "-" else micros


def _unit_part(match: re.Match[str], text: str) -> tuple[int, int]:
    unit = match["unit"].lower()
    found = _UNITS.get(unit) or _UNITS.get(unit.removesuffix("s"))
    if found is None:
        raise InvalidValue(f"Cannot read {text!r} as an interval: there is no unit {unit!r}.")
    return found[0], int(match["count"]) * found[1]
