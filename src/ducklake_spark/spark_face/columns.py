"""Columns of tables: what Spark wants them to be, and what it is shown of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import SparkSession
from pyspark.sql.types import StructField, StructType

from ducklake_spark.execution.defaults import initial_default
from ducklake_spark.model.entities import TableEntry
from ducklake_spark.model.schema import Column
from ducklake_spark.model.types import format_sql_type
from ducklake_spark.operations.objects import NewColumn
from ducklake_spark.spark.carriers import carrier_type, from_spark_type
from ducklake_spark.spark.tags import TYPE_TAG, type_of_field
from ducklake_spark.spark_face.defaults import read_default, shown_default

# How Spark keeps the default of a column: as text for new rows, and for rows that lack it.
_CURRENT: Final = "CURRENT_DEFAULT"
_EXISTS: Final = "EXISTS_DEFAULT"


@dataclass(frozen=True)
class WantedColumn:
    """A column of a table to be made, and its comment."""

    column: NewColumn
    comment: str | None


def wanted_columns(spark: SparkSession, text: str) -> list[WantedColumn]:
    """The columns that Spark tells as the JSON of a struct."""
    return [_wanted(spark, field) for field in StructType.fromJson(json.loads(text)).fields]


def _wanted(spark: SparkSession, field: StructField) -> WantedColumn:
    kind, told = type_of_field(field), field.metadata or {}
    default = read_default(spark, field.name, kind, field.dataType, told.get(_CURRENT))
    initial = initial_default(field.name, kind, default)
    column = NewColumn(field.name, kind, not field.nullable, default, initial)
    return WantedColumn(column, told.get("comment"))


def shown_columns(spark: SparkSession, table: TableEntry) -> StructType | None:
    """The columns with their rules and comments; None if they have none of these."""
    plain = all(c.nulls_allowed and c.default is None for c in table.schema.columns)
    if plain and not table.column_comments:
        return None
    return StructType([_shown(spark, c, table) for c in table.schema.columns])


def _shown(spark: SparkSession, column: Column, table: TableEntry) -> StructField:
    metadata: dict[str, Any] = {}
    carrier = carrier_type(column.type)
    if from_spark_type(carrier) != column.type:
        metadata[TYPE_TAG] = format_sql_type(column.type)
    if (comment := table.column_comments.get(column.column_id)) is not None:
        metadata["comment"] = comment
    if (default := shown_default(spark, column)) is not None:
        # Spark wants both; the second is for files that it reads itself.
        metadata |= {_CURRENT: default, _EXISTS: "NULL"}
    return StructField(column.name, carrier, column.nulls_allowed, metadata)


def new_columns(wanted: Sequence[WantedColumn]) -> list[NewColumn]:
    """The columns alone."""
    return [each.column for each in wanted]
