"""SUMMARIZE: one row of figures for each column of a DataFrame."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ducklake_spark.model.literals import format_text
from ducklake_spark.model.types import DataType, ScalarType, format_sql_type
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.spark.failures import spark_failures
from ducklake_spark.spark.jobs import run_job
from ducklake_spark.spark.tags import type_of_field

_COLUMNS: Final = (
    *(("column_name", "VARCHAR"), ("column_type", "VARCHAR"), ("min", "VARCHAR")),
    *(("max", "VARCHAR"), ("approx_unique", "BIGINT"), ("avg", "VARCHAR"), ("std", "VARCHAR")),
    *(("q25", "VARCHAR"), ("q50", "VARCHAR"), ("q75", "VARCHAR"), ("count", "BIGINT")),
    ("null_percentage", "DECIMAL(9,2)"),
)
_WITH_QUANTILES: Final = (T.DateType, T.TimestampType, T.TimestampNTZType)


def summarize(frame: DataFrame) -> RowSet:
    """Figures of every column, from one job over the rows."""
    named = frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))
    wanted = [F.count(F.lit(1))]
    for i, field in enumerate(frame.schema.fields):
        wanted += _figures(F.col(f"c{i}"), field.dataType)
    with spark_failures("summarize the columns"):
        # By position: names of aggregates may be the same.
        figures = named.agg(*wanted).toDF(*(f"a{i}" for i in range(len(wanted))))
        found = list(run_job(frame.sparkSession, figures.collect)[0])
    count = found[0]
    rows = [
        _row(field, count, found[1 + 7 * i : 8 + 7 * i])
        for i, field in enumerate(frame.schema.fields)
    ]
    return RowSet(_COLUMNS, tuple(rows))


def _figures(column: Column, kind: T.DataType) -> list[Column]:
    """Minimum, maximum, distinct values, values, mean, deviation, quartiles."""
    nothing = F.lit(None)
    ordered = not isinstance(kind, T.MapType)
    number = isinstance(kind, T.NumericType)
    quartiles = number or isinstance(kind, _WITH_QUANTILES)
    return [
        F.min(column) if ordered else nothing,
        F.max(column) if ordered else nothing,
        F.approx_count_distinct(column) if ordered else nothing,
        F.count(column),
        F.avg(column.cast("double")) if number else nothing,
        F.stddev_samp(column.cast("double")) if number else nothing,
        F.percentile_approx(column, [0.25, 0.5, 0.75]) if quartiles else nothing,
    ]


def _row(field: T.StructField, count: int, figures: list[Any]) -> tuple[Any, ...]:
    kind = type_of_field(field)
    low, high, unique, present, mean, deviation, quartiles = figures
    missing = None
    if count:
        missing = (Decimal(100 * (count - present)) / count).quantize(Decimal("0.01"))
    return (
        *(field.name, format_sql_type(kind), _text(low, kind), _text(high, kind), unique),
        *(_text(value, ScalarType("float64")) for value in (mean, deviation)),
        *(_text(value, kind) for value in quartiles or (None, None, None)),
        *(count, missing),
    )


def _text(value: Any, kind: DataType) -> str | None:
    if value is None:
        return None
    if kind == ScalarType("timestamptz"):
        value = value.astimezone()  # Spark hands out local time
    return format_text(value, kind)
