"""Lists, maps and structs cast to VARCHAR read as DuckDB writes them."""

from __future__ import annotations

import duckdb
import pytest

import ducklake_spark

pytestmark = pytest.mark.spark

WORDS = ("abc", "a b", " a", "a ", "", "NULL", "null", "a,b", "a'b", 'a"b', "a\\b", "a\\,b", "[x",
         "}", "(", "a=b", "a:b", "a.b", "line\nbreak", "\t", "ä")  # fmt: skip


def test_nested_values_have_duckdbs_text(spark, tmp_path):
    uri = f"ducklake:sqlite:{tmp_path / 'lake.sqlite'}"
    columns = (
        'l VARCHAR[], m MAP(VARCHAR, VARCHAR[]), s STRUCT(a INTEGER, "b c" VARCHAR), '
        "n STRUCT(d DATE[], t TIMESTAMP, b BOOLEAN, p DECIMAL(5,2))"
    )
    with ducklake_spark.connect(uri, spark=spark, data_path=f"{tmp_path}/data/") as con:
        con.sql(f"CREATE TABLE t ({columns})")
        oracle = duckdb.connect()
        oracle.sql(f"CREATE TABLE t ({columns})")
        for word in WORDS:
            q = "'" + word.replace("'", "''") + "'"
            row = (
                f"([{q}, NULL], MAP {{{q}: [{q}], 'k': NULL}}, {{'a': 1, 'b c': {q}}}, "
                "{'d': [DATE '2020-01-02', NULL], 't': TIMESTAMP '2020-01-01 10:00:00', "
                "'b': true, 'p': 1.50})"
            )
            con.sql(f"INSERT INTO t VALUES {row}")
            oracle.sql(f"INSERT INTO t VALUES {row}")
        con.sql("INSERT INTO t VALUES (NULL, NULL, NULL, NULL), ([], MAP {}, NULL, NULL)")
        oracle.sql("INSERT INTO t VALUES (NULL, NULL, NULL, NULL), ([], MAP {}, NULL, NULL)")
        query = "SELECT l::VARCHAR, m::VARCHAR, s::VARCHAR, CAST(n AS TEXT) FROM t"
        found = [tuple(row) for row in con.sql(query).collect()]
        assert sorted(found, key=repr) == sorted(oracle.sql(query).fetchall(), key=repr)
