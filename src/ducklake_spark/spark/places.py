"""The file and the position of a row as one number. Driver."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as F

_POSITION_BITS: Final = 36
_NO_FILE: Final = 1 << 26  # stands for inlined rows; ids are below it


def can_pack(file_ids: Iterable[int]) -> bool:
    """Whether the number has room for all of these files."""
    return all(abs(file_id) < _NO_FILE for file_id in file_ids)


def pack(file: Column, position: Column) -> Column:
    """The number of a row; one that is in no file, whose id is NULL, has one too."""
    return F.shiftleft(F.coalesce(file, F.lit(_NO_FILE)), _POSITION_BITS).bitwiseOR(position)


def unpack(numbers: Any) -> dict[int | None, Any]:
    """The positions of each file, in order; None is the file of rows that are in none."""
    numbers = numbers.take(pc.sort_indices(numbers))
    runs = pc.run_end_encode(pc.shift_right(numbers, _POSITION_BITS))
    positions = pc.bit_wise_and(numbers, pa.scalar((1 << _POSITION_BITS) - 1))
    found: dict[int | None, Any] = {}
    start = 0
    for file_id, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        found[None if file_id == _NO_FILE else file_id] = positions.slice(start, end - start)
        start = end
    return found
