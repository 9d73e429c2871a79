"""Clauses of queries that differ."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from ducklake_spark.errors import NotSupported
from ducklake_spark.sql.stars import query_columns
from ducklake_spark.sql.trees import replace_each

# Not lag and lead: DuckDB takes the order in which rows were inserted, which Spark does not know.
_RANKING: Final = (
    *(exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.Ntile),
)


def refuse_unsupported(root: exp.Expr) -> exp.Expr:
    """Refuse what Spark cannot answer with DuckDB's meaning."""
    for join in root.find_all(exp.Join):
        method = str(join.args.get("method") or join.args.get("kind") or "").upper()
        if method in ("ASOF", "POSITIONAL"):
            raise NotSupported(
                f"{method} joins are not supported: Spark has no such join.",
                hint="write the join with a window function (row_number() or last_value()).",
            )
    for pivot in root.find_all(exp.Pivot):
        if not pivot.args.get("fields"):
            raise NotSupported(
                "PIVOT and UNPIVOT statements are not supported.",
                hint="use sum(x) FILTER (WHERE …) AS name for each value.",
            )
    for limit in root.find_all(exp.Limit):
        options = limit.args.get("limit_options")
        if options is not None and options.args.get("percent"):
            raise NotSupported("LIMIT with a percentage is not supported.", hint="give a number.")
    return root


def rewrite_queries(root: exp.Expr) -> exp.Expr:
    """Give VALUES as a table DuckDB's column names, order windows, and match unions by name."""
    for values in root.find_all(exp.Values):
        _name_values(values)
    for window in root.find_all(exp.Window):
        _order_window(window)
    replace_each(root, exp.Union, _by_name)
    if isinstance(root.this, exp.Values):
        root.set("this", exp.select("*").from_(root.this))
    return root


def _order_window(window: exp.Window) -> None:
    """Spark wants an order for functions that rank; without one all rows are equal."""
    function = window.this
    while isinstance(function, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
        function = function.this
    named = window.args.get("alias") or window.args.get("order")
    if isinstance(function, _RANKING) and not named:
        window.set("order", exp.Order(expressions=[exp.Ordered(this=exp.Null())]))


def _by_name(union: exp.Expr) -> exp.Expr | None:
    """UNION BY NAME: both sides get all columns in one order, NULL where a side has none."""
    if not union.args.get("by_name"):
        return None
    sides = [union.this, union.expression]
    names = [query_columns(side) for side in sides]
    if names[0] is None or names[1] is None:
        raise NotSupported(
            "UNION BY NAME needs the column names of both sides, and one of them is not known.",
            hint="list the columns by name.",
        )
    everything = dict.fromkeys(name.lower() for name in (*names[0], *names[1]))
    for key, side, own in zip(("this", "expression"), sides, names, strict=True):
        union.set(key, _with_columns(side, own or (), list(everything)))
    union.set("by_name", None)
    return None


def _with_columns(query: exp.Expr, own: tuple[str, ...], wanted: list[str]) -> exp.Expr:
    spelled = {name.lower(): name for name in own}
    columns = [
        exp.column(exp.to_identifier(spelled[name], quoted=True))
        if name in spelled
        else exp.alias_(exp.Null(), name, quoted=True)
        for name in wanted
    ]
    alias = exp.TableAlias(this=exp.to_identifier("side"))
    return exp.select(*columns).from_(exp.Subquery(this=query, alias=alias))


def _name_values(values: exp.Values) -> None:
    """Columns of VALUES are col0, col1, … in DuckDB and col1, col2, … in Spark."""
    rows = values.expressions
    if not rows or not isinstance(rows[0], exp.Tuple):
        return
    alias = values.args.get("alias")
    if isinstance(alias, exp.TableAlias) and alias.args.get("columns"):
        return
    names = [exp.to_identifier(f"col{i}") for i in range(len(rows[0].expressions))]
    new = exp.TableAlias(
        this=alias.this if alias else exp.to_identifier("valueslist"), columns=names
    )
    values.set("alias", new)
