"""The value of an expression, known at once or computed by Spark."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import types as T
from sqlglot import exp

from ducklake_spark.spark.failures import spark_failures
from ducklake_spark.spark.jobs import run_job
from ducklake_spark.sql.composed import Composed, compose, verbatim
from ducklake_spark.sql.literals import is_constant, literal_value
from ducklake_spark.sql.sources import is_spark, plain_text

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection


def compute(con: Connection, tree: exp.Expr) -> Any:
    """The value of an expression or of a query with one row and one column. Runs on the driver.

    Moments with a time zone come in UTC, structs and maps as dicts.
    """
    if is_constant(tree) and tree.find(exp.ToMap) is None:
        return literal_value(tree)
    if not is_spark(tree):
        from ducklake_spark.execution.bound_queries import scalar_value

        return scalar_value(con, _scalar_query(tree))
    with spark_failures("compute a value"):
        frame = con.spark.sql(f"SELECT {plain_text(tree)}")
        return only_value(frame)


def compute_typed(con: Connection, tree: exp.Expr) -> Any:
    """The same with its type in DuckDB, unless the value tells it."""
    if is_spark(tree) or (is_constant(tree) and tree.find(exp.Cast, exp.ToMap) is None):
        return compute(con, tree)
    from ducklake_spark.execution.bound_queries import typed_value

    return typed_value(con, _scalar_query(tree))


def _scalar_query(tree: exp.Expr) -> Composed:
    value = exp.paren(verbatim(tree), copy=False)
    return compose(exp.Select(expressions=[value]))


def only_value(frame: DataFrame) -> Any:
    """The value of a query with one column, whose first row counts; None without a row."""
    rows = run_job(frame.sparkSession, frame.limit(1).collect)
    return _to_python(rows[0][0], frame.schema[0].dataType) if rows else None


def compute_all(
    con: Connection, arguments: tuple[Any, ...], named: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments of a call, with every expression replaced by its value."""
    return (
        tuple(_argument(con, value) for value in arguments),
        {name: _argument(con, value) for name, value in named.items()},
    )


def _argument(con: Connection, value: Any) -> Any:
    return compute(con, value) if isinstance(value, exp.Expr) else value


def _to_python(value: Any, kind: T.DataType) -> Any:
    if value is None:
        return None
    match kind:
        case T.TimestampType():
            return value.astimezone(dt.timezone.utc)  # Spark hands out local time
        case T.ArrayType():
            return [_to_python(item, kind.elementType) for item in value]
        case T.StructType():
            return {f.name: _to_python(value[f.name], f.dataType) for f in kind.fields}
        case T.MapType():
            return {
                _to_python(k, kind.keyType): _to_python(v, kind.valueType) for k, v in value.items()
            }
        case _:
            return value
