"""Tables as streams, and streams into tables."""

from __future__ import annotations

import time

import pytest
from pyspark.errors import StreamingQueryException

import ducklake_spark
from ducklake_spark.bridge.errors import original_error
from ducklake_spark.errors import InvalidInput, NotSupported, SnapshotNotFound, TableNotFound

pytestmark = pytest.mark.spark


@pytest.fixture
def location(make_lake_location):
    return make_lake_location("sqlite")


@pytest.fixture
def con(location, spark):
    with ducklake_spark.connect(
        location.uri, spark=spark, alias="x", data_path=location.data_path
    ) as con:
        con.sql("CREATE TABLE t (id BIGINT, name VARCHAR)")  # snapshot 1
        con.append("t", spark.range(50).selectExpr("id", "concat('n', id) AS name"))  # 2
        con.sql("INSERT INTO t VALUES (100, 'inlined')")  # 3
        yield con


@pytest.fixture
def name(spark, location, con):
    name = f"lake{time.time_ns()}"
    ducklake_spark.register(spark, name, location.uri)
    return name


class Copy:
    """Reads a stream to its present end each time it is asked, and shows what came."""

    def __init__(self, spark, location, checkpoint, table="main.t", **options):
        self.spark, self.location, self.checkpoint = spark, location, checkpoint
        self.table, self.options = table, options
        self.batches = []

    def stream(self):
        made = self.spark.readStream.format("ducklake").option("lake", self.location.uri)
        return made.options(**self.options).load(self.table)

    def __call__(self, frame=None):
        self.batches = []

        def keep(rows, _number):
            self.batches.append(sorted(tuple(row) for row in rows.collect()))

        frame = self.stream() if frame is None else frame
        made = frame.writeStream.foreachBatch(keep).trigger(availableNow=True)
        query = made.option("checkpointLocation", str(self.checkpoint)).start()
        finish(query)
        return sorted(row for batch in self.batches for row in batch)


def finish(query):
    try:
        query.awaitTermination()
    except StreamingQueryException as error:
        raise original_error(error) or error from None


def ids(rows):
    return [row[0] for row in rows]


FIRST = [*range(50), 100]


def test_a_stream_begins_with_the_table_and_goes_on_with_what_comes(spark, location, con, tmp_path):
    copy = Copy(spark, location, tmp_path / "checkpoint")
    assert ids(copy()) == FIRST
    assert copy() == []
    con.sql("INSERT INTO t VALUES (101, 'a'), (102, 'b')")
    con.sql("CREATE TABLE other (i INTEGER)")
    con.append("t", spark.range(200, 230).selectExpr("id", "'big' AS name"))
    con.sql("DELETE FROM t WHERE id = 101")
    con.sql("UPDATE t SET name = 'new' WHERE id = 7")
    assert copy() == sorted(
        [*((i, "big") for i in range(200, 230)), (7, "new"), (101, "a"), (102, "b")]
    )
    assert copy() == []


def test_rows_that_maintenance_moves_are_not_new(spark, location, con, tmp_path):
    copy = Copy(spark, location, tmp_path / "checkpoint", data_inlining_row_limit="10")
    assert ids(copy()) == FIRST
    con.append("t", spark.range(300, 340).selectExpr("id", "'more' AS name"))
    con.sql("INSERT INTO t VALUES (101, 'small')")
    con.sql("CALL ducklake_flush_inlined_data('x')")
    con.sql("CALL ducklake_merge_adjacent_files('x')")
    con.sql("DELETE FROM t WHERE id < 40")
    con.sql("CALL ducklake_rewrite_data_files('x', delete_threshold => 0)")
    assert ids(copy()) == [101, *range(300, 340)]
    with location.oracle() as oracle:
        oracle.sql("INSERT INTO t VALUES (500, 'by duckdb')")
        oracle.sql("CALL ducklake_merge_adjacent_files('lake')")
    assert copy() == [(500, "by duckdb")]


def test_the_change_feed_is_a_stream(spark, location, con, tmp_path):
    copy = Copy(
        spark, location, tmp_path / "checkpoint", readChangeFeed="true", startingSnapshot="3"
    )
    con.sql("DELETE FROM t WHERE id = 5")
    con.sql("UPDATE t SET name = 'new' WHERE id = 7")
    assert copy.stream().columns == ["snapshot_id", "rowid", "change_type", "id", "name"]
    assert [(row[0], *row[2:]) for row in copy()] == [
        (3, "insert", 100, "inlined"),
        (4, "delete", 5, "n5"),
        (5, "update_postimage", 7, "new"),
        (5, "update_preimage", 7, "n7"),
    ]
    con.sql("DELETE FROM t WHERE id = 6")
    assert [(row[0], *row[2:]) for row in copy()] == [(6, "delete", 6, "n6")]
    whole = Copy(spark, location, tmp_path / "whole", readChangeFeed="true")
    found = whole()
    assert len(found) == 49
    assert {row[2] for row in found} == {"insert"}


