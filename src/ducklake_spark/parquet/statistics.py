"""Statistics of DuckLake from the footer that the Parquet writer has just made. Task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from ducklake_spark.model.literals import format_stat
from ducklake_spark.model.schema import Column, Schema
from ducklake_spark.model.types import UNSIGNED_BITS, DataType, DecimalType, ScalarType
from ducklake_spark.model.written import ColumnStats

FLOATS: Final = frozenset({"float32", "float64"})


def read_column_stats(
    metadata: Any, schema: Schema, with_nan: frozenset[int]
) -> tuple[ColumnStats, ...]:
    """Statistics of each leaf of `schema`, from a file whose first columns are its leaves.

    Args:
        metadata: the footer (`pyarrow.parquet.FileMetaData`).
        schema: the columns of the table; columns of the file behind them have no statistics.
        with_nan: ids of the leaves in which a NaN was met, which footers do not tell.
    """
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    return tuple(
        _leaf_stats(leaf, [group.column(i) for group in groups], with_nan)
        for i, leaf in enumerate(schema.leaves())
    )


def _leaf_stats(leaf: Column, chunks: list[Any], with_nan: frozenset[int]) -> ColumnStats:
    """As the extension counts: an empty or NULL list is one NULL slot of the leaves below it."""
    kind = leaf.type
    statistics = [chunk.statistics for chunk in chunks]
    nulls = sum(s.null_count for s in statistics)
    has_nan = leaf.column_id in with_nan
    low, high = (None, None) if has_nan else _bounds(kind, statistics)
    return ColumnStats(
        column_id=leaf.column_id,
        column_size_bytes=sum(chunk.total_compressed_size for chunk in chunks),
        value_count=sum(chunk.num_values for chunk in chunks) - nulls,
        null_count=nulls,
        min_value=format_stat(low, kind, bound="min"),
        max_value=format_stat(high, kind, bound="max"),
        contains_nan=has_nan if isinstance(kind, ScalarType) and kind.name in FLOATS else None,
    )


def _bounds(kind: DataType, statistics: list[Any]) -> tuple[Any, Any]:
    """The least and the greatest value, or None twice when a row group does not tell."""
    filled = [s for s in statistics if s.num_values]
    if not filled or not all(s.has_min_max for s in filled):
        return None, None  # a text of more than 4096 bytes has no bounds in a footer
    to_value = _raw_reader(kind)
    return (
        min(to_value(s.min_raw) for s in filled),
        max(to_value(s.max_raw) for s in filled),
    )


def _raw_reader(kind: DataType) -> Callable[[Any], Any]:
    """From the physical value of a footer to the comparable form of `model.literals`."""
    if isinstance(kind, DecimalType):
        return partial(_to_decimal, scale=kind.scale)
    name = kind.name if isinstance(kind, ScalarType) else ""
    if name in ("int128", "uint128"):
        return _to_integer
    if name in UNSIGNED_BITS:
        mask = 2 ** UNSIGNED_BITS[name] - 1  # physical integers are signed
        return lambda raw: raw & mask
    return _RAW_READERS.get(name, _as_it_is)


def _to_integer(raw: int | bytes) -> int:
    return raw if isinstance(raw, int) else int.from_bytes(raw, "big", signed=True)


def _to_decimal(raw: int | bytes, scale: int) -> Decimal:
    number = _to_integer(raw)
    digits = tuple(map(int, str(abs(number))))  # a context would round long ones
    return Decimal((int(number < 0), digits, -scale))


def _as_it_is(raw: Any) -> Any:
    return raw


_RAW_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "varchar": bytes.decode,
    "json": bytes.decode,
    "uuid": lambda raw: raw.hex(),
    "timestamp_ms": lambda raw: raw * 1000,  # bounds are in microseconds
}


@dataclass(frozen=True)
class FloatLeaf:
    """Where the values of a floating-point leaf are found in an Arrow table."""

    column_id: int
    index: int
    path: tuple[int, ...]  # which child to take, level by level


def find_float_leaves(columns: tuple[Column, ...]) -> tuple[FloatLeaf, ...]:
    """The leaves that can hold NaN."""
    return tuple(
        FloatLeaf(leaf.column_id, index, path)
        for index, column in enumerate(columns)
        for leaf, path in _leaf_paths(column)
        if leaf.type_name.lower() in FLOATS
    )


def holds_nan(leaf: FloatLeaf, table: Any) -> bool:
    """Whether a value of the leaf is NaN."""
    for chunk in table.column(leaf.index).chunks:
        values = chunk
        for child in leaf.path:
            values = _child(values, child)
        if pc.any(pc.is_nan(values)).as_py():
            return True
    return False


def _leaf_paths(column: Column, path: tuple[int, ...] = ()) -> Iterator[tuple[Column, Any]]:
    if not column.children:
        yield column, path
    for index, child in enumerate(column.children):
        yield from _leaf_paths(child, (*path, index))


def _child(array: Any, index: int) -> Any:
    """Values one level down; those of slots outside of a slice or below a NULL do no harm."""
    if pa.types.is_struct(array.type):
        return array.field(index)
    if pa.types.is_map(array.type):
        return array.items if index else array.keys
    return array.flatten()
