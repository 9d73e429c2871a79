"""Append of TPC-H lineitem: our writer against Spark's own, in one session.

Run it alone: ``python benchmarks/bench_append.py [--scale 1] [--runs 3]``. The data is generated
once into ``benchmarks/data``. Prints a table, then the figures as one line of JSON.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from common import generate_lineitem, start_spark
from pyspark.sql import DataFrame

from ducklake_spark.model.schema import Schema, build_column
from ducklake_spark.plan.layout import WriteLayout
from ducklake_spark.spark.carriers import from_spark_type
from ducklake_spark.spark.write import write_files


def schema_of(df: DataFrame) -> Schema:
    """A table's schema for the DataFrame."""
    ids = itertools.count(1)
    fields = df.schema.fields
    return Schema(tuple(build_column(f.name, from_spark_type(f.dataType), ids) for f in fields))


def measure(write: Callable[[str], object]) -> tuple[float, int]:
    """Seconds of one write into a fresh directory, and the bytes it left there."""
    directory = tempfile.mkdtemp(prefix="bench-append-")
    try:
        begin = time.perf_counter()
        write(f"{directory}/out")
        seconds = time.perf_counter() - begin
        size = sum(file.stat().st_size for file in Path(directory).rglob("*.parquet"))
        return seconds, size
    finally:
        shutil.rmtree(directory)


def run(scale: str, runs: int) -> dict[str, object]:
    """Alternate the two writers, after one warm-up of each on a few rows."""
    path = generate_lineitem(scale)
    spark = start_spark("bench_append")
    df = spark.read.parquet(str(path))
    schema = schema_of(df)

    def ours(directory: str) -> object:
        return write_files(df, WriteLayout(schema, directory, "lineitem"))

    def theirs(directory: str) -> object:
        return df.write.parquet(directory)

    few = df.limit(1000)
    measure(lambda directory: write_files(few, WriteLayout(schema, directory, "lineitem")))
    measure(few.write.parquet)
    figures: dict[str, list[float]] = {"ours": [], "spark": []}
    sizes: dict[str, int] = {}
    for _ in range(runs):
        for name, write in (("spark", theirs), ("ours", ours)):
            seconds, sizes[name] = measure(write)
            figures[name].append(round(seconds, 2))
    spark.stop()
    ratio = round(median(figures["ours"]) / median(figures["spark"]), 3)
    return {"scale": scale, "seconds": figures, "bytes": sizes, "ratio": ratio}


def main() -> None:
    """Parse the arguments, run, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", default="1")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    result = run(arguments.scale, arguments.runs)
    print(f"{'writer':8} {'median s':>9} {'MB':>8}  runs")
    for name, seconds in result["seconds"].items():  # type: ignore[attr-defined]
        size = result["bytes"][name] / 1e6  # type: ignore[index]
        print(f"{name:8} {median(seconds):9.2f} {size:8.1f}  {seconds}")
    print(f"ratio    {result['ratio']}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
