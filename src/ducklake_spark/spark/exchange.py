"""Partitioned writes of a Spark that is one process: rows are divided through local files. Driver.

Spark's own shuffle serializes each row, compresses it, and builds it again. Where all tasks see
one disk, they hand over columns instead; see `parquet.exchange`.
"""

from __future__ import annotations

import heapq
import os
import pickle
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

from ducklake_spark.limits import limits
from ducklake_spark.parquet.exchange import Values, deal_out, gather
from ducklake_spark.spark.arrow_batches import in_plain_batches
from ducklake_spark.spark.failures import marked_errors
from ducklake_spark.spark.jobs import run_job

_DEALT: Final = "task int, path string, rows binary"
_ONE_PROCESS: Final = re.compile(r"local(\[.*\])?")

Batches = Iterable[Any]


def shares_a_disk(spark: SparkSession) -> bool:
    """Whether all tasks run in the process of the driver."""
    return bool(_ONE_PROCESS.fullmatch(spark.sparkContext.master or ""))


def exchange(
    rows: DataFrame,
    keys: Sequence[int],
    *,
    prepare: Callable[[Any], Any],
    values_of: Callable[[Sequence[Any]], Values],
    write: Callable[[Batches], Iterator[Any]],
    result: str,
    tasks: int,
) -> list[Any]:
    """Divide rows by partition, and let tasks write whole partitions. Returns what they return.

    Args:
        rows: what is to be written, keys included.
        keys: where they are among the columns.
        prepare: done with each batch before anything else. Task.
        values_of: the partition values of a row's keys. Task.
        write: takes the batches of a task's partitions, one partition after the other. Task.
        result: the schema of what `write` gives.
        tasks: how many write, at the most.
    """
    spark = rows.sparkSession
    parent = _local_directory(spark)
    Path(parent).mkdir(parents=True, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="ducklake-exchange-", dir=parent)
    try:
        chunk_bytes = limits().exchange_chunk_bytes
        deal = partial(_deal_task, tuple(keys), prepare, values_of, folder, chunk_bytes)
        dealing = in_plain_batches(rows.mapInArrow(deal, _DEALT), rows.schema)
        dealt = run_job(spark, dealing.collect)
        dealt.sort(key=lambda row: row["task"])  # so that the same rows make the same files
        counted: Counter[Values] = Counter()
        for row in dealt:
            counted.update(pickle.loads(row["rows"]))  # noqa: S301 - made by our own tasks
        if not counted:
            return []
        # Fewer rows are not worth starting a task.
        shares = _shares(counted, min(tasks, 1 + counted.total() // limits().exchange_task_rows))
        paths = tuple(row["path"] for row in dealt)
        one_each = spark.range(0, len(shares), 1, len(shares))
        task = partial(_write_task, shares, paths, write)
        return run_job(spark, one_each.mapInArrow(task, result).collect)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _local_directory(spark: SparkSession) -> str:
    """Where Spark keeps what it shuffles."""
    configured = os.environ.get("SPARK_LOCAL_DIRS") or spark.sparkContext.getConf().get(
        "spark.local.dir", tempfile.gettempdir()
    )
    return str(configured).split(",", 1)[0]


def _shares(counted: Mapping[Values, int], tasks: int) -> list[tuple[Values, ...]]:
    """The partitions of each task: the largest first, each to whom has the fewest rows.

    >>> _shares({("a",): 5, ("b",): 3, ("c",): 3}, 2)
    [(('a',),), (('b',), ('c',))]
    """
    shares: list[list[Values]] = [[] for _ in range(min(tasks, len(counted)))]
    loads = [(0, index) for index in range(len(shares))]
    for values in sorted(counted, key=lambda values: -counted[values]):
        load, index = heapq.heappop(loads)
        shares[index].append(values)
        heapq.heappush(loads, (load + counted[values], index))
    return [tuple(share) for share in shares]


def _deal_task(
    keys: tuple[int, ...],
    prepare: Callable[[Any], Any],
    values_of: Callable[[Sequence[Any]], Values],
    folder: str,
    chunk_bytes: int,
    batches: Batches,
) -> Iterator[Any]:
    """Task."""
    context = TaskContext.get()
    number, attempt = (context.partitionId(), context.taskAttemptId()) if context else (0, 0)
    path = f"{folder}/{number}-{attempt}.arrow"
    with marked_errors():
        rows = deal_out(map(prepare, batches), keys, values_of, path, chunk_bytes=chunk_bytes)
    if rows:
        yield pa.RecordBatch.from_arrays(
            [
                pa.array([number], pa.int32()),
                pa.array([path], pa.string()),
                pa.array([pickle.dumps(rows)], pa.binary()),
            ],
            names=["task", "path", "rows"],
        )


def _write_task(
    shares: Sequence[tuple[Values, ...]],
    paths: tuple[str, ...],
    write: Callable[[Batches], Iterator[Any]],
    numbers: Batches,
) -> Iterator[Any]:
    """Task."""
    for batch in numbers:
        for number in batch.column(0).to_pylist():
            yield from write(gather(paths, shares[number]))
