"""Casts that Spark does as DuckDB does, in value, error and type; all others are the engine's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ducklake_spark.binder.types import INTEGERS, BoundType
from ducklake_spark.translate.constants import null_literal
from ducklake_spark.translate.failures import raising
from ducklake_spark.translate.fragments import Fragment, sql
from ducklake_spark.translate.types import TEXT_CARRIED, carrier, named_fields, spark_type
from ducklake_spark.translate.wide_numbers import decimal_to_double, hugeint_to_double

_BITS: Final = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64, "HUGEINT": 128}
_DECIMAL_RANGE: Final = 10**38 - 1  # what the carrier of 128 bits holds
_FLOATS: Final = frozenset({"FLOAT", "DOUBLE"})
_EXACT_DIGITS: Final = {"DOUBLE": 15, "FLOAT": 7}
_NAIVE: Final = frozenset({"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS"})
_LONG: Final = 2_000  # characters: a longer value is not written several times


@dataclass(frozen=True, slots=True)
class CastCall:
    """A cast of a value that is Spark SQL already."""

    value: Fragment
    source: BoundType
    target: BoundType
    is_try: bool

    @property
    def is_long(self) -> bool:
        """Whether the value is too long to be written several times."""
        return sum(map(len, map(str, self.value.pieces))) > _LONG

    def plain(self) -> Fragment:
        """Spark's own cast, or nothing where the carrier is the same."""
        if carrier(self.source) == carrier(self.target):
            return self.value
        return self.to_target(self.value)

    def to_target(self, value: Fragment) -> Fragment:
        """Spark's own cast of a value to the carrier of the target."""
        return sql(f"CAST({{}} AS {spark_type(self.target)})", value)

    def checked(self, condition: str, result: Fragment, told: str) -> Fragment | None:
        """The result where a condition on the value ``{0}`` holds, else an error or NULL.

        Args:
            condition: Spark SQL that is NULL for NULL.
            result: what is given where it holds.
            told: a template of Spark SQL for the message.
        """
        if self.is_long:
            return None
        if self.is_try:
            return sql(f"CASE WHEN {condition} THEN {{1}} END", self.value, result)
        error = raising(sql(told, self.value), self.target)
        template = f"CASE WHEN {condition} THEN {{1}} WHEN {{0}} IS NOT NULL THEN {{2}} END"
        return sql(template, self.value, result, error)


def native_cast(
    value: Fragment, source: BoundType, target: BoundType, *, is_try: bool, time_zone: str
) -> Fragment | None:
    """Spark SQL of a cast; None where Spark would answer otherwise than DuckDB."""
    call = CastCall(value, source, target, is_try)
    if source == target or is_total(source, target):
        return call.plain()
    if source.alias or target.alias:
        return None
    if time_zone == "UTC" and _is_about_zones(source, target):
        return call.plain()
    rule = _RULES.get((_family(source), _family(target)))
    return rule(call) if rule else None


def is_total(source: BoundType, target: BoundType) -> bool:
    """Whether Spark's own cast gives DuckDB's value for every value, nested ones too."""
    if source.alias or target.alias:
        return source == target or (source.is_json and target == BoundType("VARCHAR"))
    if source == target or source.id == "NULL":
        return True
    match source.id, target.id:
        case "LIST" | "ARRAY", "LIST":
            return is_total(source.element, target.element)
        case "MAP", "MAP":
            return is_total(source.key, target.key) and is_total(source.value, target.value)
        case "STRUCT", "STRUCT":
            pairs = list(zip(named_fields(source), named_fields(target), strict=False))
            alike = [a[0] for a in named_fields(source)] == [b[0] for b in named_fields(target)]
            return alike and all(is_total(a, b) for (_, a), (_, b) in pairs)
        case _:
            return _is_total_scalar(source, target)


