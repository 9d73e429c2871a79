"""How the JVM reads each DuckLake type from Parquet, and what turns that into the carrier.

Runs on the driver; makes expressions, touches no data.
"""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    LongType,
    StructField,
    StructType,
)
from pyspark.sql.types import DataType as SparkType
from pyspark.sql.types import MapType as SparkMap

from ducklake_spark.errors import NotSupported
from ducklake_spark.model.literals import parse_text, to_ordinal
from ducklake_spark.model.schema import Column
from ducklake_spark.spark.carriers import carrier_type

FIELD_ID: Final = "parquet.field.id"

# Types that the reader gives in a raw form only.
_RAW: Final[dict[str, SparkType]] = {
    "uuid": BinaryType(),
    "time": LongType(),
    "timestamp_ns": LongType(),
}

_NUMBERS: Final = frozenset(
    {"boolean", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
    | {"float32", "float64"}
)
_TIMESTAMPS: Final = frozenset({"date", "timestamp", "timestamp_s", "timestamp_ms"})


def is_raw(column: Column) -> bool:
    """Whether the reader gives a form of the value that is not the carrier."""
    return column.type_name.lower() in _RAW


def storage_type(column: Column, *, by_name: bool = False) -> SparkType:
    """The Spark type to ask of the reader, ids on the fields of structs included."""
    match column.type_name.lower():
        case "list":
            return ArrayType(storage_type(column.children[0], by_name=by_name))
        case "map":
            key, value = (storage_type(child, by_name=by_name) for child in column.children)
            return SparkMap(key, value)
        case "struct":
            return StructType([storage_field(child, by_name=by_name) for child in column.children])
        case name if name in _RAW:
            return _RAW[name]
    return carrier_type(column.type)


def storage_field(column: Column, *, by_name: bool = False, top: bool = False) -> StructField:
    """The field to ask of the reader; at the top with the value for files that lack the column."""
    metadata: dict[str, Any] = {} if by_name else {FIELD_ID: column.column_id}
    if top and column.initial_default is not None:
        text = default_sql(column)
        metadata |= {"EXISTS_DEFAULT": text, "CURRENT_DEFAULT": text}
    return StructField(column.name, storage_type(column, by_name=by_name), True, metadata)


def default_sql(column: Column) -> str:
    """`initial_default` as Spark SQL, in the form that the reader gives for the type."""
    if column.initial_default is None:
        return f"CAST(NULL AS {storage_type(column).simpleString()})"
    if column.children:
        raise NotSupported(
            f'The column "{column.name}" of type {column.type_name} has a default for older '
            "files, which is not supported."
        )
    name = column.type_name.lower()
    value = parse_text(column.initial_default, column.type)
    kind = storage_type(column).simpleString()
    match name:
        case "time" | "timestamp_ns":
            return f"{to_ordinal(value, column.type)}L"
        case "uuid":
            return f"X'{str(value).replace('-', '')}'"
        case "blob":
            return f"X'{bytes(value).hex()}'"
        case "varchar" | "json":
            return f"CAST(X'{str(value).encode().hex()}' AS STRING)"
        case "date":
            return f"DATE '{value.isoformat()}'"
        case "timestamp" | "timestamp_s" | "timestamp_ms":
            return f"TIMESTAMP_NTZ '{value.isoformat(sep=' ')}'"
        case "timestamptz":
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    return f"CAST('{value}' AS {kind})"


def adapt(value: SparkColumn, stored: Column, column: Column) -> SparkColumn:
    """The carrier of `column` from what the reader gives for `stored`.

    The two differ where a file is older than the column's type, name or fields.
    """
    if is_same(stored, column):
        return value
    match column.type_name.lower():
        case "list":
            element, wanted = stored.children[0], column.children[0]
            return F.transform(value, lambda item: adapt(item, element, wanted))
        case "map":
            return _adapt_map(value, stored, column)
        case "struct":
            return _adapt_struct(value, stored, column)
    return _adapt_scalar(value, stored, column)


def is_same(stored: Column, column: Column) -> bool:
    """Whether what the reader gives is the carrier already."""
    if stored.type_name.lower() != column.type_name.lower() or is_raw(column):
        return False
    if len(stored.children) != len(column.children):
        return False
    named = column.type_name.lower() == "struct"
    return all(
        (not named or (old.column_id == new.column_id and old.name == new.name))
        and is_same(old, new)
        for old, new in zip(stored.children, column.children, strict=True)
    )


def default_value(column: Column) -> SparkColumn:
    """The carrier that rows of files without the column show."""
    if column.initial_default is None:
        return F.lit(None).cast(carrier_type(column.type))
    return adapt(F.expr(default_sql(column)), column, column)


def _adapt_map(value: SparkColumn, stored: Column, column: Column) -> SparkColumn:
    (old_key, old_item), (key, item) = stored.children, column.children
    if not is_same(old_key, key):
        value = F.transform_keys(value, lambda k, _: adapt(k, old_key, key))
    if not is_same(old_item, item):
        value = F.transform_values(value, lambda _, v: adapt(v, old_item, item))
    return value


def _adapt_struct(value: SparkColumn, stored: Column, column: Column) -> SparkColumn:
    old = {child.column_id: child for child in stored.children}
    fields = [
        (
            adapt(value.getField(old[child.column_id].name), old[child.column_id], child)
            if child.column_id in old
            else default_value(child)
        ).alias(child.name)
        for child in column.children
    ]
    return F.when(value.isNotNull(), F.struct(*fields))


def _adapt_scalar(value: SparkColumn, stored: Column, column: Column) -> SparkColumn:
    old, new = stored.type_name.lower(), column.type_name.lower()
    if old == new:
        return _DECODERS[new](value)
    number = old in _NUMBERS or old.startswith("decimal")
    if number and (new in _NUMBERS or new.startswith("decimal")):
        return value.cast(carrier_type(column.type))
    if old in _TIMESTAMPS and new == "timestamp_ns":
        return value.cast("timestamp_ntz").cast("string")
    if old in _TIMESTAMPS and new in ("timestamp", "timestamp_s", "timestamp_ms"):
        return value.cast("timestamp_ntz")
    if old in _TIMESTAMPS and new == "timestamptz":
        # In the session's time zone, as DuckDB does.
        return value.cast("timestamp")
    if new == "json" and (old.startswith(("int", "uint")) or old in ("boolean", "varchar")):
        return value.cast("string")
    raise NotSupported(
        f'The column "{column.name}" was changed from {stored.type_name} to {column.type_name}; '
        "files that were written before cannot be read."
    )


def _two_digits(value: SparkColumn) -> SparkColumn:
    return F.lpad(value.cast("string"), 2, "0")


def _clock(seconds: SparkColumn, fraction: SparkColumn, digits: int) -> SparkColumn:
    """``HH:MM:SS[.f]`` of a second of the day and its fraction, zeros at the end cut."""
    shown = F.regexp_replace(F.lpad(fraction.cast("string"), digits, "0"), "0+$", "")
    return F.concat(
        _two_digits(F.floor(seconds / 3600)),
        F.lit(":"),
        _two_digits(F.floor(seconds % 3600 / 60)),
        F.lit(":"),
        _two_digits(seconds % 60),
        F.when(fraction == 0, "").otherwise(F.concat(F.lit("."), shown)),
    )


def _decode_time(micros: SparkColumn) -> SparkColumn:
    return _clock(_quotient(micros, 1_000_000), micros % 1_000_000, 6)


def _decode_nanos(nanos: SparkColumn) -> SparkColumn:
    """Text of a moment; exact for every 64-bit value and apart from any time zone."""
    seconds = _quotient(nanos, 1_000_000_000)
    days = _quotient(seconds, 86_400)
    date = F.date_add(F.lit("1970-01-01").cast("date"), days.cast("int")).cast("string")
    fraction = F.pmod(nanos, F.lit(1_000_000_000))
    clock = _clock(F.pmod(seconds, F.lit(86_400)), fraction, 9)
    return (
        F.when(nanos == _INFINITY, "infinity")
        .when(nanos == -_INFINITY, "-infinity")
        .otherwise(F.concat(date, F.lit(" "), clock))
    )


_INFINITY: Final = 9_223_372_036_854_775_807


def _quotient(value: SparkColumn, divisor: int) -> SparkColumn:
    """Division that rounds down and stays in BIGINT: doubles have too few digits."""
    borrowed = F.when(value % divisor < 0, 1).otherwise(0)
    return F.call_function("div", value, F.lit(divisor).cast("bigint")) - borrowed


def _decode_uuid(value: SparkColumn) -> SparkColumn:
    digits = F.lower(F.hex(value))
    parts = [F.substring(digits, at, n) for at, n in ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))]
    return F.when(value.isNotNull(), F.concat_ws("-", *parts))


_DECODERS: Final = {"time": _decode_time, "timestamp_ns": _decode_nanos, "uuid": _decode_uuid}
