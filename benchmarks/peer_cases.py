"""The child of the workload `spark_peers`: ours, Delta and Iceberg in one Spark session.

It runs in the environment of ``scripts/setup_peers.sh`` and writes what it measured as JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import math
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from harness import SIZES, Bench
from peer_sides import BEST, DEFAULTS, Side, make_sides, start_session
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from tpch_queries import QUERIES

MAIN_SHARE = "1 %"
SHARES = {"1 %": 100, "0.01 %": 10_000, "10 %": 10}
STATEMENTS = {
    "DELETE": "DELETE FROM {{table}} WHERE l_orderkey % {of} = 2",
    "UPDATE": "UPDATE {{table}} SET l_quantity = l_quantity + 1 WHERE l_orderkey % {of} = 1",
    "MERGE": (
        "MERGE INTO {{table}} AS t USING merged AS s "
        "ON t.l_orderkey = s.l_orderkey AND t.l_linenumber = s.l_linenumber "
        "WHEN MATCHED THEN UPDATE SET l_quantity = s.l_quantity "
        "WHEN NOT MATCHED THEN INSERT *"
    ),
}
# As text, so that sides that differ in the last digit differ.
CHECK = (
    "SELECT CAST(count(*) AS STRING), CAST(sum(l_quantity) AS STRING), "
    "CAST(sum(l_extendedprice) AS STRING), CAST(sum(l_orderkey) AS STRING), "
    "CAST(sum(l_linenumber) AS STRING) FROM {table}"
)
TABLE = "lineitem"
RUNS = {"small": 1, "default": 3, "large": 5}
ONCE = "MERGE"  # it takes long, and so is moved less by what the machine does besides
TWICE = "append"  # whoever begins pays for what is compiled: the first is cold, the second counts
COMMITS = 20


class Cases:
    """Runs statements on all sides, each from the same rows, and compares what they leave."""

    def __init__(self, bench: Bench, sides: list[Side], name: str = "") -> None:
        self.bench, self.sides, self.name = bench, sides, name
        self.runs = RUNS[bench.size.name]
        self._first = itertools.count()

    def append(self, frame: DataFrame) -> None:
        """All rows into an empty table; what it holds then is where the changes start from."""
        frame.createOrReplaceTempView("appended")
        self._time(
            f"append of {TABLE}",
            lambda side: side.run(TABLE, "INSERT INTO {table} SELECT * FROM appended"),
            before=lambda side: side.create(TABLE, frame),
        )
        for side in self.sides:
            side.remember(TABLE)

    def change(self, kind: str, share: str) -> None:
        """One statement, from the rows of the append."""
        text = STATEMENTS[kind].format(of=SHARES[share])
        self._time(
            f"{kind} of {share}", lambda side: side.run(TABLE, text), before=self._start_over
        )

    def scan(self, query: str, after: str) -> None:
        """A query of TPC-H over what the last change left."""
        text = QUERIES[query].replace("FROM lineitem", "FROM {table}")
        self._time(f"{query} after {after}", lambda side: side.run(TABLE, text), compare=True)

    def commit(self) -> None:
        """One-row INSERTs."""
        frame = self.bench.spark.createDataFrame([], "k bigint, v string")
        for side in self.sides:
            side.create("small", frame)
        text = "INSERT INTO {{table}} VALUES ({0}, 'row {0}')"
        # A side that the time cut short would have other rows.
        replace(self.bench, deadline=math.inf).each(
            f"one-row INSERT, {COMMITS} commits",
            {s.name: lambda n, s=s: s.run("small", text.format(n)) for s in self.sides},
            COMMITS,
            warm=2,
        )
        count = "SELECT count(*), sum(k) FROM {table}"
        self.bench.check("rows after commits", {s.name: s.run("small", count) for s in self.sides})

    def _start_over(self, side: Side) -> None:
        """The rows of the append again, with the table's metadata at hand."""
        side.restore(TABLE)
        side.run(TABLE, "SELECT count(*) FROM {table}")

    def _time(
        self,
        case: str,
        act: Callable[[Side], list[Any]],
        *,
        before: Callable[[Side], None] | None = None,
        compare: bool = False,
    ) -> None:
        """The sides in turns, beginning with another one each time."""
        times: dict[str, list[float]] = {side.name: [] for side in self.sides}
        work: dict[str, list[float]] = {side.name: [] for side in self.sides}
        answers: dict[str, list[Any]] = {}
        for turn in range(self._runs(case)):
            first = next(self._first) % len(self.sides)
            for side in self.sides[first:] + self.sides[:first]:
                if before:
                    before(side)
                begin, used = time.perf_counter(), processor_seconds()
                answer = act(side)
                times[side.name].append(time.perf_counter() - begin)
                work[side.name].append(processor_seconds() - used)
                if turn == 0:
                    answers[side.name] = answer if compare else side.run(TABLE, CHECK)
        case += self.name
        self.bench.check(case, answers)
        cold = 1 if case.startswith(TWICE) else 0
        # Where a Python worker has ended meanwhile, its time is missing in the later sum.
        notes = {
            name: f"{median(each[cold:]):.1f} s of processors" if min(each) > 0 else ""
            for name, each in work.items()
        }
        sides = {name: (t[0] if cold else None, t[cold:]) for name, t in times.items()}
        self.bench.keep(case, sides, notes=notes)

    def _runs(self, case: str) -> int:
        if case.startswith(TWICE):
            return 1 + max(1, self.runs // 3)
        return max(1, self.runs // 3) if case.startswith(ONCE) else self.runs


def run_main_cases(cases: Cases, frame: DataFrame) -> None:
    """Append, changes of 1 %, and scans of what they leave."""
    cases.append(frame)
    change_share(cases, frame, MAIN_SHARE)
    for query in ("Q1", "Q6"):
        cases.scan(query, after=f"MERGE of {MAIN_SHARE}")


def change_share(cases: Cases, frame: DataFrame, share: str) -> None:
    """A DELETE, an UPDATE and a MERGE of that share of the rows."""
    make_merged(frame, SHARES[share], cases.bench.place("merged"))
    for kind in STATEMENTS:
        cases.change(kind, share)


def make_merged(frame: DataFrame, of: int, folder: Path) -> None:
    """The rows to merge, in a file that all sides read; every other one is new."""
    is_known = F.col("l_linenumber") % 2 == 0
    rows = frame.where(F.col("l_orderkey") % of == 3).withColumns(
        {
            "l_orderkey": F.when(is_known, F.col("l_orderkey")).otherwise(-F.col("l_orderkey")),
            "l_quantity": (F.col("l_quantity") + 2).cast(frame.schema["l_quantity"].dataType),
        }
    )
    rows.coalesce(1).write.mode("overwrite").parquet(str(folder))
    frame.sparkSession.read.parquet(str(folder)).createOrReplaceTempView("merged")


def processor_seconds() -> float:
    """What this process, its JVM and their Python workers have used; zero where /proc is not."""
    ticks: dict[str, int] = {}
    parents: dict[str, str] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            fields = path.read_text().rpartition(")")[2].split()
            parents[path.parent.name] = fields[1]
            ticks[path.parent.name] = sum(map(int, fields[11:15]))
    found, family = {str(os.getpid())}, set()
    while found:
        family |= found
        found = {each for each, parent in parents.items() if parent in found}
    return sum(ticks.get(each, 0) for each in family) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """The peers at their best, whatever it takes; then what the time allows."""
    given = parse_arguments()
    spark = start_session(given.jars, given.folder)
    bench = Bench("spark_peers", SIZES[given.size], lambda: spark, no_server, given.folder)
    try:
        frame = spark.read.parquet(str(given.rows))
        cases = rehearsed(bench, given, Cases(bench, new_sides(bench, BEST)))
        bench.deadline = time.perf_counter() + given.seconds
        run_main_cases(cases, frame)
        cases.commit()
        for share in SHARES:
            if share != MAIN_SHARE:
                within_time(
                    bench, f"changes of {share}", partial(change_share, cases, frame, share)
                )
        defaults = Cases(bench, new_sides(bench, DEFAULTS), ", default modes")
        within_time(
            bench,
            "the default modes of Delta and Iceberg",
            lambda: run_main_cases(rehearsed(bench, given, defaults), frame),
        )
    finally:
        write_result(given.result, bench)
    spark.stop()


def parse_arguments() -> argparse.Namespace:
    """What the workload says."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--size", choices=SIZES, required=True)
    options.add_argument("--seconds", type=float, required=True)
    for name in ("--warm", "--rows", "--jars", "--folder", "--result"):
        options.add_argument(name, type=Path, required=True)
    return options.parse_args()


def no_server() -> Any:
    """A bench wants to know where a PostgreSQL is; nobody asks for it here."""
    raise NotImplementedError


def new_sides(bench: Bench, names: Iterable[str]) -> list[Side]:
    """Ours and peers in a place of their own."""
    return make_sides(bench.spark, bench.place("sides"), names)


def rehearsed(bench: Bench, given: argparse.Namespace, cases: Cases) -> Cases:
    """Go through the cases with a few rows first, which compiles what they run.

    A plain copy of all rows then warms what reads and writes Parquet. Otherwise the side that
    begins would pay for it.
    """
    unseen = replace(bench, records=[], notes=[])
    sides = new_sides(bench, [side.name for side in cases.sides[1:]])
    run_main_cases(Cases(unseen, sides), bench.spark.read.parquet(str(given.warm)))
    for side in sides:
        side.close()
    bench.spark.read.parquet(str(given.rows)).write.parquet(f"{bench.place('copy')}/rows")
    return cases


def within_time(bench: Bench, what: str, run: Callable[[], object]) -> None:
    """Do it, or say that no time was left."""
    if bench.is_late:
        bench.skip(f"no time was left for {what}")
    else:
        run()


def write_result(path: Path, bench: Bench) -> None:
    """What the parent reads."""
    records = [asdict(record) for record in bench.records]
    result = {"records": records, "notes": bench.notes, "wrong": bench.wrong}
    path.write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
