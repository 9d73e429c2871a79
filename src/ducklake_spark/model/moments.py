"""Points in time as people give them: with a zone, or of a zone that goes without saying.

Text and values of SQL are of the session's zone, as in DuckDB. Python's own datetimes are of the
machine's zone, as everywhere in Python: ``datetime.now()`` is, and what PySpark collects. All
functions give aware datetimes in UTC.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from typing import Any, Final
from zoneinfo import ZoneInfo

from ducklake_spark.errors import InvalidInput
from ducklake_spark.model.temporal import parse_moment, parse_offset

Zone = dt.tzinfo | None
"""A time zone; None is the machine's own."""

_FIXED: Final = re.compile(r"(?:UTC|GMT|UT)?([+-]\d{1,2}(?::?\d{2}(?::?\d{2})?)?)")


def find_zone(name: str) -> dt.tzinfo:
    """The zone of a name as Spark takes it: a region, or an offset from UTC.

    >>> find_zone("+02:00").utcoffset(None), find_zone("America/New_York").key
    (datetime.timedelta(seconds=7200), 'America/New_York')
    """
    fixed = _FIXED.fullmatch(name)
    if fixed is not None:
        return dt.timezone(dt.timedelta(seconds=parse_offset(fixed[1])))
    try:
        return dt.timezone.utc if name == "Z" else ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise InvalidInput(
            f'Cannot read a time without a zone: the session\'s time zone "{name}" is not known.',
            hint="write the time with its offset, such as '2026-05-01 10:00+02', or set "
            "spark.sql.session.timeZone to a region such as Europe/Berlin.",
        ) from None


def moment_of_sql(value: Any, zone: Callable[[], Zone]) -> dt.datetime:
    """The moment that text means, or a TIMESTAMP, DATE or TIMESTAMPTZ of SQL.

    What the clock shows twice is the second time, and what it skips is as long after the change
    as it seems, as in DuckDB.
    """
    if isinstance(value, str):
        value = parse_moment(value)
    if not isinstance(value, dt.date):
        raise _no_moment(value)
    if not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)
    if value.tzinfo is not None:
        return _in_utc(value)
    wanted = zone()
    return max(_in_utc(value.replace(tzinfo=wanted, fold=fold)) for fold in (0, 1))


def moment_of_python(value: Any, zone: Callable[[], Zone]) -> dt.datetime:
    """The moment that an argument means: text, or a date or datetime of Python or pandas.

    Without a zone, those of Python are the machine's. PySpark makes Timestamps of pandas in the
    session's zone, and so they are read.
    """
    if not isinstance(value, dt.date):
        return moment_of_sql(value, zone)
    if type(value).__module__.partition(".")[0] == "pandas":
        return moment_of_sql(_without_pandas(value), zone)
    if not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)
    return _in_utc(value)


def _without_pandas(value: Any) -> dt.datetime:
    try:
        date, time = (value.year, value.month, value.day), (value.hour, value.minute, value.second)
        return dt.datetime(*date, *time, value.microsecond, value.tzinfo)
    except (TypeError, ValueError):  # NaT
        raise _no_moment(value) from None


def _in_utc(value: dt.datetime) -> dt.datetime:
    try:
        return value.astimezone(dt.timezone.utc)
    except (OverflowError, ValueError, OSError):
        # At the ends of the calendar, where hours make no difference.
        return value.replace(tzinfo=dt.timezone.utc)


def _no_moment(value: object) -> InvalidInput:
    return InvalidInput(
        f"{value!r} ({type(value).__name__}) is no moment.",
        hint="give a datetime, or text such as '2026-05-01 10:00:00+02'.",
    )
