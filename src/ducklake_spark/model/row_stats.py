"""Statistics of rows that the driver holds: the few that go into the metadata database."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from ducklake_spark.errors import InvalidValue
from ducklake_spark.model.literals import format_stat, from_python
from ducklake_spark.model.schema import Column, Schema
from ducklake_spark.model.types import ScalarType
from ducklake_spark.model.written import ColumnStats

_UNBOUNDED = frozenset({"timetz", "interval", "json", "variant", "geometry"})


def row_stats(schema: Schema, rows: Sequence[Sequence[Any]]) -> tuple[ColumnStats, ...]:
    """The statistics of every leaf, as a file with these rows would have them.

    Values are those of the carriers: structs as tuples or dicts, maps as dicts, lists.
    """
    return tuple(
        _leaf_stats(leaf, values)
        for index, column in enumerate(schema.columns)
        for leaf, values in _leaves(column, [row[index] for row in rows])
    )


def _leaves(column: Column, values: list[Any]) -> Iterator[tuple[Column, list[Any]]]:
    """Each leaf below the column with its values; one without a slot counts as NULL."""
    match column.type_name.lower():
        case "list":
            items = [item for value in values for item in value or [None]]
            yield from _leaves(column.children[0], items)
        case "map":
            keys = [key for value in values for key in value or [None]]
            items = [item for value in values for item in (value or {None: None}).values()]
            yield from _leaves(column.children[0], keys)
            yield from _leaves(column.children[1], items)
        case "struct":
            for index, child in enumerate(column.children):
                parts = [None if v is None else _part(v, index, child.name) for v in values]
                yield from _leaves(child, parts)
        case _:
            yield column, values


def _part(value: Any, index: int, name: str) -> Any:
    return value[name] if isinstance(value, dict) else value[index]


def _leaf_stats(leaf: Column, values: list[Any]) -> ColumnStats:
    given = [value for value in values if value is not None]
    low, high, nan = _bounds(leaf, given)
    return ColumnStats(leaf.column_id, None, len(given), len(values) - len(given), low, high, nan)


def _bounds(leaf: Column, given: list[Any]) -> tuple[str | None, str | None, bool | None]:
    kind = leaf.type
    if isinstance(kind, ScalarType) and kind.name in ("float32", "float64"):
        if any(math.isnan(value) for value in given):
            return None, None, True
        # As the extension has it: not told for rows without a file.
        return (*_ordered(leaf, given), None)
    if isinstance(kind, ScalarType) and kind.name in _UNBOUNDED:
        return None, None, None
    return (*_ordered(leaf, given), None)


def _ordered(leaf: Column, given: list[Any]) -> tuple[str | None, str | None]:
    """The least and the greatest value as the catalog writes them, None when not comparable."""
    if not given:
        return None, None
    try:
        comparable = [(from_python(value, leaf.type), value) for value in given]
    except InvalidValue:
        return None, None
    low = min(comparable, key=lambda pair: pair[0])[1]
    high = max(comparable, key=lambda pair: pair[0])[1]
    return format_stat(low, leaf.type, bound="min"), format_stat(high, leaf.type, bound="max")
