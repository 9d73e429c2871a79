"""Identities of rows -> delete files, written by tasks or the driver. `_delete_task`: task."""

from __future__ import annotations

import pickle
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ducklake_spark.bridge.frames import keep_column, select
from ducklake_spark.limits import limits
from ducklake_spark.model.schema import Column
from ducklake_spark.parquet.delete_files import (
    DeletedRows,
    DeleteLayout,
    FileFacts,
    write_deletes,
    write_deletes_at_once,
)
from ducklake_spark.spark.failures import marked_errors, spark_failures
from ducklake_spark.spark.internal import FILE_ID, POSITION
from ducklake_spark.spark.jobs import run_job
from ducklake_spark.spark.line import whole_input
from ducklake_spark.spark.local import local_frame
from ducklake_spark.spark.places import can_pack, pack, unpack
from ducklake_spark.spark.write import remove_leftovers

_FACTS: Final = "__ducklake_facts"
_RESULT: Final = "task int, sequence int, deleted binary"
_PLACE: Final = "__ducklake_place"
_PAGE_ROWS: Final = 32_768


# Spark's pages count from one.
_PAGES: Final[dict[str, Callable[[], SparkColumn]]] = {
    "page": lambda: F.bitmap_bucket_number(F.col(POSITION) + 1).alias("page"),
    "bits": lambda: F.bitmap_construct_agg(F.bitmap_bit_position(F.col(POSITION) + 1)).alias(
        "bits"
    ),
}


def write_delete_files(
    identities: DataFrame, files: Sequence[FileFacts], layout: DeleteLayout
) -> list[DeletedRows]:
    """Write the delete files for rows that are to go, one for each data file at most.

    Of a table that is not too large the driver gets the positions, and writes the files itself.
    Else the rows of a file come together by one shuffle on the file id; a task then has all
    positions of a file, and nothing of the table but them. When it fails, no file is left.

    Args:
        identities: has the columns `FILE_ID` (NULL for inlined rows) and `POSITION`; one row may
            be there more than once, unless the layout says otherwise.
        files: all data files of which rows may be among them.
        layout: where and how to write.
    """
    spark, job_id = identities.sparkSession, secrets.token_hex(6)
    action = f'delete from table "{layout.table_name}"'
    if not layout.unique and fits_driver(files):
        with spark_failures(action):
            positions = _collect_positions(identities, files)
        return write_deletes_of(positions, files, layout)
    rows = identities.select(FILE_ID, POSITION, F.lit(None).cast("binary").alias(_FACTS))
    if files:
        rows = rows.unionAll(_facts_frame(identities, files))
    grouped = rows.repartition(FILE_ID).sortWithinPartitions(FILE_ID, POSITION)
    try:
        with spark_failures(action):
            write = partial(_delete_task, layout, job_id)
            found = run_job(spark, grouped.mapInArrow(write, _RESULT).collect)
    except BaseException:
        remove_leftovers(layout.directory, job_id)
        raise
    return _in_order(
        pickle.loads(row["deleted"])  # noqa: S301 - made by our own tasks
        for row in found
    )


def write_deletes_of(
    positions: Mapping[int | None, Any], files: Sequence[FileFacts], layout: DeleteLayout
) -> list[DeletedRows]:
    """The same for positions that the driver has, in order, by data file id."""
    known = {file.data_file_id: file for file in files}
    return _in_order(write_deletes_at_once(positions, known, layout, secrets.token_hex(6)))


def _in_order(outcomes: Iterable[DeletedRows]) -> list[DeletedRows]:
    return sorted(outcomes, key=lambda each: (each.data_file_id is None, each.data_file_id or 0))


def fits_driver(files: Sequence[FileFacts]) -> bool:
    """Whether the driver can hold a bit for each row, and write a delete file for each file."""
    rows = sum(file.record_count for file in files)
    return len(files) <= limits().driver_files and rows <= limits().driver_rows


def _collect_positions(identities: DataFrame, files: Sequence[FileFacts]) -> dict[int | None, Any]:
    """The positions of each file, in order."""
    few = sum(file.record_count for file in files) <= limits().numbered_rows
    if few and can_pack(file.data_file_id for file in files):
        places = run_job(identities.sparkSession, select(identities, _PLACE, _place).toArrow)
        return unpack(places.column(0).combine_chunks())
    return _collect_pages(identities)


def _place() -> list[SparkColumn]:
    return [pack(F.col(FILE_ID), F.col(POSITION)).alias(_PLACE)]


def _collect_pages(identities: DataFrame) -> dict[int | None, Any]:
    """The same where positions may be too many as they are, each once.

    Spark makes a page of bits for each run of 32,768 rows, of a file, that some are among. That
    takes a shuffle.
    """
    spark = identities.sparkSession
    number, bits = (keep_column(spark, name, make) for name, make in _PAGES.items())
    pages = run_job(spark, identities.groupBy(FILE_ID, number).agg(bits).collect)
    found: dict[int | None, list[Any]] = defaultdict(list)
    for page in sorted(pages, key=lambda row: int(row["page"])):
        first = (int(page["page"]) - 1) * _PAGE_ROWS
        given = pa.py_buffer(page["bits"])
        is_among = pa.Array.from_buffers(pa.bool_(), _PAGE_ROWS, [None, given])
        places = pc.indices_nonzero(is_among).cast(pa.int64())
        found[page[FILE_ID]].append(pc.add(places, first))
    return {file_id: pa.concat_arrays(parts) for file_id, parts in found.items()}


def _facts_frame(identities: DataFrame, files: Sequence[FileFacts]) -> DataFrame:
    """The facts of a file travel with its positions, in front of them."""
    columns = [Column(1, FILE_ID, "int64"), Column(2, POSITION, "int64"), Column(3, _FACTS, "blob")]
    rows = [(file.data_file_id, -1, pickle.dumps(file)) for file in files]
    return local_frame(identities.sparkSession, columns, rows)


def _delete_task(layout: DeleteLayout, job_id: str, batches: Iterable[Any]) -> Iterator[Any]:
    """Write the delete files of one partition, give one row for each data file. Task."""
    context = TaskContext.get()
    partition, attempt = (context.partitionId(), context.taskAttemptId()) if context else (0, 0)
    with marked_errors():
        outcomes = write_deletes(whole_input(batches), layout, job_id, task_id=attempt)
        for sequence, outcome in enumerate(outcomes):
            yield pa.RecordBatch.from_arrays(
                [
                    pa.array([partition], pa.int32()),
                    pa.array([sequence], pa.int32()),
                    pa.array([pickle.dumps(outcome)], pa.binary()),
                ],
                names=["task", "sequence", "deleted"],
            )
