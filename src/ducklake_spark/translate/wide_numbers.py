"""Numbers of 128 bits and wide DECIMALs as DOUBLE, rounded step by step as DuckDB does it.

DuckDB splits what a double cannot hold exactly, and each part is rounded by itself: the sum may
differ in its last bit from the double that is nearest, which Spark gives.
"""

from __future__ import annotations

from typing import Final

from ducklake_spark.binder.types import BoundType
from ducklake_spark.translate.fragments import Fragment, sql

_UPPER: Final = 2**64  # what the upper 64 bits are multiplied by
_EXACT: Final = 2**53
_EXACT_DIGITS: Final = 15
_NARROW: Final = 18  # digits of a DECIMAL that DuckDB keeps in 64 bits


def hugeint_to_double(value: Fragment) -> Fragment:
    """A HUGEINT, which is a DECIMAL(38,0) of Spark, as DOUBLE."""
    upper = f"({{0}} DIV {_UPPER}) - if({{0}} < 0 AND {{0}} % {_UPPER} <> 0, 1, 0)"
    lower = f"if({{0}} % {_UPPER} < 0, {{0}} % {_UPPER} + {_UPPER}, {{0}} % {_UPPER})"
    return sql(
        f"CASE WHEN {{0}} BETWEEN 0 AND {_UPPER - 1} THEN CAST({{0}} AS DOUBLE) "
        f"WHEN {{0}} BETWEEN -{_UPPER} AND -1 THEN -CAST(-{{0}} - 1 AS DOUBLE) - 1D "
        f"ELSE CAST({lower} AS DOUBLE) "
        f"+ CAST({upper} AS DOUBLE) * {float(_UPPER)!r}D END",
        value,
    )


def decimal_to_double(value: Fragment, source: BoundType) -> Fragment | None:
    """A DECIMAL as DOUBLE; None where the fraction itself is rounded twice."""
    if source.scale > _EXACT_DIGITS:
        return None
    if source.scale == 0:
        wide = sql("CAST({} AS DECIMAL(38,0))", value)
        return (
            hugeint_to_double(wide) if source.width > _NARROW else sql("CAST({} AS DOUBLE)", value)
        )
    whole = sql("CAST({0} - {0} % 1 AS DECIMAL(38,0))", value)
    rounded = (
        hugeint_to_double(whole) if source.width > _NARROW else sql("CAST({} AS DOUBLE)", whole)
    )
    limit = f"CAST('{_decimal(_EXACT, source.scale)}' AS DECIMAL(38,{source.scale}))"
    return sql(
        f"CASE WHEN {{0}} BETWEEN -{limit} AND {limit} THEN CAST({{0}} AS DOUBLE) "
        "ELSE {1} + CAST({0} % 1 AS DOUBLE) END",
        value,
        rounded,
    )


def _decimal(unscaled: int, scale: int) -> str:
    digits = str(unscaled).rjust(scale + 1, "0")
    return f"{digits[:-scale]}.{digits[-scale:]}"
