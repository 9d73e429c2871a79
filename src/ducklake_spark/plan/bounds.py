"""What statistics say about the values of one column in one file, and what it rules out. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

from ducklake_spark.errors import InvalidValue
from ducklake_spark.model.bound_text import is_float, lower_bound, upper_bound
from ducklake_spark.model.literals import from_python
from ducklake_spark.model.number_text import to_float32
from ducklake_spark.model.predicate import Comparison, In, IsNull, StartsWith
from ducklake_spark.model.types import DataType, DecimalType, ScalarType

Leaf = Comparison | In | StartsWith | IsNull

# Bytes are cut in ways that differ between writers; the others have no order or no bounds.
_UNORDERED: Final = frozenset({"blob", "timetz", "interval", "variant", "geometry"})
_TEXTS: Final = frozenset({"varchar", "json", "uuid"})


@dataclass(frozen=True, slots=True)
class FileStats:
    """A row of ducklake_file_column_stats; None is unknown, bounds are the catalog's text."""

    value_count: int | None
    null_count: int | None
    min_value: str | None
    max_value: str | None
    contains_nan: bool | None = None


@dataclass(frozen=True, slots=True)
class Bounds:
    """Every value lies between `low` and `high`; None is no bound. Both are keys of `order_key`."""

    low: Any = None
    high: Any = None
    has_values: bool = True  # it may hold a value that is not NULL
    has_nulls: bool = True


@dataclass(frozen=True, slots=True)
class Condition:
    """A leaf of a predicate with its values made ready to compare.

    `options` holds for each value what it may mean, as a tuple of keys; empty when nothing is
    known about it, so that it may match anything.
    """

    leaf: Leaf
    kind: DataType
    options: tuple[tuple[Any, ...], ...] = ()


def prepare(leaf: Leaf, kind: DataType) -> Condition:
    """Convert the values of a leaf once, for all files."""
    match leaf:
        case Comparison(_, _, value):
            return Condition(leaf, kind, (_options(value, kind),))
        case In(_, values):
            return Condition(leaf, kind, tuple(_options(value, kind) for value in values))
        case StartsWith() | IsNull():
            return Condition(leaf, kind)


def read_bounds(stats: FileStats, record_count: int, kind: DataType) -> Bounds:
    """The bounds of a column in a file of `record_count` rows.

    Counts are believed only if they add up to the rows: the extension writes zeros for types that
    it keeps no statistics of. A float column whose freedom from NaN is not certain has no bounds.
    """
    values, nulls = stats.value_count, stats.null_count
    counted = values is not None and nulls is not None and values + nulls == record_count
    low = high = None
    if has_order(kind) and (not is_float(kind) or stats.contains_nan is False):
        low = order_key(lower_bound(stats.min_value, kind), kind)
        high = order_key(upper_bound(stats.max_value, kind), kind)
    return Bounds(low, high, not (counted and values == 0), not (counted and nulls == 0))


def exact_bounds(text: str | None, kind: DataType) -> Bounds:
    """The bounds of a column that has one value in all rows of a file: its identity partition."""
    if text is None:
        return Bounds(has_values=False)
    if not has_order(kind):
        return Bounds(has_nulls=False)
    if is_float(kind) and text.strip().lower().lstrip("+-") == "nan":
        nan = order_key(math.nan, kind)
        return Bounds(nan, nan, has_nulls=False)
    if isinstance(kind, ScalarType) and kind.name in _TEXTS:
        return Bounds(text, text, has_nulls=False)  # whole, however long
    low, high = lower_bound(text, kind), upper_bound(text, kind)
    return Bounds(order_key(low, kind), order_key(high, kind), has_nulls=False)


def may_match(condition: Condition, bounds: Bounds) -> bool:
    """Whether a value within the bounds can satisfy the condition; NULL satisfies IS NULL only."""
    leaf = condition.leaf
    if isinstance(leaf, IsNull):
        return bounds.has_values if leaf.negated else bounds.has_nulls
    if not bounds.has_values:
        return False
    if isinstance(leaf, StartsWith):
        return _may_start(leaf.prefix, condition.kind, bounds)
    operator = leaf.operator if isinstance(leaf, Comparison) else "="
    return any(
        not options or any(_may_compare(operator, key, bounds) for key in options)
        for options in condition.options
    )


def has_order(kind: DataType) -> bool:
    """Whether bounds of this type mean something."""
    return isinstance(kind, DecimalType) or (
        isinstance(kind, ScalarType) and kind.name not in _UNORDERED
    )


def order_key(value: Any, kind: DataType) -> Any:
    """What is compared: the comparable form, with NaN above all other floats, as Spark has it."""
    if value is None or not is_float(kind):
        return value
    return (True, 0.0) if math.isnan(value) else (False, value)


def _options(value: Any, kind: DataType) -> tuple[Any, ...]:
    if not has_order(kind):
        return ()
    try:
        comparable = from_python(value, kind)
    except InvalidValue:
        return ()
    if kind == ScalarType("float32"):
        # A literal may be meant as a float or be compared as a double: both have to be ruled out.
        return (order_key(comparable, kind), order_key(to_float32(comparable), kind))
    return (order_key(comparable, kind),)


def _may_compare(operator: str, key: Any, bounds: Bounds) -> bool:
    low, high = bounds.low, bounds.high
    match operator:
        case "=":
            return (low is None or low <= key) and (high is None or key <= high)
        case "<>":
            return not (low is not None and low == high == key)
        case "<":
            return low is None or bool(low < key)
        case "<=":
            return low is None or bool(low <= key)
        case ">":
            return high is None or bool(high > key)
        case ">=":
            return high is None or bool(high >= key)
        case _:
            return True


def _may_start(prefix: str, kind: DataType, bounds: Bounds) -> bool:
    if not isinstance(kind, ScalarType) or kind.name not in _TEXTS:
        return True
    if bounds.high is not None and bounds.high < prefix:
        return False
    return bounds.low is None or bounds.low <= prefix or bool(bounds.low.startswith(prefix))
