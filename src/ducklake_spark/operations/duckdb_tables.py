"""Tables of a DuckDB database file as tables of a lake: their types, and their rows."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from ducklake_spark.duckdb_file import DuckDBFile, SourceTable
from ducklake_spark.model.duckdb_types import carried_type, lake_type_text
from ducklake_spark.model.names import quote_identifier
from ducklake_spark.model.schema import Schema, build_column
from ducklake_spark.model.types import DataType, parse_sql_type
from ducklake_spark.operations.read_files import read_typed_parquet
from ducklake_spark.spark.local import local_frame
from ducklake_spark.spark.tags import tag_types


@dataclass(frozen=True, slots=True)
class LakeColumn:
    """What a column of a DuckDB table is in a lake."""

    name: str
    type: DataType
    select: str  # gives its values in a form that travels whole
    note: str | None = None  # what became of a type that a lake does not have


def lake_columns(table: SourceTable) -> list[LakeColumn]:
    """The columns of a table with types that a lake has.

    Raises:
        InvalidInput, NotSupported: a type has no counterpart.
    """
    return [_lake_column(column.name, column.type_text) for column in table.columns]


def _lake_column(name: str, type_text: str) -> LakeColumn:
    text = lake_type_text(type_text)
    kind = parse_sql_type(text)
    quoted = quote_identifier(name)
    changed = text != type_text
    note = f"{name}: {type_text} is stored as {text}" if changed else None
    carried = carried_type(kind)
    if changed and type_text in ("BIGNUM", "VARINT"):
        return LakeColumn(name, kind, f"{quoted}::VARCHAR::{carried} AS {quoted}", note)
    if not changed and carried == type_text:
        return LakeColumn(name, kind, quoted)
    return LakeColumn(name, kind, f"CAST({quoted} AS {carried}) AS {quoted}", note)


def read_source_table(spark: SparkSession, source: DuckDBFile, table: SourceTable) -> DataFrame:
    """The rows of a table for Spark, through Parquet files in a temporary folder of the driver.

    The executors must see that folder: they do where Spark runs on one machine.
    """
    columns = lake_columns(table)
    schema = _schema(columns)
    folder = source.export(table.schema, table.name, [column.select for column in columns])
    files = sorted(str(path) for path in Path(folder).glob("*.parquet"))
    if not files:
        return tag_types(local_frame(spark, list(schema.columns), []), schema)
    return tag_types(read_typed_parquet(spark, files), schema)


def _schema(columns: Sequence[LakeColumn]) -> Schema:
    ids = itertools.count(1)
    return Schema(tuple(build_column(column.name, column.type, ids) for column in columns))
