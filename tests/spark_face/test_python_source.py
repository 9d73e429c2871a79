"""The format ``ducklake`` in Python workers, for sessions whose JVM knows nothing of lakes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

import ducklake_spark
from ducklake_spark.data_source.source import LakeDataSource
from ducklake_spark.errors import ColumnMismatch, InvalidInput, NotSupported, SnapshotNotFound
from support.writing import table_files

pytestmark = pytest.mark.spark


@pytest.fixture
def location(make_lake_location):
    return make_lake_location("sqlite")


@pytest.fixture
def con(location, spark):
    with ducklake_spark.connect(
        location.uri, spark=spark, alias="x", data_path=location.data_path
    ) as con:
        yield con


@pytest.fixture
def python_format(spark):
    """The source under a name that the JVM's class has not."""

    class Source(LakeDataSource):
        @classmethod
        def name(cls):
            return "ducklake_in_python"

    spark.dataSource.register(Source)
    return "ducklake_in_python"


def source(location, table="main.t", **options):
    return LakeDataSource({"lake": location.uri, "path": table, **options})


def rows_of(batches):
    return sorted((tuple(row.values()) for b in batches for row in b.to_pylist()), key=repr)


def read(made):
    reader = made.reader(made.schema())
    return rows_of(batch for piece in reader.partitions() for batch in reader.read(piece))


def native(con, table="t", **at):
    return sorted((tuple(row) for row in con.table(table, **at).collect()), key=repr)


def test_every_snapshot_reads_as_it_does_natively(location, con, spark):
    con.sql("CREATE TABLE t (id INTEGER, name VARCHAR, at TIMESTAMP, d DECIMAL(9,2), l INTEGER[])")
    con.append(
        "t",
        spark.range(50).selectExpr(
            "CAST(id AS INT) AS id",
            "concat('n', id) AS name",
            "timestamp_ntz'2024-01-01 00:00:00' AS at",
            "CAST(id AS DECIMAL(9,2)) AS d",
            "array(CAST(id AS INT)) AS l",
        ),
    )
    con.sql("INSERT INTO t VALUES (100, 'inlined', NULL, 1.5, [1, NULL])")
    con.sql("DELETE FROM t WHERE id IN (5, 100)")
    con.sql("ALTER TABLE t RENAME COLUMN name TO label")
    con.sql("ALTER TABLE t ADD COLUMN more INTEGER DEFAULT 7")
    con.sql("ALTER TABLE t ALTER COLUMN id SET DATA TYPE BIGINT")
    con.sql("UPDATE t SET label = 'new' WHERE id = 7")
    con.sql('INSERT INTO t SELECT id + 1000, label, "at", d, l, more FROM t WHERE id < 20')
    con.sql("CALL ducklake_flush_inlined_data('x')")
    con.sql("CALL ducklake_merge_adjacent_files('x')")
    newest = con.last_committed_snapshot()
    for snapshot in range(2, newest + 1):
        found = read(source(location, snapshot=str(snapshot)))
        assert found == native(con, version=snapshot), snapshot


def test_partitions_and_files_of_others_read_as_they_do_natively(location, con, spark, tmp_path):
    con.sql("CREATE TABLE t (id BIGINT, part INTEGER)")
    con.sql("ALTER TABLE t SET PARTITIONED BY (part)")
    con.append("t", spark.range(40).selectExpr("id", "CAST(id % 3 AS INT) AS part"))
    spark.range(5).selectExpr("id + 500 AS id", "9 AS part").write.partitionBy("part").parquet(
        str(tmp_path / "foreign")
    )
    con.add_files("t", f"{tmp_path / 'foreign'}/**/*.parquet", hive_partitioning=True)
    assert read(source(location)) == native(con)
    assert any(row[1] == 9 for row in native(con))


def test_a_frame_is_written_and_read_in_workers(location, con, spark, python_format):
    con.sql("CREATE TABLE t (id BIGINT, name VARCHAR)")
    frame = spark.range(3000).selectExpr("concat('n', id) AS name", "id")
    writer = frame.repartition(2).write.format(python_format).option("lake", location.uri)
    writer.mode("append").save("main.t")
    reader = spark.read.format(python_format).option("lake", location.uri)
    assert reader.load("main.t").where("id % 2 = 0").count() == 1500
    assert con.table("t").where("name = 'n7'").first() == (7, "n7")
    writer.mode("overwrite").save("main.t")
    writer.mode("append").save("main.made")
    assert (con.table("t").count(), con.table("made").count()) == (3000, 3000)
    with location.oracle() as oracle:
        assert oracle.sql("SELECT count(*), sum(id) FROM t") == [(3000, 4498500)]


