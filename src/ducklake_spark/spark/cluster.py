"""A z-order of rows: values that are near in several columns come near to each other. Driver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ducklake_spark.spark.jobs import run_job

_BITS: Final = 6
_RANGES: Final = 2**_BITS


def z_order(rows: DataFrame, columns: Sequence[Column]) -> Column:
    """A number for each row: the ranges that its values fall into, their bits interleaved.

    The ranges hold about as many rows each, whatever the distribution: their bounds are found by
    one pass over the rows.
    """
    kinds = [field.dataType for field in rows.select(*columns).schema.fields]
    numbers = [_number(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    parts = [F.lit(i / _RANGES) for i in range(1, _RANGES)]
    found = rows.agg(*(F.percentile_approx(n, F.array(*parts), F.lit(1000)) for n in numbers))
    (medians,) = run_job(rows.sparkSession, found.collect)
    bounds = [sorted(set(values or ())) for values in medians]
    ranges = [_range_of(number, known) for number, known in zip(numbers, bounds, strict=True)]
    z = F.lit(0).cast("long")
    for bit in range(_BITS):
        for place, number in enumerate(ranges):
            one = F.shiftright(number, bit).bitwiseAND(F.lit(1)).cast("long")
            z = z + F.shiftleft(one, bit * len(ranges) + place)
    return z


def _number(column: Column, kind: T.DataType) -> Column:
    """A number in the order of the values, as far as its first bytes tell."""
    match kind:
        case T.NumericType() | T.BooleanType():
            return column.cast("int" if isinstance(kind, T.BooleanType) else "double").cast(
                "double"
            )
        case T.DateType():
            return F.unix_date(column).cast("double")
        case T.TimestampType() | T.TimestampNTZType():
            return F.datediff(column, F.lit("1970-01-01")) + (
                F.hour(column) * 3600 + F.minute(column) * 60 + F.second(column)
            ) / F.lit(86400.0)
    head = F.substring(column.cast("string").cast("binary"), 1, 6)
    return F.conv(F.rpad(F.hex(head), 12, "0"), 16, 10).cast("double")


def _range_of(number: Column, bounds: Sequence[float]) -> Column:
    """The number of bounds below, as a tree of comparisons; NULL comes before all."""
    return F.when(number.isNull(), F.lit(0)).otherwise(_search(number, bounds, 0))


def _search(number: Column, bounds: Sequence[float], below: int) -> Column:
    if not bounds:
        return F.lit(below)
    middle = len(bounds) // 2
    return F.when(number <= bounds[middle], _search(number, bounds[:middle], below)).otherwise(
        _search(number, bounds[middle + 1 :], below + middle + 1)
    )
