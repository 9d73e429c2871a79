"""One table in DuckDB and in Spark, and bound expressions over it computed by both."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb

from ducklake_spark.binder.decode import decode_plan
from ducklake_spark.binder.operators import Get, Plan
from ducklake_spark.binder.types import BoundType
from ducklake_spark.errors import InvalidInput
from ducklake_spark.translate.expressions import Expressions
from ducklake_spark.translate.fragments import Fragment, column, sql
from ducklake_spark.translate.types import spark_type, to_carrier

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ITEM = "t"


@dataclass
class BothEngines:
    """The table t in DuckDB and in Spark."""

    spark: SparkSession
    duckdb: duckdb.DuckDBPyConnection
    types: dict[str, BoundType]

    def expressions(self) -> Expressions:
        """What translates the expressions of one query."""
        return Expressions(self._evaluate)

    def _evaluate(self, text: str) -> tuple[Any, ...]:
        try:
            return self.duckdb.execute(text).fetchone() or ()
        except duckdb.Error as error:
            raise InvalidInput(str(error)) from error

    def plan(self, query: str) -> Plan:
        """The bound plan of a query."""
        asked = "SELECT json_serialize_plan(?, skip_default := true)"
        row = self.duckdb.execute(asked, [query]).fetchone()
        document = json.loads(row[0]) if row else {}
        assert not document.get("error"), f"{query}: {document.get('error_message')}"
        return decode_plan(document)


def both_engines(
    spark: SparkSession, columns: dict[str, str], rows: Iterable[Sequence[str]]
) -> BothEngines:
    """The table t of those columns and rows of DuckDB's literals in both engines."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(f"CREATE TABLE t ({', '.join(f'{n} {k}' for n, k in columns.items())})")
    values = ", ".join(f"({', '.join(row)})" for row in rows)
    connection.execute(f"INSERT INTO t VALUES {values}")
    made = BothEngines(spark, connection, {})
    get = made.plan("SELECT * FROM t")
    while not isinstance(get, Get):
        get = get.child  # type: ignore[union-attr]
    made.types = {str(n): k for n, k in zip(get.columns, get.types, strict=True)}
    carried = ", ".join(f"{to_carrier(name, kind)} AS {name}" for name, kind in made.types.items())
    connection.execute("SET TimeZone = 'UTC'")
    frame = spark.createDataFrame(connection.execute(f"SELECT {carried} FROM t").to_arrow_table())
    # Arrow's timestamps without a zone may come in as Spark's with one.
    casts = (f"CAST({name} AS {spark_type(kind)}) AS {name}" for name, kind in made.types.items())
    frame.selectExpr(*casts).coalesce(1).createOrReplaceTempView(ITEM)
    return made


def columns_of(get: Get) -> tuple[Fragment, ...]:
    """Spark SQL of the columns of the table; of the row id nothing is read."""
    return tuple(column(ITEM, name) if name else sql("NULL") for name in get.columns)


def normal(value: Any) -> Any:
    """A value that is equal to another exactly if they are the same in kind and value."""
    match value:
        case float() if math.isnan(value):
            return "NaN"
        case float():
            return ("float", value)
        case dict():
            return {key: normal(each) for key, each in value.items()}
        case list() | tuple():
            return [normal(each) for each in value]
        case _:
            return value


def is_near(left: Any, right: Any) -> bool:
    """Whether two DOUBLEs differ by no more than the order of additions explains."""
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-12) or normal(left) == normal(right)
    return bool(normal(left) == normal(right))


Same = Callable[[Any, Any], bool]
