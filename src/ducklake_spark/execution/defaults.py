"""Column defaults: as Spark expressions, as constants, and as the text that the catalog keeps."""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql import SparkSession

from ducklake_spark.errors import InvalidValue, NotSupported
from ducklake_spark.execution.bound_expressions import constant_text
from ducklake_spark.model.literals import format_text, parse_text
from ducklake_spark.model.schema import Column as TableColumn
from ducklake_spark.model.schema import Default
from ducklake_spark.model.temporal import parse_moment
from ducklake_spark.model.types import DataType, DecimalType, ScalarType, format_sql_type
from ducklake_spark.sql.carriers import format_spark_type
from ducklake_spark.sql.constants import NotPlain, convert
from ducklake_spark.sql.parse import parse_expression
from ducklake_spark.sql.trees import text
from ducklake_spark.sql.values import constant_rows

NOT_CONSTANT: Final = object()


def constant_default(column: TableColumn) -> Any:
    """The value of a column's default where it is known without Spark, else `NOT_CONSTANT`."""
    default = column.default
    if default is None:
        return None
    if default.dialect != "duckdb":
        return NOT_CONSTANT
    tree = text(default.text) if default.kind == "literal" else parse_expression(default.text)
    rows = constant_rows([tree], [column.type])
    return NOT_CONSTANT if rows is None else rows[0][0]


def initial_default(name: str, kind: DataType, default: Default | None) -> str | None:
    """What rows written before a column was added show: a literal default, cast to its type.

    None for no default and for expressions, which have no value before they are computed.

    Raises:
        InvalidValue: the literal does not fit the column.
    """
    if default is None or default.kind != "literal":
        return None
    if not isinstance(kind, ScalarType | DecimalType):
        return None
    try:
        return format_text(_literal(default.text, kind), kind)
    except InvalidValue as error:
        raise InvalidValue(f'The default of column "{name}": {error.message}') from error


def _literal(literal: str, kind: ScalarType | DecimalType) -> Any:
    try:
        return convert(literal, kind)
    except NotPlain:
        moment = kind == ScalarType("timestamptz")
        return parse_moment(literal) if moment else parse_text(literal, kind)


def default_text(spark: SparkSession, column: TableColumn) -> str:
    """The Spark SQL text of a column's default, of the column's carrier type."""
    default = column.default
    if default is None:
        return f"CAST(NULL AS {format_spark_type(column.type)})"
    if default.kind != "literal" and default.dialect != "duckdb":
        raise NotSupported(
            f'The default of column "{column.name}" is written in the dialect '
            f'"{default.dialect}", which is not understood here.',
            hint="name the column in the INSERT.",
        )
    text = constant_text(spark, default_in_duckdb(column))
    return f"CAST({text} AS {format_spark_type(column.type)})"


def default_in_duckdb(column: TableColumn) -> str:
    """DuckDB's text of a column's default, of the column's type."""
    default = column.default
    if default is None:
        value = "NULL"
    elif default.kind == "literal":
        value = "'" + default.text.replace("'", "''") + "'"
    else:
        value = f"({default.text})"
    return f"CAST({value} AS {format_sql_type(column.type)})"
