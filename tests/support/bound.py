"""Queries bound by DuckDB on tables of a test, as Spark text over views of the same name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ducklake_spark.binder.decode import decode_plan
from ducklake_spark.model.names import quote_for_spark
from ducklake_spark.translate.expressions import Expressions
from ducklake_spark.translate.query import translate_query
from ducklake_spark.translate.types import spark_type

if TYPE_CHECKING:
    import duckdb
    from pyspark.sql import SparkSession

    from ducklake_spark.model.engine_call import EngineCall


@dataclass(frozen=True)
class Translated:
    """A query as Spark runs it."""

    text: str
    names: tuple[str, ...]
    calls: tuple[EngineCall, ...]


def connect_with(statements: Sequence[str]) -> duckdb.DuckDBPyConnection:
    """DuckDB with the tables that the statements make."""
    import duckdb

    connection = duckdb.connect(config={"threads": 1})
    for statement in statements:
        connection.execute(statement)
    return connection


def plan_of(connection: duckdb.DuckDBPyConnection, query: str) -> Any:
    """The bound plan of a query."""
    ask = "SELECT json_serialize_plan(?, skip_default := true)"
    row = connection.cursor().execute(ask, [query]).fetchone()
    assert row is not None
    return decode_plan(json.loads(row[0]))


def translate(connection: duckdb.DuckDBPyConnection, query: str) -> Translated:
    """A query as Spark text."""
    names = tuple(connection.cursor().sql(query).columns)
    evaluator = connection.cursor()

    def evaluate(text: str) -> tuple[Any, ...]:
        row = evaluator.execute(text).fetchone()
        assert row is not None
        return row

    expressions = Expressions(evaluate)
    text = translate_query(
        plan_of(connection, query),
        names,
        expressions,
        lambda table: quote_for_spark(table.table),
    )
    return Translated(text, names, expressions.engine.calls)


def copy_tables(connection: duckdb.DuckDBPyConnection, spark: SparkSession) -> None:
    """Views in Spark with the rows of DuckDB's tables."""
    for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
        table = f'"{name}"'
        kinds = plan_of(connection, f"FROM {table}")
        rows = connection.sql(f"FROM {table}")
        columns = ", ".join(
            f"{quote_for_spark(column)} {spark_type(kind)}"
            for column, kind in zip(rows.columns, _types(kinds), strict=True)
        )
        spark.createDataFrame(rows.fetchall(), columns).createOrReplaceTempView(name)


def _types(plan: Any) -> Any:
    from ducklake_spark.binder.operators import types_of

    return types_of(plan)
