"""Scans of files that only Arrow can read: tasks read them in Python. Driver.

The tasks are given one row for each file by a relation of its own, so that Spark spreads the files
by their sizes and knows how large they are.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T
from pyspark.sql.types import LongType, StructField, StructType

from ducklake_spark.limits import limits
from ducklake_spark.parquet.read import FileRead, read_batches
from ducklake_spark.plan.scan import Branch
from ducklake_spark.spark.carriers import carrier_type
from ducklake_spark.spark.internal import POSITION
from ducklake_spark.spark.relation import ListedFile, RelationSource, build_relation
from ducklake_spark.spark.storage import FIELD_ID

# What Spark's format for binary files always has; the contents are never asked for.
_LISTING: Final = StructType(
    [
        StructField("path", T.StringType(), False),
        StructField("modificationTime", T.TimestampType(), False),
        StructField("length", LongType(), False),
        StructField("content", T.BinaryType(), True),
    ]
)


def read_with_arrow(
    spark: SparkSession,
    branch: Branch,
    files: Sequence[ListedFile],
    *,
    constants: StructType,
    embedded: Sequence[StructField],
    label: str,
) -> DataFrame:
    """The rows of a branch: the table's columns as carriers, constants, position, embedded ids."""
    columns = [StructField(r.column.name, carrier_type(r.column.type)) for r in branch.columns]
    position = StructField(POSITION, LongType())
    ids = [StructField(field.name, LongType()) for field in embedded]
    output = StructType([*columns, *constants.fields, position, *ids])
    plan = FileRead(
        columns=branch.columns,
        schema=pa.schema([_arrow_field(field) for field in output.fields]),
        constants=tuple(constants.names),
        embedded=tuple(field.metadata.get(FIELD_ID) for field in embedded),
        by_name=branch.by_name,
        time_zone=str(spark.conf.get("spark.sql.session.timeZone")),
        label=label,
        batch_rows=limits().read_batch_rows,
    )
    source = RelationSource(label, _LISTING, constants, files, file_format="binaryfile")
    listing = build_relation(spark, source).select("path", "length", *constants.names)
    return listing.mapInArrow(functools.partial(_read, plan=plan), output)


def _read(files: Iterator[Any], *, plan: FileRead) -> Iterator[Any]:
    """Runs in tasks."""
    return read_batches(files, plan)


_ARROW_TYPES: Final[dict[type[T.DataType], pa.DataType]] = {
    T.BooleanType: pa.bool_(),
    T.ByteType: pa.int8(),
    T.ShortType: pa.int16(),
    T.IntegerType: pa.int32(),
    T.LongType: pa.int64(),
    T.FloatType: pa.float32(),
    T.DoubleType: pa.float64(),
    T.DateType: pa.date32(),
    T.TimestampNTZType: pa.timestamp("us"),
    T.TimestampType: pa.timestamp("us", tz="UTC"),
    T.StringType: pa.string(),
    T.BinaryType: pa.binary(),
}


def _arrow_field(field: StructField) -> pa.Field:
    return pa.field(field.name, _arrow_type(field.dataType), nullable=field.nullable)


def _arrow_type(kind: T.DataType) -> pa.DataType:
    match kind:
        case T.DecimalType():
            return pa.decimal128(kind.precision, kind.scale)
        case T.ArrayType():
            return pa.list_(pa.field("element", _arrow_type(kind.elementType)))
        case T.MapType():
            return pa.map_(_arrow_type(kind.keyType), _arrow_type(kind.valueType))
        case StructType():
            return pa.struct([_arrow_field(field) for field in kind.fields])
        case _:
            return _ARROW_TYPES[type(kind)]
