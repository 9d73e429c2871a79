"""Adding many small files to a table: ours against the DuckDB extension, on a SQLite catalog.

Run: ``python benchmarks/bench_add_files.py [--files 10000]``. Prints seconds of the call (Spark is
up already) and how much memory the Python process of the driver needed beyond its start.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from common import start_spark
from duckdb_extensions import import_extension

import ducklake_spark

TABLE = "CREATE TABLE t(id BIGINT, name VARCHAR, amount DOUBLE, moment TIMESTAMP, flag BOOLEAN)"


def main() -> None:
    """Measure one call of each."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--files", type=int, default=10_000)
    count = options.parse_args().files
    with tempfile.TemporaryDirectory() as folder:
        make_files(Path(folder) / "files", count)
        results = {"files": count, **run_ours(Path(folder)), **run_extension(Path(folder))}
    print(json.dumps(results))


def make_files(folder: Path, count: int) -> None:
    """Files of ten rows."""
    folder.mkdir()
    for number in range(count):
        ids = pa.array(range(number * 10, number * 10 + 10), pa.int64())
        rows = {
            "id": ids,
            "name": [f"name {i}" for i in ids.to_pylist()],
            "amount": pa.array([float(number)] * 10),
            "moment": ids.cast(pa.timestamp("us")),
            "flag": [True] * 10,
        }
        pq.write_table(pa.table(rows), folder / f"{number}.parquet")


def run_ours(folder: Path) -> dict[str, float]:
    """Seconds, and megabytes at the peak beyond what the process had before."""
    spark = start_spark("bench_add_files")
    spark.range(1).count()
    con = ducklake_spark.connect(
        f"ducklake:sqlite:{folder}/ours.sqlite", spark=spark, data_path=f"{folder}/ours/"
    )
    con.sql(TABLE)
    before = peak_megabytes()
    start = time.perf_counter()
    con.add_files("t", f"{folder}/files/*.parquet")
    seconds = time.perf_counter() - start
    peak = peak_megabytes() - before
    assert con.table("t").where("id = 17").count() == 1
    con.close()
    spark.stop()
    return {"ours_s": round(seconds, 2), "ours_peak_mb": round(peak)}


def run_extension(folder: Path) -> dict[str, float]:
    """Seconds of the same call."""
    for name in ("ducklake", "sqlite_scanner"):
        import_extension(name)
    con = duckdb.connect(config={"threads": 2})
    con.execute("LOAD ducklake; LOAD sqlite_scanner")
    con.execute(
        f"ATTACH 'ducklake:sqlite:{folder}/theirs.sqlite' AS lake (DATA_PATH '{folder}/t/')"
    )
    con.execute("USE lake")
    con.execute(TABLE)
    before = peak_megabytes()
    start = time.perf_counter()
    con.execute(f"CALL ducklake_add_data_files('lake', 't', '{folder}/files/*.parquet')")
    seconds = time.perf_counter() - start
    return {"extension_s": round(seconds, 2), "extension_peak_mb": round(peak_megabytes() - before)}


def peak_megabytes() -> float:
    """The most memory that this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
