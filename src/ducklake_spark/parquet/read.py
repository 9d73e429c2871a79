"""Reading data files with Arrow: those whose types the JVM's reader does not have.

`read_batches` runs in tasks, `load_stored_types` on the driver.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from ducklake_spark.errors import CorruptDataFile, DataFileError, MissingDataFile
from ducklake_spark.model.entities import DataFile
from ducklake_spark.parquet.decode import Decoder, absent, field_id
from ducklake_spark.plan.stored import ColumnRead


@dataclass(frozen=True)
class FileRead:
    """How the files of one branch are read.

    Args:
        columns: the columns of the table.
        schema: the Arrow types of the carriers, in the same order, and then one BIGINT for each
            of `constants`, the position of a row, and each of `embedded`.
        constants: names of values that come with each file.
        embedded: field ids of columns that only some files have; None for one that no file has.
        by_name: columns are found by name.
        time_zone: the session's.
        label: names the table in error messages.
        batch_rows: how many rows are read at a time.
    """

    columns: tuple[ColumnRead, ...]
    schema: Any
    constants: tuple[str, ...]
    embedded: tuple[int | None, ...]
    by_name: bool
    time_zone: str
    label: str
    batch_rows: int = 32_768


def read_batches(files: Iterator[Any], plan: FileRead) -> Iterator[Any]:
    """The rows of the files listed in `files`: record batches of path, length and constants."""
    for listed in files:
        for row in listed.to_pylist():
            constants = [row[name] for name in plan.constants]
            yield from _read_file(row["path"], row["length"], constants, plan)


def _read_file(path: str, size: int, constants: list[int | None], plan: FileRead) -> Iterator[Any]:
    with open_parquet(path, size, plan.label) as file:
        fields = list(file.schema_arrow)
        decoder = Decoder(by_name=plan.by_name, time_zone=plan.time_zone)
        places = [_find(decoder, fields, read) for read in plan.columns]
        extra = [_find_id(fields, wanted) for wanted in plan.embedded]
        names = sorted({fields[at].name for at in (*places, *extra) if at is not None})
        position = 0
        for batch in file.iter_batches(batch_size=plan.batch_rows, columns=names):
            rows = batch.num_rows
            arrays = [
                _column(batch, fields, at, read, decoder, plan.schema.field(index).type)
                for index, (read, at) in enumerate(zip(plan.columns, places, strict=True))
            ]
            arrays += [_repeat(value, rows) for value in constants]
            arrays.append(pa.array(range(position, position + rows), pa.int64()))
            arrays += [_embedded(batch, fields, at) for at in extra]
            position += rows
            yield pa.RecordBatch.from_arrays(arrays, schema=plan.schema)


def _find(decoder: Decoder, fields: list[Any], read: ColumnRead) -> int | None:
    return None if read.stored is None else decoder.find(fields, read.stored)


def _find_id(fields: list[Any], wanted: int | None) -> int | None:
    if wanted is None:
        return None
    return next((i for i, field in enumerate(fields) if field_id(field) == wanted), None)


def _column(
    batch: Any, fields: list[Any], at: int | None, read: ColumnRead, decoder: Decoder, target: Any
) -> Any:
    if read.hive is not None:
        return pa.nulls(batch.num_rows, target)
    if at is None or read.stored is None:
        return absent(read.column, batch.num_rows, target)
    return decoder.decode(batch.column(fields[at].name), read.stored, read.column, target)


def _embedded(batch: Any, fields: list[Any], at: int | None) -> Any:
    if at is None:
        return pa.nulls(batch.num_rows, pa.int64())
    return batch.column(fields[at].name)


def _repeat(value: int | None, rows: int) -> Any:
    return pa.nulls(rows, pa.int64()) if value is None else pa.repeat(pa.scalar(value), rows)


@contextmanager
def open_parquet(path: str, size: int, label: str) -> Iterator[Any]:
    """A Parquet file that is checked against its size in the catalog. Driver and task."""
    where = f'Cannot read {label}: the file "{path}"'
    try:
        store, inner = _locate(path)
        with store.open_input_file(inner) as source:
            if source.size() != size:
                raise CorruptDataFile(
                    f"{where} has {source.size()} bytes, but the catalog says {size}.",
                    hint="files of a lake never change; restore the original file.",
                )
            # Nanoseconds hold no moment after 2262, which the oldest layout of timestamps does.
            yield pq.ParquetFile(source, coerce_int96_timestamp_unit="us")
    except FileNotFoundError as error:
        raise MissingDataFile(f"{where} is not there.") from error
    except pa.ArrowInvalid as error:
        raise CorruptDataFile(f"{where} is broken: {str(error).partition(chr(10))[0]}") from error
    except DataFileError:
        raise
    except OSError as error:
        raise DataFileError(f"{where} cannot be read: {error}") from error


def _locate(path: str) -> tuple[Any, str]:
    if "://" not in path:
        return fs.LocalFileSystem(), path.removeprefix("file:")
    store, inner = fs.FileSystem.from_uri(path.replace("s3a://", "s3://", 1))
    return store, inner


def load_stored_types(file: DataFile) -> Mapping[int, str | None]:
    """The types of a file's columns, by field id, as DuckLake calls them. Driver.

    Nested types, and those that the JVM's reader cannot take for another one, are None.
    """
    types: dict[int, str | None] = {}
    with open_parquet(file.path, file.file_size_bytes, "a table with changed columns") as opened:
        pending = list(opened.schema_arrow)
        while pending:
            field = pending.pop()
            kind = field.type
            pending += [kind.field(i) for i in range(kind.num_fields)]
            number = field_id(field)
            if number is not None:
                types[number] = _type_name(kind)
    return types


def _type_name(kind: Any) -> str | None:
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return "timestamptz"
    return _TYPE_NAMES.get(kind)


_TYPE_NAMES: Final[Mapping[Any, str]] = {
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
    pa.timestamp("ms"): "timestamp_ms",
    pa.timestamp("us"): "timestamp",
    pa.timestamp("ns"): "timestamp_ns",
}
