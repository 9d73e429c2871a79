"""What Spark's optimizer knows of a table: counts, bounds, rows, names."""

from __future__ import annotations

import pytest

from ducklake_spark.spark.relation import explain_scans

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def numbers(lake):
    lake.sql("CREATE TABLE lake.main.numbers (id BIGINT, name STRING, at TIMESTAMP_NTZ)")
    for start in (0, 100, 200):
        lake.spark.range(start, start + 100).selectExpr(
            "id", "concat('n', id) AS name", "TIMESTAMP_NTZ '2026-01-01 00:00:00' AS at"
        ).writeTo(f"{lake.name}.main.numbers").append()
    return f"{lake.name}.main.numbers"


TOTALS = "SELECT count(*), count(id), min(id), max(id), max(at) FROM {}"


def test_counts_and_bounds_of_a_table_read_no_file(lake, numbers):
    frame = lake.spark.sql(TOTALS.format(numbers))
    assert explain_scans(frame) == []
    moment = lake.spark.sql("SELECT TIMESTAMP_NTZ '2026-01-01 00:00:00'").first()[0]
    assert tuple(frame.first()) == (300, 300, 0, 299, moment)
    kinds = [(f.name, f.dataType.simpleString()) for f in frame.schema.fields]
    assert kinds[0] == ("count(1)", "bigint")
    assert kinds[4] == ("max(at)", "timestamp_ntz")


def test_counts_that_only_rows_can_tell_read_the_files(lake, numbers):
    for query, answer in (
        ("SELECT count(*) FROM {} WHERE id >= 250", 50),
        ("SELECT count(DISTINCT id % 7) FROM {}", 7),
        ("SELECT max(id + 1) FROM {}", 300),
        ("SELECT count(*) FILTER (WHERE id < 3) FROM {}", 3),
    ):
        frame = lake.spark.sql(query.format(numbers))
        assert len(explain_scans(frame)) == 1
        assert frame.first()[0] == answer


def test_counts_are_right_after_rows_were_deleted(lake, numbers):
    copy = f"{lake.name}.main.deleted"
    lake.spark.sql(f"CREATE TABLE {copy} AS SELECT * FROM {numbers}")
    lake.spark.sql(f"DELETE FROM {copy} WHERE id >= 290")
    assert tuple(lake.spark.sql(f"SELECT count(*), max(id) FROM {copy}").first()) == (290, 289)


def test_explain_names_the_table_and_its_snapshot(lake, numbers):
    text = lake.spark.sql(f"EXPLAIN SELECT name FROM {numbers} WHERE id = 5").first()[0]
    assert "numbers (snapshot " in text


def test_the_number_of_rows_reaches_the_optimizer(lake, numbers):
    lake.spark.conf.set("spark.sql.cbo.enabled", "true")
    try:
        text = lake.spark.sql(f"EXPLAIN COST SELECT name FROM {numbers}").first()[0]
    finally:
        lake.spark.conf.unset("spark.sql.cbo.enabled")
    assert "rowCount=300" in text


def test_bounds_and_nulls_of_columns_reach_the_optimizer(lake):
    facts = f"{lake.name}.main.facts"
    lake.spark.range(10_000).selectExpr(
        "id", "id % 10 AS k", "DATE '2026-01-01' + CAST(id % 100 AS INT) AS day",
        "CASE WHEN id % 4 = 0 THEN id END AS some", "CAST(id / 100 AS DECIMAL(10, 2)) AS price",
    ).writeTo(facts).create()  # fmt: skip
    lake.spark.conf.set("spark.sql.cbo.enabled", "true")
    try:
        for where, rows in (
            ("id < 2500", 2500),
            ("k = 3", 1000),
            ("day >= DATE '2026-03-22'", 2000),
            ("some IS NOT NULL", 2500),
            ("id > 20000", 0),
        ):
            text = lake.spark.sql(f"EXPLAIN COST SELECT id FROM {facts} WHERE {where}").first()[0]
            line = next(each for each in text.splitlines() if "Filter" in each)
            assert _rows_of(line) == pytest.approx(rows, rel=0.1, abs=1)
    finally:
        lake.spark.conf.unset("spark.sql.cbo.enabled")


def _rows_of(line):
    return float(line.split("rowCount=")[1].split(")")[0].replace("E+", "e"))


def test_a_query_by_name_asks_for_its_table_once_and_gets_the_same_one(lake, numbers, monkeypatch):
    from ducklake_spark.spark_face import names

    built = []
    build = names.table_of
    monkeypatch.setattr(names, "table_of", lambda *words: built.append(words) or build(*words))
    for _ in range(3):
        assert lake.spark.sql(f"SELECT name FROM {numbers} WHERE id = 7").collect() == [("n7",)]
    lake.spark.sql(f"INSERT INTO {numbers} SELECT 300, 'n300', NULL")
    assert lake.spark.sql(f"SELECT count(id) FROM {numbers}").collect() == [(301,)]
    assert lake.spark.sql(f"SELECT name FROM {numbers} WHERE id = 300").collect() == [("n300",)]
    assert len(built) <= 3
