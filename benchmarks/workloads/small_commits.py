"""Many small commits, then a scan: one-row INSERTs, and appends of 1,000 rows.

One-row INSERTs are SQL on both sides and start no Spark. The appends of 1,000 rows are held
against `df.write.parquet`, and against the Arrow writers of deltalake and pyiceberg if they are
installed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import peers
from harness import OURS, Bench
from lakes import address

TABLE = "CREATE TABLE t (id INTEGER, name VARCHAR, amount DECIMAL(10,2))"
SCAN = "SELECT count(*), sum(id), min(name), max(amount) FROM lake.t"


def run(bench: Bench) -> None:
    """All kinds of catalogs for one row; SQLite for 1,000."""
    for kind in ("sqlite", "duckdb", "postgres"):
        insert_rows(bench, kind)
    append_batches(bench)


def insert_rows(bench: Bench, kind: str) -> None:
    """Each row a commit; then both read their own lake."""
    server = bench.postgres_server() if kind == "postgres" else None
    folder = bench.place(kind)
    ours = address(kind, folder, "ours", server).ours()
    theirs = address(kind, folder, "theirs", server).extension()
    for make in (ours.sql, theirs.execute):
        make(TABLE)
    text = "INSERT INTO t VALUES ({0}, 'name {0}', 1.5)"
    bench.each(
        f"one-row INSERT, {kind}",
        {
            OURS: lambda number: ours.sql(text.format(number)),
            "extension": lambda number: theirs.execute(text.format(number)),
        },
        # The kinds share the minutes, and the extension takes long on some.
        bench.size.commits if kind == "sqlite" else min(bench.size.commits, 200),
    )
    rows = {
        OURS: plain(ours.sql("SELECT count(*) FROM lake.t").collect()),
        "extension": theirs.execute("SELECT count(*) FROM lake.t").fetchall(),
    }
    bench.check(f"rows after INSERTs, {kind}", rows)
    if kind == "sqlite":
        scan(bench, folder, ours)
    ours.close()


def plain(rows: list[Any]) -> list[Any]:
    """Rows of Spark as plain tuples."""
    return [tuple(row) for row in rows]


def scan(bench: Bench, folder: Any, ours: Any) -> None:
    """The lake of one-row commits, read by both."""
    ours.close()
    place = address("sqlite", folder, "ours")
    con, other = place.ours(bench.spark), place.extension()
    bench.compare(
        "scan after one-row INSERTs",
        {
            OURS: lambda: [tuple(row) for row in con.sql(SCAN).collect()],
            "extension": lambda: other.execute(SCAN).fetchall(),
        },
    )
    con.close()
    other.close()


def append_batches(bench: Bench) -> None:
    """Commits of 1,000 rows each as a file, and a scan of all of them."""
    spark, folder = bench.spark, bench.place("batches")
    place = address("sqlite", folder, "ours")
    con = place.ours(spark)
    con.sql("CREATE TABLE t (id BIGINT, name STRING, amount DOUBLE)")
    shape = "id", "concat('name ', id) AS name", "id / 10.0D AS amount"
    frame = spark.range(1000).selectExpr(*shape)
    arrow = frame.toArrow()
    other = address("sqlite", folder, "theirs").extension()
    other.execute("CREATE TABLE t (id BIGINT, name VARCHAR, amount DOUBLE)")
    other.execute("CALL lake.set_option('data_inlining_row_limit', 0)")
    sides: dict[str, Callable[[int], Any]] = {
        OURS: lambda _: con.append("t", frame),
        "df.write.parquet": lambda _: frame.write.mode("append").parquet(f"{folder}/floor"),
        "extension": lambda _: other.execute("INSERT INTO t SELECT * FROM arrow_rows"),
    }
    other.register("arrow_rows", arrow)
    sides |= peers.appenders(bench, folder, arrow)
    bench.each("append of 1,000 rows", sides, bench.size.batches, warm=3)
    read = {
        OURS: lambda: _pairs(con.table("t")),
        "spark.read.parquet": lambda: _pairs(spark.read.parquet(f"{folder}/floor")),
        "extension": lambda: other.execute("SELECT id, count(*) FROM t GROUP BY id").fetchall(),
    }
    bench.compare("scan after appends of 1,000 rows", read)
    con.close()


def _pairs(frame: Any) -> list[Any]:
    return [tuple(row) for row in frame.groupBy("id").count().collect()]
