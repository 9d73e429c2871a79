"""CREATE TEMP TABLE: rows of a query that other statements use, outside of every lake."""

from __future__ import annotations

import pytest

import ducklake_spark
from ducklake_spark.errors import AlreadyExists, InvalidInput, NotSupported, TableNotFound

pytestmark = pytest.mark.spark


@pytest.fixture
def con(make_lake_location, spark):
    place = make_lake_location("sqlite")
    con = ducklake_spark.connect(place.uri, spark=spark, alias="lake", data_path=place.data_path)
    con.sql("CREATE TABLE t AS SELECT i AS id, 0 AS v FROM range(10) r(i)")
    yield con
    for name in list(con.temporary):
        con.sql(f'DROP TABLE "{name}"')
    con.close()


def test_a_temporary_table_keeps_the_rows_of_its_query(con):
    made = con.sql('CREATE TEMP TABLE "odd name" (a) AS SELECT id, 7 AS b, random() AS r FROM t')
    assert made.collect() == [(10,)]
    first = con.sql('FROM "odd name" ORDER BY a').collect()
    con.sql("DELETE FROM t")
    assert con.sql('FROM "odd name" ORDER BY a').collect() == first
    assert first[0].asDict().keys() == {"a", "b", "r"}
    assert con.sql("SHOW TABLES").collect() == [("t",)]


def test_statements_that_change_a_lake_use_it(con):
    con.sql("CREATE TEMPORARY TABLE source AS SELECT i AS id, i * 10 AS v FROM range(8, 12) r(i)")
    con.sql("UPDATE t SET v = source.v FROM source WHERE t.id = source.id AND t.id = 8")
    con.sql("MERGE INTO t USING source USING (id) WHEN NOT MATCHED THEN INSERT *")
    con.sql("DELETE FROM t USING source WHERE t.id = source.id AND source.v = 90")
    assert con.sql("FROM t WHERE id > 7 ORDER BY id").collect() == [(8, 80), (10, 100), (11, 110)]


def test_it_can_be_replaced_and_dropped(con):
    con.sql("CREATE TEMP TABLE again AS SELECT 1 AS a")
    with pytest.raises(AlreadyExists, match="again"):
        con.sql("CREATE TEMP TABLE again AS SELECT 2 AS a")
    con.sql("CREATE TEMP TABLE IF NOT EXISTS Again AS SELECT 3 AS a")
    assert con.sql("FROM again").collect() == [(1,)]
    con.sql("CREATE OR REPLACE TEMP TABLE again AS SELECT a + 1 AS a FROM again")
    assert con.sql("FROM again").collect() == [(2,)]
    con.sql("DROP TABLE again")
    with pytest.raises(TableNotFound):
        con.sql("FROM again")


def test_a_table_of_the_lake_comes_first(con):
    con.sql("CREATE VIEW seen AS SELECT 5 AS a")
    with pytest.raises(AlreadyExists, match="has a table or view"):
        con.sql("CREATE TEMP TABLE seen AS SELECT 1 AS a")
    con.sql("CREATE TEMP TABLE later AS SELECT 1 AS a")
    con.sql("CREATE TABLE later AS SELECT 2 AS a")
    assert con.sql("FROM later").collect() == [(2,)]
    con.sql("DROP TABLE later")
    assert con.sql("FROM later").collect() == [(1,)]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("CREATE TEMP TABLE t AS SELECT 1", AlreadyExists),
        ("CREATE TEMP TABLE lake.x AS SELECT 1", InvalidInput),
        ("CREATE TEMP TABLE x (a INTEGER)", NotSupported),
        ("CREATE TEMP TABLE x (a, b) AS SELECT 1", InvalidInput),
    ],
)
def test_what_it_cannot_be_is_refused(con, text, error):
    with pytest.raises(error):
        con.sql(text)
    assert not con.temporary
