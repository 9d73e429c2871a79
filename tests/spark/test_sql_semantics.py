"""The same query gives the same rows and names in DuckDB and, translated, in Spark."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from pyspark.sql import DataFrame

import ducklake_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ducklake_spark.connection import Connection

pytestmark = pytest.mark.spark

TABLES = {
    "t": """SELECT * FROM (VALUES
        (1, 'one', 1.5, 2.5::DOUBLE, DATE '2020-01-31', TIMESTAMP '2020-01-31 10:20:30.5', true),
        (2, 'two', 2.5, 3.5::DOUBLE, DATE '2021-02-28', TIMESTAMP '2021-02-28 23:59:59', false),
        (3, NULL, -2.5, -0.5::DOUBLE, DATE '2020-12-31', TIMESTAMP '1969-12-31 00:00:00', NULL),
        (4, 'Ünder_score', NULL, NULL, NULL, NULL, true))
        AS v(i, s, d, f, day, ts, b)""",
    "n": """SELECT i, [i, NULL, i + 1] AS l, {'a': i, 'b': 'x' || i} AS st,
        MAP {'k': i, 'j': i + 1} AS m, ['a', 'b'] AS tags
        FROM (VALUES (1), (2), (3)) AS v(i)""",
    "g": """SELECT * FROM
        (VALUES ('a', 1, 10), ('a', 2, 20), ('b', 3, 30), ('b', NULL, 40), ('c', 5, NULL))
        AS v(k, x, y)""",
}

CASES = Path(__file__).parent / "sql_semantics"


@pytest.fixture(scope="module")
def both(spark: SparkSession) -> Iterator[tuple[Connection, duckdb.DuckDBPyConnection]]:
    theirs = duckdb.connect()
    theirs.execute("SET TimeZone = 'UTC'")
    with ducklake_spark.connect(spark=spark) as ours:
        tables = {**TABLES, "g2": "SELECT i, s FROM t"}
        for name, query in tables.items():
            theirs.execute(f"CREATE TABLE {name} AS SELECT * FROM ({query})")
            frame = ours.sql(query)
            assert isinstance(frame, DataFrame)
            frame.createOrReplaceTempView(name)
        yield ours, theirs
        for name in tables:
            spark.catalog.dropTempView(name)
    theirs.close()


def expressions() -> list[list[str]]:
    """Groups of expressions without a table; a group is one query, which saves time."""
    text = (CASES / "expressions.txt").read_text("utf-8")
    return [group.splitlines() for group in text.strip().split("\n\n")]


def queries() -> list[str]:
    return (CASES / "queries.txt").read_text("utf-8").strip().splitlines()


def rows_of_both(text: str, both: Any) -> tuple[list[Any], list[Any]]:
    con, duck = both
    ordered = "ORDER BY" in text and "(" not in text.split("ORDER BY", maxsplit=1)[0]
    answer = duck.sql(text)
    theirs = [tuple(plain(v) for v in row) for row in answer.fetchall()]
    frame = con.sql(text)
    assert frame.columns == answer.columns
    ours = [tuple(plain(v) for v in row) for row in frame.collect()]
    if ordered:
        return ours, theirs
    return sorted(ours, key=repr), sorted(theirs, key=repr)


def plain(value: Any) -> Any:
    """A form in which values of both engines compare: numbers by value, structs as tuples."""
    if isinstance(value, bool) or value is None or isinstance(value, (str, dt.date, dt.time)):
        if isinstance(value, dt.datetime) and value.tzinfo is not None:
            return value.astimezone(dt.timezone.utc).replace(tzinfo=None)
        return value
    if isinstance(value, (int, float, Decimal)):
        number = float(value)
        return "nan" if math.isnan(number) else float(f"{number:.12g}")
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if isinstance(value, (dict, tuple)):  # a map's entries have no order
        inner = value.values() if isinstance(value, dict) else value
        return tuple(sorted((plain(v) for v in inner), key=repr))
    if isinstance(value, list):
        return [plain(v) for v in value]
    return value


@pytest.mark.parametrize("text", queries())
def test_rows_are_those_of_duckdb_when_query_is_translated(text: str, both: Any) -> None:
    ours, theirs = rows_of_both(text, both)

    assert ours == theirs


@pytest.mark.parametrize("group", expressions(), ids=lambda group: group[0])
def test_values_are_those_of_duckdb_when_expressions_are_translated(
    group: list[str], both: Any
) -> None:
    listed = ", ".join(f"{text} AS x{index}" for index, text in enumerate(group))

    ours, theirs = rows_of_both(f"SELECT {listed}", both)

    found = dict(zip(group, ours[0], strict=True))
    expected = dict(zip(group, theirs[0], strict=True))
    assert found == expected
