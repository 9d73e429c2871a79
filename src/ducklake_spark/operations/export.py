"""COPY … TO: the rows of a DataFrame as one file of exactly the name that was asked for."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from ducklake_spark.errors import InvalidInput, InvalidValue
from ducklake_spark.model.literals import format_text
from ducklake_spark.model.paths import is_url
from ducklake_spark.model.schema import Column, build_column
from ducklake_spark.model.types import (
    DataType,
    DecimalType,
    ListType,
    MapType,
    ScalarType,
    StructType,
)
from ducklake_spark.parquet.arrow_schema import to_arrow_schema
from ducklake_spark.parquet.convert import build_converter
from ducklake_spark.parquet.storage import create_file, remove_file
from ducklake_spark.spark.failures import marked_errors, spark_failures
from ducklake_spark.spark.jobs import run_job
from ducklake_spark.spark.tags import type_of_field

_NUMBERS = frozenset(
    {"int8", "int16", "int32", "int64", "int128", "uint8", "uint16", "uint32", "uint64", "uint128"}
)


@dataclass(frozen=True)
class ExportFormat:
    """How the file is written; each format uses the options that concern it."""

    kind: Literal["parquet", "csv", "json"]
    codec: str = "snappy"
    row_group_rows: int = 122_880
    field_ids: bool = False
    header: bool = True
    delimiter: str = ","
    quote: str = '"'
    null_text: str = ""
    as_array: bool = False


def export(frame: DataFrame, path: str, form: ExportFormat) -> int:
    """Write the file, from one task, and return how many rows it has. Driver."""
    target = path.removeprefix("file://")
    if not is_url(target) and not Path(target).absolute().parent.is_dir():
        raise InvalidInput(
            f"Cannot write {path!r}: its folder does not exist.", hint="make the folder first."
        )
    if not is_url(target):
        target = str(Path(target).absolute())
    ids = itertools.count(1)
    columns = tuple(build_column(f.name, type_of_field(f), ids) for f in frame.schema.fields)
    plain = frame.toDF(*(f"c{i}" for i in range(len(columns))))
    with spark_failures(f"copy to {path!r}"):
        found = plain.coalesce(1).mapInArrow(partial(_write, target, columns, form), "n long")
        counts = [row["n"] for row in run_job(frame.sparkSession, found.collect)]
    if not counts:  # an empty DataFrame may have no task at all
        return write_export(target, columns, form, iter(()))
    return sum(counts)


def _write(
    path: str, columns: tuple[Column, ...], form: ExportFormat, batches: Iterable[Any]
) -> Iterator[Any]:
    """Task: write all rows, give their number."""
    with marked_errors():
        count = write_export(path, columns, form, iter(batches))
    yield pa.RecordBatch.from_arrays([pa.array([count], pa.int64())], names=["n"])


def write_export(
    path: str, columns: tuple[Column, ...], form: ExportFormat, batches: Iterator[Any]
) -> int:
    """Task or driver: write one file, all of it or nothing; returns how many rows it has."""
    writers = {"parquet": _write_parquet, "csv": _write_csv, "json": _write_json}
    try:
        with create_file(path) as file:
            return writers[form.kind](file, columns, form, batches)
    except BaseException:
        remove_file(path)
        raise


def _write_parquet(
    file: Any, columns: tuple[Column, ...], form: ExportFormat, batches: Iterator[Any]
) -> int:
    schema = to_arrow_schema(columns)
    if not form.field_ids:
        schema = pa.schema([_without_ids(field) for field in schema])
    converters = [build_converter(column, column.name) for column in columns]
    count = 0
    codec = "none" if form.codec == "uncompressed" else form.codec
    with pq.ParquetWriter(
        file, schema, compression=codec, store_decimal_as_integer=True, store_schema=False
    ) as writer:
        for batch in batches:
            arrays = [convert(batch.column(i)) for i, convert in enumerate(converters)]
            arrays = [a.cast(f.type) for a, f in zip(arrays, schema, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema), form.row_group_rows)
            count += batch.num_rows
    return count


def _without_ids(field: Any) -> Any:
    kind = field.type
    if pa.types.is_struct(kind):
        kind = pa.struct([_without_ids(kind.field(i)) for i in range(kind.num_fields)])
    elif pa.types.is_map(kind):
        kind = pa.map_(_without_ids(kind.key_field), _without_ids(kind.item_field))
    elif pa.types.is_list(kind):
        kind = pa.list_(_without_ids(kind.value_field))
    return pa.field(field.name, kind, field.nullable)


def _write_csv(
    file: Any, columns: tuple[Column, ...], form: ExportFormat, batches: Iterator[Any]
) -> int:
    kinds = [column.type for column in columns]
    if form.header:
        names = (_csv_cell(column.name, form) for column in columns)
        file.write((form.delimiter.join(names) + "\n").encode())
    count = 0
    for batch in batches:
        lines = []
        for row in _rows(batch):
            cells = (
                form.null_text if value is None else _csv_cell(format_text(value, kind), form)
                for value, kind in zip(row, kinds, strict=True)
            )
            lines.append(form.delimiter.join(cells) + "\n")
        file.write("".join(lines).encode())
        count += len(lines)
    return count


def _csv_cell(text: str, form: ExportFormat) -> str:
    """Quoted where it could be taken for something else: for NULL, or for two cells."""
    special = (form.delimiter, form.quote, "\n", "\r")
    if text != form.null_text and text and not any(mark in text for mark in special):
        return text
    return form.quote + text.replace(form.quote, form.quote * 2) + form.quote


def _write_json(
    file: Any, columns: tuple[Column, ...], form: ExportFormat, batches: Iterator[Any]
) -> int:
    count = 0
    names = [json.dumps(column.name, ensure_ascii=False) for column in columns]
    file.write(b"[\n" if form.as_array else b"")
    for batch in batches:
        for row in _rows(batch):
            cells = (
                f"{name}:{_json_text(value, column.type)}"
                for name, value, column in zip(names, row, columns, strict=True)
            )
            between = (",\n" if form.as_array else "\n") if count else ""
            file.write(f"{between}{{{','.join(cells)}}}".encode())
            count += 1
    file.write(b"\n]\n" if form.as_array else b"\n" if count else b"")
    return count


def _rows(batch: Any) -> Iterator[tuple[Any, ...]]:
    lists = [array.to_pylist() for array in batch.columns]
    return zip(*lists, strict=True)


def _json_text(value: Any, kind: DataType) -> str:
    """A value as JSON; what JSON has no form for is text, as DuckDB prints it."""
    if value is None:
        return "null"
    match kind:
        case ListType(element):
            return f"[{','.join(_json_text(item, element) for item in value)}]"
        case StructType(fields):
            items = (f"{_quoted(f.name)}:{_json_text(value[f.name], f.type)}" for f in fields)
            return f"{{{','.join(items)}}}"
        case MapType(key, item):
            pairs = value.items() if isinstance(value, dict) else value
            items = (f"{_quoted(format_text(k, key))}:{_json_text(v, item)}" for k, v in pairs)
            return f"{{{','.join(items)}}}"
        case ScalarType("json"):
            return str(value)
        case ScalarType("boolean"):
            return "true" if value else "false"
        case ScalarType("float32" | "float64") if not math.isfinite(value):
            raise InvalidValue(f"JSON has no number {value}.")
    text = format_text(value, kind)
    numeric = isinstance(kind, DecimalType) or (
        isinstance(kind, ScalarType) and (kind.name in _NUMBERS or kind.name.startswith("float"))
    )
    return str(Decimal(text)) if numeric else _quoted(text)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
