"""What the footer of a file that somebody else wrote says: columns, size, statistics.

Task, or driver when the files are few. Only footers are read, but for the values of NOT NULL
columns of which the footer does not count the NULLs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from ducklake_spark.caching import Cache, remembered
from ducklake_spark.errors import CorruptDataFile
from ducklake_spark.model.entities import DataFile
from ducklake_spark.parquet.storage import open_file
from ducklake_spark.plan.foreign import FileColumn

_AT_A_TIME: Final = 16
_TAIL: Final = 8  # the footer's length and the magic word stand behind the footer


@dataclass(frozen=True)
class OpenedFile:
    """An open Parquet file."""

    path: str
    size: int
    footer_size: int
    reader: Any  # pyarrow.parquet.ParquetFile

    @property
    def metadata(self) -> Any:
        """The footer."""
        return self.reader.metadata


@contextmanager
def open_parquet(path: str) -> Iterator[OpenedFile]:
    """Open a file to look at its footer."""
    with open_file(path) as source:
        size = source.size()
        try:
            reader = pq.ParquetFile(source)
        except (pa.ArrowException, OSError, NotImplementedError) as error:
            reason = str(error).partition("\n")[0]
            raise CorruptDataFile(
                f'Failed to add data files: "{path}" is no Parquet file that can be read: {reason}'
            ) from error
        source.seek(size - _TAIL)
        footer_size = int.from_bytes(source.read(4), "little")
        yield OpenedFile(path, size, footer_size, reader)


FoundColumns = tuple[FileColumn, ...]


def load_found_columns(
    files: Sequence[DataFile], kept: Cache[tuple[int, str, int], FoundColumns]
) -> dict[int, FoundColumns]:
    """The columns of files, by file id, from their footers. Driver.

    Several footers are read at a time, and kept for the lake: its files never change. A file of
    another lake, or one that no snapshot has yet, may be another one under the same path.
    """

    def columns_of(file: DataFile) -> FoundColumns:
        path, size = file.path, file.file_size_bytes
        if file.data_file_id < 0:
            return _columns_of(path, size)
        return kept.find((file.data_file_id, path, size), lambda: _columns_of(path, size))

    with ThreadPoolExecutor(max_workers=_AT_A_TIME) as pool:
        columns = pool.map(columns_of, files)
        return {file.data_file_id: found for file, found in zip(files, columns, strict=True)}


def _columns_of(path: str, size: int) -> tuple[FileColumn, ...]:
    with open_parquet(path) as file:
        if file.size != size:
            raise CorruptDataFile(
                f'The file "{path}" has {file.size} bytes, but the catalog says {size}.',
                hint="files of a lake never change; restore the original file.",
            )
        return _shared(file_columns(file.metadata))


@remembered("equal columns", entries=1_000)
def _shared(columns: tuple[FileColumn, ...]) -> tuple[FileColumn, ...]:
    """The first of all equal ones: thousands of files have the same columns."""
    return columns


def file_columns(metadata: Any) -> tuple[FileColumn, ...]:
    """The columns of a file as a tree, types in DuckLake's words."""
    tree = _Tree(metadata.schema)
    fields = metadata.schema.to_arrow_schema()
    return tuple(tree.node(field.name, field.type, field.name) for field in fields)


class _Tree:
    """Walks down a schema: the shape is Arrow's, what the leaves are is read from Parquet."""

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self.next_leaf = 0

    def node(self, name: str, kind: Any, path: str) -> FileColumn:
        """The node of that Parquet path."""
        if isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        if pa.types.is_struct(kind):
            fields = [kind.field(i) for i in range(kind.num_fields)]
            return FileColumn(name, "struct", self._parts(fields, path))
        if pa.types.is_map(kind):
            inner = f"{path}.{self._group(path)}"
            return FileColumn(name, "map", self._parts([kind.key_field, kind.item_field], inner))
        if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            group, field = self._group(path), kind.value_field
            inner = f"{path}.{group}"
            three_levels = group != "array" and f"{self._path()}.".startswith(
                f"{inner}.{field.name}."
            )
            element = self.node(
                field.name, field.type, f"{inner}.{field.name}" if three_levels else inner
            )
            return FileColumn(name, "list", (element,), group=group)
        index = self.next_leaf
        self.next_leaf += 1
        type_name, unit, layout = leaf_type(self.schema.column(index))
        return FileColumn(name, type_name, (), index, unit, layout)

    def _parts(self, fields: list[Any], path: str) -> tuple[FileColumn, ...]:
        return tuple(self.node(f.name, f.type, f"{path}.{f.name}") for f in fields)

    def _path(self) -> str:
        return str(self.schema.column(self.next_leaf).path)

    def _group(self, path: str) -> str:
        """What stands between a list or map and its parts in the path of the next leaf."""
        return self._path().removeprefix(f"{path}.").partition(".")[0]


def leaf_type(leaf: Any) -> tuple[str, str, str]:
    """The type that a Parquet column means, its unit and its layout, as `FileColumn` has them."""
    logical = json.loads(leaf.logical_type.to_json())
    unit = _UNITS.get(logical.get("timeUnit", ""), "us")
    converted = leaf.converted_type
    match logical.get("Type"):
        case "Timestamp" if logical.get("is_from_converted_type"):
            # The oldest annotations say nothing about time zones, and are taken for local time.
            return "timestamp", unit, "utc"
        case "Timestamp" if logical["isAdjustedToUTC"]:
            return "timestamptz", unit, ""
        case "Timestamp":
            return _TIMESTAMPS[unit], unit, ""
        case "Time" if unit == "us" or converted == "TIME_MILLIS":
            return "time", unit, ""
        case "UUID":
            return "uuid", "", ""
        case "Geometry":
            return "geometry", "", ""
    if converted == "DECIMAL":
        return f"decimal({leaf.precision},{leaf.scale})", "", ""
    if leaf.physical_type == "INT96":
        return "timestamp", "ns", "int96"
    return _CONVERTED.get(converted) or _PHYSICAL[leaf.physical_type], "", ""


_UNITS: Final = {"milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns"}
_TIMESTAMPS: Final = {"ms": "timestamp_ms", "us": "timestamp", "ns": "timestamp_ns"}
_CONVERTED: Final = {
    **{f"INT_{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"UINT_{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    "DATE": "date",
    "UTF8": "varchar",
    "ENUM": "varchar",
    "INTERVAL": "interval",
    "JSON": "json",
}
_PHYSICAL: Final = {
    "BOOLEAN": "boolean",
    "INT32": "int32",
    "INT64": "int64",
    "FLOAT": "float32",
    "DOUBLE": "float64",
    "BYTE_ARRAY": "blob",
    "FIXED_LEN_BYTE_ARRAY": "blob",
}
