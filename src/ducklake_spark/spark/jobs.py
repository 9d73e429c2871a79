"""Spark jobs that end with the statement that started them. Driver.

The thread of the user only waits: a job runs in a thread of its own. So Ctrl-C finds the user's
thread, and its line to the JVM, free to cancel the job. It would break a line that waits for an
answer, and nobody would be left to tell Spark.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, TypeVar

from py4j.protocol import Py4JError
from pyspark import InheritableThread
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ducklake_spark.bridge.context import jobs_with_tag, let_listeners_catch_up

T = TypeVar("T")

_PATIENCE: Final = 30.0  # seconds; Spark kills a task that does not listen after two
_BUS_MS: Final = 2_000


def run_job(spark: SparkSession, job: Callable[[], T]) -> T:
    """What `job` returns, which starts Spark jobs and waits for them.

    When it fails or is interrupted, no task of it runs on.
    """
    return run_together(spark, [job])[0]


def run_together(spark: SparkSession, jobs: Sequence[Callable[[], T]]) -> list[T]:
    """Run jobs side by side and wait for all of them, also when one fails.

    Raises:
        The error of the first job, by their order, that has failed.
    """
    tag = JobTag(spark)
    outcomes: dict[int, T] = {}
    errors: dict[int, BaseException] = {}

    def run(place: int) -> None:
        try:
            tag.mark_thread()
            outcomes[place] = jobs[place]()
        except BaseException as error:  # raised by the thread that waits
            errors[place] = error

    # They take over what the caller's jobs are known by, such as the group to cancel them with.
    threads = [InheritableThread(target=run, args=(place,)) for place in range(len(jobs))]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except BaseException:
        tag.cancel(lambda seconds: _end(threads, seconds))
        raise
    for place in sorted(errors):
        tag.wait_for_tasks()
        raise errors[place]
    return [outcomes[place] for place in range(len(jobs))]


def _end(threads: Sequence[InheritableThread], seconds: float) -> bool:
    """Whether the threads have ended, after so long at the most."""
    deadline = time.monotonic() + seconds
    for thread in threads:
        if thread.is_alive():
            thread.join(max(0.0, deadline - time.monotonic()))
    return not any(thread.is_alive() for thread in threads)


@dataclass(frozen=True)
class JobTag:
    """A mark that the jobs of one piece of work have, and no others."""

    spark: SparkSession
    name: str = field(default_factory=lambda: f"ducklake-{secrets.token_hex(8)}")

    def mark_thread(self) -> None:
        """Mark the jobs that this thread starts from now on, and those of threads it starts."""
        context = self.spark.sparkContext
        context.addJobTag(self.name)
        context.setInterruptOnCancel(True)

    def cancel(self, have_ended: Callable[[float], bool]) -> None:
        """Cancel the jobs, and those that are still being planned, and wait for their tasks.

        Args:
            have_ended: whether the threads that start them have ended, after so many seconds at
                the most.
        """
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            with suppress(Py4JError, PySparkException):  # a Spark that is stopped runs nothing
                self.spark.sparkContext.cancelJobsWithTag(self.name)
            if have_ended(0.2):
                break
        self.wait_for_tasks()

    def wait_for_tasks(self) -> None:
        """Wait until no task runs on: a job has ended as soon as its tasks are told to."""
        deadline = time.monotonic() + _PATIENCE
        with suppress(Py4JError, PySparkException):
            let_listeners_catch_up(self.spark, _BUS_MS)
            while self._runs_tasks() and time.monotonic() < deadline:
                time.sleep(0.05)

    def _runs_tasks(self) -> bool:
        known = self.spark.sparkContext.statusTracker()
        for job_id in jobs_with_tag(self.spark, self.name):
            job = known.getJobInfo(job_id)
            stages = map(known.getStageInfo, job.stageIds if job else ())
            if any(stage is not None and stage.numActiveTasks > 0 for stage in stages):
                return True
        return False
