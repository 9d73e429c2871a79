"""Defaults of columns: from Spark's SQL to what the catalog keeps, and what Spark is shown."""

from __future__ import annotations

import datetime as dt
import json
from typing import Final

import sqlglot
from pyspark.sql import SparkSession
from pyspark.sql.types import DataType as SparkType
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ducklake_spark.errors import DuckLakeError, InvalidInput, NotSupported
from ducklake_spark.execution.defaults import default_text
from ducklake_spark.model.literals import format_text
from ducklake_spark.model.schema import Column, Default
from ducklake_spark.model.types import DataType, DecimalType, ScalarType
from ducklake_spark.spark.failures import spark_failures
from ducklake_spark.sql import statements as st
from ducklake_spark.sql.carriers import format_spark_type
from ducklake_spark.sql.parse import parse

_CONSTANT: Final = (
    *(exp.Literal, exp.Neg, exp.Paren, exp.Boolean, exp.Null, exp.Cast, exp.DataType),
    *(exp.DataTypeParam, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.HexString, exp.Concat, exp.DPipe),
    *(exp.TsOrDsToDate, exp.TsOrDsToTimestamp),
)
# What is computed for each row, by what Spark calls it: the same in DuckDB's SQL.
_MOMENTS: Final = {
    "current_timestamp": "now()",
    "now": "now()",
    "current_date": "current_date",
    "curdate": "current_date",
    "uuid": "uuid()",
}
# What Spark is shown of these: it is kept for longer than a statement lasts.
_SHOWN: Final = {
    "now()": "current_timestamp()",
    "get_current_timestamp()": "current_timestamp()",
    "current_timestamp": "current_timestamp()",
    "current_date": "current_date()",
    "today()": "current_date()",
    "uuid()": "uuid()",
    "gen_random_uuid()": "uuid()",
}
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


def read_default(
    spark: SparkSession, column: str, kind: DataType, carrier: SparkType, text: str | None
) -> Default | None:
    """What the catalog keeps for ``DEFAULT text`` in Spark's SQL; None for no default.

    A constant is computed by Spark, so that it means what it means there, and kept as a literal.

    Raises:
        NotSupported: for an expression that DuckDB may read in another way.
    """
    if text is None or not text.strip():
        return None
    computed = _MOMENTS.get(text.strip().lower().removesuffix("()"))
    if computed is not None:
        return Default(computed, kind="expression")
    _check_constant(column, text)
    if not isinstance(kind, ScalarType | DecimalType):
        raise NotSupported(
            f'Cannot give column "{column}" the default {text}: DuckLake stores no defaults for '
            "lists, structs and maps."
        )
    value = _compute(spark, column, kind, carrier, text)
    return None if value is None else _literal(value)


def _check_constant(column: str, text: str) -> None:
    if not _is_constant(text):
        raise NotSupported(
            f'Cannot give column "{column}" the default {text}: a lake keeps defaults in DuckDB\'s '
            "SQL, where it may mean something else.",
            hint="use a constant, current_timestamp(), current_date() or uuid(), or set it with "
            "ALTER TABLE … SET DEFAULT through ducklake_spark.connect().",
        )


def _is_constant(text: str) -> bool:
    try:
        tree = sqlglot.parse_one(text, dialect="spark")
    except SqlglotError:
        return False
    return all(isinstance(node, _CONSTANT) for node in tree.walk())


def _compute(
    spark: SparkSession, column: str, kind: DataType, carrier: SparkType, text: str
) -> str | None:
    """The value as text that the catalog keeps; None for NULL."""
    name = carrier.simpleString()
    shown = {"timestamp": "unix_micros(v)", "binary": "hex(v)"}.get(name, "CAST(v AS STRING)")
    with spark_failures(f'compute the default of column "{column}"'):
        row = spark.sql(f"SELECT {shown} FROM (SELECT CAST(({text}) AS {name}) AS v)").head()
    found = None if row is None else row[0]
    if found is None:
        return None
    if name == "timestamp":
        return format_text(_EPOCH + dt.timedelta(microseconds=int(found)), kind)
    return format_text(bytes.fromhex(found), kind) if name == "binary" else str(found)


def _literal(text: str) -> Default | None:
    """As the reader of DuckDB's SQL makes it of a string."""
    quoted = text.replace("'", "''")
    match parse(f"ALTER TABLE t ALTER COLUMN c SET DEFAULT '{quoted}'"):
        case [st.SetDefault(default=default)]:
            return default
    raise InvalidInput(f"Cannot use the default {text}.")


def shown_default(spark: SparkSession, column: Column) -> str | None:
    """Spark's SQL for a default; None for none.

    Where the default is in a dialect that is not known, whoever asks for it gets an error: Spark
    would take NULL for DEFAULT.
    """
    if column.default is None:
        return None
    moment = _SHOWN.get(column.default.text.lower()) if column.default.kind != "literal" else None
    if moment is not None:
        return f"CAST({moment} AS {format_spark_type(column.type)})"
    try:
        return default_text(spark, column)
    except DuckLakeError as error:
        return f"raise_error({json.dumps(error.message)})"
