"""A process that copies a table by a stream and is killed while it writes a batch."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POINTS = ("before the batch", "INSERT", "COMMIT", "after the batch")
"""Where a process can die: before it writes, behind the files, before and after the commit."""


def copy_table(spark: SparkSession, uri: str, checkpoint: str) -> None:
    """Write all that has come to `t` since the last time to `copy`, one file a batch."""
    stream = spark.readStream.format("ducklake").option("lake", uri)
    stream = stream.options(startingSnapshot="2", maxFilesPerTrigger="1").load("main.t")
    made = stream.writeStream.format("ducklake").option("lake", uri).trigger(availableNow=True)
    made.option("checkpointLocation", checkpoint).start("main.copy").awaitTermination()


class DeathAt:
    """Kills this process when a statement begins like that; it has the name that a trace has."""

    def __init__(self, point: str) -> None:
        self.point = point
        self.writes = False  # reads are committed too

    def append(self, happens: str) -> None:
        """Something happens."""
        self.writes |= happens.startswith("INSERT")
        if happens.startswith(self.point) and (self.writes or self.point != "COMMIT"):
            os.kill(os.getpid(), signal.SIGKILL)


def die_while_copying(uri: str, checkpoint: str, point: str) -> None:
    """`copy_table` in a Spark of its own, until it dies."""
    import ducklake_spark
    from ducklake_spark.spark_face import streams
    from support.spark import start_spark

    death: Any = DeathAt(point)
    write = streams.write_batch

    def write_batch(lake: Any, *rest: Any) -> None:
        death.append("before the batch")
        lake.con.lake(lake.name).db.trace = death
        write(lake, *rest)
        death.append("after the batch")

    streams.write_batch = write_batch
    with tempfile.TemporaryDirectory() as directory:
        spark = start_spark(Path(directory))
        ducklake_spark.install(spark)
        copy_table(spark, uri, checkpoint)


def kill_at(uri: str, checkpoint: str, point: str) -> int:
    """The exit code of a process that dies there."""
    arguments = f"{uri!r}, {checkpoint!r}, {point!r}"
    call = f"from support.stream_faults import *; die_while_copying({arguments})"
    paths = [str(Path(__file__).parents[1]), *sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    done = subprocess.run(
        [sys.executable, "-c", call], env=environment, timeout=300, capture_output=True, check=False
    )
    return done.returncode
