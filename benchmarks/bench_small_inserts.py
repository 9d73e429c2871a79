"""One-row INSERTs, each a commit: ours against the DuckDB extension on the same kind of catalog.

Run: ``python benchmarks/bench_small_inserts.py [--commits 200]``. Both sides speak SQL; neither
starts Spark. Prints milliseconds a commit (median and 95th percentile) and the ratio.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles

import duckdb
from duckdb_extensions import import_extension

import ducklake_spark


def main() -> None:
    """Measure SQLite and DuckDB-file catalogs."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--commits", type=int, default=200)
    commits = options.parse_args().commits
    results = {}
    for kind in ("sqlite", "duckdb"):
        with tempfile.TemporaryDirectory() as folder:
            ours = measure(run_ours(kind, Path(folder)), commits)
            theirs = measure(run_extension(kind, Path(folder)), commits)
        results[kind] = {"ours_ms": ours, "extension_ms": theirs, "ratio": theirs[0] / ours[0]}
    print(f"{'catalog':10}{'ours ms':>10}{'p95':>8}{'extension ms':>14}{'p95':>8}{'faster':>8}")
    for kind, row in results.items():
        (ours, ours95), (theirs, theirs95) = row["ours_ms"], row["extension_ms"]
        print(f"{kind:10}{ours:10.2f}{ours95:8.2f}{theirs:14.2f}{theirs95:8.2f}{row['ratio']:8.1f}")
    print(json.dumps(results))


def measure(insert: Callable[[int], object], commits: int) -> tuple[float, float]:
    """Median and 95th percentile of the milliseconds of one insert."""
    for warm_up in range(10):
        insert(warm_up)
    times = []
    for number in range(commits):
        begin = time.perf_counter()
        insert(number)
        times.append((time.perf_counter() - begin) * 1000)
    return median(times), quantiles(times, n=20)[-1]


def address(kind: str, folder: Path, who: str) -> str:
    """A lake of each side's own."""
    middle = "sqlite:" if kind == "sqlite" else ""
    return f"ducklake:{middle}{folder}/{who}.db"


def run_ours(kind: str, folder: Path) -> Callable[[int], object]:
    """Inserts through our connection."""
    uri = address(kind, folder, "ours")
    con = ducklake_spark.connect(uri, alias="lake", data_path=f"{folder}/ours/")
    con.sql("CREATE TABLE t (id INTEGER, name VARCHAR, amount DECIMAL(10,2))")
    return lambda number: con.sql(f"INSERT INTO t VALUES ({number}, 'name {number}', 1.5)")


def run_extension(kind: str, folder: Path) -> Callable[[int], object]:
    """Inserts through the DuckDB extension."""
    con = duckdb.connect()
    for name in ("ducklake", "sqlite_scanner"):
        import_extension(name)
        con.execute(f"LOAD {name}")
    uri = address(kind, folder, "extension")
    con.execute(f"ATTACH '{uri}' AS lake (DATA_PATH '{folder}/extension/')")
    con.execute("USE lake")
    con.execute("CREATE TABLE t (id INTEGER, name VARCHAR, amount DECIMAL(10,2))")
    return lambda number: con.execute(f"INSERT INTO t VALUES ({number}, 'name {number}', 1.5)")


if __name__ == "__main__":
    main()
