"""Trees to Spark SQL text."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import ErrorLevel, UnsupportedError

from ducklake_spark.errors import NotSupported
from ducklake_spark.sql.column_names import name_projections
from ducklake_spark.sql.literals import literal_value
from ducklake_spark.sql.relations import (
    At,
    Relation,
    Resolver,
    TableFunctionCall,
    TableReference,
)
from ducklake_spark.sql.rewrite import rewrite
from ducklake_spark.sql.sources import is_spark, replace_sources
from ducklake_spark.sql.spark_text import SparkText
from ducklake_spark.sql.variables import bind_variables

__all__ = [
    "At",
    "Relation",
    "Resolver",
    "TableFunctionCall",
    "TableReference",
    "bind_variables",
    "is_spark",
    "literal_value",
    "render_expression",
    "to_spark",
]


def to_spark(tree: exp.Expr, resolve: Resolver) -> str:
    """The Spark SQL text of a query (or of an expression with subqueries). Runs on the driver.

    Every table and table function is looked up with `resolve` and replaced by the relation that it
    names; `tree` itself is not changed.

    Raises:
        NotSupported: for what Spark cannot do with DuckDB's meaning.
    """
    root = _rooted(tree)
    if is_spark(root):
        return _plain(replace_sources(root, resolve))
    return _generate(rewrite(replace_sources(name_projections(root), resolve)))


def render_expression(expression: exp.Expr) -> str:
    """The Spark SQL text of a scalar expression that reads no table."""
    root = _rooted(expression)
    return _plain(root) if is_spark(root) else _generate(rewrite(root))


def _plain(root: exp.Expr) -> str:
    return str(root.this.sql(dialect="spark", identify=True))


def _rooted(tree: exp.Expr) -> exp.Expr:
    """A copy below a root of its own, so that rules may replace the topmost node too."""
    return exp.Paren(this=tree.copy())


def _generate(root: exp.Expr) -> str:
    generator = SparkText().generator(unsupported_level=ErrorLevel.RAISE, identify=True)
    try:
        return generator.generate(root.this)
    except UnsupportedError as error:
        raise NotSupported(f"Spark cannot run this query: {error}.") from error
