"""Append of lineitem by year and month of l_shipdate, against the same without partitions."""

from __future__ import annotations

from harness import OURS, Bench
from lakes import address, tpch_file


def run(bench: Bench) -> None:
    """Ours by month, ours plain, and Spark's `partitionBy` on columns made for it."""
    spark, folder = bench.spark, bench.place("partitioned")
    frame = spark.read.parquet(str(tpch_file("lineitem", bench.size.scale)))
    con = address("sqlite", folder, "ours").ours(spark)
    con.create_table("plain", frame.limit(0))
    con.create_table("divided", frame.limit(0))
    con.sql("ALTER TABLE divided SET PARTITIONED BY (year(l_shipdate), month(l_shipdate))")
    dated = frame.selectExpr("*", "year(l_shipdate) AS y", "month(l_shipdate) AS m")

    def spark_own() -> None:
        arranged = dated.repartition("y", "m").write.mode("overwrite")
        arranged.partitionBy("y", "m").parquet(f"{folder}/floor")

    bench.compare(
        "lineitem by month",
        {
            OURS: lambda: con.append("divided", frame) and None,
            "ours, not divided": lambda: con.append("plain", frame) and None,
            "partitionBy": spark_own,
        },
        runs=2 if bench.size.name != "large" else 3,
        same=False,
    )
    counted = [con.table(name).count() for name in ("plain", "divided")]
    if counted[0] != counted[1]:
        bench.wrong.append(f"partitioned write: {counted}")
    con.close()
