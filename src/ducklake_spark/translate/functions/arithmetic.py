"""Operators on numbers. Overflow is an error on both sides; what carriers hide is checked here."""

from __future__ import annotations

from typing import Final

from ducklake_spark.binder.types import BoundType
from ducklake_spark.translate.fragments import Fragment, sql
from ducklake_spark.translate.functions.templates import has_types, is_nonzero, number_of
from ducklake_spark.translate.rules import Call, Rules

# The carrier of an unsigned type is wider. A cast to the signed type of its own width, moved by
# half of the range, raises where DuckDB does, and names the value once only.
_SHIFTS: Final = {
    "UTINYINT": "CAST(CAST({0} - 128 AS TINYINT) + 128 AS SMALLINT)",
    "USMALLINT": "CAST(CAST({0} - 32768 AS SMALLINT) + 32768 AS INT)",
    "UINTEGER": "(CAST({0} - 2147483648L AS INT) + 2147483648L)",
    "UBIGINT": (
        "CAST(CAST({0} - 9223372036854775808BD AS BIGINT) + 9223372036854775808BD AS DECIMAL(20,0))"
    ),
}
_CARRIERS: Final = {
    "TINYINT": "TINYINT",
    "SMALLINT": "SMALLINT",
    "INTEGER": "INT",
    "BIGINT": "BIGINT",
    "UTINYINT": "SMALLINT",
    "USMALLINT": "INT",
    "UINTEGER": "BIGINT",
}
_PLAIN: Final = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE"})
_UNSIGNED: Final = frozenset({"UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"})
SAFE_WIDTH: Final = 34
"""Wider decimals lose digits in Spark's minus and abs()."""
_WIDEST: Final = 38
_LEAST_SCALE: Final = 6  # what Spark keeps of the scale when digits do not suffice


def add(call: Call) -> Fragment | None:
    """``+`` of two numbers, or of one."""
    if len(call.arguments) == 1:
        return call.arguments[0] if call.types[0] == call.type else None
    return _exact(call, "({} + {})")


def subtract(call: Call) -> Fragment | None:
    """``-`` of two numbers, or the negative of one."""
    if len(call.arguments) == 1:
        return negative(call)
    if call.type.id == "UHUGEINT":
        return None
    return _exact(call, "({} - {})")


def negative(call: Call) -> Fragment | None:
    """The negative of a signed number."""
    kind = call.type
    if call.types != (kind,):
        return None
    if kind.id in _PLAIN or (kind.id == "DECIMAL" and kind.width <= SAFE_WIDTH):
        return sql("(- {})", *call.arguments)
    is_wide = kind.id == "HUGEINT" or (kind.id == "DECIMAL" and kind.scale <= _LEAST_SCALE)
    return sql(f"CAST(0BD - {{}} AS {_decimal(kind)})", *call.arguments) if is_wide else None


def multiply(call: Call) -> Fragment | None:
    """``*`` of two numbers."""
    return _exact(call, "({} * {})") if len(call.arguments) == 2 else None


def divide(call: Call) -> Fragment | None:
    """``/`` of floating-point numbers, in which a zero gives infinity or NaN."""
    if not has_types(call, {"FLOAT", "DOUBLE"}, {"FLOAT", "DOUBLE"}):
        return None
    # 1/b is an infinity of the sign of a zero b, and power() gives it without an error.
    template = (
        "({0} / {1})"
        if is_nonzero(call, 1)
        else "({0} * if({1} = 0, power({1}, -1D), 1D) / if({1} = 0, 1D, {1}))"
    )
    return _as(call, sql(template, *call.arguments))


def divide_whole(call: Call) -> Fragment | None:
    """``//``: NULL for a zero. Of floating-point numbers it is no whole number in DuckDB."""
    if has_types(call, {"FLOAT", "DOUBLE"}, {"FLOAT", "DOUBLE"}):
        return _as(call, sql("try_divide({}, {})", *call.arguments))
    if call.type.id not in _CARRIERS or not _are_alike(call):
        return None
    divided = "{} DIV {}" if is_nonzero(call, 1) else "{} DIV nullif({}, 0)"
    return sql(f"CAST({divided} AS {_CARRIERS[call.type.id]})", *call.arguments)


