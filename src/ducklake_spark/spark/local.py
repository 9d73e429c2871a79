"""Rows that the driver has, as a DataFrame that needs no job to make."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import StructField, StructType

from ducklake_spark.errors import NotSupported
from ducklake_spark.model.schema import Column
from ducklake_spark.spark.carriers import carrier_type

# How to ask for moments in UTC; PySpark 4.0 gives them so without being asked.
IN_UTC: Final[dict[str, Any]] = (
    {"timezone": "UTC"} if "timezone" in inspect.signature(to_arrow_type).parameters else {}
)


def local_frame(
    spark: SparkSession, columns: Sequence[Column], rows: Sequence[Sequence[Any]]
) -> DataFrame:
    """A DataFrame of the given rows, its columns of the carrier types.

    Values are those that `model.literals.parse_text` gives; they travel as Arrow, which Spark
    turns into a local relation.
    """
    schema = StructType([StructField(c.name, carrier_type(c.type), True) for c in columns])
    return spark.createDataFrame(pa.Table.from_batches([carrier_batch(columns, rows)]), schema)


def carrier_batch(columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> Any:
    """The same rows as one Arrow record batch; no Spark is needed."""
    arrow = carrier_arrow_schema(columns)
    arrays = [
        _array([_to_arrow(row[index], field.type) for row in rows], field, column)
        for index, (field, column) in enumerate(zip(arrow, columns, strict=True))
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow)


def _array(values: list[Any], field: pa.Field, column: Column) -> pa.Array:
    try:
        return pa.array(values, type=field.type)
    except pa.ArrowInvalid as error:  # all other values are of the carrier
        raise NotSupported(
            f"A 128-bit integer of the column {column.name} has more than 38 digits, which no "
            "number of Spark has.",
            hint="read the table with DuckDB, or cast the column to DOUBLE there.",
        ) from error


def carrier_arrow_schema(columns: Sequence[Column]) -> Any:
    """The Arrow types in which values of the carriers travel."""
    return pa.schema(
        [pa.field(c.name, to_arrow_type(carrier_type(c.type), **IN_UTC)) for c in columns]
    )


def _to_arrow(value: Any, kind: pa.DataType) -> Any:
    """Structs come as tuples and maps as dicts; Arrow wants dicts and lists of pairs."""
    if value is None or not pa.types.is_nested(kind):
        return value
    if pa.types.is_struct(kind):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        parts = [value[f.name] for f in fields] if isinstance(value, dict) else value
        return {f.name: _to_arrow(v, f.type) for f, v in zip(fields, parts, strict=True)}
    if pa.types.is_map(kind):
        pairs = value.items() if isinstance(value, dict) else value
        return [(_to_arrow(k, kind.key_type), _to_arrow(v, kind.item_type)) for k, v in pairs]
    return [_to_arrow(item, kind.value_type) for item in value]
