"""The Spark types that show DuckLake types, and the way back. Driver."""

from __future__ import annotations

from typing import Final

from pyspark.sql import types as spark_types
from pyspark.sql.types import ArrayType, StructField
from pyspark.sql.types import DataType as SparkType
from pyspark.sql.types import DecimalType as SparkDecimal
from pyspark.sql.types import MapType as SparkMap
from pyspark.sql.types import StructType as SparkStruct

from ducklake_spark import errors
from ducklake_spark.model import types
from ducklake_spark.model.schema import Schema
from ducklake_spark.model.types import DataType, DecimalType, ListType, MapType, ScalarType
from ducklake_spark.model.types import StructType as LakeStruct

_CARRIERS: Final[dict[str, SparkType]] = {
    "boolean": spark_types.BooleanType(),
    "int8": spark_types.ByteType(),
    "int16": spark_types.ShortType(),
    "int32": spark_types.IntegerType(),
    "int64": spark_types.LongType(),
    "uint8": spark_types.ShortType(),
    "uint16": spark_types.IntegerType(),
    "uint32": spark_types.LongType(),
    "uint64": SparkDecimal(20, 0),
    "int128": SparkDecimal(38, 0),
    "uint128": SparkDecimal(38, 0),
    "float32": spark_types.FloatType(),
    "float64": spark_types.DoubleType(),
    "date": spark_types.DateType(),
    # Spark's own TIME is switched off in sessions as they come, up to 4.3, and ends before 24:00.
    "time": spark_types.StringType(),
    "timetz": spark_types.StringType(),
    "interval": spark_types.StringType(),
    "timestamp": spark_types.TimestampNTZType(),
    "timestamp_s": spark_types.TimestampNTZType(),
    "timestamp_ms": spark_types.TimestampNTZType(),
    "timestamp_ns": spark_types.StringType(),
    "timestamptz": spark_types.TimestampType(),
    "varchar": spark_types.StringType(),
    "json": spark_types.StringType(),
    "uuid": spark_types.StringType(),
    "blob": spark_types.BinaryType(),
}

# By the name of the class: some of them exist in newer Sparks only.
_LAKE_TYPES: Final[dict[str, str]] = {
    "BooleanType": "boolean",
    "ByteType": "int8",
    "ShortType": "int16",
    "IntegerType": "int32",
    "LongType": "int64",
    "FloatType": "float32",
    "DoubleType": "float64",
    "DateType": "date",
    "TimeType": "time",
    "TimestampType": "timestamptz",
    "TimestampNTZType": "timestamp",
    "StringType": "varchar",
    "CharType": "varchar",
    "VarcharType": "varchar",
    "BinaryType": "blob",
    "DayTimeIntervalType": "interval",
    "YearMonthIntervalType": "interval",
    "CalendarIntervalType": "interval",
    "NullType": "int32",  # as DuckDB does for a column that is NULL and nothing else
}

_HINTS: Final[dict[str, str]] = {
    "VariantType": "turn it into JSON text with to_json.",
    "GeometryType": "turn it into well-known binary with ST_AsBinary, for a BLOB column.",
    "GeographyType": "turn it into well-known binary with ST_AsBinary, for a BLOB column.",
}


def carrier_type(kind: DataType) -> SparkType:
    """The Spark type whose values show those of `kind`."""
    match kind:
        case DecimalType(precision, scale):
            return SparkDecimal(precision, scale)
        case ListType(element):
            return ArrayType(carrier_type(element), containsNull=True)
        case MapType(key, value):
            return SparkMap(carrier_type(key), carrier_type(value), valueContainsNull=True)
        case LakeStruct(fields):
            return SparkStruct([StructField(f.name, carrier_type(f.type)) for f in fields])
        case ScalarType(name) if name in _CARRIERS:
            return _CARRIERS[name]
        case ScalarType(name):
            raise errors.NotSupported(
                f"Columns of type {types.format_sql_type(kind)} cannot be used in Spark so far.",
                hint=f"read the table in DuckDB, or without its columns of type {name}.",
            )


def carrier_schema(schema: Schema) -> SparkStruct:
    """The schema of a DataFrame that shows the columns of a table."""
    return SparkStruct([StructField(c.name, carrier_type(c.type)) for c in schema.columns])


def from_spark_type(kind: SparkType) -> DataType:
    """The DuckLake type of a new column that takes the values of a DataFrame's column."""
    match kind:
        case SparkDecimal():
            return DecimalType(kind.precision, kind.scale)
        case ArrayType():
            return ListType(from_spark_type(kind.elementType))
        case SparkMap():
            return MapType(from_spark_type(kind.keyType), from_spark_type(kind.valueType))
        case SparkStruct():
            fields = (types.StructField(f.name, from_spark_type(f.dataType)) for f in kind.fields)
            return LakeStruct(tuple(fields))
        case _:
            return _from_atomic_type(kind)


def _from_atomic_type(kind: SparkType) -> ScalarType:
    name = type(kind).__name__
    if name == "StringType" and kind.simpleString() != "string":
        raise errors.NotSupported(
            f"A column of Spark's type {kind.simpleString()} cannot become one of a lake, which "
            "compares texts byte by byte.",
            hint="cast it to STRING COLLATE UTF8_BINARY, and give the collation in queries.",
        )
    if name not in _LAKE_TYPES:
        raise errors.NotSupported(
            f"A column of Spark's type {kind.simpleString()} cannot become one of a lake.",
            hint=_HINTS.get(name, "cast it to a type that DuckLake has."),
        )
    return ScalarType(_LAKE_TYPES[name])
