"""Parquet files that are no part of a lake, with the types that only DuckDB's readers know."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType as SparkStruct

from ducklake_spark.errors import CorruptDataFile, NotSupported
from ducklake_spark.model.names import quote_for_spark
from ducklake_spark.model.schema import Schema, build_column
from ducklake_spark.model.types import (
    DataType,
    DecimalType,
    ListType,
    MapType,
    ScalarType,
    StructField,
    StructType,
)
from ducklake_spark.spark.storage import adapt, storage_field
from ducklake_spark.spark.tags import tag_types

_NAMES: Final[dict[Any, str]] = {
    pa.bool_(): "boolean",
    pa.int8(): "int8",
    pa.int16(): "int16",
    pa.int32(): "int32",
    pa.int64(): "int64",
    pa.uint8(): "uint8",
    pa.uint16(): "uint16",
    pa.uint32(): "uint32",
    pa.uint64(): "uint64",
    pa.float32(): "float32",
    pa.float64(): "float64",
    pa.date32(): "date",
    pa.time64("us"): "time",
    pa.string(): "varchar",
    pa.large_string(): "varchar",
    pa.binary(): "blob",
    pa.uuid(): "uuid",
    pa.timestamp("us"): "timestamp",
    pa.timestamp("ms"): "timestamp_ms",
    pa.timestamp("ns"): "timestamp_ns",
    pa.timestamp("us", "UTC"): "timestamptz",
}


def read_typed_parquet(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """Read local files with the types of the first one; Spark's own inference refuses some."""
    try:
        found = pq.read_schema(paths[0])
    except (OSError, pa.ArrowException) as error:
        raise CorruptDataFile(f"Cannot read {paths[0]}: {error}.") from error
    ids = itertools.count(1)
    columns = [build_column(field.name, _lake_type(field.type), ids) for field in found]
    asked = SparkStruct([storage_field(column, by_name=True) for column in columns])
    frame = spark.read.schema(asked).parquet(*paths)
    values = (adapt(F.col(quote_for_spark(c.name)), c, c).alias(c.name) for c in columns)
    return tag_types(frame.select(*values), Schema(tuple(columns)))


def _lake_type(kind: Any) -> DataType:
    if kind in _NAMES:
        return ScalarType(_NAMES[kind])
    if pa.types.is_decimal(kind):
        return DecimalType(kind.precision, kind.scale)
    if pa.types.is_struct(kind):
        fields = (kind.field(i) for i in range(kind.num_fields))
        return StructType(tuple(StructField(f.name, _lake_type(f.type)) for f in fields))
    if pa.types.is_map(kind):
        return MapType(_lake_type(kind.key_type), _lake_type(kind.item_type))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return ListType(_lake_type(kind.value_type))
    raise NotSupported(f"A Parquet column of type {kind} cannot be read.")
