"""Planning a selective query over many files: time, catalog statements, rows fetched, memory.

The metadata is made up: one file is real, the others exist in the catalog only, so that a plan that
listed one of them would fail when it is run. Each row of the case "100 files, no filter" is what
the others are held against. Before each run somebody commits to another table, so that nothing of
the snapshot is known; "ours, once more" asks again at the same snapshot, for other rows, and
"ours, changed" after a commit to the table itself.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from harness import OURS, Bench
from lakes import address

COLUMNS = "id BIGINT, day DATE, name VARCHAR, amount DECIMAL(12,2)"
ROWS = 1000  # of a file
WHOLE = "SELECT id FROM lake.t"
SELECTIVE = WHOLE + " WHERE id BETWEEN {low} AND {high}"


AGAIN = "ours, once more"
CHANGED = "ours, changed"
WHOLE_SIDE = "100 files, no filter"


@dataclass
class Counters:
    """What a query cost besides time."""

    statements: int = 0
    rows: int = 0
    calls: int = 0
    megabytes: float = 0.0


@dataclass
class Planned:
    """Seconds from the text of a query to its plan, and the counters of the last run."""

    times: list[float] = field(default_factory=list)
    counters: Counters = field(default_factory=Counters)


def run(bench: Bench) -> None:
    """SQLite and PostgreSQL; the same three numbers of files."""
    for kind in ("sqlite", "postgres"):
        baseline = measure(bench, kind, 100, selective=False)
        for count in bench.size.listed:
            if bench.is_late:
                bench.skip(f"planning of {count:,} files on {kind}: no time left")
                continue
            first, again, changed = measure(bench, kind, count, selective=True)
            sides = {OURS: first, AGAIN: again, CHANGED: changed, WHOLE_SIDE: baseline[0]}
            bench.keep(
                f"one of {count:,} files, {kind}",
                {side: (each.times[0], each.times[1:]) for side, each in sides.items()},
                "ms",
                notes={side: describe(each.counters) for side, each in sides.items()},
            )


def describe(counters: Counters) -> str:
    """The counters in words."""
    return (
        f"{counters.statements} statements, {counters.rows:,} rows fetched, "
        f"{counters.calls} Py4J calls, driver +{counters.megabytes:.0f} MB"
    )


def measure(bench: Bench, kind: str, count: int, *, selective: bool) -> tuple[Planned, ...]:
    """Plan a query after a commit to another table, once more, and after a change of the table."""
    server = bench.postgres_server() if kind == "postgres" else None
    place = address(kind, bench.place(f"{kind}{count}"), "lake", server)
    con = place.ours(bench.spark)
    con.sql(f"CREATE TABLE t ({COLUMNS})")
    con.sql("CREATE TABLE other (id BIGINT)")
    real = count // 2
    append_real(bench, con, real)
    db = con._lake(None).db
    make_up(db, count, real)
    first, again, changed = Planned(), Planned(), Planned()
    for number in range(2 + bench.size.runs):
        con.sql("INSERT INTO other VALUES (1)")
        for offset, planned in ((10, first), (100, again), (200, changed)):
            if planned is changed:
                con.sql("INSERT INTO t VALUES (-1, NULL, NULL, NULL)")
            low = real * ROWS + offset + number
            query = SELECTIVE.format(low=low, high=low + 5) if selective else WHOLE
            plan(bench, con, query, planned, selective=selective)
    if selective:
        found = [tuple(row) for row in con.sql(query).collect()]
        expected = [(number,) for number in range(low, low + 6)]
        bench.check(f"one of {count:,} files, {kind}", {OURS: found, "expected": expected})
    con.close()
    return first, again, changed


def plan(bench: Bench, con: Any, query: str, planned: Planned, *, selective: bool) -> None:
    """Add one run."""
    with counted(bench, con._lake(None).db) as counters:
        begin = time.perf_counter()
        frame = con.sql(query)
        if selective:
            frame._jdf.queryExecution().executedPlan().execute()
        else:
            relation_files(frame)
        planned.times.append(time.perf_counter() - begin)
    planned.counters = counters


def relation_files(frame: Any) -> None:
    """Ask the scan for its files without looking at them: most do not exist."""
    from ducklake_spark.spark import relation

    check, relation.check_files = relation.check_files, lambda files, label: None
    try:
        frame._jdf.queryExecution().executedPlan().execute()
    finally:
        relation.check_files = check


def append_real(bench: Bench, con: Any, number: int) -> None:
    """The one file that is there, with the ids that its number promises."""
    rows = bench.spark.range(number * ROWS, (number + 1) * ROWS, 1, 1)
    shape = "id", "date'2020-01-01' AS day", "'name' AS name", "1.5BD AS amount"
    con.append("t", rows.selectExpr(*shape))


def make_up(db: Any, count: int, real: int) -> None:
    """Rows of the catalog for files that nobody wrote, next to the real one."""
    from ducklake_spark.catalog_db.tables import DATA_FILE, FILE_COLUMN_STATS

    table, snapshot, file_id = db.fetch(
        "SELECT table_id, begin_snapshot, data_file_id FROM " + db.table(DATA_FILE.name)
    )[0]
    stats = db.select(FILE_COLUMN_STATS)
    id_column = min(row[FILE_COLUMN_STATS.column_names.index("column_id")] for row in stats)
    names = FILE_COLUMN_STATS.column_names
    whole = db.select(DATA_FILE)[0]
    files, bounds = [], []
    for number in range(count):
        if number == real:
            continue
        new_id = file_id + 1 + number
        values = {"data_file_id": new_id, "path": f"made-up-{number}.parquet"}
        files.append(replaced(DATA_FILE.column_names, whole, values))
        for row in stats:
            given: dict[str, Any] = {"data_file_id": new_id}
            if row[names.index("column_id")] == id_column:
                low = number * ROWS
                given |= {"min_value": str(low), "max_value": str(low + ROWS - 1)}
            bounds.append(replaced(names, row, given))
    for start in range(0, len(files), 20_000):
        db.insert(DATA_FILE, files[start : start + 20_000])
    for start in range(0, len(bounds), 20_000):
        db.insert(FILE_COLUMN_STATS, bounds[start : start + 20_000])
    assert table is not None and snapshot is not None


def replaced(names: Any, row: tuple[Any, ...], values: dict[str, Any]) -> tuple[Any, ...]:
    """The row with some of its values changed."""
    return tuple(values.get(name, value) for name, value in zip(names, row, strict=True))


@contextmanager
def counted(bench: Bench, db: Any) -> Iterator[Counters]:
    """Count statements, rows, calls into the JVM and memory inside."""
    counters = Counters()
    client = bench.spark.sparkContext._gateway._gateway_client
    send, session = client.send_command, db._session
    rows, rows_of_all = session.rows, session.rows_of_all
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def counted_send(*words: Any, **options: Any) -> Any:
        counters.calls += 1
        return send(*words, **options)

    def counted_rows(sql: str, params: Any) -> Any:
        found = rows(sql, params)
        counters.rows += len(found)
        return found

    def counted_all(queries: Any) -> Any:
        found = rows_of_all(queries)
        counters.rows += sum(map(len, found))
        return found

    client.send_command = counted_send
    session.rows, session.rows_of_all = counted_rows, counted_all
    db.trace = []
    try:
        yield counters
    finally:
        counters.statements = len(db.trace)
        counters.megabytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        db.trace = None
        client.send_command = send
        session.rows, session.rows_of_all = rows, rows_of_all
