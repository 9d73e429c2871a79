"""Aggregates whose answer does not depend on the order of rows: counts, sums, bounds, bits."""

from __future__ import annotations

from typing import Final

from ducklake_spark.binder.types import BoundType
from ducklake_spark.translate.aggregates_averages import average
from ducklake_spark.translate.fragments import Fragment, sql
from ducklake_spark.translate.rules import AggregateCall, AggregateRule, AggregateRules
from ducklake_spark.translate.types import is_equal_in_spark, is_ordered_in_spark

HUGEINT_CARRIER: Final = "DECIMAL(38,0)"
_SMALL: Final = frozenset({"TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT", "UINTEGER"})
_BITS: Final = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT"})
_UNSIGNED_BITS: Final = frozenset({"UTINYINT", "USMALLINT", "UINTEGER"})


def _count(call: AggregateCall) -> Fragment | None:
    if not call.node.children:
        return call.run("count({})", call.kept("1"))
    if call.node.is_distinct and not is_equal_in_spark(call.type):
        return None
    return call.run(f"count({call.distinct}{{}})", call.argument)


def _sum(call: AggregateCall) -> Fragment | None:
    """Sums of integers are HUGEINT, those of decimals have all digits, others are DOUBLE."""
    kind = call.type
    if kind.id == "DOUBLE":
        return None if call.orders else call.run(f"sum({call.distinct}{{}})", call.argument)
    if kind.id == "DECIMAL":
        carrier = f"DECIMAL(38,{kind.scale})"
        return sql(f"CAST({{}} AS {carrier})", call.run(f"sum({call.distinct}{{}})", call.argument))
    term = _TERMS.get(kind.id)
    if term is None:
        return None
    total = call.run(f"sum({call.distinct}{term})", call.argument)
    return sql(f"CAST({{}} AS {HUGEINT_CARRIER})", total)


# A sum of BIGINT may be wider than one: Spark adds decimals of 20 digits up in 30.
_TERMS: Final = {
    **dict.fromkeys(_SMALL, "{}"),
    "BOOLEAN": "CAST({} AS INT)",
    "BIGINT": "CAST({} AS DECIMAL(20,0))",
    "HUGEINT": "{}",
}


def _count_if(call: AggregateCall) -> Fragment | None:
    """DuckDB's is a sum: NULL where there is nothing to count."""
    return _sum(call) if call.type.id == "BOOLEAN" else None


def _average(call: AggregateCall) -> Fragment | None:
    if call.type.id == "DOUBLE" and not call.orders:
        return call.run(f"avg({call.distinct}{{}})", call.argument)
    return average(call)


def _bound(name: str) -> AggregateRule:
    """Bounds; with a count as a second argument they are lists."""

    def rule(call: AggregateCall) -> Fragment | None:
        if len(call.arguments) != 1 or not is_ordered_in_spark(call.type):
            return None
        return call.run(f"{name}({{}})", call.argument)

    return rule


def _logic(name: str) -> AggregateRule:
    def rule(call: AggregateCall) -> Fragment | None:
        return call.run(f"{name}({{}})", call.argument) if call.type.id == "BOOLEAN" else None

    return rule


def _bits(name: str) -> AggregateRule:
    """The carriers of unsigned integers are never negative, so their bits are the value's."""

    def rule(call: AggregateCall) -> Fragment | None:
        if not _has_bits(call.type):
            return None
        return call.run(f"{name}({call.distinct}{{}})", call.argument)

    return rule


def _has_bits(kind: BoundType) -> bool:
    return kind.id in _BITS or kind.id in _UNSIGNED_BITS


def _regr_count(call: AggregateCall) -> Fragment | None:
    """How many pairs have both values."""
    first, second = call.arguments
    return call.run("count(CASE WHEN {} IS NOT NULL THEN {} END)", first, second)


def _regr_average(index: int) -> AggregateRule:
    def rule(call: AggregateCall) -> Fragment | None:
        wanted, other = call.arguments[index], call.arguments[1 - index]
        return call.run("avg(CASE WHEN {} IS NOT NULL THEN {} END)", other, wanted)

    return rule


RULES: Final[AggregateRules] = {
    "count": _count,
    "count_star": _count,
    "count_if": _count_if,
    "countif": _count_if,
    "sum": _sum,
    "sum_no_overflow": _sum,
    "avg": _average,
    "mean": _average,
    "min": _bound("min"),
    "max": _bound("max"),
    "bool_and": _logic("bool_and"),
    "bool_or": _logic("bool_or"),
    "bit_and": _bits("bit_and"),
    "bit_or": _bits("bit_or"),
    "bit_xor": _bits("bit_xor"),
    "regr_count": _regr_count,
    "regr_avgx": _regr_average(1),
    "regr_avgy": _regr_average(0),
}
