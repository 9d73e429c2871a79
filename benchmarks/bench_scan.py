"""TPC-H Q1 and Q6 over a lake against `spark.read.parquet` on the very same files.

Run: ``python benchmarks/bench_scan.py [--scale 1] [--runs 5]``. Both sides run alternately in one
session; the table printed shows the median of each and their ratio.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from common import alternate, generate_lineitem, start_spark
from pyspark.sql import DataFrame, SparkSession

import ducklake_spark

QUERIES = {
    "Q1": """
        SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice),
               sum(l_extendedprice * (1 - l_discount)),
               sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), avg(l_quantity),
               avg(l_extendedprice), avg(l_discount), count(*)
        FROM {table} WHERE l_shipdate <= DATE '1998-09-02'
        GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus""",
    "Q6": """
        SELECT sum(l_extendedprice * l_discount) FROM {table}
        WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01'
          AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24""",
}


def main() -> None:
    """Build the lake, then measure each query twice.

    ``run``: the tables are known to both sides, as views over a DataFrame each. ``whole``: from
    nothing but names, `con.sql` against `spark.read.parquet` and `spark.sql`.
    """
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--scale", default="1")
    options.add_argument("--runs", type=int, default=5)
    given = options.parse_args()
    spark = start_spark("bench_scan")
    con, files = build_lake(spark, given.scale)
    con.table("lineitem").createOrReplaceTempView("prepared")
    spark.read.parquet(*files).createOrReplaceTempView("floor")

    def from_files(query: str) -> DataFrame:
        spark.read.parquet(*files).createOrReplaceTempView("fresh")
        return spark.sql(query.format(table="fresh"))

    results = {}
    for name, text in QUERIES.items():
        sides = {
            "run": (
                timed_query(lambda q=text: spark.sql(q.format(table="prepared"))),
                timed_query(lambda q=text: spark.sql(q.format(table="floor"))),
            ),
            "whole": (
                timed_query(lambda q=text: con.sql(q.format(table="lake.lineitem"))),
                timed_query(lambda q=text: from_files(q)),
            ),
        }
        for what, (lake, floor) in sides.items():
            ours, theirs = alternate(lake, floor, given.runs)
            results[f"{name} {what}"] = {"lake": ours, "parquet": theirs, "ratio": ours / theirs}
    print(f"{'query':10}{'lake s':>10}{'parquet s':>12}{'ratio':>8}")
    for name, row in results.items():
        print(f"{name:10}{row['lake']:10.3f}{row['parquet']:12.3f}{row['ratio']:8.2f}")
    print(json.dumps(results))
    con.close()
    spark.stop()


def build_lake(spark: SparkSession, scale: str) -> tuple[ducklake_spark.Connection, list[str]]:
    """A lake with lineitem, loaded by us; and its files."""
    folder = Path(__file__).parent / "data" / f"lake-{scale}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    con = ducklake_spark.connect(f"ducklake:{folder}/bench.ducklake", spark=spark, alias="lake")
    spark.read.parquet(str(generate_lineitem(scale))).createOrReplaceTempView("source")
    con.sql("CREATE TABLE lineitem AS SELECT * FROM source")
    files = con.sql("SELECT data_file FROM ducklake_list_files('lake', 'lineitem')").collect()
    return con, [row[0] for row in files]


def timed_query(make: Callable[[], DataFrame]) -> Callable[[], float]:
    """Runs a query from its text to its rows, and says how long it took."""

    def run() -> float:
        start = time.perf_counter()
        make().collect()
        return time.perf_counter() - start

    return run


if __name__ == "__main__":
    main()
