"""Run the benchmarks: workloads side by side in one run, as a table and as JSON.

``make bench``, ``make bench SIZE=small``, or by hand ``python benchmarks/run.py --size small
--only append ddl``. Results go to ``benchmarks/results``. The exit code tells whether all sides
gave the same answers.
"""

from __future__ import annotations

import argparse
import datetime as dt
import importlib
import json
import os
import platform
import sys
import time
import traceback
from contextlib import ExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from harness import SIZES, Bench, Record, as_json, make_bench

RESULTS = Path(__file__).parent / "results"
WORKLOADS = (
    "spark_peers",  # before the others have started a Spark, which would take its memory
    *("small_commits", "ddl", "concurrency", "planning", "time_travel", "counts"),
    *("append", "partitioned_write", "add_files", "compaction", "changes", "tpch"),
)


def main() -> int:
    """Run what was asked for."""
    given = parse_arguments()
    started: dict[str, Any] = {}
    begin = time.perf_counter()
    benches = []
    try:
        for name in given.only:
            benches.append(run_workload(name, given.size, started))
            write_results(benches, given, time.perf_counter() - begin)
    finally:
        for thing in started.values():
            thing.stop()
    wrong = [each for bench in benches for each in bench.wrong]
    print(f"\n{len(wrong)} wrong answers; results in {RESULTS}", *wrong, sep="\n")
    return 1 if wrong else 0


def parse_arguments() -> argparse.Namespace:
    """Size and workloads."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--size", choices=SIZES, default="default")
    options.add_argument("--only", nargs="+", choices=WORKLOADS, default=WORKLOADS)
    options.add_argument("--name", default="", help="of the result files; the size if not given")
    return options.parse_args()


def run_workload(name: str, size: str, started: dict[str, Any]) -> Bench:
    """One workload; its failure is a line of the result and stops nothing."""
    print(f"== {name}", flush=True)
    module = importlib.import_module(f"workloads.{name}")
    begin = time.perf_counter()
    with ExitStack() as stack:
        bench = make_bench(name, SIZES[size], stack, started)
        try:
            module.run(bench)
        except Exception as error:
            traceback.print_exc()
            bench.wrong.append(f"{name} failed: {type(error).__name__}: {str(error)[:300]}")
    print(table(bench.records))
    for line in (*bench.notes, *bench.wrong):
        print(f"- {line}")
    print(f"({time.perf_counter() - begin:.0f} s)", flush=True)
    return bench


def write_results(benches: list[Bench], given: argparse.Namespace, seconds: float) -> None:
    """The table and the JSON of what ran so far."""
    RESULTS.mkdir(exist_ok=True)
    name = given.name or given.size
    facts = {"size": given.size, "seconds": round(seconds), **machine()}
    result = {
        "machine": facts,
        "records": [as_json(record) for bench in benches for record in bench.records],
        "notes": [line for bench in benches for line in bench.notes],
        "wrong": [line for bench in benches for line in bench.wrong],
    }
    (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    lines = [table([record for bench in benches for record in bench.records]), ""]
    lines += [f"- {line}" for line in (*result["notes"], *result["wrong"])]  # type: ignore[misc]
    lines += ["", ", ".join(f"{key} {value}" for key, value in facts.items())]
    (RESULTS / f"{name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def machine() -> dict[str, Any]:
    """What the figures depend on besides the code."""
    import duckdb
    import pyspark

    return {
        "day": dt.datetime.now(dt.timezone.utc).strftime("%Y-%m-%d"),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "spark": pyspark.__version__,
        "duckdb": duckdb.__version__,
    }


def table(records: list[Record]) -> str:
    """Markdown: a line for each side, ours first in its case."""
    lines = ["| workload | case | side | cold | median | p95 | runs | ours/side | note |"]
    lines.append("|---|---|---|---:|---:|---:|---:|---:|---|")
    for each in records:
        cold = "" if each.cold is None else number(each.cold)
        ratio = "" if each.ratio is None else f"{each.ratio:.2f}"
        figures = (cold, f"{number(each.median)} {each.unit}", number(each.p95), each.runs, ratio)
        cells = (each.workload, each.case, each.side, *figures, each.note)
        lines.append(f"| {' | '.join(str(cell) for cell in cells)} |")
    return "\n".join(lines)


def number(value: float) -> str:
    """Three digits that matter, or whole."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    sys.exit(main())
