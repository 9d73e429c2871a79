"""Append of TPC-H lineitem through the public API, against Spark's own Parquet writer."""

from __future__ import annotations

import itertools

from harness import OURS, Bench
from lakes import address, tpch_file


def run(bench: Bench) -> None:
    """Each run appends all rows once more; the rows are counted at the end."""
    spark, folder = bench.spark, bench.place("append")
    path = tpch_file("lineitem", bench.size.scale)
    frame = spark.read.parquet(str(path))
    place = address("sqlite", folder, "ours")
    con = place.ours(spark)
    con.create_table("lineitem", frame.limit(0))
    other = address("sqlite", folder, "theirs").extension()
    copy = f"SELECT * FROM read_parquet('{path}')"
    other.execute(f"CREATE TABLE lineitem AS {copy} LIMIT 0")
    numbers = itertools.count()
    sides = {
        OURS: lambda: con.append("lineitem", frame) and None,
        "df.write.parquet": lambda: frame.write.parquet(f"{folder}/floor{next(numbers)}"),
        "extension": lambda: other.execute(f"INSERT INTO lineitem {copy}") and None,
    }
    bench.compare(f"lineitem, scale factor {bench.size.scale}", sides, same=False)
    total = con.table("lineitem").count()
    con.close()
    check = place.extension()
    rows = check.execute("SELECT count(*) FROM lineitem").fetchone()
    turns = bench.records[0].runs + 1
    expected = frame.count() * turns
    if not rows or not rows[0] == total == expected:
        bench.wrong.append(f"append: {rows} rows for DuckDB, {total} for us, not {expected}")
