"""What statistics of files say about whole columns of a table, where it is exact. Pure; driver.

Bounds of files exclude what cannot be there; to be an answer they have to be values of rows that
are visible. So nothing may hide rows of a file, the counts must add up to its rows, and the type
must be one whose bounds every writer gives whole: text and bytes are cut, and floats have NaN, two
zeros and several texts of one number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final

from ducklake_spark.errors import InvalidValue
from ducklake_spark.model.entities import DataFile
from ducklake_spark.model.literals import from_python, parse_stat
from ducklake_spark.model.number_text import INTEGERS
from ducklake_spark.model.schema import Column
from ducklake_spark.model.types import DataType, DecimalType, ScalarType
from ducklake_spark.plan.bounds import FileStats

# The extension keeps 128-bit integers as doubles.
EXACT_INTEGERS: Final = INTEGERS - {"int128", "uint128"}
_EXACT: Final = EXACT_INTEGERS | {
    *("boolean", "date", "timestamp", "timestamp_s", "timestamp_ms", "timestamptz"),
}
_UNCOUNTED: Final = frozenset({"timetz", "interval", "variant", "geometry", "unknown"})


@dataclass(frozen=True, slots=True)
class ColumnTotals:
    """How many values of a column are not NULL, and the least and greatest of them.

    Both are in the comparable form of `model.literals`, or None if they were not asked for or if
    there is no value.
    """

    values: int
    low: Any = None
    high: Any = None


def is_counted(kind: DataType) -> bool:
    """Whether statistics of a column of this type can count its values."""
    return isinstance(kind, DecimalType) or (
        isinstance(kind, ScalarType) and kind.name not in _UNCOUNTED
    )


def is_bounded(kind: DataType, types: AbstractSet[str]) -> bool:
    """Whether bounds of the type are values; `types` are the names of all that the column had.

    A narrower integer has the same text as the wider one that it has become.
    """
    if isinstance(kind, ScalarType) and kind.name in EXACT_INTEGERS:
        return types <= EXACT_INTEGERS
    exact = isinstance(kind, DecimalType) or (isinstance(kind, ScalarType) and kind.name in _EXACT)
    return exact and len(types) == 1


def shows_all_rows(file: DataFile, snapshot_id: int) -> bool:
    """Whether a snapshot sees every row of a committed file that a writer of DuckLake has made.

    A name mapping says that somebody else made it, whose statistics may be no values.
    """
    return (
        file.data_file_id >= 0
        and file.mapping_id is None
        and file.encryption_key is None
        and file.delete_file is None
        and not file.inlined_deletes
        and (file.partial_max is None or file.partial_max <= snapshot_id)
    )


def total_of_files(
    column: Column,
    files: Sequence[DataFile],
    stats: Mapping[int, Mapping[int, FileStats]],
    *,
    bounded: bool,
) -> ColumnTotals | None:
    """The totals of a column over files that show all rows; None when statistics do not tell."""
    parts = []
    for file in files:
        found = stats.get(file.data_file_id, {}).get(column.column_id)
        part = None if found is None else _total(found, file.record_count, column.type, bounded)
        if part is None:
            return None
        parts.append(part)
    return merge_totals(parts)


def total_of_values(values: Iterable[Any], kind: DataType, *, bounded: bool) -> ColumnTotals | None:
    """The totals of values in the carrier form of `model.literals`."""
    present = [value for value in values if value is not None]
    if not bounded or not present:
        return ColumnTotals(len(present))
    try:
        keys = [from_python(value, kind) for value in present]
    except InvalidValue:
        return None
    return ColumnTotals(len(present), min(keys), max(keys))


def merge_totals(parts: Sequence[ColumnTotals]) -> ColumnTotals:
    """The totals of several parts of a table."""
    lows = [part.low for part in parts if part.low is not None]
    highs = [part.high for part in parts if part.high is not None]
    return ColumnTotals(
        sum(part.values for part in parts),
        min(lows) if lows else None,
        max(highs) if highs else None,
    )


def _total(
    stats: FileStats, record_count: int, kind: DataType, bounded: bool
) -> ColumnTotals | None:
    values, nulls = stats.value_count, stats.null_count
    # The extension writes zeros for types that it keeps no statistics of.
    if values is None or nulls is None or values + nulls != record_count or min(values, nulls) < 0:
        return None
    if not bounded or not values:
        return ColumnTotals(values)
    low, high = parse_stat(stats.min_value, kind), parse_stat(stats.max_value, kind)
    if low is None or high is None:
        return None
    return ColumnTotals(values, low, high)
