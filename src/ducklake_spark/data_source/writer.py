"""Writing a table in Python workers: tasks write files, and one commit adds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from ducklake_spark.data_source.opened import Opened, open_asked, shape
from ducklake_spark.errors import ColumnMismatch, ColumnNotFound, InvalidInput, NotSupported
from ducklake_spark.lake import remove_files
from ducklake_spark.model.entities import TableEntry
from ducklake_spark.model.written import WrittenFile
from ducklake_spark.operations.append import stage_files
from ducklake_spark.operations.objects import NewColumn, create_table
from ducklake_spark.operations.whole_files import stage_truncate
from ducklake_spark.operations.write_layout import plan_layout
from ducklake_spark.parquet.write import write_batches
from ducklake_spark.spark.carriers import carrier_type, from_spark_type
from ducklake_spark.spark.local import carrier_arrow_schema
from ducklake_spark.spark_face.asked import WRITE


@dataclass(frozen=True)
class Written(WriterCommitMessage):
    """What a task brings back."""

    files: tuple[WrittenFile, ...]


class LakeWriter(DataSourceArrowWriter):
    """Appends the rows of a frame to a table, or puts them in the place of all rows."""

    def __init__(self, options: Mapping[str, str], schema: StructType, *, overwrite: bool) -> None:
        self._options = dict(options)
        self._overwrite = overwrite
        self._job = token_hex(6)
        with open_asked(options) as opened:
            self._table = _find_or_make(opened, schema)
            self._places = _match(self._table, schema)
            with opened.session.reading(opened.lake) as tx:
                directory = opened.lake.table_directory(
                    tx.local.schema(self._table.schema_id), self._table
                )
            self._layout = plan_layout(opened.lake, self._table, directory, sort=False)

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        """Runs in tasks."""
        from pyspark import TaskContext

        context = TaskContext.get()
        task = 0 if context is None else context.partitionId()
        rows = (self._arranged(batch) for batch in iterator if batch.num_rows)
        return Written(tuple(write_batches(rows, self._layout, self._job, task_id=task)))

    def _arranged(self, batch: Any) -> Any:
        """The columns of the table in its order; those that the frame lacks are NULL."""
        carriers = carrier_arrow_schema(self._table.schema.columns)
        arrays = [
            pa.nulls(batch.num_rows, field.type)
            if at is None
            else batch.column(at).cast(field.type)
            for field, at in zip(carriers, self._places, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=carriers)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Make what the tasks wrote part of the table, as one snapshot."""
        files = _files(messages)
        try:
            with open_asked(self._options) as opened:
                self._commit(opened, files)
        except BaseException:
            # Those that were staged are gone already.
            remove_files(file.path for file in files)
            raise

    def _commit(self, opened: Opened, files: list[WrittenFile]) -> None:
        session, lake = opened.session, opened.lake
        with session.writing(lake, f'write to table "{self._table.name}"') as tx:
            version = session.table_version(opened.place)
            table = version.table
            same = table.table_id == self._table.table_id
            if not same or shape(table.schema) != shape(self._table.schema):
                raise InvalidInput(
                    f'Table "{table.name}" was changed while rows for it were written.',
                    hint="write them again.",
                )
            if self._overwrite:
                stage_truncate(tx, version)
            stage_files(lake, tx, table, files)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Remove what the tasks wrote."""
        remove_files(file.path for file in _files(messages))


def _files(messages: list[WriterCommitMessage | None]) -> list[WrittenFile]:
    return [f for message in messages if isinstance(message, Written) for f in message.files]


def _find_or_make(opened: Opened, schema: StructType) -> TableEntry:
    """The table; one that is not there is made, and stays if the write fails."""
    opened.asked.refuse_others("a write", WRITE)
    for name in ("mergeschema", "overwriteschema", "replacewhere", "partitionoverwritemode"):
        if name in opened.asked.said:
            raise NotSupported(
                f'Cannot write with the option "{name}" in this session: its JVM knows nothing of '
                "lakes.",
                hint="ducklake_spark.install(spark), in a session that is not Spark Connect.",
            )
    session, lake = opened.session, opened.lake
    with session.reading(lake) as tx:
        entry = session.schema_entry(lake, tx, opened.asked.table[0])
        found = tx.local.find_table(entry.schema_id, opened.asked.table[1])
    if found is None:
        with session.writing(lake, f'create table "{opened.asked.table[1]}"') as tx:
            columns = [NewColumn(f.name, from_spark_type(f.dataType)) for f in schema.fields]
            create_table(lake, tx, entry, opened.asked.table[1], columns)
        found = session.table_version(opened.place).table
    if found.partition is not None:
        raise NotSupported(
            f'Cannot write to the partitioned table "{found.name}" in this session: its JVM knows '
            "nothing of lakes.",
            hint="ducklake_spark.install(spark), in a session that is not Spark Connect.",
        )
    return found


def _match(table: TableEntry, schema: StructType) -> list[int | None]:
    """For each column of the table its place in the frame, whose types must be the table's."""
    places = {field.name.lower(): index for index, field in enumerate(schema.fields)}
    for field in schema.fields:
        if table.schema.find(field.name) is None:
            raise ColumnNotFound.named(
                field.name, where=f'table "{table.name}"', candidates=table.schema.names
            )
    for column in table.schema.columns:
        at = places.get(column.name.lower())
        wanted = carrier_type(column.type)
        if at is None and column.default is not None:
            raise ColumnMismatch(
                f'The column "{column.name}" of table "{table.name}" has a default, which cannot '
                "be computed in this session.",
                hint="give the column.",
            )
        if at is not None and _plain(schema.fields[at].dataType) != _plain(wanted):
            raise ColumnMismatch(
                f'The column "{column.name}" of table "{table.name}" is {wanted.simpleString()}, '
                f"and that of the frame is {schema.fields[at].dataType.simpleString()}.",
                hint="cast it.",
            )
    return [places.get(column.name.lower()) for column in table.schema.columns]


def _plain(kind: Any) -> str:
    """A type without what it says about NULL."""
    return str(kind.simpleString()).lower()
