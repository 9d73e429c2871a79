"""The moment before which something is old enough: given, from an option, or none."""

from __future__ import annotations

import calendar
import datetime as dt

from ducklake_spark.errors import InvalidInput, InvalidValue
from ducklake_spark.lake import Lake
from ducklake_spark.model.intervals import parse_interval

DEFAULT_FILE_AGE = "2 days"
"""How old unneeded files must be when nobody says otherwise, as in the extension."""


def moment_ago(age: str, now: dt.datetime | None = None) -> dt.datetime:
    """The moment that long ago; months go by the calendar.

    >>> moment_ago("1 month 1 day", dt.datetime(2026, 3, 31, tzinfo=dt.timezone.utc)).isoformat()
    '2026-02-27T00:00:00+00:00'
    """
    try:
        months, days, micros = parse_interval(age)
    except InvalidValue:
        raise InvalidInput(f"Failed to parse interval: {age!r}.") from None
    start = now or dt.datetime.now(dt.timezone.utc)
    year, month = divmod(start.year * 12 + start.month - 1 - months, 12)
    try:
        last = calendar.monthrange(year, month + 1)[1]
        moved = start.replace(year=year, month=month + 1, day=min(start.day, last))
        return moved - dt.timedelta(days=days, microseconds=micros)
    except (ValueError, OverflowError):
        raise InvalidInput(f"The age {age!r} leads out of the calendar.") from None


def file_age_limit(
    lake: Lake, function: str, *, older_than: dt.datetime | None, cleanup_all: bool
) -> dt.datetime | None:
    """The moment that files must be older than to be removed; None when their age is no matter.

    Raises:
        InvalidInput: both limits are given, or none, and the option is set to nothing.
    """
    stored = lake.settings().get("delete_older_than")
    default = DEFAULT_FILE_AGE if stored is None else stored
    if (cleanup_all and older_than is not None) or not (cleanup_all or older_than or default):
        raise InvalidInput(
            f"{function}: either cleanup_all OR older_than must be specified.",
            hint="or set the option delete_older_than, such as to '1 week'.",
        )
    if cleanup_all:
        return None
    return older_than if older_than is not None else moment_ago(default)
