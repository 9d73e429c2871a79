"""Rows of files that were just written, back on the driver: for inserts too small for a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from ducklake_spark.model.schema import Column
from ducklake_spark.model.types import DataType, ListType, MapType, StructType
from ducklake_spark.model.written import WrittenFile
from ducklake_spark.parquet.read import FileRead, read_batches
from ducklake_spark.plan.stored import ColumnRead


def load_rows(
    files: Sequence[WrittenFile], columns: Sequence[Column], carriers: Any, *, label: str
) -> Iterator[tuple[Any, ...]]:
    """The rows as Python values of the carriers, whose Arrow schema is given."""
    kinds = [column.type for column in columns]
    plan = FileRead(
        columns=tuple(ColumnRead(column, column) for column in columns),
        schema=carriers.append(pa.field("position", pa.int64())),
        constants=(),
        embedded=(),
        by_name=False,
        time_zone="UTC",
        label=label,
    )
    listed = [{"path": file.path, "length": file.file_size_bytes} for file in files]
    for batch in read_batches(iter([pa.RecordBatch.from_pylist(listed)]), plan):
        arrays = [batch.column(index).to_pylist() for index in range(len(kinds))]
        for values in zip(*arrays, strict=True):
            yield tuple(map(_from_arrow, values, kinds))


def _from_arrow(value: Any, kind: DataType) -> Any:
    """Arrow gives a map as pairs and a struct as a dict; here they are a dict and a tuple."""
    if value is None:
        return None
    match kind:
        case ListType(element):
            return [_from_arrow(item, element) for item in value]
        case MapType(key, of):
            return {_from_arrow(k, key): _from_arrow(v, of) for k, v in value}
        case StructType(fields):
            return tuple(_from_arrow(value[field.name], field.type) for field in fields)
        case _:
            return value
