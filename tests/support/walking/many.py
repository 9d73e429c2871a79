"""Lets several writers change one lake at once, and verifies every snapshot that they made."""

from __future__ import annotations

import queue
import random
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from support.faults import processes
from support.walking.deeds import Commit, Intent
from support.walking.engines import Engines
from support.walking.looking import Difference, Looker
from support.walking.plain import Plain
from support.walking.steps import Statement, Step
from support.walking.writers import (
    DuckWriter,
    Log,
    OurWriter,
    kinds_of,
    run_process,
    write,
)

if TYPE_CHECKING:
    from support.lakes import LakeLocation

PATIENCE = 240  # seconds that the slowest writer may take


def tables(kinds: Sequence[str]) -> list[Statement]:
    """The table that all change, and one for each DuckDB."""
    names = ["t", *(f"d{number}" for number, kind in enumerate(kinds) if kind == "duckdb")]
    return [
        Statement(f"CREATE TABLE {name} (id BIGINT, name VARCHAR)", table=name) for name in names
    ]


def in_threads(engines: Engines, kinds: Sequence[str], seed: int, count: int) -> list[Log]:
    """Writers in threads of this process: connections and cursors of ours, and DuckDB.

    DuckDB has an SQLite of its own. Two libraries in one process drop each other's locks of a file
    (sqlite.org/howtocorrupt.html, 2.2.1), so on SQLite it writes from a process beside the threads.
    """
    logs: list[Log] = [Log() for _ in kinds]
    context = processes()
    start, results = context.Barrier(len(kinds)), context.Queue()
    apart = [
        n for n, kind in enumerate(kinds) if kind == "duckdb" and engines.location.kind == "sqlite"
    ]
    opened = {n: _open(engines, kind) for n, kind in enumerate(kinds) if n not in apart}

    def work(number: int) -> None:
        kind = kinds[number]
        try:
            start.wait(60)
            intent = Intent(seed, number, kinds_of(kind, number))
            logs[number] = write(opened[number], f"{kind} {number}", intent, count=count)
        except Exception as error:
            logs[number].error = f"{kind} {number}: {type(error).__name__}: {error}"

    beside = [
        context.Process(
            target=run_process,
            args=(engines.location, kinds[n], n, seed, count, start, results),
        )
        for n in apart
    ]
    for process in beside:
        process.start()
    _run([threading.Thread(target=work, args=(n,), daemon=True) for n in opened])
    for number, process in zip(apart, beside, strict=True):
        logs[number] = _result(results)
        process.join(30)
    for writer in opened.values():
        writer.close()
    return logs


def _open(engines: Engines, kind: str) -> Any:
    if kind == "duckdb":
        return DuckWriter(engines.location)
    con = engines.ours("a").cursor() if kind == "cursor" else engines.connect()
    return OurWriter(con)


def in_processes(location: LakeLocation, kinds: Sequence[str], seed: int, count: int) -> list[Log]:
    """Writers in processes, which share nothing but the lake."""
    context = processes()
    start, results = context.Barrier(len(kinds)), context.Queue()
    started = [
        context.Process(
            target=run_process, args=(location, kind, number, seed, count, start, results)
        )
        for number, kind in enumerate(kinds)
    ]
    for process in started:
        process.start()
    logs = [_result(results) for _ in started]
    for process in started:
        process.join(30)
    return logs


def _result(results: Any) -> Log:
    try:
        log: Log = results.get(timeout=PATIENCE)
    except queue.Empty:
        return Log(error="a writer gave no sign of life")
    return log


def _run(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads), "a writer does not come to an end"


def write_together(
    engines: Engines, kinds: Sequence[str], let: Callable[[], list[Log]]
) -> tuple[Plain, list[Log]]:
    """Make the tables, let the writers write, and replay what they committed in its order."""
    plain, newest = Plain(), 0
    for number, statement in enumerate(tables(kinds)):
        step = Step(number, "a", "create", (statement,))
        plain.apply(step)
        engines.take(step, [])
        newest = engines.newest("a")
        plain.keep(newest)
    logs = let()
    errors = [log.error for log in logs if log.error]
    assert not errors, errors
    commits = sorted((c for log in logs for c in log.commits), key=lambda c: c.snapshot)
    numbers = [commit.snapshot for commit in commits]
    latest = engines.newest("a")
    assert numbers == list(range(newest + 1, latest + 1)), "each snapshot is somebody's"
    for commit in commits:
        replay(plain, commit)
    return plain, logs


def replay(plain: Plain, commit: Commit) -> None:
    """Do in plain DuckDB what a snapshot did."""
    statements = tuple(deed.statement for deed in commit.deeds)
    plain.apply(Step(commit.snapshot, commit.writer, "commit", statements))
    plain.keep(commit.snapshot)


def verify(plain: Plain, engines: Engines, logs: Sequence[Log], *, seed: int, reads: int) -> None:
    """Every snapshot in DuckDB, some here, feeds of ours; and the lake is sound.

    Writers at once never meet twice in the same way: a difference tells all there is to know of it.
    """
    try:
        _look_at_all(plain, engines, logs, seed=seed, reads=reads)
    except Difference as error:
        raise Difference(error.check, f"{error}\n{_commits(logs)}\n{_catalog(engines)}") from error


def _commits(logs: Sequence[Log]) -> str:
    """Which snapshot is whose, and how often each was refused."""
    commits = sorted((c for log in logs for c in log.commits), key=lambda c: c.snapshot)
    told = [f"{c.snapshot} {c.writer}: {'; '.join(d.told for d in c.deeds)}" for c in commits]
    return "\n".join([f"refused: {[log.refused for log in logs]}", *told])


def _catalog(engines: Engines) -> str:
    """The rows of the catalog that say which rows a snapshot shows."""
    db = engines.ours("a").current_lake().db
    inlined = db.fetch(f"SELECT table_name FROM {db.table('ducklake_inlined_data_tables')}")
    names = ["ducklake_data_file", "ducklake_delete_file", *(str(row[0]) for row in inlined)]
    parts = []
    for name in names:
        parts += [f"{name}:", *map(str, db.fetch(f"SELECT * FROM {db.table(name)}"))]
    return "\n".join(parts)


def _look_at_all(
    plain: Plain, engines: Engines, logs: Sequence[Log], *, seed: int, reads: int
) -> None:
    look, rng = Looker(plain, engines), random.Random(seed)
    versions = sorted(plain.versions)
    for version in versions:
        for table in plain.versions[version].shapes:
            look.rows("duckdb", table, version)
    for version in [*rng.sample(versions, min(reads, len(versions))), versions[-1]]:
        for table in plain.versions[version].shapes:
            look.rows(rng.choice(["a", "b"]), table, version)
    for _ in range(max(reads // 3, 1)):
        start, end = sorted(rng.sample(versions[2:], 2))
        if "t" in plain.versions[end].shapes:
            look.feed("a", "t", start, end)
    findings = [row for row in engines.ours("a").check().collect() if not _is_known(row, logs)]
    assert findings == [], findings


def _is_known(finding: Any, logs: Sequence[Log]) -> bool:
    """Whether check() finds a time that the extension gave a snapshot ("its snapshot times")."""
    if finding["check"] != "snapshot-times":
        return False
    number = int(finding["object"].split()[-1])
    makers = [c.writer for log in logs for c in log.commits if c.snapshot == number]
    return bool(makers) and makers[0].startswith("duckdb")
