"""Aggregates whose name or meaning differs."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from ducklake_spark.errors import NotSupported
from ducklake_spark.sql.trees import call, cast, number, replace_each, text

_WRAPPERS = (exp.Filter, exp.Window, exp.IgnoreNulls, exp.RespectNulls)


def rewrite_aggregates(root: exp.Expr) -> exp.Expr:
    """Lists keep NULLs and their order, averages are floats, NULL arguments do not win arg_max."""
    replace_each(root, exp.Count, _count)
    replace_each(root, exp.Avg, _average)
    replace_each(root, (exp.ArrayAgg, exp.First, exp.Last), _listing)
    replace_each(root, (exp.ArgMax, exp.ArgMin), _argument)
    replace_each(root, (exp.PercentileCont, exp.PercentileDisc), _quantile)
    return replace_each(root, exp.Anonymous, _named)


def _count(tree: exp.Expr) -> exp.Expr | None:
    """``count()`` counts rows; a tuple counts its distinct values."""
    if tree.this is None and not tree.expressions:
        return exp.Count(this=exp.Star())
    inner = tree.this
    if isinstance(inner, exp.Distinct) and isinstance(inner.expressions[0], exp.Tuple):
        struct = call("struct", *inner.expressions[0].expressions)
        inner.set("expressions", [struct])
    return None


def _average(tree: exp.Expr) -> exp.Expr | None:
    """An average is a float, of the exact sum: Spark's of decimals is rounded to few places."""

    def divided(outer: exp.Expr) -> exp.Expr:
        count = outer.copy()
        for avg in [a for a in count.find_all(exp.Anonymous) if a.meta.get("average")]:
            avg.set("this", "count")
        return call("try_divide", cast(outer, "DOUBLE"), cast(count, "DOUBLE"))

    inner = call("sum", tree.this)
    inner.meta["average"] = True
    return _wrapped(tree, inner, divided)


def _wrapped(
    tree: exp.Expr, inner: exp.Expr, around: Callable[[exp.Expr], exp.Expr]
) -> exp.Expr | None:
    """Replace an aggregate by `inner` and put `around` outside of its FILTER and OVER."""
    outer = tree
    while isinstance(outer.parent, _WRAPPERS) and outer.arg_key == "this":
        outer = outer.parent
    if outer is tree:
        return around(inner)
    tree.replace(inner)
    parent, key, index = outer.parent, outer.arg_key, outer.index
    if parent is not None and key is not None:
        parent.set(key, around(outer), index=index)
    return None


def _listing(tree: exp.Expr) -> exp.Expr | None:
    """``list(x ORDER BY y)``: sorted by a comparison of the keys collected with each value."""
    value = tree.this
    order = value if isinstance(value, exp.Order) else None
    if order is None and not isinstance(tree, exp.ArrayAgg):
        return None
    value = order.this if order is not None else value
    distinct = isinstance(value, exp.Distinct)
    value = value.expressions[0] if distinct else value
    keys = list(order.expressions) if order is not None else []
    if distinct and keys and [k.this for k in keys] != [value]:
        raise NotSupported(
            "list(DISTINCT …) can only be ordered by the values themselves.",
            hint="order a list of a subquery's distinct rows.",
        )
    fields = [text("v"), value]
    for index, key in enumerate(keys):
        fields += [text(f"k{index}"), key.this.copy()]
    struct = call("named_struct", *fields)
    inner = call("collect_set" if distinct else "collect_list", struct)
    return _wrapped(tree, inner, lambda outer: _ordered(tree, outer, keys))


def _ordered(tree: exp.Expr, collected: exp.Expr, keys: list[exp.Expr]) -> exp.Expr:
    if keys:
        collected = call("array_sort", collected, _comparison(keys))
    values = call("transform", collected, _lambda(("e",), _field("e", "v")))
    if isinstance(tree, exp.First):
        return call("try_element_at", values, number(1))
    if isinstance(tree, exp.Last):
        return call("try_element_at", values, number(-1))
    # A list of no rows is NULL in DuckDB.
    return exp.If(this=exp.EQ(this=call("size", values), expression=number(0)),
                  true=exp.Null(), false=values.copy())  # fmt: skip


def _lambda(names: tuple[str, ...], body: exp.Expr) -> exp.Lambda:
    return exp.Lambda(this=body, expressions=[exp.to_identifier(n) for n in names])


def _field(owner: str, name: str) -> exp.Expr:
    return exp.Dot(this=exp.to_identifier(owner), expression=exp.to_identifier(name))


def _comparison(keys: list[exp.Expr]) -> exp.Expr:
    """-1, 0 or 1 for two collected rows."""
    result: exp.Expr = number(0)
    for index in reversed(range(len(keys))):
        key = keys[index]
        left, right = _field("l", f"k{index}"), _field("r", f"k{index}")
        before, after = (1, -1) if key.args.get("desc") else (-1, 1)
        null = -1 if key.args.get("nulls_first") else 1
        both = exp.And(this=_is_null(left), expression=_is_null(right))
        result = exp.Case(
            ifs=[
                exp.If(this=both, true=result),
                exp.If(this=_is_null(left), true=number(null)),
                exp.If(this=_is_null(right), true=number(-null)),
                exp.If(this=exp.LT(this=left, expression=right), true=number(before)),
                exp.If(this=exp.GT(this=left.copy(), expression=right.copy()), true=number(after)),
            ],
            default=result.copy(),
        )
    return _lambda(("l", "r"), result)


def _is_null(tree: exp.Expr) -> exp.Expr:
    return exp.Is(this=tree.copy(), expression=exp.Null())


def _argument(tree: exp.Expr) -> exp.Expr | None:
    """Rows whose argument is NULL do not count in arg_max() and arg_min()."""
    if tree.args.get("count") is not None:
        raise NotSupported("arg_max() and arg_min() for several rows are not supported.")
    by = exp.If(this=_is_null(tree.this), true=exp.Null(), false=tree.expression)
    return call("max_by" if isinstance(tree, exp.ArgMax) else "min_by", tree.this, by)


def _quantile(tree: exp.Expr) -> exp.Expr | None:
    """``quantile_cont(x, q)`` and ``quantile_disc(x, q)``."""
    if tree.expression is None or isinstance(tree.parent, exp.WithinGroup):
        return None
    if isinstance(tree, exp.PercentileCont):
        return call("percentile", tree.this, tree.expression)
    order = exp.Order(expressions=[exp.Ordered(this=tree.this)])
    return exp.WithinGroup(this=call("percentile_disc", tree.expression), expression=order)


def _named(tree: exp.Expr) -> exp.Expr | None:
    if str(tree.this).lower() != "product" or len(tree.expressions) != 1:
        return None
    inner = call("collect_list", cast(tree.expressions[0], "DOUBLE"))

    def multiplied(outer: exp.Expr) -> exp.Expr:
        product = exp.Mul(this=exp.to_identifier("a"), expression=exp.to_identifier("b"))
        start = cast(number(1), "DOUBLE")
        total = call("aggregate", outer.copy(), start, _lambda(("a", "b"), product))
        return exp.If(this=exp.EQ(this=call("size", outer), expression=number(0)),
                      true=exp.Null(), false=total)  # fmt: skip

    return _wrapped(tree, inner, multiplied)
