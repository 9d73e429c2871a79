"""The options that a lake keeps about itself, each declared once."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from types import MappingProxyType
from typing import Any, Final

from ducklake_spark.errors import InvalidValue, UnknownOption, did_you_mean
from ducklake_spark.model.intervals import format_interval, parse_interval

CODECS: Final = ("uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4", "lz4_raw")
_DAY_MICROS: Final = 86_400_000_000

_SIZE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-z]+)\s*")
_DECIMAL_UNITS: Final = {"k": 1, "m": 2, "g": 3, "t": 4}
_TRUE: Final = frozenset({"true", "t", "1", "yes", "y"})
_FALSE: Final = frozenset({"false", "f", "0", "no", "n"})


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its name, what it means, and how a value becomes the stored text.

    Attributes:
        name: as it is stored.
        sentence: what it means.
        accepts: the values it takes, for messages.
        to_text: a value as stored text; raises ValueError for one it does not take. None: the
            option is shown, and cannot be set.
    """

    name: str
    sentence: str
    accepts: str = ""
    to_text: Callable[[Any], str] | None = None

    def store(self, value: Any) -> str:
        """The text that is stored for a value.

        Raises:
            UnknownOption: the option cannot be set, or does not take the value.
        """
        if self.to_text is None:
            raise UnknownOption(
                f'The option "{self.name}" cannot be set: it is decided when the lake is made.',
                hint=f"these can be: {', '.join(settable_names())}.",
            )
        try:
            if value is None:
                raise ValueError(value)
            return self.to_text(value)
        except (ValueError, InvalidOperation, InvalidValue):
            raise UnknownOption(
                f'The option "{self.name}" cannot take the value {value!r}.',
                hint=f"it takes {self.accepts}.",
            ) from None


def find_option(name: str) -> Option:
    """The option of that name, whatever its case.

    Raises:
        UnknownOption: with the names that there are.
    """
    option = OPTIONS.get(name.lower())
    if option is None:
        hint = did_you_mean(name, OPTIONS) or f"these can be set: {', '.join(settable_names())}."
        raise UnknownOption(f'There is no option "{name}".', hint=hint)
    return option


def settable_names() -> list[str]:
    """The names of the options that can be set, sorted."""
    return sorted(name for name, option in OPTIONS.items() if option.to_text is not None)


def parse_size(text: str) -> int:
    """Bytes from text with a unit: KB is 1000, KiB is 1024.

    >>> parse_size("10MB"), parse_size("1.5 KiB")
    (10000000, 1536)
    """
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(text)
    unit = match[2].lower()
    if unit in ("b", "byte", "bytes"):
        return int(Decimal(match[1]))
    power = _DECIMAL_UNITS.get(unit[0], 0)
    if unit[1:] in ("", "b") and power:
        return int(Decimal(match[1]) * 1000**power)
    if unit[1:] == "ib" and power:
        return int(Decimal(match[1]) * 1024**power)
    raise ValueError(text)


def parse_boolean(value: Any) -> bool:
    """A boolean from SQL's ways to write one."""
    word = str(value).strip().lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ValueError(value)


def parse_count(value: Any) -> int:
    """A whole number that is not negative."""
    number = Decimal(int(value)) if isinstance(value, bool) else Decimal(str(value).strip())
    if number != number.to_integral_value() or number < 0:
        raise ValueError(value)
    return int(number)


def _boolean(value: Any) -> str:
    return "true" if parse_boolean(value) else "false"


def _count(value: Any) -> str:
    return str(parse_count(value))


def _positive(value: Any) -> str:
    number = parse_count(value)
    if number == 0:
        raise ValueError(value)
    return str(number)


def _size(value: Any) -> str:
    return str(parse_size(str(value)))


def _positive_size(value: Any) -> str:
    return _positive(_size(value))


def _codec(value: Any) -> str:
    name = str(value).lower()
    if name not in CODECS:
        raise ValueError(value)
    return name


def _version(value: Any) -> str:
    number = parse_count(value)
    if number not in (1, 2):
        raise ValueError(value)
    return f"V{number}"


def _fraction(value: Any) -> str:
    number = float(str(value))
    if not 0 <= number <= 1:
        raise ValueError(value)
    return f"{number:.6f}"


def _interval(value: Any) -> str:
    if isinstance(value, dt.timedelta):
        micros = value // dt.timedelta(microseconds=1)
        return format_interval(0, micros // _DAY_MICROS, micros % _DAY_MICROS)
    text = str(value)
    if text:
        parse_interval(text)
    return text


_BOOLEAN = ("true or false", _boolean)
_INTERVAL = ("an interval such as '7 days', or '' for none", _interval)
_BYTES = "a size with its unit such as '64MB' or '64MiB'"

_ALL: Final = (
    Option(
        "auto_compact",
        "Whether maintenance of the whole lake or schema includes the table.",
        *_BOOLEAN,
    ),
    Option("created_by", "The program that made the lake."),
    Option(
        "data_inlining_row_limit",
        "How many rows of one insert may be kept in the metadata database; 0 keeps none there.",
        "a whole number that is not negative",
        _count,
    ),
    Option("data_path", "Where the data files are."),
    Option(
        "delete_older_than",
        "How old files that nobody needs must be before a cleanup removes them.",
        *_INTERVAL,
    ),
    Option("encrypted", "Whether data files are encrypted."),
    Option(
        "expire_older_than",
        "How old snapshots must be before they are expired, unless the call says it.",
        *_INTERVAL,
    ),
    Option(
        "hive_file_pattern",
        "Whether files of partitioned tables are put into folders named key=value.",
        *_BOOLEAN,
    ),
    Option("parquet_compression", "How Parquet files are compressed.", ", ".join(CODECS), _codec),
    Option(
        "parquet_compression_level",
        "How hard Parquet files are compressed.",
        "a whole number that is not negative",
        _count,
    ),
    Option(
        "parquet_row_group_size",
        "How many rows a row group of a Parquet file holds.",
        "a whole number above 0",
        _positive,
    ),
    Option(
        "parquet_row_group_size_bytes",
        "How many bytes a row group of a Parquet file holds.",
        _BYTES,
        _positive_size,
    ),
    Option("parquet_version", "The version of the Parquet format, 1 or 2.", "1 or 2", _version),
    Option(
        "per_thread_output",
        "Whether parallel writers of one insert write files of their own.",
        *_BOOLEAN,
    ),
    Option(
        "require_commit_message",
        "Whether every commit needs a message of its author.",
        *_BOOLEAN,
    ),
    Option(
        "rewrite_delete_threshold",
        "The part of a file that must be deleted before it is worth rewriting, from 0 to 1.",
        "a number from 0 to 1",
        _fraction,
    ),
    Option(
        "sort_on_insert",
        "Whether an insert sorts its rows as the table's sort order says.",
        *_BOOLEAN,
    ),
    Option("target_file_size", "How large data files are meant to become.", _BYTES, _size),
    Option("version", "The version of the format."),
    Option(
        "write_deletion_vectors",
        "Whether deletes are written as deletion vectors; an experiment.",
        *_BOOLEAN,
    ),
)
OPTIONS: Final[Mapping[str, Option]] = MappingProxyType({option.name: option for option in _ALL})
"""Every option by its name."""
