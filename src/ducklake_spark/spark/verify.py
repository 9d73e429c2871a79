"""Verify files in tasks, many at a time. Driver."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence

from pyspark.sql import SparkSession

from ducklake_spark.limits import limits
from ducklake_spark.model.findings import FileClaim, FileVerdict
from ducklake_spark.parquet.verify import verify_file
from ducklake_spark.spark.failures import marked_errors, spark_failures
from ducklake_spark.spark.jobs import run_job


def verify_files(spark: SparkSession, claims: Sequence[FileClaim]) -> list[FileVerdict]:
    """Hold files against what the catalog claims; the large ones are spread over the tasks."""
    if not claims:
        return []
    context = spark.sparkContext
    tasks = min(len(claims), context.defaultParallelism * limits().check_tasks_per_core)
    ordered = sorted(claims, key=lambda claim: claim.file_size_bytes or 0, reverse=True)
    dealt = [claim for first in range(tasks) for claim in ordered[first::tasks]]
    with spark_failures("verify the files of a lake"):
        found = context.parallelize(map(pickle.dumps, dealt), tasks).mapPartitions(_verify)
        return [pickle.loads(verdict) for verdict in run_job(spark, found.collect)]  # noqa: S301 - our own


def _verify(claims: Iterable[bytes]) -> Iterable[bytes]:
    """Runs in tasks."""
    with marked_errors():
        for claim in claims:
            yield pickle.dumps(verify_file(pickle.loads(claim)))  # noqa: S301 - our own
