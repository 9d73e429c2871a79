"""Rows that Spark adds to a table of a lake by name."""

from __future__ import annotations

import datetime as dt

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

from ducklake_spark.errors import (
    ColumnMismatch,
    ColumnNotFound,
    InvalidInput,
    InvalidValue,
    NotNullViolation,
)

pytestmark = [pytest.mark.spark, pytest.mark.interop]


@pytest.fixture
def people(lake, table):
    """A table with defaults and a column that must be given."""
    lake.sql(
        f"CREATE TABLE lake.main.{table} "
        "(id INT NOT NULL, name STRING DEFAULT 'anon', v DOUBLE DEFAULT 7)"
    )
    return table


def rows_of(lake, table):
    return sorted(lake.sql(f"SELECT * FROM lake.main.{table}"))


def test_columns_that_are_not_given_take_the_defaults_of_the_lake(lake, people):
    lake.sql(f"INSERT INTO lake.main.{people} VALUES (1, DEFAULT, DEFAULT)")
    lake.sql(f"INSERT INTO lake.main.{people} (v, id) VALUES (2.5, 2)")
    lake.sql(f"INSERT INTO lake.main.{people} BY NAME SELECT 'Cy' AS NAME, 3 AS id")
    lake.spark.createDataFrame([(4,)], "id int").writeTo(f"{lake.name}.main.{people}").append()
    expected = [(1, "anon", 7.0), (2, "anon", 2.5), (3, "Cy", 7.0), (4, "anon", 7.0)]
    assert rows_of(lake, people) == expected
    assert sorted(lake.duckdb(f"FROM {people}")) == expected


def test_a_query_over_the_table_itself_is_inserted_once(lake, people):
    lake.sql(f"INSERT INTO lake.main.{people} VALUES (1, 'a', 1), (2, 'b', 2)")
    for _ in range(2):
        lake.sql(
            f"WITH m AS (SELECT max(id) AS top FROM lake.main.{people}) "
            f"INSERT INTO lake.main.{people} SELECT id + top, name, v FROM lake.main.{people}, m"
        )
    assert [row[0] for row in rows_of(lake, people)] == [1, 2, 3, 4, 5, 6, 7, 8]


def test_writers_match_columns_by_name_or_by_position(lake, people):
    name = f"{lake.name}.main.{people}"
    frame = lake.spark.createDataFrame([("Ada", 1, 0.5)], "name string, id int, v double")
    frame.writeTo(name).append()
    frame.write.mode("append").saveAsTable(name)
    frame.write.mode("ignore").saveAsTable(name)
    frame.select("id", "name", "v").toDF("x", "y", "z").write.insertInto(name)
    assert rows_of(lake, people) == [(1, "Ada", 0.5)] * 3
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        frame.write.saveAsTable(name)


@pytest.mark.parametrize(
    ("statement", "error", "words"),
    [
        ("VALUES (1)", ColumnMismatch, "3 columns to fill, but 1"),
        ("VALUES ('x', 'a', 1)", InvalidValue, 'Column "id" is INTEGER.* STRING'),
        ("VALUES (3000000000, 'a', 1)", InvalidValue, "3000000000"),
        ("VALUES (NULL, 'a', 1)", NotNullViolation, r"\.id"),
        ("BY NAME SELECT 1 AS id, 2 AS other", ColumnNotFound, "other"),
        ("(name) VALUES ('a')", NotNullViolation, r"\.id"),
    ],
)
def test_rows_that_do_not_fit_are_refused(lake, people, statement, error, words):
    before = lake.last_snapshot()
    with pytest.raises(error, match=words):
        lake.sql(f"INSERT INTO lake.main.{people} {statement}")
    assert lake.last_snapshot() == before


def test_spark_may_be_told_to_convert_anything(lake, people):
    lake.spark.conf.set("spark.sql.storeAssignmentPolicy", "LEGACY")
    try:
        lake.sql(f"INSERT INTO lake.main.{people} VALUES ('12', 'a', 1)")
    finally:
        lake.spark.conf.unset("spark.sql.storeAssignmentPolicy")
    assert rows_of(lake, people) == [(12, "a", 1.0)]


def test_few_rows_stay_in_the_catalog_and_many_make_a_file(lake, people):
    lake.sql(f"INSERT INTO lake.main.{people} VALUES (1, 'a', 1)")
    lake.sql(f"INSERT INTO lake.main.{people} SELECT id, 'b', 2 FROM range(500)")
    counts = "SELECT file_count FROM ducklake_table_info('lake') WHERE table_name = "
    assert lake.duckdb(f"{counts}'{people}'") == [(1,)]
    assert lake.duckdb(f"SELECT count(*) FROM {people}") == [(501,)]


