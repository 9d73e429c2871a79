"""Statistics of DuckLake from a footer that somebody else wrote. Task, or driver.

A bound is written down only if it surely is one: never pruning wrongly counts more than pruning.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from ducklake_spark.errors import InvalidValue
from ducklake_spark.model.literals import Bound, format_stat, format_text, parse_text
from ducklake_spark.model.schema import Column
from ducklake_spark.model.types import DataType, ScalarType, parse_type
from ducklake_spark.model.written import ColumnStats
from ducklake_spark.parquet.statistics import raw_reader
from ducklake_spark.plan.foreign import FileColumn, MappedLeaf

_NANOS: Final = 1000  # in a microsecond
# How many microseconds one unit has of the types that show fewer digits than they are kept with.
_COARSE: Final = {"timestamp_ms": 1_000, "timestamp_s": 1_000_000}


def leaf_stats(leaf: MappedLeaf, chunks: Sequence[Any]) -> ColumnStats:
    """Statistics of a leaf of the table from the chunks of its Parquet column.

    NaN is not counted in footers, so whether a float column has some is not known.
    """
    statistics = [chunk.statistics if chunk.is_stats_set else None for chunk in chunks]
    slots = sum(chunk.num_values for chunk in chunks)
    nulls = _null_count(statistics)
    if nulls is not None and not 0 <= nulls <= slots:
        nulls = None
    low, high = _bounds(leaf.source, leaf.column, statistics)
    return ColumnStats(
        column_id=leaf.column.column_id,
        column_size_bytes=sum(chunk.total_compressed_size for chunk in chunks),
        value_count=None if nulls is None else slots - nulls,
        null_count=nulls,
        min_value=low,
        max_value=high,
    )


def constant_stats(column: Column, text: str | None, rows: int) -> ColumnStats:
    """Statistics of a column whose one value stands in the path."""
    low, high = _constant_bounds(column, text)
    nulls = rows if text is None else 0
    return ColumnStats(column.column_id, 0, rows - nulls, nulls, low, high)


def constant_text(column: Column, text: str | None) -> str | None:
    """The value of a folder's name as DuckDB would write it.

    Raises:
        InvalidValue: it is no value of the column's type.
    """
    return None if text is None else format_text(parse_text(text, column.type), column.type)


def _constant_bounds(column: Column, text: str | None) -> tuple[str | None, str | None]:
    shown = constant_text(column, text)
    if shown is None or column.type in _WITHOUT_BOUNDS or shown.lower() == "nan":
        return None, None
    if column.type not in _TEXTS:
        return shown, shown
    low = format_stat(shown, column.type, bound="min")
    return low, format_stat(shown, column.type, bound="max")


_TEXTS: Final = (ScalarType("varchar"), ScalarType("json"))
_WITHOUT_BOUNDS: Final = tuple(ScalarType(n) for n in ("blob", "timetz", "interval"))


def _null_count(statistics: Sequence[Any]) -> int | None:
    if not all(s is not None and s.has_null_count for s in statistics):
        return None
    return sum(int(s.null_count) for s in statistics)


def _bounds(
    source: FileColumn, column: Column, statistics: Sequence[Any]
) -> tuple[str | None, str | None]:
    """Both bounds as text, each None if a row group does not tell it."""
    if any(s is None for s in statistics) or source.layout == "int96":
        return None, None
    filled = [s for s in statistics if not _is_empty(s)]
    if not filled or not all(s.has_min_max for s in filled):
        return None, None
    is_moment = source.type_name.startswith("time")
    to_value = int if is_moment else raw_reader(parse_type(source.type_name))
    try:
        lows = [to_value(s.min_raw) for s in filled]
        highs = [to_value(s.max_raw) for s in filled]
    except UnicodeDecodeError:  # cut in the middle of a character
        return None, None
    if source.type_name.startswith("float") and any(map(math.isnan, (*lows, *highs))):
        return None, None
    return _text(min(lows), source, column, "min"), _text(max(highs), source, column, "max")


def _is_empty(statistics: Any) -> bool:
    return statistics.has_null_count and statistics.num_values == 0 and not statistics.has_min_max


def _text(value: Any, source: FileColumn, column: Column, bound: Bound) -> str | None:
    kind: DataType = column.type
    value = _rescaled(value, source, column.type_name.lower(), bound)
    try:
        return format_stat(value, kind, bound=bound)
    except InvalidValue:
        return None


def _rescaled(value: Any, source: FileColumn, wanted: str, bound: Bound) -> Any:
    """A moment in the unit of the table's type, rounded outwards."""
    if not source.type_name.startswith("time"):
        return value
    if source.unit == "ns":
        return value if wanted == "timestamp_ns" else _outwards(value, _NANOS, bound)
    micros = value * 1000 if source.unit == "ms" else value
    if wanted == "timestamp_ns":
        return micros * _NANOS
    unit = _COARSE.get(wanted, 1)
    return _outwards(micros, unit, bound) * unit


def _outwards(value: int, unit: int, bound: Bound) -> int:
    return value // unit if bound == "min" else -(-value // unit)
