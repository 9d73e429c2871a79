"""The Arrow schema of a data file: physical types, and the id of every node. Driver and task."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from ducklake_spark.caching import remembered
from ducklake_spark.errors import NotSupported
from ducklake_spark.model.schema import Column
from ducklake_spark.model.types import DecimalType, ScalarType

_SCALARS: Final[dict[str, pa.DataType]] = {
    "boolean": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "uint8": pa.uint8(),
    "uint16": pa.uint16(),
    "uint32": pa.uint32(),
    "uint64": pa.uint64(),
    # The extension stores these two as DOUBLE, which loses digits; it casts decimals on reading.
    "int128": pa.decimal128(38, 0),
    "uint128": pa.decimal128(38, 0),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    # Parquet has no type that keeps the offset, and none for negative intervals.
    "timetz": pa.string(),
    "interval": pa.string(),
    "timestamp": pa.timestamp("us"),
    "timestamp_s": pa.timestamp("us"),  # Parquet has no seconds
    "timestamp_ms": pa.timestamp("ms"),
    "timestamp_ns": pa.timestamp("ns"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "varchar": pa.string(),
    "blob": pa.binary(),
    "uuid": pa.uuid(),
    "json": pa.json_(),
}


def to_arrow_schema(columns: Iterable[Column]) -> pa.Schema:
    """The schema of a file that holds `columns`."""
    return pa.schema([to_arrow_field(column) for column in columns])


def to_arrow_field(column: Column, *, nullable: bool = True) -> pa.Field:
    """The field of one node, which carries the node's id.

    All are optional in the file, as in those of the extension: NOT NULL is a rule of the table.
    """
    metadata = {b"PARQUET:field_id": str(column.column_id).encode()}
    return pa.field(column.name, to_arrow_type(column), nullable, metadata)


def to_arrow_type(column: Column) -> pa.DataType:
    """The Arrow type that pyarrow writes as the physical type of this node."""
    match column.type_name.lower():
        case "struct":
            return pa.struct([to_arrow_field(child) for child in column.children])
        case "list":
            return pa.list_(to_arrow_field(column.children[0]))
        case "map":
            key, value = column.children
            return pa.map_(to_arrow_field(key, nullable=False), to_arrow_field(value))
        case _:
            return _scalar(column)


def decimal_type(precision: int, scale: int) -> pa.DataType:
    """Decimals that fit 64 bits are kept in 64 bits, where this pyarrow can write such."""
    if precision <= 18 and _writes_decimal64():
        return pa.decimal64(precision, scale)
    return pa.decimal128(precision, scale)


@remembered("whether 64-bit decimals are written", entries=1, depends_on="the version of pyarrow")
def _writes_decimal64() -> bool:
    if not hasattr(pa, "decimal64"):
        return False
    try:
        pq.write_table(pa.table({"a": pa.array([1], pa.decimal64(5, 2))}), pa.BufferOutputStream())
    except (pa.ArrowException, NotImplementedError, TypeError):
        return False
    return True


def _scalar(column: Column) -> pa.DataType:
    kind = column.type
    if isinstance(kind, DecimalType):
        return decimal_type(kind.precision, kind.scale)
    if isinstance(kind, ScalarType) and kind.name in _SCALARS:
        return _SCALARS[kind.name]
    raise NotSupported(
        f'Cannot write column "{column.name}": the type {column.type_name} is read only so far.',
        hint="write to the table with DuckDB, or leave the column out of the table.",
    )