def test_a_stream_begins_where_it_is_told(spark, location, con, tmp_path):
    assert ids(Copy(spark, location, tmp_path / "a", startingSnapshot="3")()) == [100]
    moment = str(con.snapshots().where("snapshot_id = 3").first()["snapshot_time"])
    assert ids(Copy(spark, location, tmp_path / "b", startingTimestamp=moment)()) == [100]
    late = Copy(spark, location, tmp_path / "c", startingSnapshot="latest")
    assert late() == []


def test_batches_stay_within_limits_where_snapshots_do(spark, location, con, tmp_path):
    for start in (1000, 2000, 3000):
        con.append("t", spark.range(start, start + 20).selectExpr("id", "'x' AS name"))
    con.sql("INSERT INTO t VALUES (9, 'last')")
    by_files = Copy(
        spark, location, tmp_path / "files", startingSnapshot="2", maxFilesPerTrigger="2"
    )
    by_files()
    assert [len(batch) for batch in by_files.batches] == [50 + 1 + 20, 20 + 20 + 1]
    by_rows = Copy(spark, location, tmp_path / "rows", startingSnapshot="2", maxRowsPerTrigger="21")
    by_rows()
    assert [len(batch) for batch in by_rows.batches] == [50, 1 + 20, 20, 20 + 1]


def test_a_table_is_a_stream_by_its_name(spark, location, con, name, tmp_path):
    copy = Copy(spark, location, tmp_path / "checkpoint")
    stream = spark.readStream.option("startingSnapshot", "3").table(f"{name}.main.t")
    assert copy(stream.where("id >= 100").select("name")) == [("inlined",)]
    assert spark.readStream.table(f"{name}.main.t").isStreaming


def test_expired_snapshots_are_told(spark, location, con, tmp_path):
    copy = Copy(spark, location, tmp_path / "checkpoint")
    copy()
    con.sql("INSERT INTO t VALUES (101, 'a')")
    con.sql("INSERT INTO t VALUES (102, 'b')")
    con.sql("CALL ducklake_expire_snapshots('x', versions => [4])")
    with pytest.raises(SnapshotNotFound, match="snapshot 4 was expired"):
        copy()
    copy.options["failOnDataLoss"] = "false"
    assert ids(copy()) == [101, 102]


def test_changed_columns_are_told_and_a_restart_goes_on(spark, location, con, tmp_path):
    copy = Copy(spark, location, tmp_path / "checkpoint")
    copy()
    stream = copy.stream()
    con.sql("INSERT INTO t VALUES (101, 'before')")
    with ducklake_spark.connect(location.uri, spark=spark, alias="y") as other:
        seen = []

        def keep(rows, _number):
            if not seen:  # the query runs: its columns are decided
                other.sql("ALTER TABLE t ADD COLUMN more INTEGER DEFAULT 4")
                other.sql("INSERT INTO t VALUES (102, 'after', 5)")
            seen.extend(tuple(row) for row in rows.collect())

        made = stream.writeStream.foreachBatch(keep).trigger(processingTime="0 seconds")
        query = made.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
        with pytest.raises(InvalidInput, match=r"columns of table .t. have been changed"):
            finish(query)
    assert seen == [(101, "before")]
    assert copy() == [(102, "after", 5)]


def test_another_table_of_the_same_name_is_told(spark, location, con, tmp_path):
    copy = Copy(spark, location, tmp_path / "checkpoint")
    copy()
    con.sql("CREATE OR REPLACE TABLE t (id BIGINT, name VARCHAR)")
    with pytest.raises(InvalidInput, match="another table"):
        copy()
    con.sql("DROP TABLE t")
    with pytest.raises(TableNotFound):
        copy.stream()
    with pytest.raises(InvalidInput, match='"snapshot" means nothing to a stream'):
        Copy(spark, location, tmp_path / "x", snapshot="1").stream()


def test_a_table_that_is_dropped_ends_its_stream(spark, location, con, tmp_path):
    dropped = []

    def drop(_rows, _number):
        if not dropped:
            dropped.append(True)
            with ducklake_spark.connect(location.uri, spark=spark, alias="y") as other:
                other.sql("DROP TABLE t")

    made = Copy(spark, location, None).stream().writeStream.foreachBatch(drop)
    query = made.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    with pytest.raises(TableNotFound, match="it was dropped"):
        finish(query)


# --- streams into tables


def drain(stream, location, checkpoint, table="main.copy", mode="append", **options):
    made = stream.writeStream.format("ducklake").outputMode(mode).trigger(availableNow=True)
    made = made.option("checkpointLocation", str(checkpoint)).option("lake", location.uri)
    finish(made.options(**options).start(table))


def rows_of(con, table="copy"):
    return sorted(tuple(row) for row in con.table(table).collect())


def test_a_stream_is_appended_and_makes_its_table(spark, location, con, tmp_path):
    source = Copy(spark, location, None)
    drain(source.stream(), location, tmp_path / "checkpoint")
    con.sql("INSERT INTO t VALUES (101, 'more')")
    drain(source.stream(), location, tmp_path / "checkpoint")
    drain(source.stream(), location, tmp_path / "checkpoint")
    assert ids(rows_of(con)) == [*FIRST, 101]
    info = con.snapshots().orderBy("snapshot_id").collect()[-1]["commit_extra_info"]
    assert '"batch": 1' in info
    with location.oracle() as oracle:
        assert oracle.sql("SELECT count(*) FROM copy") == [(52,)]
        oracle.sql("INSERT INTO copy VALUES (7, 'by duckdb')")


