"""Names of time zones: Spark's and those that DuckDB knows. Pure."""

from __future__ import annotations

import re
from typing import Final

from ducklake_spark.errors import NotSupported

_OFFSET: Final = re.compile(r"(?:GMT|UTC|UT)?([+-])(\d{1,2})(?::?(\d\d))?")
_WEST, _EAST = 12, 14


def duckdb_zone(name: str) -> str:
    """DuckDB's name of a zone that Spark's session has.

    >>> duckdb_zone("+02:00"), duckdb_zone("Z"), duckdb_zone("Asia/Tokyo")
    ('Etc/GMT-2', 'UTC', 'Asia/Tokyo')

    Raises:
        NotSupported: DuckDB knows no offset of parts of an hour.
    """
    if name == "Z":
        return "UTC"
    offset = _OFFSET.fullmatch(name)
    if offset is None:
        return name
    sign, hours, minutes = offset[1], int(offset[2]), int(offset[3] or 0)
    if minutes or hours > (_EAST if sign == "+" else _WEST):
        raise NotSupported(
            f'DuckDB does not know the time zone "{name}" of the session.',
            hint="name a region, such as Asia/Kolkata.",
        )
    # The names of these zones count to the west.
    return f"Etc/GMT{'-' if sign == '+' else '+'}{hours}" if hours else "UTC"
