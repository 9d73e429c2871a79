"""What an optimizer may expect of a column, from the totals of its table. Pure; driver."""

from __future__ import annotations

import datetime as dt
from decimal import Context, Decimal
from typing import Any, Final

from ducklake_spark.model.literals import format_text
from ducklake_spark.model.types import DataType, DecimalType, ScalarType
from ducklake_spark.plan.totals import EXACT_INTEGERS, ColumnTotals

Estimates = dict[str, Any]
"""Of a column its `nulls`, and where they are known `min`, `max`, `distinct` and `width`."""

_EXACT: Final = Context(prec=80)
_WIDTHS: Final = {
    "boolean": 1,
    "int8": 1,
    "uint8": 2,
    "int16": 2,
    "uint16": 4,
    "int32": 4,
    "uint32": 8,
    "int64": 8,
    "date": 4,
    "timestamp": 8,
    "timestamptz": 8,
    "float32": 4,
    "float64": 8,
}


def estimate_column(kind: DataType, rows: int, totals: ColumnTotals) -> Estimates:
    """The estimates of a column of a table with so many rows.

    A lake counts no distinct values. There are no more of them than values, and than numbers or
    days from the least to the greatest: that is what is told, as if they were spread evenly.
    """
    found: Estimates = {"nulls": rows - totals.values}
    if isinstance(kind, ScalarType) and kind.name in _WIDTHS:
        found["width"] = _WIDTHS[kind.name]
    if totals.low is None or totals.high is None or not _is_told(kind):
        return found
    low, high = format_text(totals.low, kind), format_text(totals.high, kind)
    steps = _steps(kind, low, high)
    if steps is not None:
        found |= {"min": low, "max": high, "distinct": min(steps, totals.values)}
    return found


def _is_told(kind: DataType) -> bool:
    """Whether Spark reads the text of a bound of this type."""
    if isinstance(kind, DecimalType):
        return True
    names = (EXACT_INTEGERS - {"uint64"}) | {"boolean", "date"}
    return isinstance(kind, ScalarType) and kind.name in names


def _steps(kind: DataType, low: str, high: str) -> int | None:
    """How many values there can be from the least to the greatest; None for what Spark cannot read.

    Dates may be infinite, before Christ, or of years with more than four digits.
    """
    match kind:
        case ScalarType("boolean"):
            return 1 if low == high else 2
        case ScalarType("date"):
            try:
                return (dt.date.fromisoformat(high) - dt.date.fromisoformat(low)).days + 1
            except ValueError:
                return None
        case DecimalType(_, scale):
            return int((Decimal(high) - Decimal(low)).scaleb(scale, _EXACT)) + 1
        case _:
            return int(high) - int(low) + 1
