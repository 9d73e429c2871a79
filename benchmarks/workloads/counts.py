"""count(*), min and max of lineitem: what the catalog may know without a file."""

from __future__ import annotations

from harness import OURS, Bench
from lakes import address, tpch_file

QUERIES = {
    "count(*)": "SELECT count(*) FROM {table}",
    "min, max": "SELECT min(l_orderkey), max(l_orderkey), max(l_quantity) FROM {table}",
    "counts, min, max": "SELECT count(*), count(l_comment), min(l_shipdate), max(l_shipdate) "
    "FROM {table}",
    "count(*) of a filter": "SELECT count(*) FROM {table} WHERE l_orderkey < 1000",
}


def run(bench: Bench) -> None:
    """Ours against Spark's Parquet files and the extension on the same lake."""
    spark = bench.spark
    place = address("sqlite", bench.place("counts"), "lake")
    con = place.ours(spark)
    source = spark.read.parquet(str(tpch_file("lineitem", bench.size.scale)))
    con.create_table("lineitem", source)
    listed = con.sql("SELECT data_file FROM ducklake_list_files('lake', 'lineitem')").collect()
    spark.read.parquet(*(row[0] for row in listed)).createOrReplaceTempView("floor")
    other = place.extension()

    def floor(text: str) -> list[tuple[object, ...]]:
        return [tuple(row) for row in spark.sql(text.format(table="floor")).collect()]

    def ours(text: str) -> list[tuple[object, ...]]:
        return [tuple(row) for row in con.sql(text.format(table="lake.lineitem")).collect()]

    for name, text in QUERIES.items():
        bench.compare(
            name,
            {
                OURS: lambda text=text: ours(text),
                "spark.read.parquet": lambda text=text: floor(text),
                "extension": lambda text=text: other.execute(
                    text.format(table="lake.lineitem")
                ).fetchall(),
            },
            runs=2 * bench.size.runs,
        )
    con.close()
    other.close()