def modulo(call: Call) -> Fragment | None:
    """``%``: NULL for a zero, NaN for one of floating-point numbers."""
    if len(call.arguments) != 2:
        return None
    if has_types(call, {"FLOAT", "DOUBLE"}, {"FLOAT", "DOUBLE"}):
        nan = f"CAST('NaN' AS {call.type.id})"
        return sql(f"({{0}} % if({{1}} = 0, {nan}, {{1}}))", *call.arguments)
    if call.type.id == "DECIMAL" and set(call.ids()) == {"DECIMAL"}:
        remainder = "{} % {}" if is_nonzero(call, 1) else "{} % nullif({}, 0)"
        return sql(f"CAST({remainder} AS {_decimal(call.type)})", *call.arguments)
    return _modulo_of_whole(call) if _are_alike(call) else None


def _modulo_of_whole(call: Call) -> Fragment | None:
    """Of the least integer and -1 DuckDB makes an error, Spark 0."""
    kind, divisor = call.type.id, number_of(call, 1)
    if divisor not in (None, 0, -1) or kind in _UNSIGNED | {"HUGEINT"}:
        return sql("({} % {})" if divisor else "({} % nullif({}, 0))", *call.arguments)
    if kind not in _CARRIERS:
        return None
    by_minus_one = f"CAST((- {{0}}) * 0 AS {_CARRIERS[kind]})"
    return sql(f"if({{1}} = -1, {by_minus_one}, {{0}} % nullif({{1}}, 0))", *call.arguments)


def _exact(call: Call, template: str) -> Fragment | None:
    """An operator whose result is exact in Spark, brought into DuckDB's type."""
    operation = sql(template, *call.arguments)
    if call.type.id == "DECIMAL":
        return _in_decimal(call, operation, is_product="*" in template)
    if not _are_alike(call):
        return None
    if call.type.id in _PLAIN or call.type.id in ("HUGEINT", "UHUGEINT"):
        return operation
    return sql(_SHIFTS[call.type.id], operation) if call.type.id in _SHIFTS else None


def _in_decimal(call: Call, operation: Fragment, *, is_product: bool) -> Fragment | None:
    """None where Spark would take digits behind the point away."""
    if set(call.ids()) != {"DECIMAL"}:
        return None
    left, right = call.types
    width, scale = (_product if is_product else _sum)(left, right)
    if scale != call.type.scale or (width > _WIDEST and scale > _LEAST_SCALE):
        return None
    if (min(width, _WIDEST), scale) == (call.type.width, call.type.scale):
        return operation
    return sql(f"CAST({{}} AS {_decimal(call.type)})", operation)


def _sum(left: BoundType, right: BoundType) -> tuple[int, int]:
    """Spark's width and scale of a sum, before it fits them into 38 digits."""
    scale = max(left.scale, right.scale)
    return max(left.width - left.scale, right.width - right.scale) + scale + 1, scale


def _product(left: BoundType, right: BoundType) -> tuple[int, int]:
    return left.width + right.width + 1, left.scale + right.scale


def _decimal(kind: BoundType) -> str:
    if kind.id == "HUGEINT":
        return "DECIMAL(38,0)"
    return f"DECIMAL({kind.width},{kind.scale})"


def _are_alike(call: Call) -> bool:
    return len(call.arguments) == 2 and set(call.ids()) == {call.type.id}


def _as(call: Call, value: Fragment) -> Fragment:
    """A DOUBLE of Spark in the type of the call; halves of a FLOAT's digits are rounded once."""
    return sql("CAST({} AS FLOAT)", value) if call.type.id == "FLOAT" else value


RULES: Final[Rules] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "//": divide_whole,
    "%": modulo,
}
