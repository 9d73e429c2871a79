"""What all workloads share: sizes, clocks, records, and the check that answers are right."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from lakes import PostgresServer, start_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OURS = "ours"


@dataclass(frozen=True)
class Size:
    """How large the workloads are. Figures of different sizes cannot be compared."""

    name: str
    scale: str  # of TPC-H
    runs: int
    commits: int  # one-row commits
    batches: int  # commits of 1,000 rows
    statements: int  # of DDL
    snapshots: int  # to travel among
    listed: tuple[int, ...]  # numbers of files to plan over
    small_files: int  # to compact, and to add
    writers: tuple[int, ...]
    minutes: float  # for a workload, unless it asks for more


SIZES = {
    "small": Size("small", "0.01", 2, 20, 5, 20, 100, (100, 3_000), 20, (1, 4), 2),
    "default": Size(
        *("default", "1", 2, 1_000, 100, 200, 5_000, (1_000, 10_000, 100_000), 1_000),
        writers=(1, 4, 16),
        minutes=1.5,
    ),
    "large": Size(
        *("large", "10", 5, 5_000, 500, 1_000, 10_000, (1_000, 10_000, 100_000), 10_000),
        writers=(1, 4, 16),
        minutes=60,
    ),
}


@dataclass(frozen=True)
class Record:
    """The figures of one side of one case.

    Attributes:
        ratio: our median over this side's: below one, ours is faster. None for ours.
    """

    workload: str
    case: str
    side: str
    unit: str
    cold: float | None
    median: float
    p95: float
    runs: int
    ratio: float | None = None
    note: str = ""


@dataclass
class Bench:
    """Runs the cases of one workload and keeps what they gave."""

    workload: str
    size: Size
    spark_session: Callable[[], SparkSession]
    postgres_server: Callable[[], PostgresServer]
    folder: Path
    deadline: float = math.inf
    records: list[Record] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def spark(self) -> SparkSession:
        """The session that all workloads share; started when the first one asks."""
        return self.spark_session()

    @property
    def is_late(self) -> bool:
        """Whether the time of this workload is over: do no more than is needed."""
        return time.perf_counter() > self.deadline

    def place(self, name: str) -> Path:
        """A new directory."""
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.folder))

    def compare(
        self,
        case: str,
        sides: Mapping[str, Callable[[], Any]],
        *,
        runs: int | None = None,
        unit: str = "s",
        same: bool = True,
    ) -> None:
        """Run the sides in turns: once cold, then hot; all have to give the same rows."""
        times: dict[str, list[float]] = {name: [] for name in sides}
        first: dict[str, Any] = {}
        for turn in range(1 + (runs or self.size.runs)):
            if turn > 0 and self.is_late:
                break
            for name, run in sides.items():
                begin = time.perf_counter()
                answer = run()
                times[name].append(time.perf_counter() - begin)
                if turn == 0:
                    first[name] = answer
        if same:
            self.check(case, first)
        self.keep(case, {name: (spent[0], spent[1:]) for name, spent in times.items()}, unit)

    def each(
        self,
        case: str,
        sides: Mapping[str, Callable[[int], Any]],
        count: int,
        *,
        warm: int = 5,
        unit: str = "ms",
    ) -> None:
        """Run numbered steps, the sides in turns at each step; a step is one figure."""
        times: dict[str, list[float]] = {name: [] for name in sides}
        late: set[str] = set()
        for number in range(count + warm):
            for name, run in sides.items():
                if name in late:
                    continue
                begin = time.perf_counter()
                run(number)
                times[name].append(time.perf_counter() - begin)
                if self.is_late and number > warm + 5:
                    late.add(name)
                    self.notes.append(f"{case}: {name} stopped after {number + 1} steps")
        self.keep(case, {name: (each[0], each[warm:]) for name, each in times.items()}, unit)

    def keep(
        self,
        case: str,
        times: Mapping[str, tuple[float | None, Sequence[float]]],
        unit: str = "s",
        notes: Mapping[str, str] | None = None,
    ) -> None:
        """Make records of seconds, or of plain numbers when the unit is not of time."""
        factor = 1000 if unit == "ms" else 1
        # Where the time was over after the cold run, it has to stand for the hot ones.
        times = {name: (cold, hot or [cold or 0.0]) for name, (cold, hot) in times.items()}
        middle = {name: median(hot) * factor for name, (_, hot) in times.items()}
        for name, (cold, hot) in times.items():
            ours = middle.get(OURS)
            ratio = ours / middle[name] if name != OURS and ours and middle[name] else None
            self.records.append(
                Record(
                    *(self.workload, case, name, unit),
                    cold=None if cold is None else cold * factor,
                    median=middle[name],
                    p95=percentile(hot, 0.95) * factor,
                    runs=len(hot),
                    ratio=ratio,
                    note=(notes or {}).get(name, ""),
                )
            )

    def check(self, case: str, answers: Mapping[str, Any]) -> None:
        """All sides have to have given the same rows, in whatever order."""
        shown = {name: canonical(rows) for name, rows in answers.items() if rows is not None}
        names = list(shown)
        for name in names[1:]:
            if shown[name] != shown[names[0]]:
                self.wrong.append(f"{self.workload}, {case}: {names[0]} and {name} differ")

    def skip(self, what: str) -> None:
        """Say what could not be measured, and why."""
        self.notes.append(what)


def percentile(values: Sequence[float], share: float) -> float:
    """The value below or at which that share of the values lies."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def canonical(rows: Any) -> Any:
    """Rows in a form that does not depend on the engine: floats rounded, order removed."""
    if not isinstance(rows, list):
        return rows
    return sorted(tuple(_plain(value) for value in row) for row in rows)


def _plain(value: Any) -> str:
    if isinstance(value, bool | str) or value is None:
        return str(value)
    try:
        return f"{float(value):.6g}"
    except (TypeError, ValueError):
        return str(value)


def make_bench(workload: str, size: Size, stack: ExitStack, started: dict[str, Any]) -> Bench:
    """A bench of its own for a workload; session and server are those of the whole run."""

    def spark() -> SparkSession:
        if "spark" not in started:
            started["spark"] = start_spark("benchmarks")
        return started["spark"]

    def postgres() -> PostgresServer:
        if "postgres" not in started:
            started["postgres"] = PostgresServer()
        return started["postgres"]

    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix=f"bench-{workload}-"))
    deadline = time.perf_counter() + size.minutes * 60
    return Bench(workload, size, spark, postgres, Path(folder), deadline)


def as_json(record: Record) -> dict[str, Any]:
    """A record without needless digits."""
    return {
        key: float(f"{value:.4g}") if isinstance(value, float) else value
        for key, value in asdict(record).items()
    }
