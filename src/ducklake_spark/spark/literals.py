"""Values in Catalyst's JSON, and what comparing a column with one says about the column.

Runs on the driver; pure.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import struct
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

from ducklake_spark.model.predicate import And, Comparison, Constant, Operator, Predicate

if TYPE_CHECKING:
    from ducklake_spark.spark.filters import FilterColumn


class NotUnderstood(Exception):
    """A part of a filter that pruning has no use for."""


class _Null:
    """The type of NULL, which is not Python's None: that would pass for a missing field."""


NULL: Final = _Null()

_EPOCH: Final = dt.datetime(1970, 1, 1)
_INTEGERS: Final = {"byte": 8, "short": 16, "integer": 32, "long": 64}
_DECIMAL: Final = re.compile(r"decimal\((\d+),(\d+)\)")
# Before, time zones were local mean times, on whose seconds sources differ.
_FIRST_SURE_YEAR: Final = 1902

_INTEGER_TYPES: Final = frozenset(
    {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
)

# Spark types that hold the values of a DuckLake type as they are.
_CARRIERS: Final = {
    "boolean": {"boolean"},
    "int8": {"byte"},
    "int16": {"short"},
    "int32": {"integer"},
    "int64": {"long"},
    "uint8": {"short"},
    "uint16": {"integer"},
    "uint32": {"long"},
    "uint64": {"decimal(20,0)"},
    "float32": {"float"},
    "float64": {"double"},
    "date": {"date"},
    "timestamp": {"timestamp_ntz"},
    "timestamp_s": {"timestamp_ntz"},
    "timestamp_ms": {"timestamp_ntz"},
    "timestamptz": {"timestamp"},
    "varchar": {"string"},
    "json": {"string"},
}


def fits_column(type_name: str, spark_type: Any) -> bool:
    """Whether a relation's column of `spark_type` shows values of `type_name` themselves."""
    if type_name.startswith("decimal"):
        return bool(spark_type == type_name.replace(" ", ""))
    return isinstance(spark_type, str) and spark_type in _CARRIERS.get(type_name, ())


def is_lossless(source: Any, target: Any) -> bool:
    """Whether a cast keeps every value apart and in order.

    >>> is_lossless("integer", "long"), is_lossless("long", "double")
    (True, False)
    """
    if not isinstance(source, str) or not isinstance(target, str):
        return False
    if source == target or (source, target) in (("float", "double"), ("date", "timestamp_ntz")):
        return True
    bits = _INTEGERS.get(source)
    if bits is not None:
        return _integer_fits(bits, target)
    return _decimal_fits(source, target)


def _integer_fits(bits: int, target: str) -> bool:
    if target in _INTEGERS:
        return _INTEGERS[target] >= bits
    if target == "double":
        return bits <= 32
    wide = _DECIMAL.fullmatch(target)
    digits = {8: 3, 16: 5, 32: 10, 64: 19}[bits]
    return wide is not None and int(wide[1]) - int(wide[2]) >= digits


def _decimal_fits(source: str, target: str) -> bool:
    narrow, wide = _DECIMAL.fullmatch(source), _DECIMAL.fullmatch(target)
    if narrow is None or wide is None:
        return False
    whole = int(wide[1]) - int(wide[2]) >= int(narrow[1]) - int(narrow[2])
    return whole and int(wide[2]) >= int(narrow[2])


def parse_literal(value: str | None, spark_type: Any, time_zone: str) -> Any:
    """The Python value of a literal: `NULL`, or a value of the predicate language."""
    if value is None:
        return NULL
    try:
        return _parse(value, spark_type, time_zone)
    except (ValueError, OverflowError, InvalidOperation) as error:
        raise NotUnderstood from error


def _parse(value: str, spark_type: Any, time_zone: str) -> Any:
    match spark_type:
        case "boolean":
            return value == "true"
        case "byte" | "short" | "integer" | "long":
            return int(value)
        case "float" | "double":
            return float(value)
        case "date":
            return dt.date.fromisoformat(value)
        case "timestamp_ntz":
            return _EPOCH + dt.timedelta(microseconds=int(value))
        case "timestamp":
            return _instant(value, time_zone)
        case "string":
            return value
        case str() if spark_type.startswith("decimal"):
            return Decimal(value)
    raise NotUnderstood


def _instant(value: str, time_zone: str) -> dt.datetime:
    """A moment from its text in the session's time zone; what is ambiguous is refused."""
    whole, _, fraction = value.partition(".")
    local = dt.datetime.strptime(whole, "%Y-%m-%d %H:%M:%S")
    local = local.replace(microsecond=int(fraction.ljust(6, "0")[:6] or 0))
    try:
        zone = ZoneInfo(time_zone)
    except Exception as error:
        raise NotUnderstood from error
    first, second = local.replace(tzinfo=zone, fold=0), local.replace(tzinfo=zone, fold=1)
    if local.year < _FIRST_SURE_YEAR or first.utcoffset() != second.utcoffset():
        raise NotUnderstood
    return first.astimezone(dt.timezone.utc)


def parse_set(text: str, spark_type: Any) -> list[Any]:
    """The values of an InSet, which cross as JSON in Catalyst's internal form."""
    values = json.loads(text, parse_float=str, parse_int=str)
    return [NULL if value is None else _from_internal(value, spark_type) for value in values]


def _from_internal(value: Any, spark_type: Any) -> Any:
    try:
        match spark_type:
            case "date":
                return _EPOCH.date() + dt.timedelta(days=int(value))
            case "timestamp":
                moment = _EPOCH + dt.timedelta(microseconds=int(value))
                return moment.replace(tzinfo=dt.timezone.utc)
            case "boolean":
                return bool(value)
        return _parse(str(value), spark_type, "UTC")
    except (ValueError, OverflowError, InvalidOperation) as error:
        raise NotUnderstood from error


def compare(column: FilterColumn, operator: Operator, value: Any) -> Predicate:
    """``column <operator> value`` in terms of the column's own type; possibly weaker."""
    kind = column.type_name
    if kind in _INTEGER_TYPES:
        return _compare_integer(column.column_id, operator, value)
    if kind == "float32":
        return _compare_float32(column.column_id, operator, value)
    if kind == "date" and isinstance(value, dt.datetime):
        return _compare_date(column.column_id, operator, value)
    if isinstance(value, float) and not math.isfinite(value):
        raise NotUnderstood
    if kind == "float64":
        value = float(value)
    _check_kind(kind, value)
    return Comparison(column.column_id, operator, value)


_KINDS: Final[dict[str, type]] = {
    "boolean": bool,
    "float64": float,
    "date": dt.date,
    "timestamp": dt.datetime,
    "timestamp_s": dt.datetime,
    "timestamp_ms": dt.datetime,
    "timestamptz": dt.datetime,
    "varchar": str,
    "json": str,
}


def _check_kind(type_name: str, value: Any) -> None:
    expected = Decimal if type_name.startswith("decimal") else _KINDS.get(type_name)
    if expected is None or not isinstance(value, expected):
        raise NotUnderstood


def _compare_integer(column_id: int, operator: Operator, value: Any) -> Predicate:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise NotUnderstood
    if not math.isfinite(value):
        raise NotUnderstood
    whole = math.floor(value)
    if whole == value:
        return Comparison(column_id, operator, whole)
    match operator:
        case "=":
            return Constant(False)
        case ">" | ">=":
            return Comparison(column_id, ">", whole)
        case "<" | "<=":
            return Comparison(column_id, "<=", whole)
    raise NotUnderstood


def _compare_float32(column_id: int, operator: Operator, value: Any) -> Predicate:
    """A bound may be the text of the float or of the double it equals: allow for the difference."""
    if not isinstance(value, float) or not math.isfinite(value) or abs(value) > 3e38:
        raise NotUnderstood
    below, above = _float32_step(value, -1), _float32_step(value, 1)
    match operator:
        case "=":
            parts = (Comparison(column_id, ">=", below), Comparison(column_id, "<=", above))
            return And(parts)
        case ">" | ">=":
            return Comparison(column_id, ">=", below)
        case "<" | "<=":
            return Comparison(column_id, "<=", above)
    raise NotUnderstood


def _float32_step(value: float, direction: int) -> float:
    """A float32 that is surely beyond `value`, which need not be a float32 itself."""
    if abs(value) < 1e-30:
        return direction * 1e-30
    (bits,) = struct.unpack("<i", struct.pack("<f", value))
    outward = direction if value > 0 else -direction
    (moved,) = struct.unpack("<f", struct.pack("<i", bits + outward))
    return float(moved)


def _compare_date(column_id: int, operator: Operator, value: dt.datetime) -> Predicate:
    if value.tzinfo is not None:
        raise NotUnderstood
    match operator:
        case "=":
            return Comparison(column_id, "=", value.date())
        case ">" | ">=":
            return Comparison(column_id, ">=", value.date())
        case "<" | "<=":
            return Comparison(column_id, "<=", value.date())
    raise NotUnderstood
