"""DELETE, UPDATE and MERGE of 0.01 %, 1 % and 10 % of lineitem, scattered over all files.

Ours and the extension each change a lake of their own, with the same statements. Half of the rows
that are merged are new. Then a scan of 100 files, before and after a delete from each of them.
"""

from __future__ import annotations

import time
from typing import Any

from harness import OURS, Bench
from lakes import address, tpch_file

SHARES = {"0.01 %": 10_000, "1 %": 100, "10 %": 10}
CHECK = "SELECT count(*), sum(l_quantity), sum(l_linenumber), max(l_comment) FROM lake.lineitem"
STATEMENTS = {
    "UPDATE": "UPDATE lineitem SET l_quantity = l_quantity + 1 WHERE l_orderkey % {of} = 1",
    "MERGE": (
        "MERGE INTO lineitem AS t USING source AS s "
        "ON t.l_orderkey = s.l_orderkey AND t.l_linenumber = s.l_linenumber "
        "WHEN MATCHED THEN UPDATE SET l_quantity = s.l_quantity "
        "WHEN NOT MATCHED THEN INSERT *"
    ),
    "DELETE": "DELETE FROM lineitem WHERE l_orderkey % {of} = 2",
}
SOURCE = (
    "SELECT * REPLACE (l_quantity + 2 AS l_quantity, "
    "CASE WHEN l_linenumber % 2 = 0 THEN l_orderkey ELSE -l_orderkey END AS l_orderkey) "
    "FROM lineitem WHERE l_orderkey % {of} = 3"
)
FILES = 100


def run(bench: Bench) -> None:
    """One statement of each kind and share; the lakes are compared at the end."""
    folder = bench.place("changes")
    path = tpch_file("lineitem", bench.size.scale)
    con = address("sqlite", folder, "ours").ours(bench.spark)
    con.create_table("lineitem", bench.spark.read.parquet(str(path)))
    other = address("sqlite", folder, "theirs").extension()
    other.execute(f"CREATE TABLE lineitem AS SELECT * FROM read_parquet('{path}')")
    for kind, text in STATEMENTS.items():
        for share, of in SHARES.items():
            if kind == "MERGE":
                make_source(bench, con, other, of)
            change(bench, f"{kind} of {share}", (con, other), text.format(of=of))
    answers = {
        OURS: [tuple(row) for row in con.sql(CHECK).collect()],
        "extension": other.execute(CHECK).fetchall(),
    }
    bench.check("rows after changes", answers)
    other.close()
    read_after_delete(bench, con)
    con.close()


def change(bench: Bench, case: str, sides: tuple[Any, Any], text: str) -> None:
    """One statement on both."""
    con, other = sides
    both = {OURS: lambda _: con.sql(text), "extension": lambda _: other.execute(text)}
    bench.each(case, both, 1, warm=0, unit="s")


def make_source(bench: Bench, con: Any, other: Any, of: int) -> None:
    """The rows to merge, as a table of each side's own engine."""
    rows = con.sql(SOURCE.format(of=of)).toArrow()
    bench.spark.createDataFrame(rows).createOrReplaceTempView("source")
    other.register("source", rows)


def read_after_delete(bench: Bench, con: Any) -> None:
    """One scan of many files at the snapshots before and after a delete from each of them."""
    path = tpch_file("lineitem", bench.size.scale)
    con.create_table("split", bench.spark.read.parquet(str(path)).repartition(FILES))
    before = con.sql("SELECT max(snapshot_id) FROM lake.snapshots()").collect()[0][0]
    con.sql("DELETE FROM split WHERE l_orderkey % 100 = 2")
    bench.deadline = time.perf_counter() + 60
    scan = "SELECT sum(l_quantity), sum(l_extendedprice), max(l_comment) FROM lake.split"
    sides = {
        OURS: lambda: con.sql(scan).collect(),
        "ours, before": lambda: con.sql(f"{scan} AT (VERSION => {before})").collect(),
    }
    bench.compare(f"scan of {FILES} files after a delete from each", sides, same=False, runs=4)
