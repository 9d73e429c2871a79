"""TPC-H, all 22 queries: over a fresh lake, after scattered deletes, and after schema changes.

Ours starts from the text of the query with `con.sql`, the floor from `spark.read.parquet` on the
lake's own files and `spark.sql`, in one session. DuckDB reads the same lake and checks the rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

from harness import OURS, Bench
from lakes import TPCH_TABLES, Address, address, tpch_file
from tpch_queries import QUERIES

MINUTES = {"small": 3.0, "default": 7.0, "large": 240.0}
DELETED = "after 1 % deletes"
ALTERED = "after 50 schema changes"


def run(bench: Bench) -> None:
    """Three states of one lake, one behind the other."""
    bench.deadline = time.perf_counter() + 60 * MINUTES[bench.size.name]
    place = address("sqlite", bench.place("tpch"), "lake")
    con = place.ours(bench.spark)
    con.sql("CALL lake.set_option('data_inlining_row_limit', 0)")  # the floor needs files of all
    for table in TPCH_TABLES:
        con.create_table(table, bench.spark.read.parquet(str(tpch_file(table, bench.size.scale))))
    floor = floor_of(bench, con)
    fresh = {OURS: ours_of(con), "spark.read.parquet": floor, "extension": theirs_of(place)}
    measure(bench, "fresh", fresh, bench.size.runs)
    con.sql("DELETE FROM lineitem WHERE l_orderkey % 100 = 7")
    con.sql("DELETE FROM orders WHERE o_orderkey % 100 = 7")
    changed = {OURS: ours_of(con), "extension": theirs_of(place)}
    measure(bench, DELETED, changed, 1)
    for number in range(50):
        change_schema(con, number)
    measure(bench, ALTERED, changed, 1)
    con.close()


def change_schema(con: Any, number: int) -> None:
    """Add, rename and promote columns that no query asks for."""
    column, step = divmod(number, 3)
    table = ("lineitem", "orders", "part")[column % 3]
    statement = (
        f"ADD COLUMN added{column} INTEGER DEFAULT {column}",
        f"RENAME added{column} TO renamed{column}",
        f"ALTER renamed{column} SET DATA TYPE BIGINT",
    )[step]
    con.sql(f"ALTER TABLE {table} {statement}")


def ours_of(con: Any) -> Callable[[str], Any]:
    """From text to rows."""
    return lambda text: [tuple(row) for row in con.sql(text).collect()]


def theirs_of(place: Address) -> Callable[[str], Any]:
    """DuckDB on the same lake, as it is now."""
    con = place.extension()
    return lambda text: con.execute(text).fetchall()


def floor_of(bench: Bench, con: Any) -> Callable[[str], Any]:
    """Spark on the lake's own files: the frames are made anew for each query, as ours are."""
    files = {
        table: [
            row[0]
            for row in con.sql(
                f"SELECT data_file FROM ducklake_list_files('lake', '{table}')"
            ).collect()
        ]
        for table in TPCH_TABLES
    }

    def ask(text: str) -> Any:
        for table in TPCH_TABLES:
            if table in text:
                bench.spark.read.parquet(*files[table]).createOrReplaceTempView(table)
        return [tuple(row) for row in bench.spark.sql(text).collect()]

    return ask


def measure(bench: Bench, state: str, sides: dict[str, Callable[[str], Any]], runs: int) -> None:
    """Each query by all sides in turns; then the totals."""
    times: dict[str, dict[str, list[float]]] = {name: {} for name in sides}
    for query, text in QUERIES.items():
        answers = {}
        for turn in range(1 + runs):
            if turn > 0 and bench.is_late:
                break
            for name, ask in sides.items():
                begin = time.perf_counter()
                answers[name] = ask(text)
                times[name].setdefault(query, []).append(time.perf_counter() - begin)
        # Spark gives averages of decimals fewer digits than DuckDB, and than we do.
        bench.check(f"{query} {state}", {OURS: answers[OURS], "DuckDB": answers["extension"]})
        bench.keep(
            f"{query} {state}", {name: (t[query][0], t[query][1:]) for name, t in times.items()}
        )
    totals = {
        name: (
            sum(spent[0] for spent in each.values()),
            [sum(median(spent[1:] or spent) for spent in each.values())],
        )
        for name, each in times.items()
    }
    bench.keep(f"all 22 {state}", totals)
