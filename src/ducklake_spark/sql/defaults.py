"""Column defaults as Spark expressions."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from ducklake_spark.errors import NotSupported
from ducklake_spark.model.schema import Column as TableColumn
from ducklake_spark.model.schema import Schema
from ducklake_spark.spark.align import literal_default
from ducklake_spark.spark.carriers import carrier_type
from ducklake_spark.sql.parse import parse_expression
from ducklake_spark.sql.render import render_expression


def default_columns(schema: Schema) -> dict[str, Column]:
    """What each column takes when an INSERT leaves it out: its default, or NULL."""
    return {column.name: _default(column) for column in schema.columns}


def _default(column: TableColumn) -> Column:
    if column.default is None or column.default.kind == "literal":
        return literal_default(column)
    if column.default.dialect != "duckdb":
        raise NotSupported(
            f'The default of column "{column.name}" is written in the dialect '
            f'"{column.default.dialect}", which is not understood here.',
            hint="name the column in the INSERT.",
        )
    text = render_expression(parse_expression(column.default.text))
    return F.expr(text).cast(carrier_type(column.type))
