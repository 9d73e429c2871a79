"""Merging small files into large ones."""

from __future__ import annotations

from harness import OURS, Bench
from lakes import Address, address

CHECK = "SELECT count(*), sum(id), min(name), max(name) FROM lake.t"


def run(bench: Bench) -> None:
    """The extension makes both lakes, so that both sides find the same."""
    folder, count = bench.place("compaction"), bench.size.small_files
    mine, its = (address("sqlite", folder, name) for name in ("ours", "theirs"))
    for place in (mine, its):
        make_lake(place, count)
    con, other = mine.ours(bench.spark), its.extension()
    bench.each(
        f"merge {count:,} files of 100 rows",
        {
            OURS: lambda _: con.merge_adjacent_files(),
            "extension": lambda _: other.execute("CALL ducklake_merge_adjacent_files('lake')"),
        },
        1,
        warm=0,
        unit="s",
    )
    answers = {
        OURS: [tuple(row) for row in con.sql(CHECK).collect()],
        "extension": other.execute(CHECK).fetchall(),
    }
    bench.check("rows after merging", answers)
    con.close()
    other.close()


def make_lake(place: Address, count: int) -> None:
    """A table of `count` files, added in one transaction."""
    con = place.extension()
    con.execute("CALL lake.set_option('data_inlining_row_limit', 0)")
    con.execute("CREATE TABLE t (id BIGINT, name VARCHAR)")
    con.execute("BEGIN")
    for number in range(count):
        con.execute(f"INSERT INTO t SELECT i + {number * 100}, 'name ' || i FROM range(100) r(i)")
    con.execute("COMMIT")
    con.close()
