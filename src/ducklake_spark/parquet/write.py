"""Record batches -> data files with field ids and statistics. Task."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from ducklake_spark.errors import MissingDataFile, NotNullViolation, NotSupported
from ducklake_spark.model.names import make_uuid7
from ducklake_spark.model.written import WrittenFile
from ducklake_spark.parquet.arrow_schema import to_arrow_schema
from ducklake_spark.parquet.convert import build_converter
from ducklake_spark.parquet.dictionaries import Dictionaries
from ducklake_spark.parquet.statistics import (
    LeafPlace,
    count_values,
    find_leaves,
    find_nan,
    read_column_stats,
)
from ducklake_spark.parquet.storage import create_file, file_size, remove_file, storage_error
from ducklake_spark.plan.layout import WriteLayout

_CODECS: Final = {"uncompressed": "none", "lz4_raw": "lz4"}  # as Arrow calls them
_LEVELLED: Final = frozenset({"gzip", "zstd", "brotli"})


def write_batches(
    batches: Iterator[Any], layout: WriteLayout, job_id: str, *, task_id: int = 0
) -> Iterator[WrittenFile]:
    """Write the rows in their order, giving each file when it is complete.

    No rows make no file. Whatever goes wrong, and also when the caller stops asking, every file
    of this call is removed.

    Args:
        batches: Arrow record batches of the carriers, columns in the order of the layout.
        layout: where and how to write.
        job_id: 12 hex digits that end the name of each file of the job; see `job_files`.
        task_id: tells apart the tasks of a job that run at the same time.
    """
    if layout.partition is not None:
        raise NotSupported(
            f'Cannot write to the partitioned table "{layout.table_name}" without Spark.'
        )
    yield from write_all(batches, PlainRows(TaskWriter(layout, job_id, task_id)))


class RowSink(Protocol):
    """Takes batches of rows in their order, gives files."""

    def add(self, batch: Any) -> Iterator[WrittenFile]:
        """Take a batch of carriers, give the files that are full."""

    def finish(self) -> Iterator[WrittenFile]:
        """Write what is left, give the last files."""

    def discard(self) -> None:
        """Remove all files, complete or not."""


def write_all(batches: Iterator[Any], rows: RowSink) -> Iterator[WrittenFile]:
    """Give each file when it is complete; whatever goes wrong, none is left."""
    try:
        for batch in batches:
            yield from rows.add(batch)
        yield from rows.finish()
    except BaseException:
        rows.discard()
        raise


def is_of_job(path: str, job_id: str) -> bool:
    """Whether a data or delete file was written by the job.

    >>> is_of_job("/t/ducklake-0190a5c8-1b2c-7000-8000-0123456789ab.parquet", "0123456789ab")
    True
    """
    return path.endswith((f"-{job_id}.parquet", f"-{job_id}-delete.parquet"))


class TaskWriter:
    """What all files of one task have in common, and the list of them."""

    def __init__(self, layout: WriteLayout, job_id: str, task_id: int) -> None:
        self.layout = layout
        self.schema = to_arrow_schema(layout.columns)
        self.leaves = find_leaves(layout.columns)
        self._job = bytes.fromhex(job_id)
        self._task = task_id
        self._sequence = count()
        self._converters = [build_converter(column, column.name) for column in layout.columns]
        self._dictionaries = Dictionaries(self.leaves)
        self._begun: list[OpenFile] = []

    def convert(self, batch: Any) -> Any:
        """The rows of a batch of carriers as a file stores them; further columns are left out."""
        arrays = [convert(batch.column(i)) for i, convert in enumerate(self._converters)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def begin(self, folder: str, with_nan: frozenset[int], first: Any) -> OpenFile:
        """Start a file below the table's directory, whose first row group will be `first`."""
        middle = (self._task << 10) | (next(self._sequence) & 0x3FF)
        relative = f"{folder}ducklake-{make_uuid7(self._job, middle=middle)}.parquet"
        path = f"{self.layout.directory.rstrip('/')}/{relative}"
        self._check_wanted()
        dictionaries = self._dictionaries.choose(first)
        facts = (path, relative, self.layout, self.leaves, with_nan)
        file = OpenFile(*facts, schema=self.schema, dictionaries=dictionaries)
        self._begun.append(file)
        return file

    def _check_wanted(self) -> None:
        """Begin no file for a driver that has given up, and has removed those there were."""
        if self._begun and file_size(self._begun[-1].path) is None:
            raise MissingDataFile(
                f'Cannot write to table "{self.layout.table_name}": the file '
                f'"{self._begun[-1].path}" was removed while others were written.'
            )

    def discard(self) -> None:
        """Remove all files of the task, complete or not."""
        for file in self._begun:
            file.abandon()
            remove_file(file.path)


