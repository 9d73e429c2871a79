"""The Spark session: the one given, the active one, or a local one of our own."""

from __future__ import annotations

import os
import sys
from typing import Final

from pyspark.sql import SparkSession

from ducklake_spark.spark.failures import translate_errors

# Columns are found in files by their ids, not by their names: a renamed column keeps its data.
REQUIRED_CONF: Final = {
    "spark.sql.parquet.fieldId.read.enabled": "true",
    "spark.sql.parquet.enableVectorizedReader": "true",
}

_LOCAL_CONF: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.memory": "4g",
}


def find_session() -> tuple[SparkSession, bool]:
    """The active session, or a new local one; and whether it was started here."""
    active = SparkSession.getActiveSession()
    if active is not None:
        return active, False
    builder = SparkSession.builder.appName("ducklake-spark").master("local[*]")
    for key, value in _LOCAL_CONF.items():
        builder = builder.config(key, value)
    return builder.getOrCreate(), True


def prepare_session(spark: SparkSession) -> SparkSession:
    """Switch on what reading and writing a lake needs."""
    _use_own_python(spark)
    translate_errors()
    for key, value in REQUIRED_CONF.items():
        if spark.conf.get(key, None) != value:
            spark.conf.set(key, value)
    return spark


def _use_own_python(spark: SparkSession) -> None:
    """Let local tasks run on this very Python, which has this package, unless told otherwise."""
    if "PYSPARK_PYTHON" in os.environ or "PYSPARK_DRIVER_PYTHON" in os.environ:
        return
    context = getattr(spark, "sparkContext", None)
    if context is not None and context.master.startswith("local"):
        context.pythonExec = sys.executable
