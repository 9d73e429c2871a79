"""Move rows and deletes from the metadata database to files. Every snapshot shows what it did."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pyspark.sql import SparkSession

from ducklake_spark.catalog.files import load_dated_deletes, load_files
from ducklake_spark.catalog.inlined import (
    StoredRow,
    count_stored_rows,
    load_inlined_tables,
    load_stored_rows,
    load_version_snapshot,
)
from ducklake_spark.catalog.state import load_partition_spec
from ducklake_spark.errors import ColumnNotFound, CorruptDataFile, NotSupported
from ducklake_spark.lake import remove_files
from ducklake_spark.limits import limits
from ducklake_spark.model.compaction import (
    CompactedFile,
    FlushDeletes,
    FlushedDeletes,
    FlushedFile,
    FlushedTable,
    FlushRows,
    SourceFile,
)
from ducklake_spark.model.entities import DataFile, InlinedTable, TableEntry
from ducklake_spark.model.paths import relative_to, resolve
from ducklake_spark.model.schema import Schema
from ducklake_spark.model.written import WrittenDeletes, WrittenFile
from ducklake_spark.operations.compact import TableFiles, schema_then
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.operations.progress import Progress
from ducklake_spark.operations.write_layout import plan_layout
from ducklake_spark.parquet.positions import load_deletes, write_deletes
from ducklake_spark.parquet.rewrite import ROW_ID, SNAPSHOT_ID
from ducklake_spark.parquet.row_versions import RowVersions, load_row_versions
from ducklake_spark.parquet.write import write_batches
from ducklake_spark.plan.layout import WriteLayout
from ducklake_spark.spark.local import carrier_batch, local_frame
from ducklake_spark.spark.write import write_files

COLUMNS: Final = (
    ("schema_name", "VARCHAR"),
    ("table_name", "VARCHAR"),
    ("rows_flushed", "HUGEINT"),
)


def flush_inlined_data(
    spark: Callable[[], SparkSession],
    tables: Iterable[TableFiles],
    *,
    progress: Progress | None = None,
) -> RowSet:
    """Flush the given tables and stage that; tells how many rows of which.

    The rows are few and in the hands of the driver: it writes them by itself, unless they have to
    be sorted or divided.
    """
    members = list(tables)
    rows = []
    for number, files in enumerate(members, 1):
        if not _is_flushed(files):
            count = _flush_rows(spark, files)
            _flush_deletes(files)
            if count:
                rows.append((files.schema.name, files.table.name, count))
        if progress is not None:
            progress(number, len(members))
    return RowSet(COLUMNS, tuple(rows))


def _is_flushed(files: TableFiles) -> bool:
    """Whether this very transaction has done it already; the rows are still to be seen."""
    return any(
        isinstance(change, FlushRows | FlushDeletes)
        and change.table.table_id == files.table.table_id
        for change in files.tx.local.changes
    )


# --- rows ----------------------------------------------------------------------------------------


@dataclass
class _Source:
    """The rows of one table of inlined rows, and the ends that are met on the way."""

    files: TableFiles
    inlined: InlinedTable
    stored: Schema  # its columns
    table: TableEntry  # as of the schema version of the rows
    ended: dict[tuple[int, int], int] = field(default_factory=dict)

    def batches(self) -> Iterator[Any]:
        """All rows in the order of their ids, a part at a time, with id and snapshot at the end."""
        for rows in self._parts():
            values = [(*row.values, row.row_id, row.begin_snapshot) for row in rows]
            yield carrier_batch((*self.table.schema.columns, ROW_ID, SNAPSHOT_ID), values)

    def rows(self) -> list[tuple[Any, ...]]:
        """All rows at once."""
        return [
            (*row.values, row.row_id, row.begin_snapshot) for part in self._parts() for row in part
        ]

    def _parts(self) -> Iterator[list[StoredRow]]:
        after = (-1, -1)
        while True:
            rows = load_stored_rows(
                self.files.lake.db,
                self.inlined,
                self.stored,
                self.files.tx.snapshot.snapshot_id,
                after=after,
                limit=limits().flush_rows,
            )
            if not rows:
                return
            for row in rows:
                if row.end_snapshot is not None:
                    self.ended[row.row_id, row.begin_snapshot] = row.end_snapshot
            yield rows
            after = (rows[-1].row_id, rows[-1].begin_snapshot)


def _flush_rows(spark: Callable[[], SparkSession], files: TableFiles) -> int:
    until = files.tx.snapshot.snapshot_id
    inlined = load_inlined_tables(files.lake.db, files.table.table_id)
    counts = {each.table_name: count_stored_rows(files.lake.db, each, until) for each in inlined}
    if not any(counts.values()):
        return 0
    emptied: list[FlushedTable] = []
    try:
        emptied.extend(
            _flush_table(spark, files, each, counts[each.table_name])
            for each in inlined
            if counts[each.table_name]
        )
    except BaseException:
        _discard(emptied)
        raise
    newest = max(each.schema_version for each in inlined)
    superseded = tuple(e.table_name for e in inlined if e.schema_version < newest)
    files.tx.stage(FlushRows(files.table, until, tuple(emptied), superseded))
    return sum(counts.values())


def _flush_table(
    spark: Callable[[], SparkSession], files: TableFiles, inlined: InlinedTable, count: int
) -> FlushedTable:
    source = _open_source(files, inlined)
    layout = plan_layout(
        files.lake, source.table, files.directory, extra_columns=(ROW_ID, SNAPSHOT_ID)
    )
    written = _write(spark, source, layout)
    flushed: list[FlushedFile] = []
    try:
        if sum(file.record_count for file in written) != count:
            raise CorruptDataFile(
                f'Cannot flush table "{files.table.name}": of its {count} inlined rows some have '
                "the same id and the same snapshot."
            )
        flushed.extend(_flushed(source, file) for file in written)
    except BaseException:
        remove_files(file.path for file in written)
        _discard([FlushedTable("", 0, tuple(flushed))])
        raise
    return FlushedTable(inlined.table_name, inlined.schema_version, tuple(flushed))


def _open_source(files: TableFiles, inlined: InlinedTable) -> _Source:
    """The rows with the columns and partitions that the table had when they were stored."""
    db, table = files.lake.db, files.table
    version = load_version_snapshot(db, table, inlined)
    stored = files.tx.local.base.history(table.table_id).schema_at(version)
    then = replace(
        table,
        schema=schema_then(stored, table),
        partition=load_partition_spec(db, table.table_id, version),
    )
    return _Source(files, inlined, stored, then)


def _write(
    spark: Callable[[], SparkSession], source: _Source, layout: WriteLayout
) -> list[WrittenFile]:
    if layout.partition or layout.sort or layout.cluster:
        frame = local_frame(spark(), layout.columns, source.rows())
        try:
            return write_files(frame, layout)
        except ColumnNotFound:
            if not layout.is_ordered:
                raise
            # Sorted by a column that these rows do not have: they are as well as they are.
            return write_files(frame, replace(layout, sort=(), cluster=()))
    return list(write_batches(source.batches(), layout, secrets.token_hex(6)))


def _flushed(source: _Source, file: WrittenFile) -> FlushedFile:
    label = f'table "{source.table.name}"'
    versions = load_row_versions(file, label, with_rows=bool(source.ended))
    partition = source.table.partition
    compacted = CompactedFile(
        file,
        begin_snapshot=versions.first_snapshot,
        partial_max=versions.last_snapshot,
        row_id_start=versions.first_row_id,
        partition_id=partition.partition_id if partition and file.partition_values else None,
    )
    return FlushedFile(compacted, _write_ends(source, file, versions))


def _write_ends(source: _Source, file: WrittenFile, versions: RowVersions) -> WrittenDeletes | None:
    """The delete file for the rows of a file that had ended before it was written."""
    ends = {
        position: source.ended[key]
        for position, key in enumerate(versions.rows)
        if key in source.ended
    }
    if not ends:
        return None
    return write_deletes(source.files.directory, file.path, ends, partial=False)


def _discard(emptied: Iterable[FlushedTable]) -> None:
    flushed = [file for table in emptied for file in table.files]
    remove_files(file.file.written.path for file in flushed)
    remove_files(file.deletes.path for file in flushed if file.deletes is not None)


# --- deletes -------------------------------------------------------------------------------------


def _flush_deletes(files: TableFiles) -> None:
    """Deletes of files that have ended stay where they are: only the past asks for them."""
    db, table_id, until = files.lake.db, files.table.table_id, files.tx.snapshot.snapshot_id
    dated = load_dated_deletes(db, table_id, until)
    if not dated:
        return
    live, _ = load_files(db, table_id, until, directory=files.directory)
    touched = [file for file in live if file.data_file_id in dated]
    moved: list[FlushedDeletes] = []
    try:
        moved.extend(_move_deletes(files, file, dated[file.data_file_id]) for file in touched)
    except BaseException:
        remove_files(each.deletes.path for each in moved)
        raise
    if moved:
        files.tx.stage(FlushDeletes(files.table, until, tuple(moved)))


def _move_deletes(files: TableFiles, file: DataFile, since: dict[int, int]) -> FlushedDeletes:
    delete, replaced = file.delete_file, None
    merged = dict(since)
    if delete is not None:
        if delete.format != "parquet" or delete.encryption_key is not None:
            raise NotSupported(
                f'Cannot flush the deletes of table "{files.table.name}": its delete file '
                f'"{delete.path}" is encrypted or in {delete.format} format.'
            )
        positions, snapshots = load_deletes(delete, f'table "{files.table.name}"')
        for position, snapshot in zip(positions.to_pylist(), snapshots.to_pylist(), strict=True):
            merged[position] = min(snapshot, merged.get(position, snapshot))
        path, is_relative = relative_to(resolve(files.lake.data_path), delete.path)
        replaced = SourceFile(delete.delete_file_id, path, is_relative)
    written = write_deletes(files.directory, file.path, merged, partial=True)
    return FlushedDeletes(file.data_file_id, written, replaced)