class FileSeries:
    """The files that take one stream of rows, one after the other.

    Args:
        writer: makes the files.
        folder: where they are below the table's directory, with a trailing slash.
        partition_values: what all rows of the stream have in common.
    """

    def __init__(
        self,
        writer: TaskWriter,
        folder: str = "",
        partition_values: tuple[str | None, ...] = (),
    ) -> None:
        self._writer = writer
        self._layout = writer.layout
        self._folder = folder
        self._values = partition_values
        self._pending: list[Any] = []
        self._pending_rows = 0
        self._open: OpenFile | None = None

    def add(self, rows: Any) -> Iterator[WrittenFile]:
        """Take converted rows, write full row groups, give the files that are full."""
        for part in _parts(rows, self._layout.row_group_bytes):
            yield from self._add_part(part)

    def _add_part(self, rows: Any) -> Iterator[WrittenFile]:
        while self._pending_rows + rows.num_rows >= self._layout.row_group_rows:
            missing = self._layout.row_group_rows - self._pending_rows
            self._keep(rows.slice(0, missing))
            rows = rows.slice(missing)
            yield from self._write_row_group()
        if rows.num_rows:
            self._keep(rows)
        limit = self._layout.row_group_bytes
        if limit is not None and sum(part.nbytes for part in self._pending) >= limit:
            yield from self._write_row_group()

    def finish(self) -> Iterator[WrittenFile]:
        """Write what is left, give the last file."""
        yield from self._write_row_group()
        if self._open is not None:
            yield self._close()

    def _keep(self, rows: Any) -> None:
        self._pending.append(rows)
        self._pending_rows += rows.num_rows

    def _write_row_group(self) -> Iterator[WrittenFile]:
        if not self._pending_rows:
            return
        table = pa.Table.from_batches(self._pending, self._writer.schema)
        self._pending, self._pending_rows = [], 0
        self._check_nulls(table)
        with_nan = find_nan(self._writer.leaves, table) | self._layout.with_nan
        if self._open is not None and not self._open.takes(with_nan):
            yield self._close()
        if self._open is None:
            self._open = self._writer.begin(self._folder, with_nan, table)
        self._open.write(table)
        if self._open.size >= self._layout.target_file_size:
            yield self._close()

    def _check_nulls(self, table: Any) -> None:
        for index, column in enumerate(self._layout.schema.columns):
            if not column.nulls_allowed and table.column(index).null_count:
                raise NotNullViolation(
                    f"NOT NULL constraint failed: {self._layout.table_name}.{column.name}"
                )

    def _close(self) -> WrittenFile:
        assert self._open is not None  # noqa: S101 - callers have just looked
        written = self._open.close()
        self._open = None
        return replace(written, partition_values=self._values) if self._values else written


class PlainRows:
    """Rows of a table that is not partitioned."""

    def __init__(self, writer: TaskWriter) -> None:
        self._writer = writer
        self._series = FileSeries(writer)
        self.finish, self.discard = self._series.finish, writer.discard

    def add(self, batch: Any) -> Iterator[WrittenFile]:
        """Take a batch of carriers, give the files that are full."""
        yield from self._series.add(self._writer.convert(batch))