def _is_total_scalar(source: BoundType, target: BoundType) -> bool:
    a, b = source.id, target.id
    if a in INTEGERS:
        return _integer_is_total(source, target)
    if a == "BOOLEAN":
        fits = b == "DECIMAL" and target.width > target.scale
        return b in INTEGERS or b in _FLOATS or b == "VARCHAR" or fits
    if a == "DECIMAL":
        return _decimal_is_total(source, target)
    if a in TEXT_CARRIED:
        return b == "VARCHAR"
    if a in _FLOATS:
        return b == "BOOLEAN" or (a, b) == ("FLOAT", "DOUBLE")
    pairs = a == "DATE" or a in _NAIVE
    return (pairs and b == "DATE") or (a == "DATE" and b in _NAIVE) or _only_unit(a, b)


def _only_unit(a: str, b: str) -> bool:
    return a in _NAIVE and b == "TIMESTAMP"


def _integer_is_total(source: BoundType, target: BoundType) -> bool:
    if target.id in INTEGERS:
        (low, high), (least, most) = range_of(source.id), range_of(target.id)
        return least <= low and high <= most
    if target.id == "DECIMAL":
        return len(str(range_of(source.id)[1])) <= target.width - target.scale
    wide = source.id in ("HUGEINT", "UHUGEINT")
    return target.id in ("BOOLEAN", "VARCHAR") or (target.id in _FLOATS and not wide)


def _decimal_is_total(source: BoundType, target: BoundType) -> bool:
    if target.id == "DECIMAL":
        whole = target.width - target.scale >= source.width - source.scale
        return whole and target.scale >= source.scale
    return target.id == "BOOLEAN" or source.width <= _EXACT_DIGITS.get(target.id, 0)


def _is_about_zones(source: BoundType, target: BoundType) -> bool:
    zoned, naive = "TIMESTAMP WITH TIME ZONE", {"DATE", "TIMESTAMP"}
    ids = (source.id, target.id)
    return (ids[0] == zoned and ids[1] in naive) or (ids[1] == zoned and ids[0] in naive)


def _range(id_: str) -> tuple[int, int]:
    bits = _BITS[id_.removeprefix("U")]
    if bits == _BITS["HUGEINT"]:
        return (0 if id_.startswith("U") else -_DECIMAL_RANGE), _DECIMAL_RANGE
    return (0, 2**bits - 1) if id_.startswith("U") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


_RANGES: Final = {id_: _range(id_) for id_ in INTEGERS}


def range_of(id_: str) -> tuple[int, int]:
    """The least and the greatest value of a type of integers, as far as the carrier goes."""
    return _RANGES[id_]


def _family(kind: BoundType) -> str:
    if kind.id in INTEGERS:
        return "integer"
    return "float" if kind.id in _FLOATS else "naive" if kind.id in _NAIVE else kind.id


def _internal(id_: str) -> str:
    """What DuckDB calls a type of numbers in the messages of its casts."""
    sign, name = ("U", id_[1:]) if id_.startswith("U") else ("", id_)
    return f"{sign}INT{_BITS[name]}" if name in _BITS else id_


def _out_of_range(call: CastCall) -> str:
    names = _internal(call.source.id), _internal(call.target.id)
    return (
        f"concat('Conversion Error: Type {names[0]} with value ', {{0}}, ' can\\'t be cast because "
        f"the value is out of range for the destination type {names[1]}')"
    )


def _integer_to_integer(call: CastCall) -> Fragment | None:
    low, high = range_of(call.target.id)
    result = call.to_target(call.value)
    return call.checked(f"{{0}} BETWEEN {low} AND {high}", result, _out_of_range(call))


def _integer_to_decimal(call: CastCall) -> Fragment | None:
    whole = call.target.width - call.target.scale
    condition = f"{{0}} BETWEEN -{'9' * whole or 0} AND {'9' * whole or 0}"
    told = f"concat('Conversion Error: Could not cast value ', {{0}}, ' to {call.target}')"
    return call.checked(condition, call.to_target(call.value), told)


def _decimal_to_integer(call: CastCall) -> Fragment | None:
    low, high = range_of(call.target.id)
    rounded = "round({0}, 0)" if call.source.scale else "{0}"
    result = call.to_target(sql(rounded, call.value))
    if low <= -(10 ** (call.source.width - call.source.scale)) and high >= 10 ** (
        call.source.width - call.source.scale
    ):
        return result
    name = _internal(call.target.id)
    told = (
        f"concat('Conversion Error: Failed to cast decimal value ', {rounded}, ' to type {name}')"
    )
    return call.checked(f"{rounded} BETWEEN {low} AND {high}", result, told)


