"""ALTER TABLE, each a commit: ours against the DuckDB extension on the same kind of catalog.

Run: ``python benchmarks/bench_ddl.py [--commits 200]``. Columns are added, renamed, promoted and
dropped in turn. Both sides speak SQL; neither starts Spark. Prints milliseconds a statement
(median and 95th percentile) and the ratio.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median, quantiles

import duckdb
from duckdb_extensions import import_extension

import ducklake_spark

TABLE = "CREATE TABLE t (id INTEGER, name VARCHAR, amount DECIMAL(10,2))"


def main() -> None:
    """Measure SQLite and DuckDB-file catalogs."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--commits", type=int, default=200)
    options.add_argument("--catalogs", nargs="+", default=["sqlite", "duckdb"])
    given = options.parse_args()
    results = {}
    for kind in given.catalogs:
        with tempfile.TemporaryDirectory() as folder:
            times = measure(
                [start_ours(kind, Path(folder)), start_extension(kind, Path(folder))],
                given.commits,
            )
        ours, theirs = times
        results[kind] = {"ours_ms": ours, "extension_ms": theirs, "ratio": theirs[0] / ours[0]}
    print(f"{'catalog':10}{'ours ms':>10}{'p95':>8}{'extension ms':>14}{'p95':>8}{'faster':>8}")
    for kind, row in results.items():
        (ours, ours95), (theirs, theirs95) = row["ours_ms"], row["extension_ms"]
        print(f"{kind:10}{ours:10.2f}{ours95:8.2f}{theirs:14.2f}{theirs95:8.2f}{row['ratio']:8.1f}")
    print(json.dumps(results))


def changes() -> Iterator[str]:
    """Statements without end: the table stays as wide as it is."""
    number = 0
    while True:
        number += 1
        yield f"ALTER TABLE t ADD COLUMN c{number} INTEGER DEFAULT {number}"
        yield f"ALTER TABLE t RENAME c{number} TO d{number}"
        yield f"ALTER TABLE t ALTER d{number} SET DATA TYPE BIGINT"
        yield f"ALTER TABLE t DROP COLUMN d{number}"


def measure(sides: list[Callable[[str], object]], commits: int) -> list[tuple[float, float]]:
    """Median and 95th percentile of the milliseconds of one statement, the sides in turns."""
    times: list[list[float]] = [[] for _ in sides]
    for number, statement in enumerate(changes()):
        if number == commits + 8:
            break
        for run, spent in zip(sides, times, strict=True):
            begin = time.perf_counter()
            run(statement)
            if number >= 8:  # the first ones warm up
                spent.append((time.perf_counter() - begin) * 1000)
    return [(median(spent), quantiles(spent, n=20)[-1]) for spent in times]


def address(kind: str, folder: Path, who: str) -> str:
    """A lake of each side's own."""
    middle = "sqlite:" if kind == "sqlite" else ""
    return f"ducklake:{middle}{folder}/{who}.db"


def start_ours(kind: str, folder: Path) -> Callable[[str], object]:
    """Statements through our connection."""
    uri = address(kind, folder, "ours")
    con = ducklake_spark.connect(uri, alias="lake", data_path=f"{folder}/ours/")
    con.sql(TABLE)
    return con.sql


def start_extension(kind: str, folder: Path) -> Callable[[str], object]:
    """Statements through the DuckDB extension."""
    con = duckdb.connect()
    for name in ("ducklake", "sqlite_scanner"):
        import_extension(name)
        con.execute(f"LOAD {name}")
    uri = address(kind, folder, "extension")
    con.execute(f"ATTACH '{uri}' AS lake (DATA_PATH '{folder}/extension/')")
    con.execute("USE lake")
    con.execute(TABLE)
    return con.execute


if __name__ == "__main__":
    main()
