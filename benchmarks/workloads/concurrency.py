"""Writers at once on PostgreSQL, each a process that commits rows into one table.

The figure is the time of one commit as a writer sees it, waiting and trying again included.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from harness import OURS, Bench
from lakes import Address, address


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
            missing = writers * commits - count(place)
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
    """Seconds of all commits of all writers, who begin together; and commits in a second."""
    start = str(time.time() + 3 + writers * 0.7)
    words = [place.uri, place.data_path, side, start, str(commits)]
    running = [
        subprocess.Popen([sys.executable, __file__, *words], stdout=subprocess.PIPE, text=True)
        for _ in range(writers)
    ]
    outputs = [process.communicate()[0] for process in running]
    answers = [json.loads(text.splitlines()[-1]) for text in outputs]
    whole = max(end for _, end in answers) - float(start)
    return [seconds for times, _ in answers for seconds in times], writers * commits / whole


def main() -> None:
    """One writer: open the lake, wait for the start, commit."""
    uri, data_path, side, start, commits = sys.argv[1:]
    place = Address("postgres", uri, data_path)
    con = place.ours() if side == OURS else place.extension()
    run_sql = con.sql if side == OURS else con.execute
    if side != OURS:
        run_sql("SET ducklake_max_retry_count = 1000")
    time.sleep(max(0.0, float(start) - time.time()))
    times = []
    for number in range(int(commits)):
        begin = time.perf_counter()
        while True:
            try:
                run_sql(f"INSERT INTO t VALUES ({number}, 'name')")
                break
            except Exception:  # a lost race: whoever wants the row tries again
                if time.perf_counter() - begin > 120:
                    raise
        times.append(time.perf_counter() - begin)
    print(json.dumps((times, time.time())))


if __name__ == "__main__":
    main()
