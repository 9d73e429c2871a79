"""INSERT and CREATE TABLE AS give what the extension gives for the same statements."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession

import ducklake_spark
from ducklake_spark import Connection
from ducklake_spark.errors import DuckLakeError, InvalidValue
from support.lakes import LakeLocation, make_location
from support.oracle import Oracle
from support.rows import sorted_rows

pytestmark = [pytest.mark.interop, pytest.mark.spark]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> tuple[LakeLocation, LakeLocation]:
    folder: Path = tmp_path_factory.mktemp("insert")
    return make_location("sqlite", folder, name="ours"), make_location(
        "sqlite", folder, name="theirs"
    )


@pytest.fixture(scope="module")
def con(spark: SparkSession, places: tuple[LakeLocation, LakeLocation]) -> Iterator[Connection]:
    ours, _ = places
    with ducklake_spark.connect(
        ours.uri, spark=spark, alias="lake", data_path=ours.data_path
    ) as connection:
        yield connection


@pytest.fixture(scope="module")
def duck(places: tuple[LakeLocation, LakeLocation]) -> Iterator[Oracle]:
    with places[1].oracle() as oracle:
        yield oracle


DEFAULTS = {
    "INTEGER": ["5.7", "5.5", "6.5", "'12'", "-1", "NULL", "1 + 2"],
    "DECIMAL(10,2)": ["1.5", "'1.5'", "7"],
    "VARCHAR": ["1.50", "'it''s'", "''", "'null'"],
    "DOUBLE": ["1e10", "1", "-0.5"],
    "FLOAT": ["0.1"],
    "BOOLEAN": ["1", "'yes'"],
    "DATE": ["'2020-1-5'", "DATE '2020-01-05'"],
    "TIMESTAMP": ["'2020-01-05'", "'2020-01-05 10:00:00.5'"],
    "TIMESTAMPTZ": ["'2020-01-05 10:00:00+02'", "'2020-01-05'"],
    "TIMESTAMP_NS": ["'2020-01-05 10:00:00.123456789'"],
    "TIMESTAMP_S": ["'2020-01-05'"],
    "TIME": ["'10:00'"],
    "BLOB": ["'a\\x00b'"],
    "UUID": ["'6BA7B8109dad11d180b400c04fd430c8'"],
    "UBIGINT": ["18446744073709551615"],
    "HUGEINT": ["5"],
    "INTERVAL": ["'1 day'"],
    "JSON": ["'{\"a\": 1}'"],
}


def test_defaults_are_stored_as_by_the_extension(con, duck, places):
    columns = [f"{kind} DEFAULT {text}" for kind, texts in DEFAULTS.items() for text in texts]
    listed = ", ".join(f"c{i} {column}" for i, column in enumerate(columns))
    for run in (con.sql, duck.sql):
        run(f"CREATE TABLE defaults ({listed})")
    ours, theirs = (_column_rows(place, "defaults") for place in places)
    assert dict(zip(columns, ours, strict=True)) == dict(zip(columns, theirs, strict=True))


def _column_rows(place: LakeLocation, table: str) -> list[tuple]:
    with place.database(create=False) as db:
        return db.fetch(
            "SELECT c.column_name, c.initial_default, replace(c.default_value, '\"', ''), "
            "c.default_value_type, c.default_value_dialect FROM ducklake_column c "
            "JOIN ducklake_table t ON t.table_id = c.table_id "
            "WHERE t.table_name = ? AND t.end_snapshot IS NULL ORDER BY c.column_order",
            (table,),
        )


@pytest.mark.parametrize("definition", ["TINYINT DEFAULT 300", "INTEGER DEFAULT 'abc'"])
def test_default_that_does_not_fit_is_refused(con: Connection, definition: str):
    with pytest.raises(InvalidValue, match='default of column "a"'):
        con.sql(f"CREATE TABLE unfit (a {definition})")


STATEMENTS = [
    "INSERT INTO t VALUES (1, 'a', 1.5, DATE '2024-01-01')",
    "INSERT INTO t (b, a) VALUES ('b', 2)",
    "INSERT INTO t (a) VALUES (3), (4)",
    "INSERT INTO t (a, b) VALUES (5, DEFAULT), (DEFAULT, 'x')",
    "INSERT INTO t DEFAULT VALUES",
    "INSERT INTO t BY NAME SELECT 'n' AS b, 6 AS a",
    "INSERT INTO t BY NAME SELECT DATE '2024-02-02' AS d, 7 AS A",
    "INSERT INTO t BY POSITION SELECT 8, 'p', 2, NULL",
    "INSERT INTO t (d, a) SELECT '2024-03-03', i FROM range(10, 13) s(i)",
    "INSERT INTO t SELECT * FROM t WHERE a = 1",
    "INSERT INTO t (a) SELECT 1.7 UNION ALL SELECT -2.5",
]


def test_statements_fill_the_same_rows(con: Connection, duck: Oracle):
    columns = "a INTEGER DEFAULT 40 + 2, b VARCHAR DEFAULT 'none', c DECIMAL(6,3), d DATE"
    for run in (con.sql, duck.sql):
        run(f"CREATE TABLE t ({columns})")
    for statement in STATEMENTS:
        con.sql(statement)
        duck.sql(statement)
        ours = sorted_rows(con.sql("FROM t").collect())
        assert ours == sorted_rows(duck.sql("FROM t")), statement


# The column and what is assigned to it. None of these may end in another value than DuckDB's.
ASSIGNMENTS = [
    ("INTEGER", "1.7"), ("INTEGER", "1.5"), ("INTEGER", "2.5"), ("INTEGER", "-2.5"),
    ("INTEGER", "2.5::DOUBLE"), ("INTEGER", "3.5::FLOAT"), ("INTEGER", "'7'"),
    ("INTEGER", "' 7 '"), ("INTEGER", "true"), ("INTEGER", "'abc'"), ("INTEGER", "3000000000"),
    ("TINYINT", "200"), ("UTINYINT", "255"), ("UTINYINT", "-1"),
    ("HUGEINT", "12345678901234567890"),
    ("BOOLEAN", "5"), ("BOOLEAN", "0"), ("BOOLEAN", "'yes'"), ("BOOLEAN", "DATE '2024-01-01'"),
    ("VARCHAR", "1.50"), ("VARCHAR", "12"), ("VARCHAR", "true"), ("VARCHAR", "DATE '2024-01-01'"),
    ("VARCHAR", "TIMESTAMP '2024-01-01 10:00:00'"),
    ("VARCHAR", "TIMESTAMP '2024-01-01 10:00:00.5'"),
    ("VARCHAR", "TIMESTAMPTZ '2024-01-01 10:00:00+02'"), ("VARCHAR", "1.5::DOUBLE"),
    ("DATE", "'2024-1-5'"), ("DATE", "TIMESTAMP '2024-01-01 23:00:00'"), ("DATE", "5"),
    ("DATE", "'2024-02-30'"), ("TIMESTAMP", "DATE '2024-01-01'"), ("TIMESTAMP", "'2024-01-01'"),
    ("TIMESTAMP", "5"), ("TIMESTAMPTZ", "5"), ("BIGINT", "TIMESTAMP '2024-01-01'"),
    ("DECIMAL(5,2)", "1.005"), ("DECIMAL(5,2)", "'1.005'"), ("DECIMAL(5,2)", "12345.6"),
    ("FLOAT", "0.1"), ("FLOAT", "1e39"), ("DOUBLE", "1"), ("INTEGER[]", "[1.5, 2.5]"),
    ("UUID", "'6ba7b810-9dad-11d1-80b4-00c04fd430c8'"), ("TIME", "'10:00:00'"),
    ("BLOB", "'abc'"), ("STRUCT(a INTEGER, b VARCHAR)", "{'b': 'x', 'a': 1.7}"),
    ("MAP(VARCHAR, INTEGER)", "MAP {'k': 1.7}"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "value"), ASSIGNMENTS)
@pytest.mark.parametrize("form", ["SELECT {}", "VALUES ({})"])
def test_assignment_gives_the_value_of_duckdb_or_an_error(con, duck, kind, value, form):
    for run in (con.sql, duck.sql):
        run(f"CREATE OR REPLACE TABLE assigned (x {kind})")
    statement = f"INSERT INTO assigned {form.format(value)}"
    try:
        duck.sql(statement)
    except duckdb.Error:  # what DuckDB refuses, we refuse
        with pytest.raises(DuckLakeError):
            con.sql(statement)
        return
    con.sql(statement)
    shown = (
        "SELECT CAST(x AS VARCHAR) FROM assigned" if kind != "BLOB" else "SELECT x FROM assigned"
    )
    plain = not kind.startswith(("STRUCT", "MAP", "INTEGER["))
    query = shown if plain else "FROM assigned"
    assert sorted_rows(con.sql(query).collect()) == sorted_rows(duck.sql(query))


EXPRESSIONS = [
    "1", "-1", "3000000000", "12345678901234567890", "1.5", "1.50", "0.1 + 0.2", "1e3", "1 / 2",
    "7 // 2", "7 % 2", "2 * 3", "'text'", "'a' || 'b'", "upper('x')", "length('abc')", "true",
    "1 = 2", "DATE '2024-01-01'", "TIMESTAMP '2024-01-01 10:00:00'",
    "TIMESTAMPTZ '2024-01-01 10:00:00+00'", "TIME '10:00:00'", "INTERVAL '1 day'",
    "DATE '2024-01-01' + 1", "[1, 2, 3]", "['a']", "{'a': 1, 'b': 'x'}", "MAP {'k': 1}",
    "CAST(1 AS UTINYINT)", "CAST(1 AS USMALLINT)", "CAST(1 AS UINTEGER)", "CAST(1 AS UBIGINT)",
    "CAST(1 AS HUGEINT)", "CAST(1 AS SMALLINT)", "1::FLOAT", "1::DECIMAL(18,4)",
    "CAST('6ba7b810-9dad-11d1-80b4-00c04fd430c8' AS UUID)", "CAST('{}' AS JSON)", "'a'::BLOB",
    "TIMESTAMP_NS '2024-01-01 10:00:00.123456789'", "CAST('2024-01-01' AS TIMESTAMP_S)",
    "coalesce(NULL, 1)", "CASE WHEN true THEN 1 ELSE 2.5 END", "NULL::INTEGER", "NULL",
    "count(*)", "sum(1)", "sum(1.5)", "avg(1)", "min('a')", "max(DATE '2024-01-01')",
]  # fmt: skip


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_created_table_has_the_types_of_the_extension(con, duck, expression: str):
    statement = f"CREATE OR REPLACE TABLE made AS SELECT {expression} AS x"
    con.sql(statement)
    duck.sql(statement)
    ours, theirs = con.sql("DESCRIBE made").collect()[0][1], duck.sql("DESCRIBE made")[0][1]
    assert ours == theirs
    assert con.sql("FROM made").count() == len(duck.sql("FROM made")) == 1
