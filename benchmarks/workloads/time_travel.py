"""Queries at 10, 50 and 90 % of the snapshots of a lake, against the latest one.

The table that is asked for never changes; another one makes the snapshots. What is left is the
cost of finding a snapshot among many.
"""

from __future__ import annotations

from harness import OURS, Bench
from lakes import address

QUERY = "SELECT count(*), sum(id) FROM lake.fixed {at} WHERE id % 2 = 0"


def run(bench: Bench) -> None:
    """On SQLite; ours and the extension read the very same lake."""
    place = address("sqlite", bench.place("travel"), "lake")
    con = place.ours(bench.spark)
    con.create_table("fixed", bench.spark.range(100_000))
    con.sql("CREATE TABLE t (id INTEGER)")
    first = con.snapshots().count() - 1
    for number in range(bench.size.snapshots):
        con.sql(f"INSERT INTO t VALUES ({number})")
    other = place.extension()
    cases = {"latest": ""}
    for share in (10, 50, 90):
        version = first + bench.size.snapshots * share // 100
        cases[f"at {share} %"] = f"AT (VERSION => {version})"
    sides = {
        f"{OURS}, {name}": lambda at=at: [tuple(r) for r in con.sql(QUERY.format(at=at)).collect()]
        for name, at in cases.items()
    }
    sides |= {
        f"extension, {name}": lambda at=at: other.execute(QUERY.format(at=at)).fetchall()
        for name, at in cases.items()
    }
    sides = {OURS if name == f"{OURS}, latest" else name: run for name, run in sides.items()}
    bench.compare(f"among {bench.size.snapshots:,} snapshots", sides, runs=2 * bench.size.runs)
    con.close()
    other.close()
