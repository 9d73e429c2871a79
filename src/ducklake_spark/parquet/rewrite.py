"""Write the rows of several data files again as one, batch by batch. Task.

Rows keep their order, their ids and the snapshots that added them. What a file holds in the very
type that is written is passed on as it is; the rest goes through the types that Spark shows.
"""

from __future__ import annotations

import bisect
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from ducklake_spark.errors import CorruptDataFile
from ducklake_spark.model.entities import DataFile
from ducklake_spark.model.literals import parse_text
from ducklake_spark.model.schema import Column
from ducklake_spark.model.written import WrittenFile
from ducklake_spark.parquet.convert import build_converter
from ducklake_spark.parquet.decode import Decoder, absent, field_id
from ducklake_spark.parquet.positions import load_deleted_positions
from ducklake_spark.parquet.read import open_parquet
from ducklake_spark.parquet.write import FileSeries, TaskWriter
from ducklake_spark.plan.compaction import follow_each_other
from ducklake_spark.plan.layout import WriteLayout
from ducklake_spark.plan.scan import ScanPlan
from ducklake_spark.plan.stored import ColumnRead

ROW_ID: Final = Column(2147483540, "_ducklake_internal_row_id", "int64")
SNAPSHOT_ID: Final = Column(2147483539, "_ducklake_internal_snapshot_id", "int64")


@dataclass(frozen=True)
class SourceRead:
    """A file, how its columns are had, and which of its rows are gone.

    Args:
        file: the file.
        columns: how each column of the outcome is had from it.
        by_name: columns are found by name.
        hive: the texts of the columns whose values stand in the path, in order.
        deleted: positions that the catalog says are deleted; those of a delete file come on top.
    """

    file: DataFile
    columns: tuple[ColumnRead, ...]
    by_name: bool = False
    hive: tuple[str | None, ...] = ()
    deleted: tuple[int, ...] = ()


@dataclass(frozen=True)
class GroupRewrite:
    """Files that become one.

    Args:
        sources: the files, in the order of their rows.
        layout: where and how to write; its schema is that of the outcome.
        carriers: the Arrow schema of the types that Spark shows, for the same columns.
        snapshot_id: deletes up to this snapshot are in force.
        keep_row_ids: write the row ids in any case. Else they are left out when they can be
            counted from the first file's start.
        keep_snapshots: write the snapshot that added each row.
        folder: below the table's directory.
        scan: the same files as a scan of Spark, which sorts them when the layout has an order.
        time_zone: the session's.
        batch_rows: how many rows are read at a time.
    """

    sources: tuple[SourceRead, ...]
    layout: WriteLayout
    carriers: Any
    snapshot_id: int
    keep_row_ids: bool
    keep_snapshots: bool
    folder: str = ""
    scan: ScanPlan | None = None
    time_zone: str = "UTC"
    batch_rows: int = 32_768

    @property
    def label(self) -> str:
        """The table, for messages."""
        return f'table "{self.layout.table_name}"'


@dataclass(frozen=True, slots=True)
class GroupOutcome:
    """What became of a group: no file if no row was left. With `row_id_start` the ids count on."""

    files: tuple[WrittenFile, ...]
    row_id_start: int | None


def rewrite_group(group: GroupRewrite, job_id: str, *, task_id: int) -> GroupOutcome:
    """Write the group's rows to a new file; nothing is left of it when that fails."""
    counted = not group.keep_row_ids and _counts_on(group)
    extra = (() if counted else (ROW_ID,)) + ((SNAPSHOT_ID,) if group.keep_snapshots else ())
    layout = replace(group.layout, extra_columns=extra)
    writer = TaskWriter(layout, job_id, task_id)
    series = FileSeries(writer, group.folder)
    files: list[WrittenFile] = []
    try:
        for source in group.sources:
            for batch in _read(group, source, writer.schema, with_ids=not counted):
                files += series.add(batch)
        files += series.finish()
    except BaseException:
        writer.discard()
        raise
    start = group.sources[0].file.row_id_start if counted else None
    return GroupOutcome(tuple(files), start)


def _counts_on(group: GroupRewrite) -> bool:
    """Whether the ids of all rows are the first one's and then one more each."""
    if not follow_each_other([source.file for source in group.sources]):
        return False
    return all(_counts_from_start(group, source) for source in group.sources)


def _counts_from_start(group: GroupRewrite, source: SourceRead) -> bool:
    """Whether ids that stand in the file are those that would be counted: updates keep old ones."""
    file = source.file
    with open_parquet(file.path, file.file_size_bytes, group.label) as opened:
        at = None if source.by_name else _find_id(list(opened.schema_arrow), ROW_ID.column_id)
        if at is None:
            return True
        expected = file.row_id_start or 0
        name = opened.schema_arrow.names[at]
        for batch in opened.iter_batches(batch_size=group.batch_rows, columns=[name]):
            wanted = _count(expected, batch.num_rows)
            if not batch.column(0).equals(wanted):
                return False
            expected += batch.num_rows
    return True


