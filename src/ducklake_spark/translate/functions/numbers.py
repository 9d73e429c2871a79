"""Functions of numbers. Logarithms, powers and angles differ in their last bit: DuckDB has them."""

from __future__ import annotations

from typing import Final

from ducklake_spark.translate.fragments import Fragment, sql
from ducklake_spark.translate.functions.templates import REAL, has_types, number_of, on
from ducklake_spark.translate.rules import Call, Rules

_SIGNED: Final = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE"})
_UNSIGNED: Final = frozenset({"UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"})
_FLOATS: Final = frozenset({"FLOAT", "DOUBLE"})
_WHOLE: Final = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"}) | _UNSIGNED


def absolute(call: Call) -> Fragment | None:
    """``@`` and abs(): of the least integer an error."""
    if call.ids()[0] in _UNSIGNED:
        return call.arguments[0]
    return on("abs({})", _SIGNED | {"DECIMAL", "HUGEINT"})(call)


def rounded(call: Call) -> Fragment | None:
    """round() of a DECIMAL to a constant number of places."""
    if call.ids()[0] != "DECIMAL" or call.type.id != "DECIMAL":
        return None
    places = 0 if len(call.arguments) == 1 else number_of(call, 1)
    scale = call.types[0].scale
    if places is None or places < 0:
        return None
    if places >= scale:
        return call.arguments[0] if call.types[0] == call.type else None
    return _into_type(call, sql(f"round({{0}}, {places})", call.arguments[0]))


def truncated(call: Call) -> Fragment | None:
    """trunc() of whole numbers without places."""
    if len(call.arguments) == 1 and call.ids()[0] in _WHOLE and call.types[0] == call.type:
        return call.arguments[0]
    return None


def ceiling(call: Call) -> Fragment | None:
    """ceil() of a DECIMAL; that of a DOUBLE is a whole number in Spark."""
    return _into_type(call, sql("ceil({})", *call.arguments)) if _is_decimal(call) else None


def floor(call: Call) -> Fragment | None:
    """``floor`` of a DECIMAL."""
    return _into_type(call, sql("floor({})", *call.arguments)) if _is_decimal(call) else None


def sign(call: Call) -> Fragment | None:
    """``sign`` as a TINYINT; that of NaN is 0, which is greater than all in Spark."""
    above = "isnan({0}) = false AND {0} > 0" if call.ids()[0] in _FLOATS else "{0} > 0"
    return on(
        f"CAST(CASE WHEN {above} THEN 1 WHEN {{0}} < 0 THEN -1 WHEN {{0}} IS NOT NULL THEN 0 END"
        " AS TINYINT)",
        _WHOLE | _FLOATS,
    )(call)


def square_root(call: Call) -> Fragment | None:
    """sqrt(): an error for what is below zero, which is NaN in Spark."""
    if not has_types(call, REAL):
        return None
    message = "cannot take square root of a negative number"
    return sql(f"sqrt(if({{0}} < 0, raise_error('{message}'), {{0}}))", *call.arguments)


def _is_decimal(call: Call) -> bool:
    return has_types(call, {"DECIMAL"}) and call.type.id == "DECIMAL"


def _into_type(call: Call, value: Fragment) -> Fragment:
    return sql(f"CAST({{}} AS DECIMAL({call.type.width},{call.type.scale}))", value)


RULES: Final[Rules] = {
    "@": absolute,
    "round": rounded,
    "trunc": truncated,
    "ceil": ceiling,
    "floor": floor,
    "sign": sign,
    "sqrt": square_root,
    "isnan": on("isnan({})", _FLOATS),
    "isinf": on("(abs({}) = CAST('Infinity' AS DOUBLE))", _FLOATS),
    "isfinite": on("(abs({}) < CAST('Infinity' AS DOUBLE))", _FLOATS),
}
