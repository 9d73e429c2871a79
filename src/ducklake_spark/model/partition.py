"""Partition transforms: from a value to the text that the catalog stores, and to a directory.

Calendar parts are the fields of the date as one writes it (month 3, not months since 1970), of a
timestamptz in UTC. Pure; driver and task.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from ducklake_spark.errors import InvalidInput, InvalidValue
from ducklake_spark.model.civil import civil_from_days
from ducklake_spark.model.intervals import parse_interval, parse_timetz
from ducklake_spark.model.literals import format_text, to_ordinal
from ducklake_spark.model.murmur import murmur3
from ducklake_spark.model.number_text import to_decimal, unscaled
from ducklake_spark.model.temporal import DATE_INFINITY, TIMESTAMP_INFINITY, TIMESTAMPS
from ducklake_spark.model.types import SIGNED_BITS, DataType, DecimalType, ScalarType

NULL_FOLDER: Final = "__HIVE_DEFAULT_PARTITION__"
_LONGEST_FOLDER: Final = 256  # with the slash
CALENDAR: Final = ("year", "month", "day", "hour")

_BUCKET: Final = re.compile(r"bucket\(\s*(\d+)\s*\)")
_HOUR: Final = 3_600_000_000
_UNIT_MICROS: Final = {"timestamp_s": 1_000_000, "timestamp_ms": 1000}


@dataclass(frozen=True, slots=True)
class Transform:
    """What is done to a value before files are divided by it."""

    name: str  # identity | year | month | day | hour | bucket
    buckets: int | None = None

    def __str__(self) -> str:
        return self.name if self.buckets is None else f"{self.name}({self.buckets})"


def parse_transform(text: str) -> Transform:
    """Read ducklake_partition_column.transform.

    >>> parse_transform("bucket(16)"), str(parse_transform("Year"))
    (Transform(name='bucket', buckets=16), 'year')
    """
    name = text.strip().lower()
    if name == "identity" or name in CALENDAR:
        return Transform(name)
    match = _BUCKET.fullmatch(name)
    if match is None or int(match[1]) == 0:
        raise InvalidInput(
            f"There is no partition transform {text!r}.",
            hint="there are identity, year, month, day, hour and bucket(N).",
        )
    return Transform("bucket", int(match[1]))


def partition_value(value: Any, kind: DataType, transform: Transform | str) -> str | None:
    """The text of ducklake_file_partition_value for a value; None for NULL.

    >>> import datetime
    >>> partition_value(datetime.date(2024, 3, 5), ScalarType("date"), "month")
    '3'
    """
    if value is None:
        return None
    how = parse_transform(transform) if isinstance(transform, str) else transform
    if how.name == "identity":
        return format_text(value, kind)
    if how.buckets is not None:
        return str(bucket_of(hash_input(value, kind), how.buckets))
    part = calendar_part(value, kind, how.name)
    return None if part is None else str(part)


def calendar_part(value: Any, kind: DataType, part: str) -> int | None:
    """The year, month, day or hour of a date, timestamp or time; None for an infinite one.

    >>> calendar_part("0044-03-15 (BC)", ScalarType("date"), "year")
    -43
    """
    if not has_part(kind, part):
        raise InvalidValue(f"The {part} of {value!r} is not defined for the type {kind}.")
    name = kind.name if isinstance(kind, ScalarType) else ""
    if name == "time":
        return to_ordinal(value, kind) // _HOUR
    if name == "timetz":
        return parse_timetz(format_text(value, kind))[0] // _HOUR
    if name == "interval":
        months, days, micros = parse_interval(format_text(value, kind))
        # Cut towards zero, as all parts of an interval are.
        return (int(months / 12), months - 12 * int(months / 12), days, int(micros / _HOUR))[
            CALENDAR.index(part)
        ]
    ordinal = to_ordinal(value, kind)
    if abs(ordinal) >= (DATE_INFINITY if name == "date" else TIMESTAMP_INFINITY):
        return None
    hour = 0
    if name == "timestamp_ns":  # DuckDB looks at microseconds, cut towards 1970
        ordinal = ordinal // 1000 if ordinal >= 0 else -(-ordinal // 1000)
    if name != "date":
        ordinal, hour = divmod(ordinal // _HOUR, 24)
    return (*civil_from_days(ordinal), hour)[CALENDAR.index(part)]


def has_part(kind: DataType, part: str) -> bool:
    """Whether values of the type have a year, month, day or hour."""
    name = kind.name if isinstance(kind, ScalarType) else ""
    if name in ("time", "timetz"):
        return part == "hour"
    return name in ("date", "interval") or name in TIMESTAMPS


def bucket_of(data: bytes, buckets: int) -> int:
    """The number of the bucket that bytes fall into.

    >>> bucket_of(b"iceberg", 16)
    9
    """
    return (murmur3(data) & 0x7FFFFFFF) % buckets


def hash_input(value: Any, kind: DataType) -> bytes:
    """The bytes of a value that are hashed: eight for a number or a moment, else its text."""
    if isinstance(kind, DecimalType):
        exact = to_decimal(value, kind)
        if kind.precision > 18:
            return format_text(exact, kind).encode()
        return _long(int(unscaled(exact, kind.scale) or 0))
    name = kind.name if isinstance(kind, ScalarType) else ""
    if name == "boolean" or (name in SIGNED_BITS and name != "int128"):
        return _long(int(value))
    if name in ("date", "time") or name in TIMESTAMPS:
        return _long(to_ordinal(value, kind) // _UNIT_MICROS.get(name, 1))
    if name in ("float32", "float64"):
        return struct.pack("<d", float(value) + 0.0)  # -0.0 + 0.0 is 0.0
    if name == "timetz":
        micros, offset = parse_timetz(format_text(value, kind))
        return _long(micros << 24 | 57_599 - offset)  # as DuckDB packs it
    if name == "blob":
        return bytes(value)
    if isinstance(kind, ScalarType):
        return format_text(value, kind).encode()
    raise InvalidValue(f"Values of the type {kind} cannot be put into buckets.")


def folder_names(keys: Sequence[tuple[str, Transform]]) -> list[str]:
    """The names of the directories of a spec, from its columns' names and transforms.

    >>> folder_names([("a", Transform("year")), ("b", Transform("year"))])
    ['year', 'year_b']
    """
    names: list[str] = []
    for column, transform in keys:
        name = column if transform.name == "identity" else transform.name
        taken = {known.lower() for known in names}
        names.append(f"{name}_{column}" if name.lower() in taken else name)
    return names


def hive_path(names: Sequence[str], values: Sequence[str | None]) -> str:
    """The directories of a file, with a slash behind each; none where a name would be too long.

    No reader looks at them: the catalog knows the values. File systems end at 255 bytes a name.

    >>> hive_path(["year", "s"], ["2024", "a/b c"]), hive_path(["s"], [None])
    ('year=2024/s=a%2Fb%20c/', 's=__HIVE_DEFAULT_PARTITION__/')
    """
    folders = [
        f"{encode_hive(name)}={NULL_FOLDER if value is None else encode_hive(value)}/"
        for name, value in zip(names, values, strict=True)
    ]
    return "" if any(len(folder) > _LONGEST_FOLDER for folder in folders) else "".join(folders)


def encode_hive(text: str) -> str:
    """Percent-encode all but letters, digits and ``-._~``.

    >>> encode_hive("é:+~")
    '%C3%A9%3A%2B~'
    """
    return quote(text, safe="-._~")


def _long(number: int) -> bytes:
    return struct.pack("<q", number)
