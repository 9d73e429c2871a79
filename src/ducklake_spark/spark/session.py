"""The Spark session: the one given, the active one, or a local one of our own."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Final
from weakref import WeakSet
from zoneinfo import available_timezones

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from ducklake_spark.bridge.half import is_classic, is_spark_running
from ducklake_spark.bridge.sessions import set_where_different
from ducklake_spark.spark.failures import translate_errors
from ducklake_spark.spark.java import without_java

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
    "spark.driver.memory": "4g",
}

_TIME_ZONE: Final = "spark.sql.session.timeZone"


class _Started:
    """The session that was started here, if there is one, and who uses it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.session: SparkSession | None = None
        self.users: WeakSet[object] = WeakSet()

    def note(self, spark: SparkSession, user: object) -> SparkSession:
        """Somebody uses a session; one that was started elsewhere is none of our business."""
        own = self.session
        if own is not None and is_classic(spark) and own.sparkContext is spark.sparkContext:
            self.users.add(user)
        return spark


_started = _Started()


def use_session(user: object, spark: SparkSession | None = None) -> SparkSession:
    """The session that is given, or the active one, or a new local one.

    One that is started here runs until all who have used it have called `leave_session`.
    """
    with _started.lock:
        running = spark or running_session()
        if running is not None:
            return _started.note(running, user)
        builder = SparkSession.builder.appName("ducklake-spark").master("local[*]")
        for key, value in _LOCAL_CONF.items():
            builder = builder.config(key, value)
        # Said, so that a time means the same before Spark is started and after.
        if (zone := _machine_zone()) is not None:
            builder = builder.config(_TIME_ZONE, zone)
        _started.session = _start(builder)
        _started.users.clear()
        return _started.note(_started.session, user)


def leave_session(user: object) -> None:
    """Stop the session that was started here, if nobody else uses it any more."""
    with _started.lock:
        was_used = user in _started.users
        _started.users.discard(user)
        if was_used and not _started.users and _started.session is not None:
            _started.session.stop()
            _started.session = None


def _start(builder: SparkSession.Builder) -> SparkSession:
    try:
        return builder.getOrCreate()
    except PySparkRuntimeError as error:
        if error.getCondition() != "JAVA_GATEWAY_EXITED":
            raise
        raise without_java() from error


def time_zone_of(spark: SparkSession) -> str:
    """The name of the session's time zone."""
    return str(spark.conf.get(_TIME_ZONE))


def _machine_zone() -> str | None:
    """The name of the machine's time zone where it can be told; else Java finds it by itself."""
    named = os.environ.get("TZ")
    if named is None:
        named = str(Path("/etc/localtime").resolve()).partition("/zoneinfo/")[2]
    return named if named in available_timezones() else None


def running_session() -> SparkSession | None:
    """The active session, or the default one, which other threads than its own do not call active.

    Starts nothing.
    """
    active = SparkSession.getActiveSession()
    if active is not None or not is_spark_running():
        return active
    return SparkSession.builder.getOrCreate()


def prepare_session(spark: SparkSession) -> SparkSession:
    """Switch on what reading and writing a lake needs."""
    _use_own_python(spark)
    translate_errors()
    set_where_different(spark, REQUIRED_CONF)
    return spark


def _use_own_python(spark: SparkSession) -> None:
    """Let local tasks run on this very Python, which has this package, unless told otherwise."""
    if "PYSPARK_PYTHON" in os.environ or "PYSPARK_DRIVER_PYTHON" in os.environ:
        return
    context = getattr(spark, "sparkContext", None)
    if context is not None and context.master.startswith("local"):
        context.pythonExec = sys.executable
