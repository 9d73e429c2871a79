"""Jobs side by side."""

from __future__ import annotations

import threading

import pytest

from ducklake_spark.spark.jobs import run_together

pytestmark = pytest.mark.spark


def test_all_jobs_run_at_once_and_under_the_callers_name(spark):
    context = spark.sparkContext
    context.setLocalProperty("spark.job.description", "of the caller")
    meeting = threading.Barrier(2, timeout=60)
    seen = []

    def job():
        meeting.wait()
        seen.append(context.getLocalProperty("spark.job.description"))

    run_together(spark, [job, job])
    context.setLocalProperty("spark.job.description", None)
    assert seen == ["of the caller"] * 2


def test_the_first_error_is_raised_when_all_have_ended(spark):
    ended = []

    def fail(text):
        raise ValueError(text)

    def end_late(gate):
        gate.wait(60)
        spark.range(10).count()
        ended.append(True)

    gate = threading.Event()
    with pytest.raises(ValueError, match="one"):
        run_together(
            spark, [lambda: end_late(gate), lambda: (gate.set(), fail("one")), lambda: fail("two")]
        )
    assert ended == [True]
