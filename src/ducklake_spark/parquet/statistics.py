"""Statistics of DuckLake from the footer that the Parquet writer has just made. Task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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
    metadata: Any, schema: Schema, with_nan: Mapping[int, int]
) -> tuple[ColumnStats, ...]:
    """Statistics of each leaf of `schema`, from a file whose first columns are its leaves.

    Args:
        metadata: the footer (`pyarrow.parquet.FileMetaData`).
        schema: the columns of the table; columns of the file behind them have no statistics.
        with_nan: the leaves that hold a NaN, by id, with the number of their values: the footer
            has no statistics of them.
    """
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    return tuple(
        _leaf_stats(leaf, [group.column(i) for group in groups], with_nan)
        for i, leaf in enumerate(schema.leaves())
    )


def _leaf_stats(leaf: Column, chunks: list[Any], with_nan: Mapping[int, int]) -> ColumnStats:
    """As the extension counts: an empty or NULL list is one NULL slot of the leaves below it."""
    kind = leaf.type
    slots = sum(chunk.num_values for chunk in chunks)
    values, low, high = with_nan.get(leaf.column_id), None, None
    if values is None:
        statistics = [chunk.statistics for chunk in chunks]
        values = slots - sum(s.null_count for s in statistics)
        low, high = _bounds(kind, statistics)
    is_float = isinstance(kind, ScalarType) and kind.name in FLOATS
    return ColumnStats(
        column_id=leaf.column_id,
        column_size_bytes=sum(chunk.total_compressed_size for chunk in chunks),
        value_count=values,
        null_count=slots - values,
        min_value=format_stat(low, kind, bound="min"),
        max_value=format_stat(high, kind, bound="max"),
        contains_nan=leaf.column_id in with_nan if is_float else None,
    )


def _bounds(kind: DataType, statistics: list[Any]) -> tuple[Any, Any]:
    """The least and the greatest value, or None twice when a row group does not tell."""
    filled = [s for s in statistics if s.num_values]
    if not filled or not all(s.has_min_max for s in filled):
        return None, None  # a text of more than 4096 bytes has no bounds in a footer
    to_value = raw_reader(kind)
    return (
        min(to_value(s.min_raw) for s in filled),
        max(to_value(s.max_raw) for s in filled),
    )


def raw_reader(kind: DataType) -> Callable[[Any], Any]:
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
class LeafPlace:
    """Where the values of a leaf are found: in an Arrow table, and in a Parquet file."""

    column_id: int
    is_float: bool
    index: int  # of the column
    steps: tuple[int, ...]  # which child to take, level by level
    path: str  # Parquet's name of the leaf


def find_leaves(columns: tuple[Column, ...]) -> tuple[LeafPlace, ...]:
    """The places of all leaves of a file's columns."""
    return tuple(
        LeafPlace(leaf.column_id, leaf.type_name.lower() in FLOATS, index, steps, path)
        for index, column in enumerate(columns)
        for leaf, steps, path in _walk_leaves(column, (), column.name)
    )


def find_nan(leaves: tuple[LeafPlace, ...], table: Any) -> frozenset[int]:
    """Ids of the leaves that hold a NaN."""
    return frozenset(
        leaf.column_id
        for leaf in leaves
        if leaf.is_float
        and any(pc.any(pc.is_nan(part)).as_py() for part in _leaf_values(leaf, table))
    )


def count_values(leaf: LeafPlace, table: Any) -> int:
    """How many values of a leaf are not NULL."""
    return sum(len(part) - part.null_count for part in _leaf_values(leaf, table))


def _walk_leaves(
    column: Column, steps: tuple[int, ...], path: str
) -> Iterator[tuple[Column, tuple[int, ...], str]]:
    if not column.children:
        yield column, steps, path
    group = _GROUPS.get(column.type_name.lower(), "")
    for index, child in enumerate(column.children):
        yield from _walk_leaves(child, (*steps, index), f"{path}{group}.{child.name}")


# What Parquet puts between a list or map and its parts.
_GROUPS: Final = {"list": ".list", "map": ".key_value"}


def _leaf_values(leaf: LeafPlace, table: Any) -> Iterator[Any]:
    for chunk in table.column(leaf.index).chunks:
        values = chunk
        for step in leaf.steps:
            values = child_slots(values, step)
        yield values


def child_slots(array: Any, index: int) -> Any:
    """The slots one level down, without those that a slice or a NULL hides."""
    if pa.types.is_struct(array.type):
        return array.flatten()[index]
    if pa.types.is_map(array.type):
        parts = array.items if index else array.keys
        return pa.ListArray.from_arrays(array.offsets, parts).flatten()
    return array.flatten()
