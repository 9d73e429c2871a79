"""The batches in which rows travel to tasks."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from ducklake_spark.spark.arrow_batches import in_plain_batches

pytestmark = pytest.mark.spark

BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"


def sizes(batches):
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"n": pa.array([batch.num_rows], pa.int64())})


def counted(frame):
    """How many rows the batches of a frame of one task have."""
    rows = in_plain_batches(frame.mapInArrow(sizes, "n long"), frame.schema).collect()
    return [row["n"] for row in rows]


def test_batches_are_as_many_rows_as_the_columns_allow(spark):
    frame = spark.range(0, 25_000, 1, 1)
    text = frame.select(F.repeat(F.lit("x"), 40_000).alias("s"))
    assert counted(frame) == [10_000, 10_000, 5_000]
    assert counted(text.limit(5_000)) == [2_000, 2_000, 1_000]  # 80 MB: above Spark's own limit
    assert spark.conf.get(BYTES, None) is None
    assert spark.conf.get(ROWS) == "10000"


@pytest.mark.parametrize(
    "kind", ["binary", "array<string>", "map<string,string>", "struct<a:string>"]
)
def test_what_may_be_large_is_measured(spark, kind):
    frame = spark.range(3).select(F.lit(None).cast(kind).alias("c"))
    assert in_plain_batches(frame, frame.schema) is frame


def test_a_limit_that_somebody_has_chosen_holds(spark):
    frame = spark.range(0, 3_000, 1, 1)
    spark.conf.set(BYTES, "4096")
    try:
        assert max(counted(frame)) < 3_000
    finally:
        spark.conf.unset(BYTES)
    spark.conf.set(ROWS, "700")
    try:
        text = frame.select(F.col("id").cast("string"))
        assert counted(text) == [700, 700, 700, 700, 200]
    finally:
        spark.conf.unset(ROWS)


def test_views_functions_and_cached_rows_of_the_session_are_there(spark):
    spark.udf.register("one_more", lambda value: value + 1, "bigint")
    frame = spark.range(10).cache()
    frame.createOrReplaceTempView("ten")
    try:
        rows = spark.sql("SELECT one_more(id) AS id FROM ten").localCheckpoint()
        both = rows.unionAll(spark.sql("SELECT one_more(id) FROM ten"))
        assert sum(counted(both)) == 20
    finally:
        spark.catalog.dropTempView("ten")
        spark.sql("DROP TEMPORARY FUNCTION one_more")
        frame.unpersist()
