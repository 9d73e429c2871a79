"""The Spark SQL name of the type that carries a DuckLake type."""

from __future__ import annotations

from typing import Final

from ducklake_spark.errors import NotSupported
from ducklake_spark.model.names import quote_for_spark
from ducklake_spark.model.types import (
    DataType,
    DecimalType,
    ListType,
    MapType,
    ScalarType,
    StructType,
)

_CARRIERS: Final[dict[str, str]] = {
    "boolean": "BOOLEAN",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INT",
    "int64": "BIGINT",
    "int128": "DECIMAL(38, 0)",
    "uint8": "SMALLINT",
    "uint16": "INT",
    "uint32": "BIGINT",
    "uint64": "DECIMAL(20, 0)",
    "uint128": "DECIMAL(38, 0)",
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "date": "DATE",
    "time": "STRING",  # Spark's own TIME is switched off in sessions as they come
    "timetz": "STRING",
    "timestamp": "TIMESTAMP_NTZ",
    "timestamp_s": "TIMESTAMP_NTZ",
    "timestamp_ms": "TIMESTAMP_NTZ",
    "timestamp_ns": "STRING",
    "timestamptz": "TIMESTAMP",
    "interval": "STRING",
    "varchar": "STRING",
    "blob": "BINARY",
    "uuid": "STRING",
    "json": "STRING",
}


def format_spark_type(kind: DataType) -> str:
    """Spark's name of the carrier of `kind`.

    >>> from ducklake_spark.model.types import parse_sql_type
    >>> format_spark_type(parse_sql_type("STRUCT(a UINTEGER, b TIMESTAMP[])"))
    'STRUCT<`a`: BIGINT, `b`: ARRAY<TIMESTAMP_NTZ>>'
    """
    match kind:
        case ScalarType(name):
            if name not in _CARRIERS:
                raise NotSupported(f"The type {name.upper()} cannot be used in Spark SQL here.")
            return _CARRIERS[name]
        case DecimalType(precision, scale):
            return f"DECIMAL({precision}, {scale})"
        case ListType(element):
            return f"ARRAY<{format_spark_type(element)}>"
        case MapType(key, value):
            return f"MAP<{format_spark_type(key)}, {format_spark_type(value)}>"
        case StructType(fields):
            inner = ", ".join(
                f"{quote_for_spark(f.name)}: {format_spark_type(f.type)}" for f in fields
            )
            return f"STRUCT<{inner}>"
