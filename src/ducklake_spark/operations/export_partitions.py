"""COPY … TO 'folder' (PARTITION_BY …): the rows of a DataFrame as files in folders of their own."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ducklake_spark.errors import DataFileError, InvalidInput, NotSupported
from ducklake_spark.model.partition import hive_path
from ducklake_spark.model.paths import is_url
from ducklake_spark.model.schema import Column, build_column
from ducklake_spark.model.types import DecimalType, ScalarType, format_sql_type
from ducklake_spark.operations.export import ExportFormat, write_export
from ducklake_spark.parquet.partitioned import find_runs, key_text
from ducklake_spark.parquet.storage import list_files, remove_file
from ducklake_spark.spark.failures import marked_errors, spark_failures
from ducklake_spark.spark.jobs import run_job
from ducklake_spark.spark.tags import type_of_field
from ducklake_spark.spark.write import is_small

_WRITTEN = "path string, n long"


@dataclass(frozen=True)
class ExportFolders:
    """How rows are divided into folders."""

    keys: tuple[str, ...]
    write_keys: bool = False  # whether files hold the columns that name their folders
    overwrite: bool = False  # remove what is in the folder
    ignore: bool = False  # write next to what is in the folder
    name: str = "data_{i}"


@dataclass(frozen=True)
class _Job:
    target: str
    columns: tuple[Column, ...]
    keys: tuple[int, ...]
    written: tuple[int, ...]
    form: ExportFormat
    name: str


def export_partitions(
    frame: DataFrame, path: str, form: ExportFormat, folders: ExportFolders
) -> tuple[int, list[str]]:
    """Write the files; returns how many rows they have, and their paths. Driver."""
    target = path.removeprefix("file://").rstrip("/")
    target = target if is_url(target) else str(Path(target).absolute())
    job = _plan(frame, target, form, folders)
    _prepare(path, target, folders)
    plain = frame.toDF(*(f"c{i}" for i in range(len(job.columns))))
    by = [F.col(f"c{place}") for place in job.keys]
    with spark_failures(f"copy to {path!r}"):
        placed = plain.coalesce(1) if is_small(frame) else plain.repartition(*by)
        rows = placed.sortWithinPartitions(*by)
        written = rows.mapInArrow(partial(_write_task, job), _WRITTEN)
        found = run_job(frame.sparkSession, written.collect)
    return sum(row["n"] for row in found), sorted(row["path"] for row in found)


def _plan(frame: DataFrame, target: str, form: ExportFormat, folders: ExportFolders) -> _Job:
    ids = itertools.count(1)
    columns = tuple(build_column(f.name, type_of_field(f), ids) for f in frame.schema.fields)
    places = {column.name.lower(): i for i, column in enumerate(columns)}
    keys = []
    for name in folders.keys:
        place = places.get(name.lower())
        if place is None:
            raise InvalidInput(
                f'PARTITION_BY expected to find "{name}", but the query has no such column.',
                hint=f"its columns are {', '.join(column.name for column in columns)}.",
            )
        kind = columns[place].type
        if not isinstance(kind, ScalarType | DecimalType):
            raise NotSupported(f'Cannot partition by "{name}": it is a {format_sql_type(kind)}.')
        keys.append(place)
    written = [i for i in range(len(columns)) if folders.write_keys or i not in keys]
    if not written:
        raise NotSupported(
            "No column to write as all columns are specified as partition columns.",
            hint="say WRITE_PARTITION_COLUMNS true.",
        )
    return _Job(target, columns, tuple(keys), tuple(written), form, folders.name)


def _prepare(path: str, target: str, folders: ExportFolders) -> None:
    there = list_files(target)
    if not there or folders.ignore:
        return
    if not folders.overwrite:
        raise DataFileError(
            f"Cannot copy to {path!r}: the folder is not empty.",
            hint="say OVERWRITE to remove what is there, or OVERWRITE_OR_IGNORE to keep it.",
        )
    for file in there:
        remove_file(file.path)


def _write_task(job: _Job, batches: Iterable[Any]) -> Iterator[Any]:
    """Task: write the rows, which come folder by folder; give path and number of rows of each."""
    context = TaskContext.get()
    task = context.partitionId() if context else 0
    columns = tuple(job.columns[i] for i in job.written)
    begun: Counter[str] = Counter()
    with marked_errors():
        groups = itertools.groupby(_slices(job, batches), key=lambda pair: pair[0])
        for folder, parts in groups:
            # Several tasks, or one twice, may write to a folder: no file is written over.
            number = f"{task}_{begun[folder]}" if begun[folder] else str(task)
            begun[folder] += 1
            name = job.name.replace("{i}", number)
            path = f"{job.target}/{folder}{name}.{job.form.kind}"
            count = write_export(path, columns, job.form, (part for _, part in parts))
            yield pa.RecordBatch.from_pydict({"path": [path], "n": [count]})


def _slices(job: _Job, batches: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    names = [job.columns[i].name for i in job.keys]
    for batch in batches:
        keys = [batch.column(i) for i in job.keys]
        kept = pa.RecordBatch.from_arrays(
            [batch.column(i) for i in job.written], names=[f"c{i}" for i in job.written]
        )
        for start, end in find_runs(keys):
            yield _folder(job, names, [key[start] for key in keys]), kept.slice(start, end - start)


def _folder(job: _Job, names: Sequence[str], scalars: Sequence[Any]) -> str:
    texts = (
        key_text(scalar, job.columns[place].type)
        for scalar, place in zip(scalars, job.keys, strict=True)
    )
    return hive_path(names, tuple(texts))
