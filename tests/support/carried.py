"""Rows as Spark hands them to a task, without Spark: Arrow arrays of the carriers."""

from __future__ import annotations

import itertools

import pyarrow as pa

from ducklake_spark.model.schema import Schema, build_column
from ducklake_spark.model.types import (
    DataType,
    DecimalType,
    ListType,
    MapType,
    ScalarType,
    StructType,
    parse_sql_type,
)
from ducklake_spark.parquet.write import write_batches
from ducklake_spark.plan.layout import WriteLayout

JOB = "0123456789ab"

CARRIERS = {
    "boolean": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "uint8": pa.int16(),
    "uint16": pa.int32(),
    "uint32": pa.int64(),
    "uint64": pa.decimal128(20, 0),
    "int128": pa.decimal128(38, 0),
    "uint128": pa.decimal128(38, 0),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamp_s": pa.timestamp("us"),
    "timestamp_ms": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "Etc/UTC"),
    "blob": pa.binary(),
}


def carrier(kind: DataType) -> pa.DataType:
    """The Arrow type of what Spark sends for a type; text where nothing else is said."""
    match kind:
        case ScalarType(name):
            return CARRIERS.get(name, pa.string())
        case DecimalType(precision, scale):
            return pa.decimal128(precision, scale)
        case ListType(element):
            return pa.list_(carrier(element))
        case MapType(key, value):
            return pa.map_(carrier(key), carrier(value))
        case StructType(fields):
            return pa.struct([(field.name, carrier(field.type)) for field in fields])


def a_schema(columns: dict[str, str], *, required: tuple[str, ...] = ()) -> Schema:
    """A schema from names and DuckDB's type names."""
    ids = itertools.count(1)
    return Schema(
        tuple(
            build_column(name, parse_sql_type(text), ids, nulls_allowed=name not in required)
            for name, text in columns.items()
        )
    )


def a_batch(schema: Schema, **values: list) -> pa.RecordBatch:
    """A batch of carriers; names are columns of `schema`."""
    arrays = [pa.array(values[c.name], carrier(c.type)) for c in schema.columns]
    return pa.RecordBatch.from_arrays(arrays, names=schema.names)


def write(directory, schema: Schema, *batches: pa.RecordBatch, **options) -> list:
    """All files of one task."""
    layout = WriteLayout(schema, str(directory), "t", **options)
    return list(write_batches(iter(batches), layout, JOB))
