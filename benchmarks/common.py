"""What the benchmarks share: the data, the session, and runs in turns."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

from pyspark.sql import SparkSession

DATA = Path(__file__).parent / "data"


def generate_lineitem(scale: str) -> Path:
    """The Parquet file of lineitem at a scale factor, made on first use."""
    directory = DATA / f"tpch-sf{scale}"
    path = directory / "lineitem.parquet"
    if not path.exists():
        tool = Path(sys.executable).parent / "tpchgen-cli"
        wanted = ["parquet", "-s", scale, "--tables", "lineitem"]
        subprocess.run([tool, *wanted, "--output-dir", directory], check=True)
    return path


def start_spark(name: str) -> SparkSession:
    """A quiet local session on two cores."""
    builder = SparkSession.builder.master("local[2]").appName(name)
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.memory": "6g",
    }.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def alternate(
    first: Callable[[], float], second: Callable[[], float], runs: int
) -> tuple[float, float]:
    """Medians of the seconds of both sides, run in turns after two warm-ups of each."""
    for warm_up in (first, second, first, second):
        warm_up()
    times = [(first(), second()) for _ in range(runs)]
    return median(pair[0] for pair in times), median(pair[1] for pair in times)
