"""Queries of every operator give DuckDB's rows in Spark."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

import pytest

from ducklake_spark.spark.engine import register_engine_calls
from support.bound import connect_with, copy_tables, translate
from support.operator_queries import QUERIES, TABLES

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def tables(spark):
    connection = connect_with(TABLES)
    copy_tables(connection, spark)
    yield connection
    connection.close()


def comparable(value: Any) -> Any:
    """A value of either side: numbers by value, NaN equal to itself."""
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else value
    if isinstance(value, float):
        return "nan" if value != value else value
    return tuple(map(comparable, value)) if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("query", QUERIES)
def test_operators_give_the_rows_of_duckdb(spark, tables, query):
    expected = [comparable(row) for row in tables.sql(query).fetchall()]
    found = translate(tables, query)
    register_engine_calls(spark, found.calls)
    result = spark.sql(found.text)
    rows = [comparable(tuple(row)) for row in result.collect()]
    assert tuple(result.columns) == found.names
    if " ORDER BY " in query.rpartition(")")[2]:
        assert rows == expected
    else:
        assert Counter(map(repr, rows)) == Counter(map(repr, expected))
