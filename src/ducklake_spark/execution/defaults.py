"""Column defaults as Spark expressions."""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from ducklake_spark.errors import NotSupported
from ducklake_spark.model.schema import Column as TableColumn
from ducklake_spark.model.schema import Schema
from ducklake_spark.sql.parse import parse_expression
from ducklake_spark.sql.trees import text
from ducklake_spark.sql.values import bind_cell, constant_rows

NOT_CONSTANT: Final = object()


def default_columns(schema: Schema) -> dict[str, Column]:
    """What each column takes when an INSERT leaves it out: its default, or NULL."""
    return {column.name: F.expr(default_text(column)) for column in schema.columns}


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


def default_text(column: TableColumn) -> str:
    """The Spark SQL text of a column's default, of the column's carrier type."""
    default = column.default
    if default is None:
        return bind_cell(parse_expression("NULL"), column.type)
    if default.kind == "literal":
        return bind_cell(text(default.text), column.type)
    if default.dialect != "duckdb":
        raise NotSupported(
            f'The default of column "{column.name}" is written in the dialect '
            f'"{default.dialect}", which is not understood here.',
            hint="name the column in the INSERT.",
        )
    return bind_cell(parse_expression(default.text), column.type)
