"""What the SparkContext's JVM half knows and PySpark does not show. Driver."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession


def check_file_system(spark: SparkSession, path: str) -> None:
    """Ask whether Spark can reach the store of a URL, before something is written there.

    Raises:
        Py4JJavaError: it has no file system for the scheme.
    """
    scheme, found, _ = path.partition("://")
    if found and scheme != "file":
        context: Any = spark.sparkContext
        file_system = context._jvm.org.apache.hadoop.fs.FileSystem
        file_system.getFileSystemClass(scheme, context._jsc.hadoopConfiguration())


def let_listeners_catch_up(spark: SparkSession, milliseconds: int) -> None:
    """Wait until what has happened is known to those who count; others may listen who are slow."""
    context: Any = spark.sparkContext._jsc
    with suppress(Py4JError):
        context.sc().listenerBus().waitUntilEmpty(milliseconds)


def jobs_with_tag(spark: SparkSession, tag: str) -> list[int]:
    """The numbers of the jobs that have a tag, those that have ended included."""
    context: Any = spark.sparkContext._jsc
    return [int(number) for number in context.sc().statusTracker().getJobIdsForTag(tag)]
