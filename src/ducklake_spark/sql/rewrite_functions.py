"""Scalar functions whose name or meaning differs: the tables of all of them, and their use."""

from __future__ import annotations

from sqlglot import exp

from ducklake_spark.errors import NotSupported
from ducklake_spark.sql import functions_dates, functions_lists, functions_text
from ducklake_spark.sql.trees import replace_each

# Functions of DuckDB whose namesake in Spark means something else.
_OTHER_MEANING = frozenset({"hash", "element_at", "histogram", "format", "json_array_length"})

BY_KIND = {**functions_text.BY_KIND, **functions_lists.BY_KIND, **functions_dates.BY_KIND}
BY_NAME = {
    **functions_text.BY_NAME,
    **functions_lists.BY_NAME,
    **functions_dates.BY_NAME,
    # What DuckDB makes of count(*) in the text of a view.
    "count_star": lambda: exp.Count(this=exp.Star()),
}


def rewrite_functions(root: exp.Expr) -> exp.Expr:
    """Give each function DuckDB's meaning; refuse those that would mean something else."""
    replace_each(root, exp.Dot, _method)
    replace_each(root, tuple(BY_KIND), _by_kind)
    return replace_each(root, exp.Anonymous, _by_name)


def _by_kind(tree: exp.Expr) -> exp.Expr | None:
    return BY_KIND[type(tree)](tree)


def _by_name(tree: exp.Expr) -> exp.Expr | None:
    if tree.meta.get("spark"):
        return None
    name = str(tree.this).lower()
    if name in _OTHER_MEANING:
        raise NotSupported(
            f"The function {name}() is not supported: Spark's function of that name gives other "
            "results."
        )
    rewrite = BY_NAME.get(name)
    return rewrite(*tree.expressions) if rewrite else None


def _method(tree: exp.Expr) -> exp.Expr | None:
    """``x.f(y)`` is ``f(x, y)``."""
    function = tree.expression
    if not isinstance(function, exp.Anonymous):
        return None
    value = tree.this
    if isinstance(value, exp.Identifier):
        value = exp.Column(this=value)
    parsed = exp.func(str(function.this), value, *function.expressions, dialect="duckdb")
    rewrite = BY_KIND.get(type(parsed))
    return (rewrite(parsed) if rewrite else None) or parsed
