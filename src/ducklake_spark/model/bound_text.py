"""The text of a bound as a value that is certainly below, or above, what it stands for.

A bound may be older than the column's type, and DuckDB cuts long text: parsed as it stands, it
could exclude values that are there. Pure; driver and task.
"""

from __future__ import annotations

import math
from typing import Any, Final

from ducklake_spark.model.literals import STAT_BYTES, parse_stat
from ducklake_spark.model.number_text import FLOATS, format_float, to_float32
from ducklake_spark.model.types import DataType, ScalarType

_STEP: Final = {"float32": 2.0**-22, "float64": 2.0**-51}


def lower_bound(text: str | None, kind: DataType) -> Any | None:
    """A comparable value (see `model.literals`) that no value of the column is below, or None.

    >>> lower_bound("0.1", ScalarType("float64")), lower_bound("-5", ScalarType("int64"))
    (0.1, -5)
    """
    value = parse_stat(text, kind)
    if value is None or text is None or not is_float(kind):
        return value
    return min(_readings(text, value, kind))


def upper_bound(text: str | None, kind: DataType) -> Any | None:
    """A comparable value that no value of the column is above, or None.

    A text of 256 bytes or more may have been cut, and then is below what it stands for.

    >>> upper_bound("0.1", ScalarType("float64")), upper_bound("x" * 256, ScalarType("varchar"))
    (0.10000000149011612, None)
    """
    value = parse_stat(text, kind)
    if isinstance(value, str) and len(value.encode()) >= STAT_BYTES:
        return None
    if value is None or text is None or not is_float(kind):
        return value
    return max(_readings(text, value, kind))


def is_float(kind: DataType) -> bool:
    """Whether values may be NaN."""
    return isinstance(kind, ScalarType) and kind.name in FLOATS


def _readings(text: str, value: float, kind: DataType) -> tuple[float, ...]:
    """What the text of a float bound may stand for.

    The column may have been a float32, a decimal or an integer when the file was written: then
    the shortest text of a float32 is not the text of the double that it has become.
    """
    name = "float32" if kind == ScalarType("float32") else "float64"
    if not math.isfinite(value):
        return (value,)
    if format_float(value, name) != text:
        step = abs(value) * _STEP[name] + 1e-45  # rounded by another rule than ours, perhaps
        return (value - step, value + step)
    single = to_float32(value)
    return (value, single) if format_float(single, "float32") == text else (value,)
