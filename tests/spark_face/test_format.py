"""The format ``ducklake``: reading and writing lakes that nobody has registered."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import ducklake_spark
from ducklake_spark.errors import (
    AlreadyExists,
    ColumnNotFound,
    InvalidInput,
    NotSupported,
    SnapshotNotFound,
    TableNotFound,
    UnknownOption,
)

pytestmark = pytest.mark.spark


@pytest.fixture
def location(make_lake_location):
    return make_lake_location("sqlite")


@pytest.fixture
def con(location, spark):
    with ducklake_spark.connect(
        location.uri, spark=spark, alias="x", data_path=location.data_path
    ) as con:
        con.sql("CREATE TABLE t (id BIGINT, name VARCHAR)")
        con.append("t", spark.range(100).selectExpr("id", "concat('n', id) AS name"))
        con.sql("INSERT INTO t VALUES (900, 'inlined')")
        con.sql("DELETE FROM t WHERE id = 5")
        yield con


def reader(spark, location, **options):
    return spark.read.format("ducklake").option("lake", location.uri).options(**options)


def writer(frame, location, mode, **options):
    made = frame.write.format("ducklake").option("lake", location.uri)
    return made.mode(mode).options(**options)


def test_a_table_is_read_without_registration(spark, location, con):
    rows = reader(spark, location).load("main.t")
    assert rows.columns == ["id", "name"]
    assert rows.count() == 100
    assert rows.where("id = 900").first() == (900, "inlined")
    plan = rows.where("id < 8")._jdf.queryExecution().executedPlan().toString()
    assert "FileScan parquet" in plan  # the native scan


def test_versions_are_read_by_number_and_by_time(spark, location, con):
    moment = str(con.snapshots().where("snapshot_id = 2").first()["snapshot_time"])
    assert reader(spark, location, snapshot=2).load("main.t").count() == 100
    assert reader(spark, location, versionAsOf=3).load("main.t").count() == 101
    assert reader(spark, location, timestampAsOf=moment).load("main.t").count() == 100
    with pytest.raises(SnapshotNotFound, match="No snapshot found at version 99"):
        reader(spark, location, snapshot=99).load("main.t")


def test_a_frame_is_of_the_snapshot_it_was_made_at(spark, location, con):
    rows = reader(spark, location).load("main.t")
    con.sql("INSERT INTO t VALUES (901, 'later')")
    assert rows.count() == 100
    assert reader(spark, location).load("main.t").count() == 101


def test_the_change_feed_is_read(spark, location, con):
    con.sql("UPDATE t SET name = 'new' WHERE id = 7")
    feed = reader(spark, location, readChangeFeed="true", startingSnapshot=4).load("main.t")
    assert feed.columns == ["snapshot_id", "rowid", "change_type", "id", "name"]
    found = {tuple(row)[0:1] + tuple(row)[2:] for row in feed.collect()}
    assert found == {
        (4, "delete", 5, "n5"),
        (5, "update_preimage", 7, "n7"),
        (5, "update_postimage", 7, "new"),
    }
    feed = reader(spark, location, readChangeFeed="true", startingSnapshot=3, endingSnapshot=3)
    assert [tuple(row)[2:] for row in feed.load("main.t").collect()] == [("insert", 900, "inlined")]


def test_a_registered_lake_is_named_by_its_catalog(spark, location, con):
    name = f"named{time.time_ns()}"
    ducklake_spark.register(spark, name, location.uri)
    assert spark.read.format("ducklake").option("catalog", name).load("main.t").count() == 100
    assert spark.read.format("ducklake").load(f"{name}.main.t").count() == 100


def test_what_is_wrong_is_told(spark, location, con):
    with pytest.raises(TableNotFound, match="nope"):
        reader(spark, location).load("main.nope")
    with pytest.raises(InvalidInput, match="No table was named"):
        reader(spark, location).load()
    with pytest.raises(InvalidInput, match="No lake was named"):
        spark.read.format("ducklake").load("main.t")
    with pytest.raises(UnknownOption):
        reader(spark, location, dataPth="x").load("main.t")
    with pytest.raises(InvalidInput, match="no beginning"):
        reader(spark, location, readChangeFeed="true").load("main.t")
    with pytest.raises(InvalidInput, match='"snapshot" means nothing to a write'):
        writer(spark.range(1), location, "append", snapshot="1").save("main.t")


def test_the_modes_of_a_write(spark, location, con):
    rows = spark.range(3).selectExpr("id", "'w' AS name")
    writer(rows, location, "append").save("main.t")
    assert reader(spark, location).load("main.t").count() == 103
    with pytest.raises(AlreadyExists, match='"t" already exists'):
        writer(rows, location, "errorifexists").save("main.t")
    writer(rows, location, "ignore").save("main.t")
    assert reader(spark, location).load("main.t").count() == 103
    writer(rows, location, "overwrite").save("main.t")
    assert sorted(reader(spark, location).load("main.t").collect()) == [
        (0, "w"),
        (1, "w"),
        (2, "w"),
    ]
    before = con.snapshots().count()
    for number, mode in enumerate(("append", "overwrite", "ignore", "errorifexists")):
        writer(rows, location, mode).save(f"main.new{number}")
        assert reader(spark, location).load(f"main.new{number}").count() == 3
    assert con.snapshots().count() == before + 4  # each made its table and filled it at once
    with location.oracle() as oracle:
        assert oracle.sql("SELECT count(*) FROM new0") == [(3,)]


def test_options_of_a_write(spark, location, con):
    wider = spark.range(200, 201).selectExpr("id", "'m' AS name", "1.5D AS more")
    with pytest.raises(ColumnNotFound):
        writer(wider, location, "append").save("main.t")
    writer(wider, location, "append", mergeSchema="true").save("main.t")
    assert reader(spark, location).load("main.t").where("more = 1.5").count() == 1
    some = spark.range(7, 9).selectExpr("id", "'again' AS name", "0D AS more")
    writer(some, location, "overwrite", replaceWhere="id BETWEEN 7 AND 8").save("main.t")
    found = reader(spark, location).load("main.t")
    assert (found.count(), found.where("name = 'again'").count()) == (101, 2)
    writer(spark.range(2).toDF("other"), location, "overwrite", overwriteSchema="true").save("t")
    assert reader(spark, location).load("main.t").columns == ["other"]


def test_partitions_of_a_write(spark, location, con):
    rows = spark.range(10).selectExpr("id", "id % 2 AS part")
    writer(rows, location, "append").partitionBy("part").save("main.p")
    few = spark.range(50, 51).selectExpr("id", "0L AS part")
    writer(few, location, "overwrite", partitionOverwriteMode="dynamic").save("main.p")
    found = reader(spark, location).load("main.p").groupBy("part").count().collect()
    assert sorted(map(tuple, found)) == [(0, 1), (1, 5)]
    with pytest.raises(InvalidInput, match="not partitioned by id"):
        writer(few, location, "append").partitionBy("id").save("main.p")
    assert reader(spark, location).load("main.p").where("part = 1").count() == 5


def test_threads_of_one_session_write_at_the_same_time(spark, location, con):
    def write(number):
        frame = spark.range(1000 * number, 1000 * number + 20).selectExpr("id", "'w' AS name")
        writer(frame, location, "append").save("main.t")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(1, 9)))
    found = reader(spark, location).load("main.t").where("name = 'w'").agg({"id": "count"})
    assert found.first() == (160,)
    assert con.check().count() == 0


def test_options_of_attach_are_options_of_the_format(spark, tmp_path):
    uri = f"ducklake:{tmp_path / 'new.ducklake'}"
    data = f"{tmp_path / 'elsewhere'}/"
    made = spark.range(5000).write.format("ducklake").option("lake", uri)
    made.option("data_path", data).save("numbers")
    assert list((tmp_path / "elsewhere").rglob("*.parquet"))
    with pytest.raises(PermissionError):
        spark.range(1).write.format("ducklake").options(lake=uri, read_only="true").mode(
            "append"
        ).save("numbers")


def test_a_table_of_sparks_own_catalog_can_stand_for_one_of_a_lake(spark, location, con):
    name = f"stands{time.time_ns()}"
    spark.sql(f"CREATE TABLE {name} USING ducklake OPTIONS (lake '{location.uri}', table 'main.t')")
    assert spark.sql(f"SELECT count(*) FROM {name} WHERE id < 7").first() == (6,)
    with pytest.raises(NotSupported, match="register the lake"):
        spark.sql(f"INSERT INTO {name} VALUES (1, 'x')")
    spark.sql(f"DROP TABLE {name}")
    assert reader(spark, location).load("main.t").count() == 100
