"""Rows that Spark replaces in a table of a lake by name."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F

from ducklake_spark.errors import InvalidInput, InvalidValue

pytestmark = [pytest.mark.spark, pytest.mark.interop]


@pytest.fixture
def days(lake, table):
    """A table in three partitions."""
    lake.sql(f"CREATE TABLE lake.main.{table} (day INT, v STRING) PARTITIONED BY (day)")
    lake.sql(f"INSERT INTO lake.main.{table} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    return table


@pytest.fixture
def news(lake):
    """A new row for the second partition."""
    return lake.spark.createDataFrame([(2, "new")], "day int, v string")


def rows_of(lake, table):
    found = sorted(lake.sql(f"SELECT * FROM lake.main.{table}"))
    assert sorted(lake.duckdb(f"FROM {table}")) == found
    return found


def test_insert_overwrite_replaces_all_rows_by_some_of_them(lake, days):
    statement = f"INSERT OVERWRITE lake.main.{days} SELECT * FROM lake.main.{days} WHERE day > 1"
    assert lake.snapshots_of(lambda: lake.sql(statement)) == 1
    assert rows_of(lake, days) == [(2, "b"), (3, "c")]


def test_partitions_of_new_rows_are_replaced(lake, days, news):
    expected = [(1, "a"), (2, "new"), (3, "c")]
    news.writeTo(f"{lake.name}.main.{days}").overwritePartitions()
    assert rows_of(lake, days) == expected
    again = news.withColumn("v", F.lit("again")).write.mode("overwrite")
    again.option("partitionOverwriteMode", "dynamic").insertInto(f"{lake.name}.main.{days}")
    assert rows_of(lake, days) == [(1, "a"), (2, "again"), (3, "c")]


def test_the_setting_of_spark_decides_for_insert_overwrite(lake, days):
    lake.spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        lake.sql(f"INSERT OVERWRITE lake.main.{days} VALUES (2, 'sql')")
        plain = f"{days}_plain"
        lake.sql(f"CREATE TABLE lake.main.{plain} (v INT)")
        lake.sql(f"INSERT INTO lake.main.{plain} VALUES (1), (2)")
        lake.sql(f"INSERT OVERWRITE lake.main.{plain} VALUES (3)")
    finally:
        lake.spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert rows_of(lake, days) == [(1, "a"), (2, "sql"), (3, "c")]
    assert rows_of(lake, plain) == [(3,)]


def test_one_partition_is_replaced_by_its_value(lake, days):
    lake.sql(f"INSERT OVERWRITE lake.main.{days} PARTITION (day = 3) SELECT 'third'")
    assert rows_of(lake, days) == [(1, "a"), (2, "b"), (3, "third")]


def test_rows_of_a_condition_are_replaced(lake, days, news):
    name = f"{lake.name}.main.{days}"
    news.writeTo(name).overwrite(F.col("day") >= 2)
    assert rows_of(lake, days) == [(1, "a"), (2, "new")]
    lake.sql(f"INSERT INTO lake.main.{days} REPLACE WHERE day = 2 VALUES (2, 'x'), (2, 'y')")
    assert rows_of(lake, days) == [(1, "a"), (2, "x"), (2, "y")]
    writer = news.withColumn("v", F.lit("z")).write.mode("overwrite")
    writer.option("replaceWhere", "day = 2 AND v >= 'y'").insertInto(name)
    assert rows_of(lake, days) == [(1, "a"), (2, "x"), (2, "z")]


def test_a_new_row_that_the_condition_does_not_mean_is_refused(lake, days, news):
    with pytest.raises(InvalidValue, match="not one of those"):
        news.writeTo(f"{lake.name}.main.{days}").overwrite(F.col("day") == 1)
    writer = news.write.mode("overwrite").option("replaceWhere", "day = 3")
    with pytest.raises(InvalidValue, match="not one of those"):
        writer.insertInto(f"{lake.name}.main.{days}")
    assert rows_of(lake, days) == [(1, "a"), (2, "b"), (3, "c")]


def test_two_ways_to_say_what_is_replaced_are_refused(lake, days, news):
    writer = news.writeTo(f"{lake.name}.main.{days}").option("replaceWhere", "day = 2")
    with pytest.raises(InvalidInput):
        writer.overwrite(F.col("day") == 2)
    with pytest.raises(InvalidInput):
        writer.overwritePartitions()
    with pytest.raises(InvalidInput, match="partitionOverwriteMode"):
        writer.option("partitionOverwriteMode", "some").append()
