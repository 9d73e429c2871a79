"""Numbers that DuckDB and Spark convert differently, as INSERT … SELECT and CAST convert them."""

from __future__ import annotations

from decimal import Decimal

import duckdb
import pytest

import ducklake_spark
from ducklake_spark.errors import DuckLakeError, InvalidValue

pytestmark = pytest.mark.spark

DOUBLES = (1.005, 2.675, 1.115, 0.285, 8.325, -1.005, 2.5, -2.5, 0.5, 1e15, 123456.785, 0.0)


@pytest.fixture
def con(tmp_path, spark):
    uri = f"ducklake:sqlite:{tmp_path / 'lake.sqlite'}"
    with ducklake_spark.connect(uri, spark=spark, data_path=f"{tmp_path}/data/") as connection:
        yield connection


def test_doubles_become_the_decimals_that_duckdb_makes(con):
    kinds = ("DECIMAL(18,2)", "DECIMAL(38,2)", "DECIMAL(18,0)")
    columns = ", ".join(f"c{i} {kind}" for i, kind in enumerate(kinds))
    con.sql(f"CREATE TABLE t (d DOUBLE, {columns})")
    source = " UNION ALL ".join(f"SELECT CAST('{d!r}' AS DOUBLE) AS d" for d in DOUBLES)
    con.sql(f"INSERT INTO t SELECT d, d, d, d FROM ({source}) AS s")
    casts = ", ".join(f"CAST(d AS {kind})" for kind in kinds)
    rows = con.sql(f"SELECT d, c0, c1, c2, {casts} FROM t").collect()
    assert len(rows) == len(DOUBLES)
    for row in rows:
        expected = duckdb.sql(f"SELECT {casts} FROM (SELECT '{row[0]!r}'::DOUBLE AS d)").fetchone()
        assert tuple(row)[1:] == expected * 2, row


def test_large_doubles_keep_every_digit_of_their_value(con):
    con.sql("CREATE TABLE t (h DECIMAL(38,0))")
    con.sql("INSERT INTO t SELECT CAST('1e23' AS DOUBLE) UNION ALL SELECT CAST('-3e37' AS DOUBLE)")
    found = sorted(row[0] for row in con.sql("SELECT h FROM t").collect())
    assert found == [Decimal(int(-3e37)), Decimal(int(1e23))]


@pytest.mark.parametrize("value", ["1e5", "nan", "inf", "-inf", "1e300", "999.995001"])
def test_a_double_that_does_not_fit_its_decimal_is_refused(con, value):
    con.sql("CREATE TABLE t (d DECIMAL(5,2))")
    with pytest.raises(InvalidValue, match=r'into table "t": Conversion Error: .* DECIMAL'):
        con.sql(f"INSERT INTO t SELECT CAST('{value}' AS DOUBLE)")
    assert con.sql("SELECT count(*) FROM t").collect()[0][0] == 0


def test_the_text_of_a_number_is_duckdbs(con):
    con.sql("CREATE TABLE t (s VARCHAR)")
    numbers = ("1.5", "nan", "1e20", "1e10", "1e-7", "-inf")
    source = " UNION ALL ".join(f"SELECT CAST('{number}' AS DOUBLE)" for number in numbers)
    con.sql(f"INSERT INTO t {source}")
    expected = [duckdb.sql(f"SELECT '{n}'::DOUBLE::VARCHAR").fetchone()[0] for n in numbers]
    assert sorted(row[0] for row in con.sql("SELECT s FROM t").collect()) == sorted(expected)


def test_a_dataframe_does_not_get_the_text_of_a_number_that_spark_would_write(con):
    con.sql("CREATE TABLE t (s VARCHAR)")
    with pytest.raises(DuckLakeError, match="cast the number to text yourself"):
        con.append("t", con.spark.sql("SELECT 1e20D AS s"))
