"""Looking at many files to be added, in tasks. Driver, but for `_describe_task`."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import SparkSession

from ducklake_spark.limits import limits
from ducklake_spark.model.entities import NameMapping
from ducklake_spark.model.schema import Column
from ducklake_spark.model.written import WrittenFile
from ducklake_spark.parquet.add import AddPlan, describe_files
from ducklake_spark.spark.failures import marked_errors, spark_failures
from ducklake_spark.spark.jobs import run_job
from ducklake_spark.spark.local import local_frame

_RESULT: Final = "place int, files binary"


def describe_with_spark(
    spark: SparkSession, paths: Sequence[str], plan: AddPlan
) -> list[WrittenFile]:
    """The files that have rows, in the order of `paths`, each footer read by a task."""
    tasks = max(spark.sparkContext.defaultParallelism, len(paths) // limits().added_files_per_task)
    tasks = min(tasks, len(paths))
    size = -(-len(paths) // tasks)
    rows = [
        (place, pickle.dumps(list(paths[start : start + size])))
        for place, start in enumerate(range(0, len(paths), size))
    ]
    columns = [Column(1, "place", "int32"), Column(2, "paths", "blob")]
    work = local_frame(spark, columns, rows).repartition(tasks, "place")
    with spark_failures(f'add files to table "{plan.rules.table}"'):
        described = work.mapInArrow(partial(_describe_task, plan), _RESULT)
        found = run_job(spark, described.collect)
    found.sort(key=lambda row: row["place"])
    return _shared(pickle.loads(row["files"]) for row in found)  # noqa: S301 - our own tasks'


def _describe_task(plan: AddPlan, batches: Iterable[Any]) -> Iterator[Any]:
    """Look at the files of each row, give them back as one value. Task."""
    for batch in batches:
        for row in batch.to_pylist():
            with marked_errors():
                paths = pickle.loads(row["paths"])  # noqa: S301 - made by our own driver
                files = list(describe_files(paths, plan))
            yield pa.RecordBatch.from_arrays(
                [pa.array([row["place"]], pa.int32()), pa.array([pickle.dumps(files)])],
                names=["place", "files"],
            )


def _shared(parts: Iterable[list[WrittenFile]]) -> list[WrittenFile]:
    """All files, with one mapping for those that have an equal one."""
    known: dict[tuple[NameMapping, ...], tuple[NameMapping, ...]] = {}
    files = []
    for part in parts:
        for file in part:
            mapping = file.mapping
            if mapping is not None and known.setdefault(mapping, mapping) is not mapping:
                files.append(replace(file, mapping=known[mapping]))
            else:
                files.append(file)
    return files
