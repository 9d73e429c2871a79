"""Queries that DuckDB binds: what names mean, what values become, what is refused."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import duckdb
import pytest

import ducklake_spark
from ducklake_spark.errors import (
    ColumnNotFound,
    InvalidInput,
    NotSupported,
    SqlSyntaxError,
    UnknownOption,
)

pytestmark = pytest.mark.spark


@pytest.fixture
def con(make_lake_location, spark):
    """A lake on SQLite."""
    location = make_lake_location("sqlite")
    with ducklake_spark.connect(
        location.uri, spark=spark, alias="lake", data_path=location.data_path
    ) as connection:
        connection.sql("CREATE TABLE t (a INTEGER, b VARCHAR)")  # version 1
        connection.sql("INSERT INTO t VALUES (1, 'x'), (2, NULL)")  # version 2
        yield connection


def rows(con, text, **words):
    return [tuple(row) for row in con.sql(text, **words).collect()]


def test_a_table_is_called_as_before_at_a_past_version(con):
    con.sql("ALTER TABLE t RENAME COLUMN b TO c")
    text = "SELECT main.t.b, t.*, (SELECT count(*) FROM t) FROM main.t AT (VERSION => 2) ORDER BY a"
    frame = con.sql(text)
    assert frame.columns == ["b", "a", "b", "(SELECT count_star() FROM t)"]
    assert [tuple(row) for row in frame.collect()] == [("x", 1, "x", 2), (None, 2, None, 2)]
    with pytest.raises(ColumnNotFound, match="LINE 1") as caught:
        con.sql("SELECT a, c FROM t AT (VERSION => 2)")
    assert caught.value.message.splitlines()[-1].index("^") == len("LINE 1: SELECT a, ")


def test_virtual_columns_are_read_and_shown_by_no_star(con):
    frame = con.sql("SELECT *, rowid FROM t WHERE snapshot_id = 2 ORDER BY rowid")
    assert frame.columns == ["a", "b", "rowid"]
    assert [tuple(row) for row in frame.collect()] == [(1, "x", 0), (2, None, 1)]
    assert rows(con, "SELECT count(rowid) FROM t JOIN (SELECT a AS k FROM t) ON k = a") == [(2,)]


def test_views_and_macros_are_those_of_their_snapshot_and_schema(con):
    con.sql("CREATE SCHEMA s")
    con.sql("CREATE MACRO s.f(x, k := 10) AS x + k + (SELECT max(a) FROM lake.main.t)")
    con.sql("CREATE VIEW s.v (n) AS SELECT a, b FROM lake.main.t")
    version = con.snapshots().count() - 1
    con.sql("INSERT INTO t VALUES (3, 'z')")
    con.sql("CREATE OR REPLACE VIEW s.v AS SELECT 0 AS n")
    assert rows(con, "SELECT s.f(n), s.f(n, k := 1) FROM s.v") == [(13, 4)]
    past = f"SELECT n, b FROM s.v AT (VERSION => {version}) ORDER BY n"
    assert rows(con, past) == [(1, "x"), (2, None)]


def test_parameters_have_the_types_of_their_values(con):
    given = [1, "2024-01-31", Decimal("1.50"), [1, None], {"k": "v"}, dt.date(2024, 2, 1), None]
    frame = con.sql("SELECT $1, $2::DATE AS d, $3, $4, $5, $6 - $2::DATE AS days, $7", params=given)
    assert frame.columns == ["$1", "d", "$3", "$4", "$5", "days", "$7"]
    (row,) = frame.collect()
    assert tuple(row) == (*(1, dt.date(2024, 1, 31), Decimal("1.50"), [1, None], ("v",), 1, None),)
    with pytest.raises(InvalidInput, match=r"\$2"):
        con.sql("SELECT $1", params=[1, 2])
    assert rows(con, "SELECT b FROM t WHERE a = $n", params={"n": 1}) == [("x",)]


def test_variables_and_settings_are_those_of_the_session(con):
    con.sql("SET VARIABLE wanted = [1, 3]")
    assert rows(con, "SELECT a FROM t WHERE a IN getvariable('wanted')") == [(1,)]
    assert rows(con, "SELECT b FROM t ORDER BY b") == [("x",), (None,)]
    con.sql("SET default_null_order = 'nulls_first'")
    assert rows(con, "SELECT b FROM t ORDER BY b") == [(None,), ("x",)]
    con.sql("RESET default_null_order")
    assert rows(con, "SELECT b FROM t ORDER BY b") == [("x",), (None,)]
    with pytest.raises(UnknownOption):
        con.sql("SET default_null_order = 'sideways'")


def test_a_table_made_of_a_query_has_duckdbs_types(con):
    con.sql("""CREATE TABLE kinds AS SELECT sum(a) AS total, uuid() AS id, a::UTINYINT AS small,
        TIME '10:00' AS noon, to_json({'a': a}) AS doc FROM t GROUP BY a""")
    found = {row[0]: row[1] for row in con.sql("DESCRIBE kinds").collect()}
    assert found == {
        "total": "HUGEINT", "id": "UUID", "small": "UTINYINT", "noon": "TIME", "doc": "JSON",
    }  # fmt: skip


def test_a_transaction_sees_its_own_tables(con):
    con.sql("BEGIN")
    con.sql("CREATE TABLE mine AS SELECT a + 1 AS n FROM t")
    assert rows(con, "SELECT max(n) FROM mine") == [(3,)]
    con.sql("ROLLBACK")
    con.sql("CREATE TABLE mine AS SELECT 'text' AS n")
    assert rows(con, "SELECT max(n) FROM mine") == [("text",)]


def test_statements_about_tables_are_rows(con):
    assert rows(con, "SELECT column_name, column_type FROM (DESCRIBE t)") == [
        ("a", "INTEGER"),
        ("b", "VARCHAR"),
    ]
    described = "SELECT d.column_name FROM (DESCRIBE SELECT a + 1 AS n, b FROM t) AS d ORDER BY ALL"
    assert rows(con, described) == [("b",), ("n",)]
    assert rows(con, "SELECT column_name, max FROM (SUMMARIZE t) ORDER BY 1")[0] == ("a", "2")
    assert rows(con, "FROM (SHOW TABLES)") == [("t",)]


def test_a_name_that_duckdb_keeps_for_itself_is_told_to_be_quoted(con):
    con.sql("CREATE TABLE n AS SELECT 1 AS at")
    with pytest.raises(SqlSyntaxError, match="LINE 1") as caught:
        con.sql("SELECT at FROM n")
    assert '"at"' in caught.value.hint
    assert rows(con, 'SELECT "at", n.at FROM n') == [(1, 1)]


def test_expressions_of_every_statement_are_duckdbs(con):
    con.sql("CREATE TABLE v (n INTEGER, d DOUBLE DEFAULT 7 // 2, s VARCHAR DEFAULT 1e20::DOUBLE)")
    con.sql("INSERT INTO v (n) VALUES (7 // 2), (5.2 / 2), ((SELECT max(a) FROM t))")
    assert rows(con, "FROM v ORDER BY n") == [(n, 3.0, "1e+20") for n in (2, 3, 3)]
    con.sql("UPDATE v SET d = n // 2, s = format('{}-{}', n, d) WHERE n // 2 = 1 AND n = 3")
    con.sql("DELETE FROM v USING (SELECT 2 AS k) AS u WHERE v.n = u.k AND v.d // 2 = 1.5")
    assert rows(con, "FROM v") == [(3, 1.0, "3-3.0")] * 2
    con.sql(
        "MERGE INTO v USING t ON v.n // 3 = t.a WHEN MATCHED THEN UPDATE SET s = format('{}', b) "
        "WHEN NOT MATCHED THEN INSERT (n, d) VALUES (a, a // 2)"
    )
    assert rows(con, "SELECT n, d, s FROM v ORDER BY n") == [
        (2, 1.0, "1e+20"),
        (3, 1.0, "x"),
        (3, 1.0, "x"),
    ]


@pytest.mark.parametrize(
    "query",
    [
        "PIVOT p ON y USING sum(v)",
        "PIVOT p ON y, z USING sum(v) AS s, count(*) AS n GROUP BY g ORDER BY g",
        "PIVOT p ON (y, z) USING sum(v) GROUP BY g",
        "PIVOT p ON y IN (2), z USING sum(v) GROUP BY g",
        "SELECT q.* FROM (PIVOT (SELECT * FROM p WHERE v > 1) ON y || '!' USING max(v)) AS q",
        "WITH c AS (SELECT y % 3 AS k, v FROM p) PIVOT c ON k",
        "PIVOT (PIVOT p ON y USING sum(v) GROUP BY g) ON g",
    ],
)
def test_a_pivot_looks_for_its_values(con, query):
    with duckdb.connect() as plain:
        for run in (con.sql, plain.execute):
            run("CREATE TABLE p (g VARCHAR, y INTEGER, z VARCHAR, v INTEGER)")
            run(
                "INSERT INTO p VALUES ('a', 2, 'q', 1), ('a', 10, 'it''s', 2), "
                "('b', NULL, 'q', 3), ('b', 2, NULL, 4)"
            )
        expected = plain.sql(query)
        frame = con.sql(query)
        assert frame.columns == expected.columns
        found = [tuple(row) for row in frame.collect()]
        assert sorted(found, key=repr) == sorted(expected.fetchall(), key=repr)


def test_a_pivot_over_no_value_says_so(con):
    with pytest.raises(NotSupported, match="no value"):
        con.sql("PIVOT (FROM t WHERE false) ON a USING count(*)")


def test_whole_division_is_a_setting(con):
    con.sql("SET integer_division = true")
    assert rows(con, "SELECT 7 / 2, a / 2 FROM t ORDER BY a") == [(3, 0), (3, 1)]
    con.sql("RESET integer_division")
    assert rows(con, "SELECT 7 / 2") == [(3.5,)]
