"""Groups of files -> one file each: a Spark task for each group. Driver, but for `_rewrite_task`.

A few jobs run side by side, each of a few groups, so that what fails takes nothing else with it
and progress can be told. A task reads and writes batch by batch; the driver sees no row.
"""

from __future__ import annotations

import pickle
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from dataclasses import replace
from functools import partial
from typing import Any, Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ducklake_spark.errors import ColumnNotFound, DuckLakeError
from ducklake_spark.limits import limits
from ducklake_spark.parquet.rewrite import (
    ROW_ID,
    SNAPSHOT_ID,
    GroupOutcome,
    GroupRewrite,
    rewrite_group,
)
from ducklake_spark.parquet.storage import remove_file
from ducklake_spark.spark.failures import spark_failures
from ducklake_spark.spark.jobs import JobTag, run_job
from ducklake_spark.spark.line import is_closed
from ducklake_spark.spark.scan import scan
from ducklake_spark.spark.write import remove_leftovers, write_files

Outcome = GroupOutcome | DuckLakeError
Progress = Callable[[int, int], None]
"""Told how many of how many groups are done."""

_RESULT: Final = "number long, outcome binary"
_LEAST_WIDTH: Final = 2


def rewrite_groups(
    spark: SparkSession, groups: Sequence[GroupRewrite], progress: Progress | None = None
) -> list[Outcome]:
    """Write each group as a new file. What fails is an error in the place of its outcome."""
    width = _width(spark)
    size = min(limits().groups_per_job, max(1, len(groups) // (4 * width)))
    if any(group.layout.is_ordered for group in groups):
        size = 1
    jobs = [range(start, min(start + size, len(groups))) for start in range(0, len(groups), size)]
    outcomes: list[Outcome | None] = [None] * len(groups)
    run = partial(_run_job, spark, groups)
    tag = JobTag(spark)
    pool = ThreadPoolExecutor(width, "ducklake-rewrite", initializer=tag.mark_thread)
    futures: list[Future[dict[int, Outcome]]] = []
    try:
        for job in jobs:
            futures.append(pool.submit(run, job))  # noqa: PERF401 - known as far as it came
        for done in as_completed(futures):
            for number, outcome in done.result().items():
                outcomes[number] = outcome
            if progress is not None:
                progress(sum(outcome is not None for outcome in outcomes), len(groups))
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        _give_up(tag, futures)
        raise
    pool.shutdown()
    return [outcome for outcome in outcomes if outcome is not None]


def _give_up(tag: JobTag, futures: Sequence[Future[dict[int, Outcome]]]) -> None:
    """End what runs, and leave no file."""
    tag.cancel(lambda seconds: not wait(futures, seconds).not_done)
    for future in futures:
        if future.done() and not future.cancelled() and future.exception() is None:
            discard_outcomes(future.result().values())


def discard_outcomes(outcomes: Iterable[Outcome]) -> None:
    """Remove the files of groups that will not be committed."""
    for outcome in outcomes:
        if isinstance(outcome, GroupOutcome):
            for file in outcome.files:
                remove_file(file.path)


def _run_job(
    spark: SparkSession, groups: Sequence[GroupRewrite], numbers: range
) -> dict[int, Outcome]:
    """One Spark job with a task for each of a few groups. Called from a thread."""
    members = [groups[number] for number in numbers]
    if len(members) == 1 and members[0].layout.is_ordered:
        sorted_one = _rewrite_sorted(spark, members[0])
        if sorted_one is not None:
            return {numbers[0]: sorted_one}
    members = [replace(member, scan=None) for member in members]
    job_id = secrets.token_hex(6)
    try:
        with spark_failures(f"rewrite files of {members[0].label}"):
            rows = spark.range(0, len(members), 1, numPartitions=len(members))
            task = partial(_rewrite_task, members, job_id)
            found = run_job(spark, rows.mapInArrow(task, _RESULT).collect)
        outcomes = {row["number"]: pickle.loads(row["outcome"]) for row in found}  # noqa: S301 - made by our own tasks
    except DuckLakeError as error:
        for directory in {member.layout.directory for member in members}:
            remove_leftovers(directory, job_id)
        return dict.fromkeys(numbers, error)
    return {number: outcomes[index] for index, number in enumerate(numbers)}


def _rewrite_sorted(spark: SparkSession, group: GroupRewrite) -> Outcome | None:
    """Let Spark read, sort and write the group; None when it has not the columns to sort by."""
    if group.scan is None:
        return None
    virtual = ["rowid", *(["snapshot_id"] if group.keep_snapshots else [])]
    extra = (ROW_ID, SNAPSHOT_ID) if group.keep_snapshots else (ROW_ID,)
    layout = replace(
        group.layout, directory=f"{group.layout.directory}{group.folder}", extra_columns=extra
    )
    files = group.scan.files
    deleted = [(s.file.data_file_id, position) for s in group.sources for position in s.deleted]
    try:
        rows = scan(
            spark,
            group.scan,
            lambda _: files,
            inlined_deletes=deleted,
            virtual_columns=virtual,
        )
        written = write_files(rows, layout, one_task=True)
    except ColumnNotFound:
        return None
    except DuckLakeError as error:
        return error
    moved = [replace(file, relative_path=f"{group.folder}{file.relative_path}") for file in written]
    return GroupOutcome(tuple(moved), None)


def _rewrite_task(
    groups: Sequence[GroupRewrite], job_id: str, batches: Iterator[Any]
) -> Iterator[Any]:
    """Rewrite the groups of the given numbers; an error of ours is an outcome. Task."""
    context = TaskContext.get()
    attempt = context.taskAttemptId() if context else 0
    for batch in batches:
        for number in batch.column(0).to_pylist():
            outcome: Outcome
            try:
                outcome = rewrite_group(groups[number], job_id, task_id=attempt)
                if is_closed():
                    discard_outcomes([outcome])
            except DuckLakeError as error:
                outcome = error
            yield pa.RecordBatch.from_arrays(
                [pa.array([number], pa.int64()), pa.array([pickle.dumps(outcome)], pa.binary())],
                names=["number", "outcome"],
            )


def _width(spark: SparkSession) -> int:
    """How many jobs run at the same time: enough to keep all cores busy."""
    try:
        cores = int(spark.sparkContext.defaultParallelism)
    except PySparkException:  # a session without a JVM of its own cannot tell
        cores = _LEAST_WIDTH
    return max(_LEAST_WIDTH, cores)
