"""CREATE TABLE AS inside the open transaction of a session's connection."""

from __future__ import annotations

import pytest

from ducklake_spark.errors import TransactionError
from ducklake_spark.spark_face.registry import named

pytestmark = pytest.mark.spark


def test_it_is_part_of_the_open_transaction(lake, table):
    con = named(lake.spark, lake.name).con
    before = lake.last_snapshot()
    with con.transaction():
        lake.sql(f"CREATE TABLE lake.main.{table} AS SELECT id FROM range(3)")
        lake.sql(f"ALTER TABLE lake.main.{table} ADD COLUMN n INT DEFAULT 7")
        lake.sql(f"CREATE OR REPLACE TABLE lake.main.{table}_b AS SELECT * FROM lake.main.{table}")
        assert lake.last_snapshot() == before
        assert lake.sql(f"SELECT sum(id), sum(n) FROM lake.main.{table}_b") == [(3, 21)]
    assert lake.last_snapshot() == before + 1
    assert lake.sql(f"SELECT sum(id), sum(n) FROM lake.main.{table}") == [(3, 21)]


def test_a_query_that_fails_ends_the_transaction(lake, table):
    con = named(lake.spark, lake.name).con
    before = lake.last_snapshot()
    con.begin()
    lake.sql(f"CREATE TABLE lake.main.{table} (a INT)")
    with pytest.raises(Exception, match=r"ZERO|zero"):
        lake.sql(f"CREATE TABLE lake.main.{table}_b AS SELECT 1 / (id - 2) AS x FROM range(5)")
    with pytest.raises(TransactionError, match="rolled back"):
        con.commit()
    assert lake.last_snapshot() == before
    assert not lake.spark.catalog.tableExists(f"{lake.name}.main.{table}")
