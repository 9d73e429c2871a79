"""A DataFrame of carriers -> data files, written by tasks. Driver, but for `_write_task`."""

from __future__ import annotations

import pickle
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import DecimalType

from ducklake_spark.bridge.columns import unscaled_value
from ducklake_spark.bridge.context import check_file_system
from ducklake_spark.bridge.frames import expected_size, select
from ducklake_spark.errors import DuckLakeError
from ducklake_spark.limits import limits
from ducklake_spark.model.written import WrittenFile
from ducklake_spark.parquet.partitioned import Folders, write_partitions
from ducklake_spark.parquet.storage import list_files, remove_file
from ducklake_spark.parquet.write import is_of_job, write_batches
from ducklake_spark.plan.layout import WriteLayout
from ducklake_spark.spark.arrange import (
    Arranged,
    WriteSize,
    arrange,
    with_keys,
)
from ducklake_spark.spark.arrow_batches import in_plain_batches
from ducklake_spark.spark.exchange import exchange, shares_a_disk
from ducklake_spark.spark.failures import marked_errors, spark_failures
from ducklake_spark.spark.jobs import run_job
from ducklake_spark.spark.line import whole_input

Decimals = dict[int, tuple[int, int]]
"""Precision and scale of the columns that travel as integers, by position."""

_NO_IDEA: Final = 2**60  # what Spark says of data that it knows nothing about is above this
_RESULT: Final = "task int, sequence int, outcome binary"
_NUMBER: Final = re.compile(r"-?[0-9]{1,40}")  # any other text is ordered as text
_QUIET_LOOKS: Final = 3
_REMOVAL_SECONDS: Final = 10

WriteTask = Callable[[Iterator[Any], tuple[int, ...], int], Iterable[Any]]
"""What a task does with its batches, given where the keys are and its own number. Task."""


def write_files(
    df: DataFrame, layout: WriteLayout, *, one_task: bool = False, selected: bool = False
) -> list[WrittenFile]:
    """Write the rows of a DataFrame as data files that nobody has committed yet.

    The columns are the carriers of the layout's, by position. A small DataFrame makes one file,
    a large one at least one for each task that has rows; they come in the order of the rows. Of a
    partitioned table each partition's rows go to one task, and the files come by partition. With
    `one_task` one task writes whatever there is. Rows that were `selected` among others are fewer
    than the optimizer expects. When it fails, no file is left.
    """
    job_id, action = secrets.token_hex(6), f'write to table "{layout.table_name}"'
    with spark_failures(action):
        check_file_system(df.sparkSession, layout.directory)
    try:
        with spark_failures(action):
            size = "small" if one_task else _write_size(df, layout, selected=selected)
            found = _run(df, layout, size, partial(_write_task, layout, job_id))
    except BaseException:
        remove_leftovers(layout.directory, job_id)
        raise
    files: list[WrittenFile] = found
    # Tasks hold partitions in no order; of one partition the files stay in theirs.
    return sorted(files, key=partition_place) if layout.partition else files


def write_selected(df: DataFrame, layout: WriteLayout, write: WriteTask) -> list[Any]:
    """Let tasks write rows that were selected among others; gives what `write` gives, in order.

    The rows are brought into the order of the layout, and to as many tasks as they are worth.
    """
    return _run(df, layout, _write_size(df, layout, selected=True), write)


def _run(df: DataFrame, layout: WriteLayout, size: WriteSize, write: WriteTask) -> list[Any]:
    if _is_exchanged(df, layout, size):
        found = _run_exchange(df, layout, write)
    else:
        found = _run_arranged(arrange(df, layout, size=size), size, write)
    found.sort(key=lambda row: (row["task"], row["sequence"]))
    return [pickle.loads(row["outcome"]) for row in found]  # noqa: S301 - made by our own tasks


def _run_arranged(arranged: Arranged, size: WriteSize, write: WriteTask) -> list[Row]:
    rows, decimals = _send_decimals_as_longs(arranged.rows)
    scale = partial(_scaled, decimals)
    task = partial(_task, write, arranged.keys)
    written = rows.mapInArrow(lambda batches: task(map(scale, batches)), _RESULT)
    batched = written if size == "small" else in_plain_batches(written, rows.schema)
    return run_job(rows.sparkSession, batched.collect)


def _is_exchanged(df: DataFrame, layout: WriteLayout, size: WriteSize) -> bool:
    """Whether tasks bring the rows of each partition together, instead of Spark.

    Rows that are sorted too are left to Spark, which spills what does not fit into memory.
    """
    divided = layout.partition is not None and not layout.is_ordered and size != "small"
    return divided and shares_a_disk(df.sparkSession)