class OpenFile:
    """A data file that is being written.

    Readers order NaN above all numbers, but footers leave it out of the bounds of a row group, so
    that filters would lose rows. The leaves that hold NaN are therefore without statistics in the
    footer, which has to be known when a file is begun.
    """

    def __init__(
        self,
        path: str,
        relative_path: str,
        layout: WriteLayout,
        leaves: tuple[LeafPlace, ...],
        with_nan: frozenset[int],
        *,
        schema: Any,
        dictionaries: list[str],
    ) -> None:
        self.path = path
        self._relative_path = relative_path
        self._layout = layout
        self._rows = 0
        self._nan_leaves = [leaf for leaf in leaves if leaf.column_id in with_nan]
        self._nan_counts = dict.fromkeys(with_nan, 0)
        self._footers: list[Any] = []
        bounded = [leaf.path for leaf in leaves if leaf.column_id not in with_nan]
        options = {
            "write_statistics": bounded,
            "use_dictionary": dictionaries,
            "metadata_collector": self._footers,
        }
        self._writer: Any = None
        self._sink = create_file(path)
        try:
            self._writer = _open_writer(self._sink, schema, layout, options)
        except OSError as error:
            self.abandon()
            remove_file(path)
            raise storage_error("write", path, error) from error

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return int(self._sink.tell())

    def takes(self, with_nan: frozenset[int]) -> bool:
        """Whether rows with NaN in these leaves can be written to this file."""
        return with_nan <= self._nan_counts.keys()

    def write(self, table: Any) -> None:
        """Write one row group."""
        for leaf in self._nan_leaves:
            self._nan_counts[leaf.column_id] += count_values(leaf, table)
        try:
            self._writer.write_table(table, row_group_size=table.num_rows)
        except OSError as error:
            raise storage_error("write", self.path, error) from error
        self._rows += table.num_rows

    def close(self) -> WrittenFile:
        """Complete the file and tell what is in it."""
        try:
            self._writer.close()
            size = self.size
            self._sink.close()
        except OSError as error:
            raise storage_error("write", self.path, error) from error
        footer = self._footers[0]
        stats = read_column_stats(footer, self._layout.schema, self._nan_counts)
        return WrittenFile(
            path=self.path,
            relative_path=self._relative_path,
            record_count=self._rows,
            file_size_bytes=size,
            footer_size=footer_size(footer, size),
            column_stats=stats,
        )

    def abandon(self) -> None:
        """Let go of a file that will be removed."""
        if self._writer is not None:
            self._writer.is_open = False  # else it tries to end the file when it is collected
        try:
            self._sink.close()
        except (OSError, pa.ArrowException):
            return  # the reason for leaving it is the error to show


def _parts(rows: Any, limit: int | None) -> Iterator[Any]:
    """The rows as they are, or in pieces if they are more bytes than a row group shall have."""
    if limit is None or rows.nbytes <= limit:
        yield rows
        return
    step = max(1, rows.num_rows * limit // rows.nbytes)
    for start in range(0, rows.num_rows, step):
        yield rows.slice(start, step)


def _open_writer(sink: Any, schema: Any, layout: WriteLayout, options: dict[str, Any]) -> Any:
    return pq.ParquetWriter(
        sink,
        schema,
        version="2.6",  # older ones have neither nanoseconds nor unsigned integers
        data_page_version="2.0" if layout.parquet_version == "V2" else "1.0",
        compression=_CODECS.get(layout.compression, layout.compression),
        compression_level=layout.compression_level if layout.compression in _LEVELLED else None,
        use_compliant_nested_type=True,
        store_schema=False,
        store_decimal_as_integer=True,
        write_time_adjusted_to_utc=False,
        **options,
    )


def footer_size(footer: Any, size: int) -> int:
    """The length of the footer proper, given its contents and the size of the whole file."""
    return size - _end_of_data(footer) - 8


def _end_of_data(footer: Any) -> int:
    """Where the last column chunk ends: the footer follows at once."""
    group = footer.row_group(footer.num_row_groups - 1)
    chunks = (group.column(i) for i in range(group.num_columns))
    return max(_start_of(chunk) + int(chunk.total_compressed_size) for chunk in chunks)


def _start_of(chunk: Any) -> int:
    dictionary = chunk.dictionary_page_offset
    data = chunk.data_page_offset
    return int(data if dictionary is None else min(dictionary, data))