def _decimal_to_decimal(call: CastCall) -> Fragment | None:
    tried = sql(f"try_cast({{}} AS {spark_type(call.target)})", call.value)
    condition = f"try_cast({{0}} AS {spark_type(call.target)}) IS NOT NULL"
    told = (
        "concat('Conversion Error: Casting value \"', {0}, '\" to type "
        f"{call.target} failed: value is out of range!')"
    )
    return tried if call.is_try else call.checked(condition, call.to_target(call.value), told)


def _decimal_to_text(call: CastCall) -> Fragment | None:
    """DuckDB writes no zero before the point where the type has no digit for it."""
    text = sql("CAST({} AS STRING)", call.value)
    if call.source.width > call.source.scale or not call.source.scale:
        return text
    return sql("replace({}, '0.', '.')", text)


def _float_to_integer(call: CastCall) -> Fragment | None:
    """Halves go to the even number; just below the end of the range DuckDB wraps around."""
    if call.target.id not in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT"):
        return None
    low, high = range_of(call.target.id)
    wide = sql("CAST({} AS DOUBLE)", call.value)
    if call.target.id == "BIGINT":
        result = call.to_target(sql("rint({})", wide))
    else:
        result = call.to_target(sql(f"if(rint({{0}}) > {high}, {low}, rint({{0}}))", wide))
    condition = f"{{0}} >= {low} AND {{0}} < {high + 1}D"
    return call.checked(condition, result, _out_of_range(call))


def _date_to_text(call: CastCall) -> Fragment | None:
    """Years after 9999 have no sign, and those before the first are BC."""
    day = sql("CAST({0} AS DATE)", call.value)
    usual = sql("CAST({} AS STRING)", call.value)
    condition = "{0} BETWEEN DATE'0001-01-01' AND DATE'9999-12-31'"
    after = sql("substring({}, 2)", usual)
    tail = sql("substring({}, -6)", sql("CAST({} AS STRING)", day))
    if call.source.id != "DATE":
        clock = sql("substring_index({}, ' ', -1)", usual)
        before = sql("concat(lpad(1 - year({}), 4, '0'), {}, ' (BC) ', {})", day, tail, clock)
    else:
        before = sql("concat(lpad(1 - year({}), 4, '0'), {}, ' (BC)')", day, tail)
    template = f"CASE WHEN {condition} THEN {{1}} WHEN year({{0}}) > 9999 THEN {{2}} ELSE {{3}} END"
    if call.is_long:
        return None
    return sql(template, day, usual, after, before)


def _decimal_to_float(call: CastCall) -> Fragment | None:
    if call.target.id != "DOUBLE" or call.is_long:
        return None
    return decimal_to_double(call.value, call.source)


def _integer_to_float(call: CastCall) -> Fragment | None:
    if (call.source.id, call.target.id) != ("HUGEINT", "DOUBLE") or call.is_long:
        return None
    return hugeint_to_double(call.value)


_RULES: Final[dict[tuple[str, str], Callable[[CastCall], Fragment | None]]] = {
    ("integer", "integer"): _integer_to_integer,
    ("integer", "DECIMAL"): _integer_to_decimal,
    ("DECIMAL", "integer"): _decimal_to_integer,
    ("DECIMAL", "DECIMAL"): _decimal_to_decimal,
    ("DECIMAL", "float"): _decimal_to_float,
    ("integer", "float"): _integer_to_float,
    ("DECIMAL", "VARCHAR"): _decimal_to_text,
    ("float", "integer"): _float_to_integer,
    ("DATE", "VARCHAR"): _date_to_text,
    ("naive", "VARCHAR"): _date_to_text,
}


def null_of(kind: BoundType) -> Fragment:
    """NULL of a type."""
    return Fragment((null_literal(kind),))
