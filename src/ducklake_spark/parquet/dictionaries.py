"""Which columns of a file are worth a dictionary. Task.

Arrow makes dictionaries until they are too large, whether values come back or not. Where hardly
any does, the dictionary is as large as the values, and costs time to write and to read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from ducklake_spark.parquet.statistics import LeafPlace

_GLANCE: Final = 4_096
_LOOK: Final = 32_768


class Dictionaries:
    """The choice for the files of one task: what holds for a file holds for the next.

    Whoever writes many partitions would otherwise count the values of each.
    """

    def __init__(self, leaves: Sequence[LeafPlace]) -> None:
        self._leaves = leaves
        self._seen = 0
        self._chosen: list[str] = []

    def choose(self, first: Any) -> list[str]:
        """The paths of the leaves that get a dictionary in a file that begins with these rows.

        Rows are looked at again when they are many more than those that the choice was made by.
        """
        rows = min(len(first), _LOOK)
        if rows > 2 * self._seen:
            self._seen = rows
            self._chosen = choose_dictionaries(self._leaves, first.slice(0, rows))
        return self._chosen


def choose_dictionaries(leaves: Iterable[LeafPlace], table: Any) -> list[str]:
    """The paths of the leaves that get a dictionary, judging by some rows.

    Leaves of nested columns always do: they are many values to look at, and small mostly.
    """
    return [leaf.path for leaf in leaves if leaf.steps or _is_worth(table.column(leaf.index))]


def _is_worth(column: Any) -> bool:
    """Whether numbers of entries and the entries themselves are smaller than all values."""
    glance = column.slice(0, _GLANCE)
    if _distinct(glance) * 2 < len(glance):
        return True
    rows = max(1, len(column))
    distinct = _distinct(column)
    width = column.nbytes / rows
    return bool(distinct * width + rows * distinct.bit_length() / 8 < rows * width)


def _distinct(column: Any) -> int:
    try:
        return int(pc.count_distinct(_as_numbers(column)).as_py())
    except pa.ArrowNotImplementedError:  # a type that is not counted is taken for repeating itself
        return 0


def _as_numbers(column: Any) -> Any:
    """Decimals of 64 bits as the integers that they are: nobody counts them otherwise."""
    if not hasattr(pa, "decimal64") or not pa.types.is_decimal64(column.type):
        return column
    return pa.chunked_array([chunk.view(pa.int64()) for chunk in column.chunks], pa.int64())