def test_the_author_and_the_message_are_kept_with_the_snapshot(lake, people):
    frame = lake.spark.createDataFrame([(1,)], "id int")
    writer = frame.writeTo(f"{lake.name}.main.{people}").option("author", "Ada")
    writer.option("message", "first").append()
    told = "SELECT author, commit_message FROM ducklake_snapshots('lake') ORDER BY snapshot_id"
    assert lake.duckdb(told)[-1] == ("Ada", "first")


def test_a_table_gets_new_columns_and_wider_types_if_asked_for(lake, people):
    frame = lake.spark.createDataFrame([(2**40, "n")], "id long, note string")
    name = f"{lake.name}.main.{people}"
    with pytest.raises(ColumnNotFound):
        frame.writeTo(name).append()
    assert lake.snapshots_of(frame.writeTo(name).option("mergeSchema", "true").append) == 1
    assert rows_of(lake, people) == [(2**40, "anon", 7.0, "n")]


def test_columns_are_added_at_the_end_where_rows_come_by_position(lake, people):
    frame = lake.spark.createDataFrame(
        [(1, "a", 2.0, "n")], "w int, x string, y double, note string"
    )
    writer = frame.write.mode("append").option("mergeSchema", "true")
    writer.insertInto(f"{lake.name}.main.{people}")
    assert lake.duckdb(f"SELECT id, name, v, note FROM {people}") == [(1, "a", 2.0, "n")]
    with pytest.raises(ColumnMismatch):
        frame.select("w").write.option("mergeSchema", "true").insertInto(
            f"{lake.name}.main.{people}"
        )


def test_insert_with_schema_evolution_adds_columns(lake, people):
    if lake.spark.version < "4.3":
        pytest.skip("Spark has this statement from 4.3 on")
    text = f"INSERT WITH SCHEMA EVOLUTION INTO lake.main.{people} BY NAME SELECT 1 AS id, 2 AS w"
    assert lake.snapshots_of(lambda: lake.sql(text)) == 1
    assert lake.duckdb(f"SELECT id, v, w FROM {people}") == [(1, 7.0, 2)]


def test_an_option_of_overwriting_is_refused_where_rows_are_added(lake, people):
    lake.sql(f"INSERT INTO lake.main.{people} VALUES (1, 'a', 1)")
    frame = lake.spark.table(f"{lake.name}.main.{people}")
    writer = frame.write.mode("overwrite").option("replaceWhere", "id = 1")
    with pytest.raises(InvalidInput, match="replaceWhere"):
        writer.saveAsTable(f"{lake.name}.main.{people}")  # Spark makes a new table then
    assert rows_of(lake, people) == [(1, "a", 1.0)]


def test_the_catalog_in_use_is_where_bare_names_are(lake, people):
    lake.spark.sql(f"USE {lake.name}")
    try:
        lake.spark.createDataFrame([(9,)], "id int").write.mode("append").saveAsTable(people)
        lake.spark.sql(f"INSERT INTO {people} (id) VALUES (10)")
    finally:
        lake.spark.catalog.setCurrentCatalog("spark_catalog")
    assert [row[0] for row in rows_of(lake, people)] == [9, 10]


def test_types_without_a_counterpart_arrive_as_duckdb_reads_them(lake, table):
    lake.duckdb(
        f"CREATE TABLE {table} (u UUID, t TIME, n UTINYINT, h HUGEINT, "
        "m TIMESTAMP, z TIMESTAMPTZ, l INTEGER[], s STRUCT(a INTEGER, b VARCHAR))"
    )
    lake.spark.range(1).select(
        F.lit("5e1c1f6a-0b7c-4a53-9d39-3d3b1e2f0a10").alias("u"),
        F.lit("12:30:00").alias("t"),
        F.lit(200).alias("n"),
        F.lit(7).alias("h"),
        F.lit(dt.datetime(2026, 1, 2, 3)).cast("timestamp_ntz").alias("m"),
        F.expr("TIMESTAMP'2026-01-02 03:00:00Z'").alias("z"),
        F.array(F.lit(1), F.lit(2)).alias("l"),
        F.struct(F.lit("x").alias("b"), F.lit(5).alias("a")).alias("s"),
    ).writeTo(f"{lake.name}.main.{table}").append()
    shown = f"SELECT u::VARCHAR, t::VARCHAR, n, h, m::VARCHAR, epoch(z), l, s FROM {table}"
    assert lake.duckdb(shown) == [
        (
            *("5e1c1f6a-0b7c-4a53-9d39-3d3b1e2f0a10", "12:30:00", 200, 7, "2026-01-02 03:00:00"),
            *(1767322800.0, [1, 2], {"a": 5, "b": "x"}),
        )
    ]


def test_explaining_a_write_does_nothing(lake, people):
    before = lake.last_snapshot()
    ((text,),) = lake.sql(f"EXPLAIN INSERT INTO lake.main.{people} (id) VALUES (1)")
    assert f"append {lake.name}.main.{people}" in text
    assert lake.last_snapshot() == before
