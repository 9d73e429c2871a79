"""range() and generate_series() as tables and as lists; unnest()."""

from __future__ import annotations

from sqlglot import exp

from ducklake_spark.errors import NotSupported
from ducklake_spark.sql.trees import call, cast, number, replace_each


def rewrite_series(root: exp.Expr) -> exp.Expr:
    """Give ``FROM range(…)`` and ``FROM generate_series(…)`` DuckDB's rows and column name.

    ``FROM range(3) AS t(i)`` becomes ``(SELECT id AS range FROM range(0, 3, 1)) AS t(i)``; moments
    and lists become ``sequence``, whose end is cut off where DuckDB excludes it.
    """
    replace_each(root, exp.Table, _series_table)
    replace_each(root, exp.Unnest, _unnest_table)
    return replace_each(root, exp.GenerateSeries, _series_list)


def _series_table(table: exp.Expr) -> exp.Expr | None:
    series = table.this
    if not isinstance(series, exp.GenerateSeries):
        return None
    name = "range" if series.args.get("is_end_exclusive") else "generate_series"
    rows = _integer_rows(series, name) if _is_integer(series) else _exploded(series, name)
    alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(name))
    if not alias.this:
        alias.set("this", exp.to_identifier(name))
    if series.find(exp.Column):
        return exp.Lateral(this=exp.Subquery(this=rows), alias=alias)
    return exp.Subquery(this=rows, alias=alias, joins=table.args.get("joins"))


def _is_integer(series: exp.GenerateSeries) -> bool:
    """Whether all bounds are integers as written: Spark's range() takes constants only."""
    bounds = [series.args.get(key) for key in ("start", "end", "step")]
    return all(b is None or _integer_constant(b) for b in bounds)


def _integer_constant(tree: exp.Expr) -> bool:
    inner = tree.this if isinstance(tree, exp.Neg) else tree
    if isinstance(inner, (exp.Mul, exp.Add, exp.Sub, exp.Paren)):
        return all(_integer_constant(x) for x in inner.iter_expressions())
    return isinstance(inner, exp.Literal) and not inner.is_string and str(inner.this).isdigit()


def _integer_rows(series: exp.GenerateSeries, name: str) -> exp.Expr:
    step = series.args.get("step") or number(1)
    end = series.args["end"]
    if not series.args.get("is_end_exclusive"):
        # Spark excludes the end; one more in the direction of the step includes it.
        end = exp.Add(this=exp.Paren(this=end), expression=call("sign", step.copy()))
        end = cast(end, "BIGINT")
    source = exp.Table(this=call("range", series.args["start"], end, step))
    column = exp.alias_(exp.column("id"), name, quoted=True)
    return exp.select(column).from_(source)


def _exploded(series: exp.GenerateSeries, name: str) -> exp.Expr:
    exploded = exp.alias_(call("explode", _list(series)), name, quoted=True)
    return exp.select(exploded)


def _series_list(series: exp.Expr) -> exp.Expr | None:
    return _list(series) if isinstance(series, exp.GenerateSeries) else None


def _list(series: exp.GenerateSeries) -> exp.Expr:
    """A list; empty where the step leads away from the end, which Spark's sequence() refuses."""
    start, end = series.args["start"], series.args["end"]
    step = series.args.get("step")
    if isinstance(step, exp.Interval) or isinstance(start, exp.Cast):
        return _moments(series)
    integer = [cast(x, "BIGINT") for x in (start, end, step or number(1))]
    start, end, step = integer
    passes = exp.Or(
        this=_both(exp.GT(this=step, expression=number(0)), exp.GT(this=start, expression=end)),
        expression=_both(
            exp.LT(this=step.copy(), expression=number(0)),
            exp.LT(this=start.copy(), expression=end.copy()),
        ),
    )
    listed: exp.Expr = call("sequence", start.copy(), end.copy(), step.copy())
    if series.args.get("is_end_exclusive"):
        other = exp.Lambda(
            this=exp.NEQ(this=exp.to_identifier("x"), expression=end.copy()),
            expressions=[exp.to_identifier("x")],
        )
        listed = call("filter", listed, other)
    empty = cast(exp.Array(), "BIGINT[]")
    return exp.Case(ifs=[exp.If(this=passes, true=empty)], default=listed)


def _both(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.Paren(this=exp.And(this=left, expression=right))


def _moments(series: exp.GenerateSeries) -> exp.Expr:
    start, end, step = (series.args.get(key) for key in ("start", "end", "step"))
    if step is None or start is None or end is None:
        raise NotSupported("range() over moments needs a step.", hint="give an INTERVAL.")
    stamp = [cast(x, "TIMESTAMP") for x in (start, end)]
    listed: exp.Expr = call("sequence", *stamp, step)
    if series.args.get("is_end_exclusive"):
        other = exp.Lambda(
            this=exp.NEQ(this=exp.to_identifier("x"), expression=stamp[1].copy()),
            expressions=[exp.to_identifier("x")],
        )
        listed = call("filter", listed, other)
    return listed


def _unnest_table(unnest: exp.Expr) -> exp.Expr | None:
    """``FROM unnest(l) AS u(x)`` becomes a lateral explode whose column is named as in DuckDB."""
    if len(unnest.expressions) != 1 or not isinstance(unnest.parent, (exp.From, exp.Join)):
        return None
    alias = unnest.args.get("alias") or exp.TableAlias(this=exp.to_identifier("unnest"))
    if not alias.args.get("columns"):
        alias.set("columns", [exp.to_identifier("unnest")])
    exploded = call("explode", unnest.expressions[0])
    query = exp.select(exp.alias_(exploded, "unnest", quoted=True))
    if unnest.find(exp.Column):
        return exp.Lateral(this=exp.Subquery(this=query), alias=alias)
    return exp.Subquery(this=query, alias=alias)
