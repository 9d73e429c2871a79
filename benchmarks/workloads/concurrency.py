"""Writers at once on PostgreSQL, each a process that commits rows into one table.

The figure is the time of one commit as a writer sees it, waiting and trying again included.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from harness import OURS, Bench
from lakes import Address, address

READY = "ready"


def run(bench: Bench) -> None:
    """1, 4 and 16 writers."""
    for writers in bench.size.writers:
        times, notes = {}, {}
        for side in (OURS, "extension"):
            place = address("postgres", bench.place(side), "lake", bench.postgres_server())
            con = place.ours()
            con.sql("CREATE TABLE t (id INTEGER, name VARCHAR)")
            con.close()
            commits = max(5, min(bench.size.commits, 200) // writers)
            spent, rate = write_at_once(place, side, writers, commits)
            times[side], notes[side] = (None, spent), f"{rate:.0f} commits a second"
            missing = writers * (commits + 1) - count(place)  # each has committed once before
            if missing:
                bench.wrong.append(f"{writers} writers, {side}: {missing} rows are missing")
        bench.keep(f"commit beside others, {writers} writers", times, "ms", notes=notes)


def count(place: Address) -> int:
    """Rows in the table."""
    con = place.extension()
    rows = con.execute("SELECT count(*) FROM t").fetchone()
    con.close()
    return rows[0] if rows else 0


def write_at_once(
    place: Address, side: str, writers: int, commits: int
) -> tuple[list[float], float]:
    """Seconds of all commits of all writers, who begin together; and commits in a second.

    Each has started, opened the lake and committed once before, so that no figure holds what
    is done only once in a process.
    """
    words = [place.uri, place.data_path, side, str(commits)]
    running = [
        subprocess.Popen(
            [sys.executable, __file__, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(writers)
    ]
    for process in running:
        assert process.stdout is not None
        while process.stdout.readline().strip() not in (READY, ""):
            pass
    start = time.time()
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate()[0] for process in running]
    answers = [json.loads(text.splitlines()[-1]) for text in outputs]
    whole = max(end for _, end in answers) - start
    return [seconds for times, _ in answers for seconds in times], writers * commits / whole


def main() -> None:
    """One writer: open the lake, commit once, wait for the others, commit."""
    uri, data_path, side, commits = sys.argv[1:]
    place = Address("postgres", uri, data_path)
    con = place.ours() if side == OURS else place.extension()
    run_sql = con.sql if side == OURS else con.execute
    if side != OURS:
        run_sql("SET ducklake_max_retry_count = 1000")
    commit(run_sql, -1)
    print(READY, flush=True)
    sys.stdin.readline()
    times = [commit(run_sql, number) for number in range(int(commits))]
    print(json.dumps((times, time.time())))


def commit(run_sql: Callable[[str], Any], number: int) -> float:
    """Insert a row, and again after a lost race: whoever wants the row tries again."""
    begin = time.perf_counter()
    while True:
        try:
            run_sql(f"INSERT INTO t VALUES ({number}, 'name')")
            return time.perf_counter() - begin
        except Exception:  # noqa: PERF203 - races are lost seldom
            if time.perf_counter() - begin > 120:
                raise


if __name__ == "__main__":
    main()
