"""Append of TPC-H lineitem by year and month of l_shipdate, against the same without partitions.

Run it alone: ``python benchmarks/bench_partitioned_write.py [--scale 1] [--runs 3]``. Prints a
table, then the figures as one line of JSON. The goal is one file for each month, in at most 1.5
times the seconds.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from statistics import median

from bench_append import schema_of
from common import generate_lineitem, start_spark

from ducklake_spark.model.entities import PartitionField, PartitionSpec
from ducklake_spark.model.schema import Schema
from ducklake_spark.model.written import WrittenFile
from ducklake_spark.plan.layout import WriteLayout
from ducklake_spark.spark.write import write_files


def partition_of(schema: Schema) -> PartitionSpec:
    """By year and month of the day of shipping."""
    day = schema.get("l_shipdate", table="lineitem").column_id
    return PartitionSpec(1, (PartitionField(day, "year"), PartitionField(day, "month")))


def run(scale: str, runs: int) -> dict[str, object]:
    """Alternate the two layouts, after one warm-up of each on a few rows."""
    spark = start_spark("bench_partitioned_write")
    df = spark.read.parquet(str(generate_lineitem(scale)))
    schema = schema_of(df)
    specs = {"plain": None, "by month": partition_of(schema)}

    def write(name: str, rows: object) -> tuple[float, list[WrittenFile]]:
        directory = tempfile.mkdtemp(prefix="bench-partitioned-")
        layout = WriteLayout(schema, f"{directory}/out", "lineitem", partition=specs[name])
        try:
            begin = time.perf_counter()
            files = write_files(rows, layout)  # type: ignore[arg-type]
            return time.perf_counter() - begin, files
        finally:
            shutil.rmtree(directory)

    for name in specs:
        write(name, df.limit(1000))
    seconds: dict[str, list[float]] = {name: [] for name in specs}
    counts: dict[str, dict[str, int]] = {}
    for _ in range(runs):
        for name in specs:
            taken, files = write(name, df)
            seconds[name].append(round(taken, 2))
            partitions = {file.partition_values for file in files}
            counts[name] = {"files": len(files), "partitions": len(partitions)}
    spark.stop()
    ratio = round(median(seconds["by month"]) / median(seconds["plain"]), 3)
    return {"scale": scale, "seconds": seconds, "counts": counts, "ratio": ratio}


def main() -> None:
    """Parse the arguments, run, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", default="1")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    result = run(arguments.scale, arguments.runs)
    print(f"{'layout':10} {'median s':>9} {'files':>6}  runs")
    for name, seconds in result["seconds"].items():  # type: ignore[attr-defined]
        files = result["counts"][name]["files"]  # type: ignore[index]
        print(f"{name:10} {median(seconds):9.2f} {files:6}  {seconds}")
    print(f"ratio      {result['ratio']}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