def _read(group: GroupRewrite, source: SourceRead, schema: Any, *, with_ids: bool) -> Iterator[Any]:
    """The rows of one file that are left, as batches of what is written."""
    file = source.file
    gone = load_deleted_positions(
        file.delete_file,
        list(source.deleted),
        snapshot_id=group.snapshot_id,
        label=group.label,
    )
    with open_parquet(file.path, file.file_size_bytes, group.label) as opened:
        columns = _Columns(group, source, list(opened.schema_arrow), schema)
        position = 0
        for batch in opened.iter_batches(batch_size=group.batch_rows, columns=columns.names):
            rows = batch.num_rows
            arrays = columns.convert(batch)
            if with_ids:
                arrays.append(columns.row_ids(batch, position))
            if group.keep_snapshots:
                arrays.append(columns.snapshots(batch))
            whole = pa.RecordBatch.from_arrays(arrays, schema=schema)
            yield _without(whole, gone, position)
            position += rows
    if position != file.record_count:
        raise CorruptDataFile(
            f'The file "{file.path}" of {group.label} has {position} rows, but the catalog says '
            f"{file.record_count}."
        )


class _Columns:
    """Where the columns of one file are, and what becomes of them."""

    def __init__(
        self, group: GroupRewrite, source: SourceRead, fields: list[Any], schema: Any
    ) -> None:
        self.source = source
        self.schema = schema
        self.carriers = group.carriers
        self.decoder = Decoder(by_name=source.by_name, time_zone=group.time_zone)
        self.fields = fields
        self.places = [
            None if read.stored is None else self.decoder.find(fields, read.stored)
            for read in source.columns
        ]
        self.row_id = None if source.by_name else _find_id(fields, ROW_ID.column_id)
        self.snapshot = None if source.by_name else _find_id(fields, SNAPSHOT_ID.column_id)
        used = (*self.places, self.row_id, self.snapshot)
        self.names = sorted({fields[at].name for at in used if at is not None})
        self.hive = iter(source.hive)
        self.constants = {
            index: parse_text(text, read.column.type)
            for index, read in enumerate(source.columns)
            if read.hive is not None and (text := next(self.hive)) is not None
        }
        self.converters = [
            build_converter(read.column, read.column.name) for read in source.columns
        ]

    def convert(self, batch: Any) -> list[Any]:
        """The columns of the table as they are written."""
        return [self._convert(batch, index) for index in range(len(self.source.columns))]

    def _convert(self, batch: Any, index: int) -> Any:
        read, at = self.source.columns[index], self.places[index]
        carrier = self.carriers.field(index).type
        convert = self.converters[index]
        if read.hive is not None:
            value = pa.array([self.constants.get(index)], carrier)
            return convert(value.take(pa.array([0] * batch.num_rows, pa.int64())))
        if at is None or read.stored is None:
            return convert(absent(read.column, batch.num_rows, carrier))
        found = batch.column(self.fields[at].name)
        if found.type.equals(self.schema.field(index).type):
            return found
        return convert(self.decoder.decode(found, read.stored, read.column, carrier))

    def row_ids(self, batch: Any, position: int) -> Any:
        """The ids of the batch's rows: those in the file, or counted from the file's start."""
        start = self.source.file.row_id_start
        counted = None if start is None else _count(start + position, batch.num_rows)
        if self.row_id is None:
            found = counted
        else:
            found = batch.column(self.fields[self.row_id].name)
            if found.null_count and counted is not None:
                found = pc.coalesce(found, counted)
        if found is None or found.null_count:
            raise CorruptDataFile(
                f'The file "{self.source.file.path}" says nothing about the row ids of its rows.'
            )
        return found

    def snapshots(self, batch: Any) -> Any:
        """The snapshots that added the batch's rows."""
        begin = pa.scalar(self.source.file.begin_snapshot, pa.int64())
        if self.snapshot is None:
            return pa.repeat(begin, batch.num_rows)
        return batch.column(self.fields[self.snapshot].name).fill_null(begin)


def _without(batch: Any, gone: array[int], position: int) -> Any:
    """The batch without the rows at those positions of the file."""
    first = bisect.bisect_left(gone, position)
    last = bisect.bisect_left(gone, position + batch.num_rows)
    if first == last:
        return batch
    kept = bytearray(b"\x01") * batch.num_rows
    for index in range(first, last):
        kept[gone[index] - position] = 0
    flags = pa.Array.from_buffers(pa.uint8(), batch.num_rows, [None, pa.py_buffer(kept)])
    return batch.filter(flags.cast(pa.bool_()))


def _count(start: int, rows: int) -> Any:
    return pa.array(range(start, start + rows), pa.int64())


def _find_id(fields: list[Any], wanted: int) -> int | None:
    return next((i for i, field in enumerate(fields) if field_id(field) == wanted), None)
