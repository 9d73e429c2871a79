"""DELETE, UPDATE and MERGE of 0.01 %, 1 % and 10 % of lineitem, scattered over all files.

Ours and the extension each change a lake of their own, with the same statements.
"""

from __future__ import annotations

from typing import Any

from harness import OURS, Bench
from lakes import address, tpch_file

from ducklake_spark.errors import DuckLakeError

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
SOURCE = "SELECT * REPLACE (l_quantity + 2 AS l_quantity) FROM lineitem WHERE l_orderkey % {of} = 3"


def run(bench: Bench) -> None:
    """One statement of each kind and share; the lakes are compared at the end."""
    folder = bench.place("changes")
    path = tpch_file("lineitem", bench.size.scale)
    con = address("sqlite", folder, "ours").ours(bench.spark)
    con.create_table("lineitem", bench.spark.read.parquet(str(path)))
    other = address("sqlite", folder, "theirs").extension()
    other.execute(f"CREATE TABLE lineitem AS SELECT * FROM read_parquet('{path}')")
    merges = can_merge(con)
    if not merges:
        bench.skip("MERGE: not measured, because it does not exist yet")
    for kind, text in STATEMENTS.items():
        for share, of in SHARES.items():
            if kind == "MERGE":
                if not merges:
                    continue
                make_source(bench, con, other, of)
            change(bench, f"{kind} of {share}", (con, other), text.format(of=of))
    answers = {
        OURS: [tuple(row) for row in con.sql(CHECK).collect()],
        "extension": other.execute(CHECK).fetchall(),
    }
    bench.check("rows after changes", answers)
    con.close()
    other.close()


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


def can_merge(con: Any) -> bool:
    """Whether the statement is known."""
    con.sql("CREATE TABLE probe (id INTEGER)")
    try:
        con.sql(
            "MERGE INTO probe t USING probe s ON t.id = s.id WHEN MATCHED THEN UPDATE SET id = s.id"
        )
    except DuckLakeError:
        return False
    finally:
        con.sql("DROP TABLE probe")
    return True
