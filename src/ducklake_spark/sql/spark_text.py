"""How rewritten trees are written as Spark SQL."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.generators.spark import SparkGenerator

from ducklake_spark.model.types import parse_sql_type
from ducklake_spark.sql.carriers import format_spark_type
from ducklake_spark.sql.dialect import DuckLake


class SparkText(Spark):
    """Spark's dialect; types in the tree are DuckDB's and are written as their carriers."""

    class Generator(SparkGenerator):
        """Spark SQL."""

        TRANSFORMS: ClassVar[dict[type[exp.Expr], Any]] = {
            key: value
            for key, value in SparkGenerator.TRANSFORMS.items()
            if key not in (exp.Cast, exp.TryCast, exp.Bracket, exp.DataType)
        }

        def datatype_sql(self, expression: exp.DataType) -> str:
            """The carrier of a DuckDB type."""
            return format_spark_type(parse_sql_type(expression.sql(dialect=DuckLake)))

        def cast_sql(self, expression: exp.Cast, safe_prefix: str | None = None) -> str:
            """A plain CAST; sqlglot's own has exceptions for types that are not used here."""
            to = self.sql(expression, "to")
            return f"{safe_prefix or ''}CAST({self.sql(expression, 'this')} AS {to})"

        def trycast_sql(self, expression: exp.TryCast) -> str:
            """TRY_CAST gives NULL for what cannot be converted."""
            return self.cast_sql(expression, safe_prefix="TRY_")

        def bracket_sql(self, expression: exp.Bracket) -> str:
            """Indexes are Spark's by now."""
            inner = self.expressions(expression, flat=True)
            return f"{self.sql(expression, 'this')}[{inner}]"
