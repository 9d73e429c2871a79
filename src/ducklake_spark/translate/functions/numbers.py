"""Functions of numbers. Logarithms, powers and angles differ in their last bit: DuckDB has them."""

from __future__ import annotations

from typing import Final

from ducklake_spark.translate.fragments import Fragment, sql
from ducklake_spark.translate.functions.arithmetic import SAFE_WIDTH, negative
from ducklake_spark.translate.functions.templates import REAL, has_types, number_of, on
from ducklake_spark.translate.rules import Call, Rules

_SIGNED: Final = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE"})
_UNSIGNED: Final = frozenset({"UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"})
_FLOATS: Final = frozenset({"FLOAT", "DOUBLE"})
_WHOLE: Final = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"}) | _UNSIGNED


_INFINITY: Final = "CAST('Infinity' AS DOUBLE)"
_EXACT_PLACES: Final = 22  # powers of ten that a DOUBLE is
_NO_FRACTION: Final = f"{2**52}D"


def absolute(call: Call) -> Fragment | None:
    """``@`` and abs(): of the least integer an error."""
    if call.ids()[0] in _UNSIGNED:
        return call.arguments[0]
    if call.type.id == "HUGEINT" or call.type.width > SAFE_WIDTH:
        minus = negative(call)
        return None if minus is None else sql("if({0} < 0, {1}, {0})", call.arguments[0], minus)
    return on("abs({})", _SIGNED | {"DECIMAL"})(call)


def rounded(call: Call) -> Fragment | None:
    """``round`` to a constant number of places, behind the point."""
    kind = call.types[0]
    places = 0 if len(call.arguments) == 1 else number_of(call, 1)
    if places is None or places < 0:
        return None
    if kind.id in _WHOLE:
        return call.arguments[0] if call.type == kind else None
    if kind.id in _FLOATS:
        return _rounded_float(call, places)
    if kind.id != "DECIMAL" or call.type.id != "DECIMAL":
        return None
    if places >= kind.scale:
        return call.arguments[0] if call.type == kind else None
    return _into_type(call, sql(f"round({{0}}, {places})", call.arguments[0]))


def _rounded_float(call: Call, places: int) -> Fragment | None:
    """DuckDB's own steps: Spark's round() goes by the shortest decimal text, another number."""
    if places > _EXACT_PLACES or call.types[0] != call.type:
        return None
    power = f"{10**places}D"
    scaled = f"({{0}} * {power})"
    whole = (
        f"if(abs({scaled} - rint{scaled}) = 0.5D, {scaled} + signum{scaled} * 0.5D, rint{scaled})"
    )
    value = sql(f"if(abs{scaled} < {_INFINITY}, {whole} / {power}, {{0}})", call.arguments[0])
    return sql("CAST({} AS FLOAT)", value) if call.type.id == "FLOAT" else value


def truncated(call: Call) -> Fragment | None:
    """``trunc`` without places."""
    if len(call.arguments) != 1:
        return None
    if call.type.id in _WHOLE and call.types[0] == call.type:
        return call.arguments[0]
    if _is_decimal(call):
        return _into_type(call, sql("if({0} < 0, ceil({0}), floor({0}))", *call.arguments))
    return _whole_float(call, f"if({{0}} < 0, {_CEILING}, floor({{0}}))")


def ceiling(call: Call) -> Fragment | None:
    """``ceil``, which is no BIGINT for a floating-point number."""
    if _is_decimal(call):
        return _into_type(call, sql("ceil({})", *call.arguments))
    return _whole_float(call, _CEILING)


def floor(call: Call) -> Fragment | None:
    """``floor``, which is no BIGINT for a floating-point number."""
    if _is_decimal(call):
        return _into_type(call, sql("floor({})", *call.arguments))
    return _whole_float(call, "floor({0})")


# What is below zero and above -1 becomes a zero with a sign.
_CEILING: Final = "if({0} > -1 AND {0} < 0, -0D, ceil({0}))"


def _whole_float(call: Call, template: str) -> Fragment | None:
    """A number next to a floating-point one; zeros and what has no fraction are themselves."""
    if not has_types(call, _FLOATS):
        return None
    kind = call.type.id
    test = f"abs({{0}}) < {_NO_FRACTION} AND {{0}} <> 0"
    return sql(f"if({test}, CAST({template} AS {kind}), {{0}})", *call.arguments)


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
    "isnan": on("({} = CAST('NaN' AS DOUBLE))", _FLOATS),  # Spark's own is false for NULL
    "degrees": on("({} * 57.29577951308232D)", REAL),
    "radians": on("({} * 0.017453292519943295D)", REAL),
    "isinf": on("(abs({}) = CAST('Infinity' AS DOUBLE))", _FLOATS),
    "isfinite": on("(abs({}) < CAST('Infinity' AS DOUBLE))", _FLOATS),
}
