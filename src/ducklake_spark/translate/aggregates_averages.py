"""Averages of exact numbers: the exact sum, divided once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ducklake_spark.binder.types import BoundType
from ducklake_spark.translate.fragments import Fragment, literal_text, sql
from ducklake_spark.translate.rules import AggregateCall

_DOUBLE_INTEGERS: Final = 2**53  # up to here every integer is a DOUBLE
_SMALL: Final = frozenset({"TINYINT", "SMALLINT", "INTEGER"})
_DIGITS: Final = 38


def average(call: AggregateCall) -> Fragment | None:
    """The sum over the count as a DOUBLE, for integers and decimals; None for other types."""
    kind, distinct = call.type, call.distinct
    count = call.run(f"count({distinct}{{}})", call.argument)
    if kind.id in _SMALL:
        total = call.run(f"sum({distinct}{{}})", call.argument)
        return sql("(CAST({} AS DOUBLE) / CAST({} AS DOUBLE))", total, count)
    if kind.id in ("BIGINT", "HUGEINT"):
        term = "CAST({} AS DECIMAL(20,0))" if kind.id == "BIGINT" else "{}"
        total = call.run(f"sum({distinct}{term})", call.argument)
        return _quotient(call, sql("CAST({} AS DECIMAL(38,0))", total), count)
    if kind.id == "DECIMAL":
        total = _unscaled(call.run(f"sum({distinct}{{}})", call.argument), kind)
        return _quotient(call, total, _scaled(count, kind.scale))
    return None


def _scaled(count: Fragment, scale: int) -> Fragment:
    """The divisor of an unscaled sum: DuckDB multiplies the count in floating point."""
    return sql("(CAST({} AS DOUBLE) * {})", count, f"1E{scale}D") if scale else count


def _unscaled(total: Fragment, kind: BoundType) -> Fragment:
    """The digits of a sum of decimals as an integer."""
    if kind.scale == 0:
        return sql("CAST({} AS DECIMAL(38,0))", total)
    width = min(_DIGITS, kind.width + 10)
    factor = literal_text(f"1{'0' * kind.scale}")
    if width + kind.scale + 2 <= _DIGITS:
        return sql(
            f"CAST({{}} * CAST({factor} AS DECIMAL({kind.scale + 1},0)) AS DECIMAL(38,0))", total
        )
    return sql("CAST(replace(CAST({} AS STRING), '.', '') AS DECIMAL(38,0))", total)


def _quotient(call: AggregateCall, total: Fragment, divisor: Fragment) -> Fragment:
    """The DOUBLE nearest to the quotient of a DECIMAL(38,0) and a count.

    A sum beyond the integers of DOUBLE is not rounded before it is divided.
    """
    return let(
        call,
        sql("named_struct('s', {}, 'n', CAST({} AS DOUBLE))", total, divisor),
        lambda pair: sql(
            f"CASE WHEN abs({{0}}.s) <= {_DOUBLE_INTEGERS}L THEN CAST({{0}}.s AS DOUBLE) / {{0}}.n"
            " ELSE {1} END",
            pair,
            _long_quotient(pair),
        ),
    )


def _long_quotient(pair: Fragment) -> Fragment:
    """Integer part and rest apart, in decimals of 18 places where the part has 19 digits."""
    return sql(
        "CASE WHEN abs({0}.s) < CAST('9000000000000000000' AS DECIMAL(38,0))"
        " * CAST({0}.n AS DECIMAL(19,0)) THEN CAST(CAST({0}.s div CAST({0}.n AS DECIMAL(38,0))"
        " AS DECIMAL(19,0)) + CAST(CAST({0}.s % CAST({0}.n AS DECIMAL(38,0)) AS DOUBLE) / {0}.n"
        " AS DECIMAL(19,18)) AS DOUBLE) ELSE CAST({0}.s AS DOUBLE) / {0}.n END",
        pair,
    )


def let(call: AggregateCall, value: Fragment, body: Callable[[Fragment], Fragment]) -> Fragment:
    """An expression that uses a value of aggregates several times.

    Spark computes equal aggregates of a GROUP BY once, but equal window functions each time.
    """
    if not call.is_window:
        return body(value)
    return sql("element_at(transform(array({}), agg -> {}), 1)", value, body(sql("agg")))
