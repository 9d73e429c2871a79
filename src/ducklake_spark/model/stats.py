"""Statistics of a whole table's column, and how new files widen them. Pure; driver.

DuckDB answers queries from these bounds: a value outside of them is not found. It also takes a row
without bounds as "only NULLs so far" and lets the next insert set them from its own rows alone. So
bounds that are unknown although values exist must leave no row behind, which `merge_stats` says
with None. Types whose bounds DuckDB does not use keep their row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from ducklake_spark.caching import remembered
from ducklake_spark.model.bound_text import is_float, lower_bound, upper_bound
from ducklake_spark.model.literals import format_stat
from ducklake_spark.model.types import DataType, ScalarType
from ducklake_spark.model.written import ColumnStats

# What DuckDB's optimizer does not look at: a row without bounds does no harm.
_UNUSED: Final = frozenset({"int128", "uint128", "blob", "timetz", "interval"})
_UNBOUNDED: Final = frozenset({"blob", "timetz", "interval", "variant", "geometry"})
_MISCOUNTED: Final = frozenset({"timetz", "interval"})  # the extension counts no NULLs of these


@dataclass(frozen=True, slots=True)
class TableColumnStats:
    """A row of ducklake_table_column_stats; None is unknown."""

    column_id: int
    contains_null: bool | None
    contains_nan: bool | None
    min_value: str | None
    max_value: str | None
    extra_stats: str | None = None


def merge_stats(
    current: TableColumnStats | None,
    added: Iterable[ColumnStats],
    kind: DataType,
    *,
    had_rows: bool,
) -> TableColumnStats | None:
    """The row of a column after files were added; None when there must be no row.

    Args:
        current: the row as it is, None if there is none.
        added: statistics of the column in the new files (or in rows put into the catalog).
        kind: the column's type as it is now.
        had_rows: whether the table ever had rows before. Then a missing row means that nothing is
            known about them, and missing bounds may mean so.
    """
    parts = list(added)
    if not parts or (current is None and had_rows):
        return current
    before = current if had_rows else None
    filled = [part for part in parts if part.value_count != 0]
    bounds: tuple[str | None, str | None] | None = (None, None)
    if filled:
        bounds = _merge_bounds(before, filled, kind)
    elif before:
        bounds = before.min_value, before.max_value
    low, high = bounds or (None, None)
    merged = TableColumnStats(
        column_id=parts[0].column_id,
        contains_null=_contains_null(before, parts, kind),
        contains_nan=_contains_nan(before, parts) if is_float(kind) else None,
        min_value=low,
        max_value=high,
        extra_stats=current.extra_stats if current else None,
    )
    if bounds is not None:
        return merged
    if is_float(kind):
        # Not knowing about NaN is for ever, and switches the use of the bounds off.
        return replace(merged, contains_nan=True if merged.contains_nan else None)
    return merged if _name(kind) in _UNUSED else None


def _merge_bounds(
    before: TableColumnStats | None, filled: Sequence[ColumnStats], kind: DataType
) -> tuple[str, str] | None:
    """Both bounds as text, or None if one of them is unknown: DuckDB misreads a single one."""
    if _name(kind) in _UNBOUNDED:
        return None
    lows: list[Any] = [lower_bound(part.min_value, kind) for part in filled]
    highs: list[Any] = [upper_bound(part.max_value, kind) for part in filled]
    if before:
        low_before, high_before = _parsed(before.min_value, before.max_value, kind)
        lows.append(low_before)
        highs.append(high_before)
    if any(bound is None for bound in (*lows, *highs)):
        return None
    low = format_stat(min(lows), kind, bound="min")
    high = format_stat(max(highs), kind, bound="max")
    return None if low is None or high is None else (low, high)


# A commit looks at bounds that the one before it has looked at.
@remembered("parsed bounds", entries=1024)
def _parsed(low: str | None, high: str | None, kind: DataType) -> tuple[Any, Any]:
    return lower_bound(low, kind), upper_bound(high, kind)


def _contains_null(
    before: TableColumnStats | None, parts: Sequence[ColumnStats], kind: DataType
) -> bool | None:
    found: list[bool | None] = [
        None if part.null_count is None else part.null_count > 0 for part in parts
    ]
    if before is not None:
        unsure = before.contains_null is False and _name(kind) in _MISCOUNTED
        found.append(None if unsure else before.contains_null)
    return _any(found)


def _contains_nan(before: TableColumnStats | None, parts: Sequence[ColumnStats]) -> bool | None:
    known = [part.contains_nan for part in parts]
    return _any([*known, before.contains_nan] if before else known)


def _any(found: Sequence[bool | None]) -> bool | None:
    """True if one is, unknown if one is, else False."""
    if True in found:
        return True
    return None if None in found else False


def _name(kind: DataType) -> str:
    return kind.name if isinstance(kind, ScalarType) else ""
