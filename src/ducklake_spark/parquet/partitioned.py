"""Record batches sorted by partition -> data files, one partition after the other. Task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ducklake_spark.model.literals import format_text
from ducklake_spark.model.partition import folder_names, hive_path, parse_transform
from ducklake_spark.model.types import DataType
from ducklake_spark.model.written import WrittenFile
from ducklake_spark.parquet.write import FileSeries, PlainRows, RowSink, TaskWriter, write_all
from ducklake_spark.plan.layout import WriteLayout


def write_partitions(
    batches: Iterator[Any],
    layout: WriteLayout,
    keys: Sequence[int],
    job_id: str,
    *,
    task_id: int = 0,
) -> Iterator[WrittenFile]:
    """Write rows that come partition by partition, giving each file when it is complete.

    One file is open at a time. A partition that comes twice has files twice, nothing worse.
    Whatever goes wrong, every file of this call is removed.

    Args:
        batches: as for `write_batches`, with further columns behind those of the layout.
        layout: where and how to write; it has a partition spec.
        keys: the position in a batch of each key of the spec.
        job_id: as for `write_batches`.
        task_id: as for `write_batches`.
    """
    yield from write_all(batches, open_rows(layout, keys, job_id, task_id=task_id))


def open_rows(layout: WriteLayout, keys: Sequence[int], job_id: str, *, task_id: int) -> RowSink:
    """What takes the rows of a task; arguments as for `write_partitions`."""
    writer = TaskWriter(layout, job_id, task_id)
    return _PartitionedRows(writer, keys) if layout.partition else PlainRows(writer)


class _PartitionedRows:
    """Rows that come partition by partition."""

    def __init__(self, writer: TaskWriter, keys: Sequence[int]) -> None:
        self._writer = writer
        self._keys = keys
        self._folders = Folders(writer.layout)
        self._series: FileSeries | None = None
        self._current: tuple[str | None, ...] = ()
        self.discard = writer.discard

    def add(self, batch: Any) -> Iterator[WrittenFile]:
        """Take a batch of carriers, give the files that are full or of a partition that ended."""
        rows = self._writer.convert(batch)
        columns = [batch.column(key) for key in self._keys]
        for start, end in find_runs(columns):
            values = self._folders.values([column[start] for column in columns])
            if self._series is None or values != self._current:
                yield from self.finish()
                folder = self._folders.path(values)
                self._series, self._current = FileSeries(self._writer, folder, values), values
            yield from self._series.add(rows.slice(start, end - start))

    def finish(self) -> Iterator[WrittenFile]:
        """End the partition, give its last file."""
        if self._series is not None:
            yield from self._series.finish()


def find_runs(columns: Sequence[Any]) -> list[tuple[int, int]]:
    """Where rows with equal values in all columns begin and end; NULL and NaN equal themselves."""
    length = len(columns[0])
    if not length:
        return []
    starts = {0}
    for column in columns:
        starts.update(index + 1 for index in _changes(column))
    places = [*sorted(starts), length]
    return list(pairwise(places))


def _changes(column: Any) -> list[int]:
    before, after = column.slice(0, len(column) - 1), column.slice(1)
    differs = pc.not_equal(before, after)
    if pa.types.is_floating(column.type):
        differs = pc.and_kleene(
            differs, pc.invert(pc.and_kleene(pc.is_nan(before), pc.is_nan(after)))
        )
    if column.null_count:
        differs = pc.fill_null(differs, False)
        differs = pc.or_(differs, pc.xor(pc.is_null(before), pc.is_null(after)))
    return [int(index) for index in pc.indices_nonzero(differs).to_pylist()]


class Folders:
    """The texts of partition values, and the folders for them."""

    def __init__(self, layout: WriteLayout) -> None:
        spec = layout.partition
        fields = spec.fields if spec else ()
        columns = [layout.schema.by_id[field.column_id] for field in fields]
        transforms = [parse_transform(field.transform) for field in fields]
        pairs = zip(columns, transforms, strict=True)
        self._names = folder_names([(column.name, how) for column, how in pairs])
        self._kinds: list[DataType | None] = [
            column.type if how.name == "identity" else None
            for column, how in zip(columns, transforms, strict=True)
        ]
        self._hive = layout.hive

    def values(self, scalars: Sequence[Any]) -> tuple[str | None, ...]:
        """The texts that the catalog stores; computed keys are integers."""
        return tuple(map(key_text, scalars, self._kinds))

    def path(self, values: Sequence[str | None]) -> str:
        """Where rows with these values go, below the table's directory."""
        return hive_path(self._names, values) if self._hive else ""


def key_text(scalar: Any, kind: DataType | None) -> str | None:
    """The text of a partition value; without a type it is an integer that was computed."""
    if not scalar.is_valid:
        return None
    # Temporal values as their integers: Python's calendar ends before theirs.
    value = scalar.value if pa.types.is_temporal(scalar.type) else scalar.as_py()
    if kind is None:
        return str(value)
    if isinstance(value, float):
        value += 0.0  # -0.0 is equal to 0.0 and has the same partition
    return format_text(value, kind)
