"""What the rows of a write are divided by, as Spark columns computed by the JVM. Driver."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ducklake_spark.bridge.columns import micros_of, unscaled_value
from ducklake_spark.model.partition import (
    Transform,
    bucket_of,
    calendar_part,
    hash_input,
    parse_transform,
)
from ducklake_spark.model.temporal import DATE_INFINITY, TIMESTAMP_INFINITY
from ducklake_spark.model.types import SIGNED_BITS, DataType, DecimalType, ScalarType
from ducklake_spark.plan.layout import WriteLayout
from ducklake_spark.spark.hashing import murmur3_of_bytes, murmur3_of_long

_DAY: Final = 86_400_000_000
_HOUR: Final = 3_600_000_000
_PARTS: Final[dict[str, Callable[[Column], Column]]] = {
    "year": F.year,
    "month": F.month,
    "day": F.day,
}


def partition_columns(rows: DataFrame, layout: WriteLayout) -> list[Column]:
    """One column for each key of the layout's partition spec, over carriers called c0, c1, ….

    Identity gives the carrier itself, the other transforms an integer.
    """
    if layout.partition is None:
        return []
    places = {column.column_id: i for i, column in enumerate(layout.schema.columns)}
    keys = []
    for field in layout.partition.fields:
        place = places[field.column_id]
        kind = layout.schema.columns[place].type
        keys.append(_key(rows[f"c{place}"], kind, parse_transform(field.transform)))
    return keys


def _key(column: Column, kind: DataType, transform: Transform) -> Column:
    if transform.name == "identity":
        return column
    if transform.buckets is not None:
        return _bucket(column, kind, transform.buckets)
    return _calendar_part(column, kind, transform.name)


def _calendar_part(column: Column, kind: DataType, part: str) -> Column:
    name = kind.name if isinstance(kind, ScalarType) else ""
    if name == "date":
        days = F.unix_date(column)
        value = F.lit(0) if part == "hour" else _PARTS[part](column)
        return F.when(F.abs(days.cast("long")) < DATE_INFINITY, value)
    if name not in ("timestamp", "timestamp_s", "timestamp_ms", "timestamptz"):
        return _python(partial(_python_part, kind, part), column)
    micros = _micros(column, name)
    if part == "hour":
        value = F.pmod(_floor_divided(micros, _HOUR), F.lit(24)).cast("int")
    else:
        value = _PARTS[part](F.date_from_unix_date(_floor_divided(micros, _DAY).cast("int")))
    return F.when(F.abs(micros) < TIMESTAMP_INFINITY, value)


def _floor_divided(number: Column, unit: int) -> Column:
    """A quotient rounded down, in whole numbers: Spark's own division of longs cuts.

    Infinity is kept from it: what would be taken away first leaves the range.
    """
    rest = F.pmod(number, F.lit(unit))
    finite = F.abs(number) < TIMESTAMP_INFINITY
    return F.when(finite, F.call_function("div", number - rest, F.lit(unit))).otherwise(number)


def _micros(column: Column, name: str) -> Column:
    return micros_of(column, "timestamp" if name == "timestamptz" else "timestamp_ntz")


def _bucket(column: Column, kind: DataType, buckets: int) -> Column:
    hashed = _hash(column, kind)
    if hashed is None:
        return _python(partial(_python_bucket, kind, buckets), column)
    number = hashed.bitwiseAND(F.lit(0x7FFFFFFF)) % F.lit(buckets)
    return F.when(column.isNotNull(), number.cast("int"))


def _hash(column: Column, kind: DataType) -> Column | None:
    """The hash of a value; None for types that are hashed in Python."""
    if isinstance(kind, DecimalType):
        return murmur3_of_long(unscaled_value(column)) if kind.precision <= 18 else None
    name = kind.name if isinstance(kind, ScalarType) else ""
    if name in ("float32", "float64"):
        return murmur3_of_long(column.cast("double") + F.lit(0.0))  # -0.0 + 0.0 is 0.0
    if name == "boolean" or (name in SIGNED_BITS and name != "int128"):
        return murmur3_of_long(column.cast("long"))
    if name == "date":
        return murmur3_of_long(F.unix_date(column).cast("long"))
    if name in ("varchar", "json"):
        return murmur3_of_bytes(column.cast("binary"))
    if name == "blob":
        return murmur3_of_bytes(column)
    if name.startswith("uint") or name == "int128":
        return murmur3_of_bytes(column.cast("string").cast("binary"))
    if name in _UNITS:
        return murmur3_of_long(_floor_divided(_micros(column, name), _UNITS[name]))
    return None


_UNITS: Final = {"timestamp": 1, "timestamptz": 1, "timestamp_ms": 1000, "timestamp_s": 1_000_000}


def _python(function: Callable[[Any], int | None], column: Column) -> Column:
    # Without annotations, from which PySpark would guess another kind of function.
    return F.udf(lambda value: function(value), "int")(column)  # noqa: PLW0108


def _python_part(kind: DataType, part: str, value: Any) -> int | None:
    """Task."""
    return None if value is None else calendar_part(value, kind, part)


def _python_bucket(kind: DataType, buckets: int, value: Any) -> int | None:
    """Task."""
    return None if value is None else bucket_of(hash_input(value, kind), buckets)