def test_small_batches_are_inlined(spark, location, con, tmp_path):
    source = Copy(spark, location, None, startingSnapshot="3")
    drain(source.stream(), location, tmp_path / "checkpoint")
    files = con.sql("SELECT * FROM ducklake_list_files('x', 'copy')")
    assert (ids(rows_of(con)), files.count()) == ([100], 0)


def test_a_stream_goes_to_a_table_by_name(spark, location, con, name, tmp_path):
    con.sql("CREATE TABLE copy (name VARCHAR, id BIGINT)")
    stream = spark.readStream.table(f"{name}.main.t")
    made = stream.writeStream.trigger(availableNow=True)
    made = made.option("checkpointLocation", str(tmp_path / "checkpoint"))
    finish(made.toTable(f"{name}.main.copy"))
    assert sorted(row[1] for row in rows_of(con)) == FIRST
    with pytest.raises(NotSupported, match="update mode"):
        stream.groupBy("name").count().writeStream.outputMode("update").option(
            "checkpointLocation", str(tmp_path / "update")
        ).toTable(f"{name}.main.copy")


def test_complete_mode_puts_all_rows_in_the_place_of_all(spark, location, con, tmp_path):
    source = Copy(spark, location, None)
    con.sql("CREATE TABLE copy (part BIGINT, count BIGINT)")
    for expected in ([(0, 26), (1, 25)], [(0, 26), (1, 26)]):
        counted = source.stream().selectExpr("id % 2 AS part").groupBy("part").count()
        drain(counted, location, tmp_path / "checkpoint", mode="complete")
        assert rows_of(con) == expected
        con.sql("INSERT INTO t VALUES (101, 'more')")


def test_a_batch_that_comes_again_is_not_written_again(spark, location, con, tmp_path):
    source = Copy(spark, location, None, startingSnapshot="2", maxFilesPerTrigger="1")
    drain(source.stream(), location, tmp_path / "checkpoint")
    before = rows_of(con)
    last = max((tmp_path / "checkpoint" / "commits").glob("[0-9]*"), key=lambda p: int(p.name))
    last.unlink()  # as if the driver had died before Spark noted the commit
    for old in (tmp_path / "checkpoint" / "commits").glob(".*.crc"):
        old.unlink()
    con.sql("CALL ducklake_expire_snapshots('x', older_than => now())")
    source.options["failOnDataLoss"] = "false"  # what it reads again may be less than it was
    drain(source.stream(), location, tmp_path / "checkpoint")
    assert rows_of(con) == before


def test_batches_are_merged_by_keys_exactly_once(spark, location, con, tmp_path):
    con.sql("CREATE TABLE copy (id BIGINT, name VARCHAR)")
    con.sql("INSERT INTO copy VALUES (1, 'old'), (1000, 'stays')")
    upsert = ducklake_spark.upsert_batch("main.copy", ["id"], lake=location.uri)

    def run():
        stream = Copy(spark, location, None).stream().where("id < 3")
        made = stream.writeStream.foreachBatch(upsert).trigger(availableNow=True)
        finish(made.option("checkpointLocation", str(tmp_path / "checkpoint")).start())

    run()
    expected = [(0, "n0"), (1, "n1"), (2, "n2"), (1000, "stays")]
    assert rows_of(con) == expected
    con.sql("DELETE FROM copy WHERE id = 2")
    for path in (tmp_path / "checkpoint" / "commits").iterdir():
        path.unlink()
    run()
    assert rows_of(con) == [row for row in expected if row[0] != 2]
    with pytest.raises(InvalidInput, match="inside of a streaming query"):
        upsert(spark.range(1).selectExpr("id", "'x' AS name"), 0)


def test_what_a_stream_notes_is_no_property_of_its_table(lake, tmp_path):
    lake.sql("CREATE TABLE lake.main.noted_source AS SELECT 1 AS id")
    rows = lake.spark.readStream.table(f"{lake.name}.main.noted_source")
    writer = rows.writeStream.option("checkpointLocation", str(tmp_path / "c"))
    writer.trigger(availableNow=True).toTable(f"{lake.name}.main.noted").awaitTermination(60)
    assert "spark_stream" not in lake.sql("SHOW CREATE TABLE lake.main.noted")[0][0]
    assert lake.sql("SELECT * FROM lake.main.noted") == [(1,)]


@pytest.mark.parametrize("option", ["endingVersion", "endingSnapshot", "endingTimestamp"])
def test_a_stream_does_not_pass_over_an_end(con, location, spark, option):
    reader = spark.readStream.format("ducklake").option("lake", location.uri)
    with pytest.raises(InvalidInput, match=r'"ending[a-z]+" means nothing'):
        reader.option("readChangeFeed", "true").option(option, "2").load("main.t")
