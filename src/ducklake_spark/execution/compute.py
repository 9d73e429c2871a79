"""The value of an expression, known at once or computed by Spark."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as T
from sqlglot import exp

from ducklake_spark.errors import InvalidInput
from ducklake_spark.spark.failures import spark_failures
from ducklake_spark.spark.jobs import run_job
from ducklake_spark.sql.literals import is_constant, literal_value
from ducklake_spark.sql.render import render_expression

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection


class MapValue(dict[Any, Any]):
    """A map; a plain dict is a struct."""


def compute(con: Connection, tree: exp.Expr) -> Any:
    """The value of an expression or of a query with one row and one column. Runs on the driver.

    Moments with a time zone come in UTC, structs and maps as dicts.
    """
    if is_constant(tree):
        return literal_value(tree)
    with spark_failures("compute a value"):
        if tree.find(exp.Query) is None:
            frame = con.spark.sql(f"SELECT {render_expression(tree)}")
        else:
            from ducklake_spark.execution.bind import run_query

            query = tree if isinstance(tree, exp.Select) else exp.select(tree.copy())
            frame = run_query(con, query)
        rows = run_job(con.spark, frame.limit(2).collect)
    if len(frame.columns) != 1 or len(rows) > 1:
        raise InvalidInput(
            f"{tree.sql(dialect='duckdb')[:80]} must give one value, not several rows or columns."
        )
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
