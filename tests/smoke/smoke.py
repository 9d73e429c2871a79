"""The main paths through the public API, on whichever PySpark runs this file.

A lake on a SQLite catalog is written by Spark and changed by DuckDB; every answer is compared with
one that was worked out by hand. Needs no test framework: `python tests/smoke/smoke.py`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import duckdb
import pyspark
from duckdb_extensions import import_extension
from pyspark.sql import SparkSession

import ducklake_spark

ROWS = 10_000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        catalog, data = Path(folder, "smoke.sqlite"), Path(folder, "data")
        uri = f"ducklake:sqlite:{catalog}"
        with ducklake_spark.connect(uri, data_path=f"{data}/") as con:
            check_append(con)
            check_ctas_and_types(con)
        change_with_duckdb(uri)
        with ducklake_spark.connect(uri) as con:
            check_deletes_and_inlined_rows(con)
            check_time_travel(con)
            check_by_name(con.spark, uri)
            check_format_and_stream(con.spark, uri, folder)
    print(f"smoke test passed on PySpark {pyspark.__version__}")


def check_append(con: ducklake_spark.Connection) -> None:
    con.sql("CREATE TABLE orders (id BIGINT, customer VARCHAR, total DECIMAL(12,2))")
    rows = con.spark.range(ROWS).selectExpr(
        "id", "concat('c', id % 7) AS customer", "CAST(id % 100 AS DECIMAL(12,2)) AS total"
    )
    con.append("orders", rows)
    expect("rows after append", scalar(con, "SELECT count(*) FROM orders"), ROWS)
    expect("sum", scalar(con, "SELECT sum(total) FROM orders"), 4950 * ROWS // 100)
    expect("filter", scalar(con, "SELECT count(*) FROM orders WHERE id >= 9990"), 10)
    plan = con.explain("SELECT * FROM orders WHERE id < 0")
    expect("no file can hold a match", "0 of 1 files" in plan, True)


def check_ctas_and_types(con: ducklake_spark.Connection) -> None:
    count = con.sql(
        """CREATE TABLE shapes AS
           SELECT TIMESTAMP '2024-02-29 12:00:00.123456' AS day, [1, 2, 3] AS list,
                  {'a': 1, 'b': 'x'} AS struct, NULL::INTEGER AS nothing"""
    ).first()
    expect("rows of CTAS", count is not None and count[0], 1)
    row = con.sql("SELECT CAST(day AS VARCHAR) AS day, list, struct, nothing FROM shapes").first()
    assert row is not None
    expect("timestamp", row["day"], "2024-02-29 12:00:00.123456")
    expect("list", list(row["list"]), [1, 2, 3])
    expect("struct", tuple(row["struct"]), (1, "x"))
    expect("null", row["nothing"], None)


def change_with_duckdb(uri: str) -> None:
    """Leave a delete file, an inlined delete and inlined rows behind, one snapshot each."""
    for name in ("ducklake", "sqlite_scanner"):
        import_extension(name)
    with duckdb.connect() as duck:
        duck.execute("LOAD ducklake")
        duck.execute("LOAD sqlite_scanner")
        duck.execute(f"ATTACH '{uri}' AS lake")
        duck.execute("DELETE FROM lake.orders WHERE id % 10 = 3")
        duck.execute("DELETE FROM lake.orders WHERE id IN (1, 2)")
        duck.execute("INSERT INTO lake.orders VALUES (20000, 'late', 1.50)")
        expected = duck.execute("SELECT count(*), sum(total) FROM lake.orders").fetchone()
        expect("what DuckDB itself sees", expected, (8999, _sum_left()))


def check_deletes_and_inlined_rows(con: ducklake_spark.Connection) -> None:
    expect("rows left", scalar(con, "SELECT count(*) FROM orders"), ROWS - ROWS // 10 - 2 + 1)
    expect("sum left", scalar(con, "SELECT sum(total) FROM orders"), _sum_left())
    gone = "SELECT count(*) FROM orders WHERE id % 10 = 3 OR id IN (1, 2)"
    expect("deleted rows", scalar(con, gone), 0)
    expect("inlined row", scalar(con, "SELECT total FROM orders WHERE customer = 'late'") * 2, 3)


def check_time_travel(con: ducklake_spark.Connection) -> None:
    versions = sorted(row["snapshot_id"] for row in con.snapshots().collect())
    expect("snapshots", versions, list(range(len(versions))))
    loaded = 2  # 0 is the empty lake, 1 creates the table, 2 loads it
    expect("table(version=)", con.table("orders", version=loaded).count(), ROWS)
    at = f"SELECT count(*) FROM orders AT (VERSION => {loaded})"
    expect("AT (VERSION)", scalar(con, at), ROWS)


def check_by_name(spark: SparkSession, uri: str) -> None:
    ducklake_spark.register(spark, "lake", uri)

    def first(query: str) -> tuple:
        return tuple(spark.sql(query).first())

    spark.sql("CREATE TABLE lake.main.named (id BIGINT, k INT DEFAULT 7) PARTITIONED BY (k)")
    spark.range(0, 100).selectExpr("id", "CAST(id % 3 AS INT) AS k").writeTo(
        "lake.main.named"
    ).append()
    spark.sql("INSERT INTO lake.main.named (id) VALUES (1000)")
    expect("our default", first("SELECT k FROM lake.main.named WHERE id = 1000"), (7,))
    spark.sql("DELETE FROM lake.main.named WHERE id >= 90 AND id < 100")
    spark.sql("UPDATE lake.main.named SET k = 9 WHERE id < 5")
    spark.sql(
        "MERGE INTO lake.main.named t USING (SELECT 1000L AS id UNION ALL SELECT 2000L) s "
        "ON t.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"
    )
    found = first("SELECT count(*), sum(id), sum(CAST(k = 9 AS INT)) FROM lake.main.named")
    expect("rows by name", found, (91, sum(range(90)) + 2000, 5))
    joined = "lake.main.named a JOIN lake.main.named b ON a.id = b.id + 1"
    expect("self-join", first(f"SELECT count(*) FROM {joined}"), (89,))
    spark.sql("CREATE TABLE lake.main.made AS SELECT id FROM lake.main.named WHERE id < 3")
    with ducklake_spark.transaction(spark, "lake"):
        spark.sql("INSERT INTO lake.main.made VALUES (3)")
        spark.sql("DELETE FROM lake.main.made WHERE id = 0")
    expect("transaction", first("SELECT count(*), min(id) FROM lake.main.made"), (3, 1))
    last = spark.sql("CALL lake.system.snapshots()").count() - 1
    travelled = f"SELECT count(*) FROM lake.main.made VERSION AS OF {last - 1}"
    expect("VERSION AS OF", first(travelled), (3,))
    beyond = spark.newSession().sql("SELECT count(*) FROM lake.main.made").first()
    expect("another session", tuple(beyond), (3,))


def check_format_and_stream(spark: SparkSession, uri: str, folder: str) -> None:
    read = spark.read.format("ducklake").option("lake", uri).load("main.made")
    expect("format", sorted(row["id"] for row in read.collect()), [1, 2, 3])
    stream = spark.readStream.table("lake.main.made").writeStream.trigger(availableNow=True)
    query = stream.option("checkpointLocation", f"{folder}/stream").toTable("lake.main.streamed")
    query.awaitTermination(120)
    rows = spark.table("lake.main.streamed").collect()
    expect("stream", sorted(row["id"] for row in rows), [1, 2, 3])


def _sum_left() -> float:
    kept = (i % 100 for i in range(ROWS) if i % 10 != 3 and i not in (1, 2))
    return sum(kept) + 1.5


def scalar(con: ducklake_spark.Connection, query: str):
    row = con.sql(query).first()
    assert row is not None, query
    return row[0]


def expect(what: str, found: object, wanted: object) -> None:
    assert found == wanted, f"{what}: found {found!r}, wanted {wanted!r}"
    print(f"ok  {what}")


if __name__ == "__main__":
    main()
