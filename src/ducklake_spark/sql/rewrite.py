"""DuckDB's meaning on Spark: an ordered tuple of pure tree rewrites.

Each rule takes the root of a tree whose tables are Spark relations already and returns the root.
Types stay DuckDB's until the text is written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sqlglot import exp

from ducklake_spark.sql.rewrite_aggregates import rewrite_aggregates
from ducklake_spark.sql.rewrite_aliases import rewrite_aliases
from ducklake_spark.sql.rewrite_arithmetic import rewrite_arithmetic
from ducklake_spark.sql.rewrite_casts import annotate, rewrite_casts
from ducklake_spark.sql.rewrite_functions import rewrite_functions
from ducklake_spark.sql.rewrite_nested import rewrite_nested
from ducklake_spark.sql.rewrite_queries import refuse_unsupported, rewrite_queries
from ducklake_spark.sql.rewrite_series import rewrite_series
from ducklake_spark.sql.rewrite_unnest import rewrite_unnests

Rule = Callable[[exp.Expr], exp.Expr]

RULES: Final[tuple[Rule, ...]] = (
    refuse_unsupported,
    rewrite_queries,
    rewrite_aliases,
    rewrite_unnests,
    rewrite_series,
    annotate,
    rewrite_casts,
    rewrite_arithmetic,
    rewrite_nested,
    rewrite_functions,
    rewrite_aggregates,
)


def rewrite(tree: exp.Expr) -> exp.Expr:
    """Apply all rules, in order."""
    for rule in RULES:
        tree = rule(tree)
    return tree
