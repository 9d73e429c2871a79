"""How Spark gets to know a lake: register, configuration alone, builders, other sessions."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import pytest

import ducklake_spark
from ducklake_spark.errors import DuckLakeError, InvalidInput
from support.lakes import make_location

pytestmark = pytest.mark.spark


def _filled(spark, tmp_path, name, number):
    place = make_location("sqlite", tmp_path, name=name)
    with ducklake_spark.connect(place.uri, spark=spark, data_path=place.data_path) as con:
        con.sql(f"CREATE TABLE t AS SELECT {number} AS n")
    return place


def test_configuration_alone_names_a_lake(spark, tmp_path):
    place = _filled(spark, tmp_path, "lake", 1)
    session = spark.newSession()
    key = "spark.sql.catalog.by_settings"
    session.conf.set(key, "ducklake.LakeCatalog")
    session.conf.set(f"{key}.path", place.uri)
    session.conf.set(f"{key}.read_only", "true")
    ducklake_spark.install(session)
    assert session.sql("SELECT n FROM by_settings.main.t").collect() == [(1,)]
    with pytest.raises(DuckLakeError, match="read-only"):
        session.sql("CREATE TABLE by_settings.main.u (a INT)")


def test_a_lake_of_the_past_by_configuration(spark, tmp_path):
    place = _filled(spark, tmp_path, "lake", 1)
    ducklake_spark.register(spark, "past_lake", place.uri, snapshot_version=1)
    with ducklake_spark.connect(place.uri, spark=spark) as con:
        con.sql("INSERT INTO t VALUES (2)")
    assert spark.sql("SELECT n FROM past_lake.main.t").collect() == [(1,)]


def test_a_path_that_is_missing_or_wrong_is_told(spark, tmp_path):
    session = spark.newSession()
    session.conf.set("spark.sql.catalog.no_path", "ducklake.LakeCatalog")
    with pytest.raises(InvalidInput, match=r"spark\.sql\.catalog\.no_path\.path is not set"):
        session.sql("SHOW TABLES IN no_path.main")
    with pytest.raises(DuckLakeError, match="nowhere"):
        ducklake_spark.register(
            spark, "wrong_lake", f"ducklake:sqlite:{tmp_path}/nowhere/lake.sqlite"
        )


def test_sessions_made_beside_it_know_the_lake_and_have_transactions_of_their_own(spark, tmp_path):
    place = _filled(spark, tmp_path, "lake", 1)
    ducklake_spark.register(spark, "shared_lake", place.uri)
    other = spark.newSession()
    other.catalog.setCurrentCatalog("shared_lake")
    assert other.sql("SELECT n FROM t").collect() == [(1,)]
    frame = other.table("shared_lake.main.t")
    assert frame.sparkSession is other and frame.collect() == [(1,)]
    other.sql("CREATE TABLE u AS SELECT 5 AS five")
    assert spark.sql("SELECT five FROM shared_lake.main.u").collect() == [(5,)]


def test_a_lake_is_registered_with_its_session_while_another_is_active(spark, tmp_path):
    place = _filled(spark, tmp_path, "lake", 3)
    other = spark.newSession()  # the JVM takes it for the active one from now on
    ducklake_spark.register(spark, "late_lake", place.uri)
    assert spark.sql("SELECT n FROM late_lake.main.t").collect() == [(3,)]
    ducklake_spark.register(other, "late_lake", place.uri)
    assert other.sql("SELECT n FROM late_lake.main.t").collect() == [(3,)]


def test_no_password_gets_into_the_settings_of_spark(spark, tmp_path):
    place = make_location("sqlite", tmp_path)
    ducklake_spark.register(spark, "secret_lake", place.uri, data_path=f"{tmp_path}/s3cret/")
    settings = [*spark.conf.getAll.items(), *spark.sparkContext.getConf().getAll()]
    assert not [each for each in settings if "s3cret" in str(each) or place.uri in str(each)]


def test_a_name_that_is_registered_again_becomes_the_other_lake(spark, tmp_path):
    first, second = (_filled(spark, tmp_path, name, n) for n, name in enumerate(("a", "b")))
    ducklake_spark.register(spark, "again", first.uri)
    assert spark.sql("SELECT n FROM again.main.t").collect() == [(0,)]
    ducklake_spark.register(spark, "again", second.uri)
    assert spark.sql("SELECT n FROM again.main.t").collect() == [(1,)]
    with pytest.raises(DuckLakeError):
        ducklake_spark.register(spark, "again", f"ducklake:sqlite:{tmp_path}/nowhere/x.sqlite")
    assert spark.sql("SELECT n FROM again.main.t").collect() == [(1,)]


def test_threads_of_one_session(spark, tmp_path):
    place = _filled(spark, tmp_path, "lake", 1)
    ducklake_spark.register(spark, "busy_lake", place.uri)

    def ask(_):
        return spark.sql("SELECT n FROM busy_lake.main.t").collect()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(8))) == [[(1,)]] * 8


_OTHER_PROCESS = """
    import sys
    from pyspark.sql import SparkSession
    uri, first = sys.argv[1:]
    builder = (
        SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        .config("spark.sql.catalog.lake", "ducklake.LakeCatalog")
        .config("spark.sql.catalog.lake.path", uri)
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
    )
    if first == "session":
        spark = builder.getOrCreate()
        import ducklake_spark
    else:
        import ducklake_spark
        assert "py4j" not in sys.modules or SparkSession.getActiveSession() is None
        spark = ducklake_spark.configure(builder).getOrCreate()
    print("found", spark.sql("SELECT n FROM lake.main.t").collect()[0][0])
    spark.stop()
"""


@pytest.mark.parametrize("first", ["session", "package"])
def test_a_process_of_its_own(spark, tmp_path, first):
    place = _filled(spark, tmp_path, "lake", 42)
    code = textwrap.dedent(_OTHER_PROCESS)
    ran = subprocess.run(
        [sys.executable, "-c", code, place.uri, first],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert "found 42" in ran.stdout, ran.stderr[-3000:]


def test_a_lake_in_a_duckdb_file(spark, tmp_path):
    place = make_location("duckdb", tmp_path)
    ducklake_spark.register(spark, "duck_file", place.uri, data_path=place.data_path)
    spark.sql("CREATE TABLE duck_file.main.t AS SELECT id FROM range(4)")
    spark.sql(
        "CREATE OR REPLACE TABLE duck_file.main.t AS SELECT id + 1 AS n FROM duck_file.main.t"
    )
    assert spark.sql("SELECT sum(n) FROM duck_file.main.t").collect() == [(10,)]
    spark.sql("CALL duck_file.system.checkpoint()")
    assert spark.sql("CALL duck_file.system.check()").collect() == []
