"""Two million orders in a lake: load, query, append, travel in time. Run by `make demo`."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import ducklake_spark

FOLDER = Path("demo-lake")
CATALOG = FOLDER / "demo.ducklake"
ROWS = 2_000_000
DAYS = 20


def main() -> None:
    start_afresh()
    with ducklake_spark.connect(f"ducklake:{CATALOG}") as con:
        create_tables(con)
        start_spark(con)
        load_orders(con)
        query(con)
        append_today(con)
        travel_in_time(con)
        show_history(con)
    farewell()


def start_afresh() -> None:
    """Remove the lake of an earlier demo, and nothing else."""
    if FOLDER.exists() and not CATALOG.exists() and any(FOLDER.iterdir()):
        raise SystemExit(f"{FOLDER}/ holds something that is not the demo's: move it away first.")
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()


def create_tables(con: ducklake_spark.Connection) -> None:
    title("A lake is a catalog file and a folder of Parquet files")
    run(
        con,
        """CREATE TABLE orders (
    id BIGINT NOT NULL, day DATE, customer VARCHAR, product INTEGER,
    quantity SMALLINT, total DECIMAL(12,2), at TIMESTAMP)""",
        show=False,
    )


def start_spark(con: ducklake_spark.Connection) -> None:
    with timed("Spark started"), quiet_stderr():
        _ = con.spark


def load_orders(con: ducklake_spark.Connection) -> None:
    title(f"Load {ROWS:,} orders of {DAYS} days: Spark tasks write the files, one commit adds them")
    with timed("con.append"):
        con.append("orders", make_orders(con.spark, 0, ROWS))
    run(
        con,
        """CREATE TABLE products AS
SELECT range AS product, 'Product ' || range AS name, range % 5 AS category FROM range(500)""",
    )


def query(con: ducklake_spark.Connection) -> None:
    title("Queries return Spark DataFrames")
    run(
        con,
        """SELECT category, count(*) AS orders, sum(total) AS revenue
FROM orders JOIN products USING (product) GROUP BY ALL ORDER BY category""",
    )

    title("The catalog's statistics say which files can hold a match: the others are never opened")
    day = "SELECT count(*) AS orders, sum(total) AS sum FROM orders WHERE day = DATE '2025-03-07'"
    run(con, day)
    files, _, _plan = con.explain(day).partition("\n\n")
    print(files)


def append_today(con: ducklake_spark.Connection) -> None:
    title("Append another day: one new snapshot, nothing is rewritten")
    with timed("con.append"):
        con.append("orders", make_orders(con.spark, ROWS, 100_000))
    run(con, "SELECT count(*) AS orders, max(day) AS last_day FROM orders")


def travel_in_time(con: ducklake_spark.Connection) -> None:
    title("Every snapshot stays readable")
    loaded = 2  # 0 is the empty lake, 1 made the table, 2 loaded it
    run(con, f"SELECT count(*) AS orders FROM orders AT (VERSION => {loaded})")
    print(f'con.table("orders", version={loaded}).groupBy("day").count()')
    earlier = con.table("orders", version=loaded)
    earlier.groupBy("day").count().orderBy("day", ascending=False).show(3)


def show_history(con: ducklake_spark.Connection) -> None:
    title("Snapshots")
    con.snapshots().orderBy("snapshot_id").show(truncate=60)


def make_orders(spark: SparkSession, first: int, count: int) -> DataFrame:
    """Orders with rising ids and days, as they would have come in."""
    per_day = ROWS // DAYS
    return spark.range(first, first + count, numPartitions=max(1, count // 250_000)).selectExpr(
        "id",
        f"date_add(DATE '2025-03-01', CAST(id DIV {per_day} AS INT)) AS day",
        "concat('customer-', lpad(hash(id) & 4095, 4, '0')) AS customer",
        "pmod(hash(id, 1), 500) AS product",
        "CAST(1 + pmod(hash(id, 2), 9) AS SMALLINT) AS quantity",
        "CAST(pmod(hash(id, 3), 100000) / 100 AS DECIMAL(12,2)) AS total",
        f"""TIMESTAMP_NTZ '2025-03-01 00:00:00'
            + make_dt_interval(0, 0, 0, id * 86400 / {per_day}) AS at""",
    )


def run(con: ducklake_spark.Connection, sql: str, *, show: bool = True) -> None:
    """Print a statement, run it, print what it returns and how long both took."""
    print("\n".join(f"  {line}" for line in sql.splitlines()))
    with timed("con.sql"):
        result = con.sql(sql)
        if show:
            result.show()


@contextmanager
def timed(what: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    print(f"  [{what}: {time.perf_counter() - start:.2f} s]\n")


@contextmanager
def quiet_stderr() -> Iterator[None]:
    """Keep to ourselves what the JVM says while it starts, unless it does not start."""
    with tempfile.TemporaryFile() as said:
        terminal = os.dup(2)
        os.dup2(said.fileno(), 2)
        try:
            yield
        except Exception:
            said.seek(0)
            os.write(terminal, said.read())
            raise
        finally:
            os.dup2(terminal, 2)
            os.close(terminal)


def title(text: str) -> None:
    bold, plain = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")
    print(f"\n{bold}{text}{plain}\n")


def farewell() -> None:
    files = sorted(FOLDER.rglob("*.parquet"))
    size = sum(file.stat().st_size for file in files) / 1e6
    title(
        f"The lake is in {FOLDER}/: {len(files)} Parquet files, {size:.0f} MB. DuckDB opens it too:"
    )
    attach = f"INSTALL ducklake; LOAD ducklake; ATTACH 'ducklake:{CATALOG}' AS demo"
    print(f'  duckdb -c "{attach}; FROM demo.orders LIMIT 5"\n')


if __name__ == "__main__":
    main()
