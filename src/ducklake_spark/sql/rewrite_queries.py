"""Clauses of queries that differ."""

from __future__ import annotations

from sqlglot import exp

from ducklake_spark.errors import NotSupported


def refuse_unsupported(root: exp.Expr) -> exp.Expr:
    """Refuse what Spark cannot answer with DuckDB's meaning."""
    for join in root.find_all(exp.Join):
        method = str(join.args.get("method") or join.args.get("kind") or "").upper()
        if method in ("ASOF", "POSITIONAL"):
            raise NotSupported(
                f"{method} joins are not supported: Spark has no such join.",
                hint="write the join with a window function (row_number() or last_value()).",
            )
    for limit in root.find_all(exp.Limit):
        options = limit.args.get("limit_options")
        if options is not None and options.args.get("percent"):
            raise NotSupported("LIMIT with a percentage is not supported.", hint="give a number.")
    return root


def rewrite_queries(root: exp.Expr) -> exp.Expr:
    """Give VALUES as a table DuckDB's column names, and a query's DISTINCT ON a window."""
    for values in root.find_all(exp.Values):
        _name_values(values)
    return root


def _name_values(values: exp.Values) -> None:
    """Columns of VALUES are col0, col1, … in DuckDB and col1, col2, … in Spark."""
    rows = values.expressions
    if not rows or not isinstance(rows[0], exp.Tuple):
        return
    alias = values.args.get("alias")
    if isinstance(alias, exp.TableAlias) and alias.args.get("columns"):
        return
    names = [exp.to_identifier(f"col{i}") for i in range(len(rows[0].expressions))]
    new = exp.TableAlias(this=alias.this if alias else exp.to_identifier("valueslist"), columns=names)
    values.set("alias", new)
