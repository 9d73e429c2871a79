"""Appending and overwriting with DataFrames: what `Connection.append` and `overwrite` do."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING, Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F
from sqlglot import exp

from ducklake_spark.errors import InvalidInput
from ducklake_spark.execution.change_rows import changing, condition_rows
from ducklake_spark.execution.defaults import default_text
from ducklake_spark.execution.queries import select_frame
from ducklake_spark.model.promotion import PROMOTIONS
from ducklake_spark.model.types import ScalarType
from ducklake_spark.operations import alter
from ducklake_spark.operations.append import append
from ducklake_spark.operations.objects import NewColumn
from ducklake_spark.operations.overwrite import (
    overwrite_all,
    overwrite_partitions,
    overwrite_some,
)
from ducklake_spark.operations.row_changes import open_target
from ducklake_spark.spark.align import align_by_name
from ducklake_spark.spark.failures import refuse_value, spark_failures
from ducklake_spark.spark.session import prepare_session
from ducklake_spark.spark.tags import type_of_field
from ducklake_spark.sql.composed import verbatim
from ducklake_spark.sql.parse import parse_expression

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from ducklake_spark.commit.transaction import Transaction
    from ducklake_spark.connection import Connection
    from ducklake_spark.model.entities import TableEntry
    from ducklake_spark.operations.contents import TableVersion

FITS: Final = "__ducklake_fits"
_numbers = itertools.count(1)


def append_frame(
    con: Connection, parts: Sequence[str], df: DataFrame, *, merge_schema: bool
) -> int:
    """`Connection.append`."""
    with changing(con, parts, "append to") as (tx, version):
        table, lake = version.table, version.lake
        if merge_schema:
            add_columns(tx, version, df)
            table = tx.local.table(table.table_id)
        return append(lake, tx, table, _aligned(df, table))


def overwrite_frame(
    con: Connection,
    parts: Sequence[str],
    df: DataFrame,
    *,
    replace_where: str | SparkColumn | None,
    dynamic: bool,
) -> int:
    """`Connection.overwrite`."""
    if dynamic and replace_where is not None:
        raise InvalidInput(
            "Cannot overwrite: replace_where and partitions say both which rows are replaced.",
            hint="give one of them.",
        )
    with changing(con, parts, "overwrite") as (tx, version):
        rows = _aligned(df, version.table)
        if dynamic:
            return overwrite_partitions(tx, open_target(con.spark, version), rows)
        if replace_where is None:
            return overwrite_all(tx, version, rows)
        target = open_target(con.spark, version)
        identities = condition_rows(con, target, replace_where)
        checked = _checked(con, rows, version.table, replace_where)
        return overwrite_some(tx, target, identities, checked)


def _aligned(df: DataFrame, table: TableEntry) -> DataFrame:
    prepare_session(df.sparkSession)
    with spark_failures(f'write to table "{table.name}"'):
        default = partial(default_text, df.sparkSession)
        return align_by_name(df, table.schema, default, table=table.name)


def _checked(
    con: Connection, rows: DataFrame, table: TableEntry, condition: str | SparkColumn
) -> DataFrame:
    """The rows; one that the condition is not true for is an error when it is written."""
    with spark_failures(f'overwrite table "{table.name}"'):
        if isinstance(condition, SparkColumn):
            marked = rows.withColumn(FITS, condition)
        else:
            marked = _marked(con, rows, table, parse_expression(condition))
        return fitting_rows(marked, table)


def fitting_rows(marked: DataFrame, table: TableEntry) -> DataFrame:
    """The rows without the column `FITS`; one that it is not true for is an error when written."""
    message = F.lit(
        f'A new row for table "{table.name}" is not one of those that replace_where names.'
    )
    refused = refuse_value(message).cast("boolean")
    fits = F.when(F.coalesce(F.col(FITS), F.lit(False)), F.lit(True)).otherwise(refused)
    return marked.where(fits).drop(FITS)


def _marked(con: Connection, rows: DataFrame, table: TableEntry, condition: exp.Expr) -> DataFrame:
    view = f"_ducklake_new_rows_{next(_numbers)}"
    rows.createOrReplaceTempView(view)
    try:
        alias = exp.TableAlias(this=exp.to_identifier(table.name, quoted=True))
        source = exp.Table(this=exp.to_identifier(view, quoted=True), alias=alias)
        fits = exp.alias_(exp.paren(verbatim(condition)), FITS, quoted=True)
        query = exp.Select(expressions=[exp.Star(), fits], from_=exp.From(this=source))
        return select_frame(con, query)
    finally:
        con.spark.catalog.dropTempView(view)


def add_columns(tx: Transaction, version: TableVersion, df: DataFrame) -> None:
    """Give the table the columns that only the DataFrame has, and its wider types."""
    lake = version.lake
    for field in df.schema.fields:
        table = tx.local.table(version.table.table_id)
        kind = type_of_field(field)
        column = table.schema.find(field.name)
        if column is None:
            alter.add_column(lake, tx, table, (), NewColumn(field.name, kind))
        elif (
            isinstance(column.type, ScalarType)
            and isinstance(kind, ScalarType)
            and kind.name in PROMOTIONS.get(column.type.name, ())
        ):
            alter.change_type(lake, tx, table, (column.name,), kind)
