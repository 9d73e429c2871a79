"""Overwriting all rows, those of a condition and partitions; appending what has more columns."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F

import ducklake_spark
from ducklake_spark.errors import ColumnNotFound, InvalidInput, InvalidValue, NotSupported
from support.writing import table_files

pytestmark = pytest.mark.spark

DAY = "DATE '2024-01-01' + CAST(i % 3 AS INTEGER)"


@pytest.fixture
def location(make_lake_location):
    return make_lake_location("sqlite")


@pytest.fixture
def con(location, spark):
    con = ducklake_spark.connect(
        location.uri, spark=spark, alias="lake", data_path=location.data_path
    )
    con.sql("CREATE TABLE t (id INTEGER, day DATE, v INTEGER DEFAULT 7)")
    con.sql(
        "INSERT INTO t SELECT i, DATE '2024-01-01' + CAST(i % 3 AS INTEGER), i FROM range(30) r(i)"
    )
    con.sql("INSERT INTO t VALUES (30, '2024-01-01', 30), (31, NULL, 31)")
    yield con
    con.close()


def rows(con, columns="id, v", order="id"):
    return [tuple(row) for row in con.sql(f"SELECT {columns} FROM t ORDER BY {order}").collect()]


def snapshots(con):
    return con.sql("FROM lake.snapshots()").count()


def test_all_rows_are_replaced_by_a_frame_that_reads_them(con, location):
    before = snapshots(con)

    doubled = con.table("t").where("id >= 20").select("id", (F.col("v") * 2).alias("v"))
    assert con.overwrite("t", doubled) == 12
    assert rows(con) == [(i, 2 * i) for i in range(20, 32)]
    assert snapshots(con) == before + 1
    assert rows(con, "min(rowid)", "1") == [(32,)]  # ids are not used again
    assert con.sql("SELECT count(*) FROM t AT (VERSION => 3)").collect() == [(32,)]
    assert con.overwrite("t", con.spark.range(0).select(F.col("id").cast("int"))) == 0
    assert rows(con) == []


def test_replace_where_replaces_the_rows_of_a_condition(con, spark, location):
    new = spark.createDataFrame([(2, -2), (100, -100)], "id int, v int")
    before, files = snapshots(con), table_files(location)

    with pytest.raises(InvalidValue, match="not one of those that replace_where names"):
        con.overwrite("t", new, replace_where="id < 10")
    with pytest.raises(InvalidValue, match="replace_where"):
        con.overwrite("t", new.withColumn("id", F.lit(None).cast("int")), replace_where="id < 10")
    assert (table_files(location), snapshots(con)) == (files, before)
    assert con.overwrite("t", new.where("id < 10"), replace_where="id // 2 < 5") == 1
    assert rows(con)[:2] == [(2, -2), (10, 10)]
    assert con.overwrite("t", new.where("id > 10"), replace_where=F.col("id") > 20) == 1
    assert rows(con)[-2:] == [(20, 20), (100, -100)]
    assert snapshots(con) == before + 2
    with pytest.raises(InvalidInput, match="one of them"):
        con.overwrite("t", new, replace_where="true", partitions="dynamic")


def test_dynamic_overwrite_replaces_the_partitions_that_the_frame_has(con, spark):
    new = spark.sql(
        "SELECT 1000 AS id, DATE '2024-01-02' AS day UNION ALL SELECT 1001, CAST(NULL AS DATE)"
    )
    with pytest.raises(InvalidInput, match="it has none"):
        con.overwrite("t", new, partitions="dynamic")
    # One file is of no partition, some rows are in the catalog, others in files of partitions.
    con.sql("ALTER TABLE t SET PARTITIONED BY (day)")
    con.sql(f"INSERT INTO t SELECT i, {DAY}, i FROM range(40, 70) r(i)")
    before = snapshots(con)

    assert con.overwrite("t", new, partitions="dynamic") == 2
    kept = [i for i in (*range(31), *range(40, 70)) if i == 30 or i % 3 != 1]
    assert rows(con, "id") == [(i,) for i in [*kept, 1000, 1001]]
    assert snapshots(con) == before + 1
    assert con.overwrite("t", new.where("false"), partitions="dynamic") == 0
    assert con.sql("FROM t").count() == len(kept) + 2


def test_dynamic_overwrite_goes_by_the_transform(con, spark):
    con.sql("CREATE TABLE e (ts TIMESTAMP, k INTEGER)")
    con.sql("ALTER TABLE e SET PARTITIONED BY (year(ts), bucket(4, k))")
    con.sql(
        "INSERT INTO e SELECT TIMESTAMP '2024-06-01' + to_days(CAST(i AS INTEGER)), 1 "
        "FROM range(400) r(i)"
    )
    new = spark.sql("SELECT TIMESTAMP_NTZ '2025-03-03 10:00:00' AS ts, 1 AS k")

    assert con.overwrite("e", new, partitions="dynamic") == 1
    found = con.sql("SELECT year(ts), count(*) FROM e GROUP BY 1 ORDER BY 1").collect()
    assert [tuple(row) for row in found] == [(2024, 214), (2025, 1)]


def test_an_overwrite_is_part_of_its_transaction(con, spark, location):
    files = table_files(location)
    con.begin()
    con.append("t", spark.sql("SELECT 500 AS id"))
    assert con.overwrite("t", con.table("t").where("id >= 25")) == 8
    assert [row[0] for row in rows(con)] == [*range(25, 32), 500]
    con.rollback()
    assert con.sql("FROM t").count() == 32
    assert table_files(location) == files


def test_insert_overwrite_is_spark_s(con, spark):
    spark.sql("SELECT 1 AS a, DATE '2020-01-01' AS b, 5 AS c").createOrReplaceTempView("new_rows")

    done = con.sql("INSERT OVERWRITE TABLE t SELECT * FROM new_rows", dialect="spark")
    assert done.collect() == [(1,)]
    assert rows(con) == [(1, 5)]
    con.sql("INSERT OVERWRITE t (id) VALUES (2), (3)", dialect="spark")
    assert rows(con) == [(2, 7), (3, 7)]
    with pytest.raises(NotSupported, match="INSERT OVERWRITE"):
        con.sql("INSERT OVERWRITE t VALUES (2)")


def test_merge_schema_adds_columns_and_widens_types_in_one_snapshot(con, spark):
    new = spark.sql("SELECT 6000000000L AS V, 32 AS id, 'x' AS note, 1.5D AS w")
    before = snapshots(con)

    with pytest.raises(ColumnNotFound, match="note"):
        con.append("t", new)
    assert con.append("t", new, merge_schema=True) == 1
    assert snapshots(con) == before + 1
    assert rows(con, "*")[-1] == (32, None, 6000000000, "x", 1.5)
    assert rows(con, "*")[0][3:] == (None, None)
    types = {row[0]: row[1] for row in con.sql("DESCRIBE t").collect()}
    assert types["v"] == "BIGINT"
    assert con.append("t", new, merge_schema=True) == 1
    with pytest.raises(InvalidInput, match='write to table "t"'):  # no promotion, no conversion
        con.append("t", spark.sql("SELECT X'00' AS day, 1 AS other"), merge_schema=True)
    assert "other" not in con.table("t").columns
