"""Columns made of expressions of Catalyst that have no function of their own. Driver."""

from __future__ import annotations

from typing import Any, Literal

from pyspark.sql import Column, SparkSession

from ducklake_spark.bridge.half import active_bridge, bridge_of


def unscaled_value(column: Column) -> Column:
    """The 64-bit integer behind a decimal of at most 18 digits: what Spark itself keeps of it."""
    return _made(active_bridge().java.unscaled(_java(column)))


def murmur3_with_seed_0(column: Column) -> Column:
    """Spark's own murmur3 as a signed 32-bit integer; its function `hash` has another seed."""
    return _made(active_bridge().java.murmur3(_java(column)))


def micros_of(column: Column, kind: Literal["timestamp", "timestamp_ntz"]) -> Column:
    """The microseconds since 1970 that Spark keeps of a timestamp: no time zone comes in."""
    return _made(active_bridge().java.micros(_java(column), kind))


def known_not_null(column: Column) -> Column:
    """The same values; that they are never NULL is taken for granted.

    Spark does not see through it: a comparison with a constant puts the constant nowhere else.
    """
    return _made(active_bridge().java.knownNotNull(_java(column)))


def has_bit(spark: SparkSession, bits: bytes, index: Column) -> Column:
    """Whether the bit of a number is set, the lowest of a byte being its first.

    The bits are broadcast as a java.util.BitSet: a look into memory, where a join would need a
    job. Plans show the broadcast by its number.
    """
    context: Any = spark.sparkContext._jsc
    return _made(bridge_of(spark).java.hasBit(context, bits, _java(index)))


def _java(column: Column) -> Any:
    column_of: Any = column
    return column_of._jc


def _made(java: Any) -> Column:
    make: Any = Column
    column: Column = make(java)
    return column
