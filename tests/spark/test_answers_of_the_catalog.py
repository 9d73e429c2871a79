"""Aggregates of a whole table: answered by the catalog as the query would answer them."""

from __future__ import annotations

import pytest

import ducklake_spark
from ducklake_spark.spark.relation import explain_scans

pytestmark = pytest.mark.spark

COLUMNS = (
    '"Id" BIGINT, u UTINYINT, u8 UBIGINT, d DATE, ts TIMESTAMP, tz TIMESTAMPTZ, '
    "n DECIMAL(12,2), b BOOLEAN, s VARCHAR, f DOUBLE, empty INTEGER"
)
ROWS = (
    "SELECT i, i, i, DATE '2020-01-01' + CAST(i AS INTEGER), "
    "TIMESTAMP '2020-01-01 00:00:01.5' + to_seconds(i), TIMESTAMPTZ '2020-01-01 00:00:01+02', "
    "i * 1.5, i % 2 = 0, 's' || i, i / 3, NULL FROM range({}, {}) r(i)"
)


@pytest.fixture
def con(spark, make_lake_location):
    location = make_lake_location("sqlite", "lake")
    with ducklake_spark.connect(
        location.uri, spark=spark, alias="lake", data_path=location.data_path
    ) as connection:
        connection.sql("USE lake")
        connection.sql(f"CREATE TABLE t ({COLUMNS})")
        yield connection


def shown(frame):
    return [(f.name, f.dataType) for f in frame.schema], frame.collect()


def same(con, items, dialect="duckdb", *, table="t"):
    """The answer, which the ordinary path gives too: a filter is never answered by the catalog."""
    answer = con.sql(f"SELECT {items} FROM {table}", dialect=dialect)
    ordinary = con.sql(f"SELECT {items} FROM {table} WHERE true", dialect=dialect)
    assert shown(answer) == shown(ordinary)
    return answer


def is_answered(frame):
    return "Scan" not in frame._jdf.queryExecution().optimizedPlan().toString() and not (
        explain_scans(frame)
    )


LISTS = (
    'count(*), min(id), MAX("Id"), count(ID), max(t.id), min(d), count(d)',
    "min(ts), max(ts), min(tz), max(tz), min(n), max(n), min(b), max(b), min(u), max(u8)",
    "count(1), count(), count(s), count(f), count(empty), min(empty), max(empty)",
)


@pytest.mark.parametrize("items", LISTS)
def test_names_types_and_values_are_those_of_the_query(con, items):
    for _ in range(2):
        assert is_answered(same(con, items))
        con.sql(f"INSERT INTO t {ROWS.format(0, 20)}")
        assert is_answered(same(con, items))
        con.sql(f"INSERT INTO t {ROWS.format(40, 43)}")


@pytest.mark.parametrize(
    "items",
    [
        "count(*), min(id), MAX(`Id`), count(ID), max(t.id), count(1)",
        "min(ts), max(ts), min(tz), max(tz), min(n), max(n), min(b), max(b), min(u), max(u8)",
        "count(*)",
        "min(empty), max(d) AS `last day`",
    ],
)
def test_names_in_the_dialect_of_spark_are_those_of_spark(con, items):
    con.sql(f"INSERT INTO t {ROWS.format(0, 20)}")
    assert is_answered(same(con, items, "spark"))


@pytest.mark.parametrize(
    "items",
    [
        *("min(s)", "max(f)", "count(DISTINCT id)", "min(id) FILTER (id > 3)", "max(id + 1)"),
        *("min(id), sum(id)", "min(id) OVER ()", "max(rowid)"),
    ],
)
def test_what_the_catalog_cannot_tell_is_read(con, items):
    con.sql(f"INSERT INTO t {ROWS.format(0, 20)}")
    assert not is_answered(same(con, items))


def test_deleted_rows_are_never_an_answer(con):
    con.sql(f"INSERT INTO t {ROWS.format(0, 20)}")
    con.sql("DELETE FROM t WHERE id = 19")
    assert not is_answered(same(con, "max(id)"))
    con.sql("DELETE FROM t WHERE id < 15")
    assert tuple(same(con, "min(id), max(id), count(*)").collect()[0]) == (15, 18, 4)


def test_rows_of_the_open_transaction_count(con):
    con.sql(f"INSERT INTO t {ROWS.format(0, 20)}")
    con.begin()
    con.sql(f"INSERT INTO t {ROWS.format(100, 102)}")
    assert same(con, "max(id)").collect()[0][0] == 101
    con.sql(f"INSERT INTO t {ROWS.format(200, 230)}")
    con.sql("DELETE FROM t WHERE id = 229")
    assert same(con, "max(id)").collect()[0][0] == 228
    con.rollback()
    assert same(con, "max(id), count(*)").collect()[0] == (19, 20)


def test_an_answer_inside_a_query_is_the_one_of_the_query(con):
    con.sql(f"INSERT INTO t {ROWS.format(0, 20)}")
    newest = con.sql("SELECT id FROM t WHERE d = (SELECT max(d) FROM t)")
    assert [row[0] for row in newest.collect()] == [19]
    later = con.sql("SELECT (SELECT max(ts) FROM t) - (SELECT min(ts) FROM t) AS span")
    assert later.collect() == con.sql("SELECT max(ts) - min(ts) AS span FROM t").collect()
    assert [f.dataType for f in later.schema] == [
        f.dataType for f in con.sql("SELECT max(ts) - min(ts) AS span FROM t").schema
    ]
    named = con.sql("WITH t AS (SELECT 5 AS id) SELECT max(id) FROM t").collect()
    assert named[0][0] == 5
    con.sql("CREATE TABLE one AS SELECT 7 AS id")
    assert con.sql("SELECT max(x) FROM one AS a(x)").collect()[0][0] == 7


def test_a_name_with_a_dot_may_mean_a_field(con):
    con.sql("CREATE TABLE pair (pair STRUCT(a INTEGER), a INTEGER)")
    con.sql("INSERT INTO pair VALUES ({'a': 1}, 2)")
    same(con, "max(a)", table="pair")
    same(con, "max(pair.a)", table="pair")


def test_moments_that_spark_cannot_write_are_read(con):
    con.sql("CREATE TABLE far (d DATE)")
    con.sql("INSERT INTO far SELECT DATE '9999-12-31' FROM range(20)")
    assert is_answered(same(con, "max(d)", table="far"))