def test_a_failed_write_leaves_no_file(location, con, spark, python_format):
    con.sql("CREATE TABLE t (id BIGINT)")
    bad = spark.range(2000).selectExpr(
        "CASE WHEN id = 1999 THEN CAST(raise_error('no') AS BIGINT) ELSE id END AS id"
    )
    writer = bad.repartition(1).write.format(python_format).option("lake", location.uri)
    with pytest.raises(Exception, match="no"):
        writer.mode("append").save("main.t")
    assert (con.table("t").count(), table_files(location)) == (0, [])


def test_a_stream_has_the_rows_that_come(location, con, spark):
    con.sql("CREATE TABLE t (id BIGINT, name VARCHAR)")
    con.append("t", spark.range(30).selectExpr("id", "'a' AS name"))
    stream = source(location).streamReader(None)
    start = stream.initialOffset()

    def batch(since):
        end = stream.latestOffset()
        pieces = stream.partitions(since, end)
        return end, rows_of(b for piece in pieces for b in stream.read(piece))

    end, found = batch(start)
    assert found == native(con)
    con.sql("INSERT INTO t VALUES (100, 'small')")
    con.append("t", spark.range(200, 230).selectExpr("id", "'big' AS name"))
    con.sql("DELETE FROM t WHERE id = 201")
    con.sql("UPDATE t SET name = 'new' WHERE id = 7")
    con.sql("CALL ducklake_flush_inlined_data('x')")
    con.sql("CALL ducklake_merge_adjacent_files('x')")
    expected = con.changes("t", end["snapshot"] + 1, kind="insertions").select("id", "name")
    later, found = batch(end)
    assert found == sorted((tuple(row) for row in expected.collect()), key=repr)
    con.sql("CALL ducklake_rewrite_data_files('x', delete_threshold => 0)")
    assert batch(later)[1] == []
    con.sql(f"CALL ducklake_expire_snapshots('x', versions => [{later['snapshot']}])")
    with pytest.raises(SnapshotNotFound, match="expired"):
        batch(end)
    con.sql("ALTER TABLE t ADD COLUMN more INTEGER")
    with pytest.raises(InvalidInput, match="columns were changed"):
        batch(stream.latestOffset())


def test_what_it_cannot_do_is_told(location, con):
    con.sql("CREATE TABLE t (id BIGINT, name VARCHAR DEFAULT 'x')")
    with pytest.raises(NotSupported, match="change feed"):
        source(location, readChangeFeed="true", startingSnapshot="1").schema()
    with pytest.raises(NotSupported, match="Cannot write a stream"):
        source(location).streamWriter(StructType([]), False)
    with pytest.raises(NotSupported, match="mergeschema"):
        source(location, mergeSchema="true").writer(StructType([]), False)
    with pytest.raises(NotSupported, match="no lakes by name"):
        LakeDataSource({"catalog": "c", "path": "main.t"}).schema()
    with pytest.raises(InvalidInput, match="no time zone"):
        source(location, timestamp="2024-01-01 00:00:00").schema()
    with pytest.raises(ColumnMismatch, match="has a default"):
        source(location).writer(StructType([StructField("id", LongType())]), False)
    with pytest.raises(ColumnMismatch, match="cast it"):
        fields = [StructField("id", StringType()), StructField("name", StringType())]
        source(location).writer(StructType(fields), False)
    con.sql("CREATE TABLE p (id BIGINT)")
    con.sql("ALTER TABLE p SET PARTITIONED BY (id)")
    with pytest.raises(NotSupported, match="partitioned table"):
        source(location, "main.p").writer(StructType([StructField("id", LongType())]), False)


PLAIN = """
from pathlib import Path
from support.spark import start_spark
spark = start_spark(Path({directory!r}))
spark.range(2000).write.format("ducklake").option("lake", {uri!r}).option(
    "data_path", {data!r}).mode("append").save("main.t")
rows = spark.read.format("ducklake").option("lake", {uri!r}).load("main.t")
stream = spark.readStream.format("ducklake").option("lake", {uri!r}).load("main.t")
query = stream.writeStream.format("memory").queryName("seen").trigger(availableNow=True)
query.option("checkpointLocation", {directory!r} + "/checkpoint").start().awaitTermination()
print("found", rows.count(), spark.table("seen").count())
"""


def test_a_session_that_never_heard_of_lakes_finds_the_format(location, tmp_path):
    script = PLAIN.format(uri=location.uri, data=location.data_path, directory=str(tmp_path))
    paths = [str(Path(__file__).parents[1]), *sys.path]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "PYSPARK_PYTHON": sys.executable,
    }
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        timeout=300,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "found 2000 2000" in done.stdout, done.stderr[-3000:]