def _run_exchange(df: DataFrame, layout: WriteLayout, write: WriteTask) -> list[Row]:
    spark = df.sparkSession
    keyed = with_keys(df, layout)
    rows, decimals = _send_decimals_as_longs(keyed.rows)
    return exchange(
        rows,
        keyed.keys,
        prepare=partial(_scaled, decimals),
        values_of=Folders(layout).values,
        write=partial(_task, write, keyed.keys),
        result=_RESULT,
        tasks=limits().tasks_per_core * spark.sparkContext.defaultParallelism,
    )


def _write_size(df: DataFrame, layout: WriteLayout, *, selected: bool) -> WriteSize:
    if layout.one_file_per_task:
        return "large"
    size = _expected_size(df)
    if size is not None and size < limits().small_write_bytes:
        return "small"
    return "unknown" if size is None or selected else "large"


def partition_place(file: WrittenFile) -> list[tuple[int, int, str]]:
    """Numbers by their size, then text, then NULL."""
    return [
        (2, 0, "")
        if value is None
        else (0, int(value), "")
        if _NUMBER.fullmatch(value)
        else (1, 0, value)
        for value in file.partition_values
    ]


def _send_decimals_as_longs(rows: DataFrame) -> tuple[DataFrame, Decimals]:
    """Let decimals of up to 18 digits travel to the tasks as their unscaled 64-bit integers.

    Spark hands decimals to Arrow as byte arrays, one object for each value: that alone took
    longer than all the rest of writing lineitem.
    """
    if not hasattr(pa, "decimal64"):
        return rows, {}
    decimals = {
        index: (field.dataType.precision, field.dataType.scale)
        for index, field in enumerate(rows.schema.fields)
        if isinstance(field.dataType, DecimalType) and field.dataType.precision <= 18
    }
    if not decimals:
        return rows, decimals
    names = rows.columns

    def build() -> Iterator[Column]:
        for index, name in enumerate(names):
            column = F.col(name)
            yield unscaled_value(column).alias(name) if index in decimals else column

    return select(rows, ("unscaled", *names, *decimals), build), decimals


def _scaled(decimals: Decimals, batch: Any) -> Any:
    """The batch with its integers as the decimals that they stand for; nothing is copied. Task."""
    if not decimals:
        return batch
    arrays = batch.columns
    for index, (precision, scale) in decimals.items():
        longs = arrays[index]
        arrays[index] = pa.Array.from_buffers(
            pa.decimal64(precision, scale),
            len(longs),
            longs.buffers(),
            longs.null_count,
            longs.offset,
        )
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def _task(write: WriteTask, keys: tuple[int, ...], batches: Iterable[Any]) -> Iterator[Any]:
    """Write the rows of one task, give one row for each outcome. Task."""
    context = TaskContext.get()
    partition, attempt = (context.partitionId(), context.taskAttemptId()) if context else (0, 0)
    with marked_errors():
        for sequence, outcome in enumerate(write(whole_input(batches), keys, attempt)):
            yield pa.RecordBatch.from_arrays(
                [
                    pa.array([partition], pa.int32()),
                    pa.array([sequence], pa.int32()),
                    pa.array([pickle.dumps(outcome)], pa.binary()),
                ],
                names=["task", "sequence", "outcome"],
            )


def _write_task(
    layout: WriteLayout, job_id: str, batches: Iterator[Any], keys: tuple[int, ...], task_id: int
) -> Iterator[WrittenFile]:
    """Task."""
    if layout.partition:
        return write_partitions(batches, layout, keys, job_id, task_id=task_id)
    return write_batches(batches, layout, job_id, task_id=task_id)


def is_small(df: DataFrame) -> bool:
    """Whether the optimizer expects so few bytes that one file holds them well."""
    size = _expected_size(df)
    return size is not None and size < limits().small_write_bytes


def _expected_size(df: DataFrame) -> int | None:
    """The bytes that the optimizer expects; None when it has no idea."""
    size = expected_size(df)
    return size if size is not None and size < _NO_IDEA else None


def remove_leftovers(directory: str, job_id: str) -> None:
    """Remove what a job has written of which no task runs any more.

    A Python that served a task may go on for a moment with the rows that it has been sent, so the
    removal is over only when nothing has come for a while. It begins no file where one of its own
    is gone.
    """
    quiet, deadline = 0, time.monotonic() + _REMOVAL_SECONDS
    while quiet < _QUIET_LOOKS and time.monotonic() < deadline:
        try:
            left = [file.path for file in list_files(directory) if is_of_job(file.path, job_id)]
            for path in left:
                remove_file(path)
        except DuckLakeError:
            return  # the failure of the write is the error to show; orphans can be found later
        quiet = 0 if left else quiet + 1
        time.sleep(0.1)
