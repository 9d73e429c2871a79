"""Functions on lists and maps."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from ducklake_spark.errors import NotSupported
from ducklake_spark.sql.trees import call, cast, number, text


def _identifier(name: str) -> exp.Identifier:
    return exp.to_identifier(name)


def _function(body: exp.Expr, *names: str) -> exp.Lambda:
    return exp.Lambda(this=body, expressions=[_identifier(n) for n in names])


def _null_list() -> exp.Expr:
    """NULL, but of a list's type."""
    return call("if", exp.false(), call("array"), exp.Null())


def _with_typed_list(tree: exp.Expr) -> exp.Expr | None:
    """list_filter(NULL, …) and list_transform(NULL, …): Spark takes no bare NULL there."""
    if isinstance(tree.this, exp.Null):
        tree.set("this", _null_list())
    return None


def _present(values: exp.Expr) -> exp.Expr:
    """The elements that are not NULL."""
    if isinstance(values, exp.Null):
        values = _null_list()
    return call("filter", values, _function(call("isnotnull", _identifier("x")), "x"))


def _sum(values: exp.Expr) -> exp.Expr:
    """NULL for a list without values; the elements keep their type, sums of integers are wide."""
    present = _present(values)
    start = call("try_element_at", present.copy(), number(1))
    rest = call(
        "slice", present.copy(), number(2), call("greatest", call("size", present), number(1))
    )
    added = exp.Add(this=_identifier("a"), expression=_identifier("x"))
    return call("reduce", rest, start, _function(added, "a", "x"))


def _average(values: exp.Expr) -> exp.Expr:
    doubles = call("transform", values, _function(cast(_identifier("x"), "DOUBLE"), "x"))
    return call("try_divide", _sum(doubles), call("size", _present(doubles.copy())))


def _product(values: exp.Expr) -> exp.Expr:
    doubles = _present(call("transform", values, _function(cast(_identifier("x"), "DOUBLE"), "x")))
    times = exp.Mul(this=_identifier("a"), expression=_identifier("x"))
    return call("reduce", doubles, cast(number(1), "DOUBLE"), _function(times, "a", "x"))


def _count(values: exp.Expr) -> exp.Expr:
    return cast(call("size", _present(values)), "BIGINT")


def _position(values: exp.Expr, value: exp.Expr) -> exp.Expr:
    """NULL when the value is not there; Spark says 0."""
    return call("nullif", call("array_position", values, value), number(0))


def _reduce(values: exp.Expr, function: exp.Expr, start: exp.Expr | None = None) -> exp.Expr:
    if start is not None:
        return call("reduce", values, start, function)
    first = call("try_element_at", values, number(1))
    rest = call(
        "slice", values.copy(), number(2), call("greatest", call("size", values.copy()), number(1))
    )
    return call("reduce", rest, first, function)


def _aggregate(values: exp.Expr, name: exp.Expr) -> exp.Expr:
    rewrite = _AGGREGATES.get(str(name.this).lower()) if isinstance(name, exp.Literal) else None
    if rewrite is None:
        raise NotSupported(f"list_aggregate() with {name.sql()} is not supported.")
    return rewrite(values)


_AGGREGATES: dict[str, Callable[[exp.Expr], exp.Expr]] = {
    "sum": _sum,
    "avg": _average,
    "mean": _average,
    "count": _count,
    "min": lambda x: call("array_min", x),
    "max": lambda x: call("array_max", x),
    "product": _product,
    "first": lambda x: call("try_element_at", x, number(1)),
    "last": lambda x: call("try_element_at", x, number(-1)),
    "any_value": lambda x: call("try_element_at", _present(x), number(1)),
    "string_agg": lambda x: call("array_join", x, text(",")),
    "bool_and": lambda x: call("forall", _present(x), _function(_identifier("x"), "x")),
    "bool_or": lambda x: call("exists", _present(x), _function(_identifier("x"), "x")),
}


def _slice(values: exp.Expr, first: exp.Expr, last: exp.Expr, *step: exp.Expr) -> exp.Expr:
    from ducklake_spark.sql.rewrite_nested import slice_of

    if step:
        raise NotSupported("Slices with a step are not supported.")
    return slice_of(values, exp.Slice(this=first, expression=last))


def _array_slice(tree: exp.Expr) -> exp.Expr | None:
    steps = [tree.args["step"]] if tree.args.get("step") is not None else []
    return _slice(tree.this, tree.args["start"], tree.args["end"], *steps)


def _sort(tree: exp.Expr) -> exp.Expr | None:
    """Ascending, NULLs last, unless said otherwise."""
    descending = tree.args.get("asc") is not None
    nulls = tree.args.get("nulls_first")
    nulls_first = isinstance(nulls, exp.Boolean) and bool(nulls.this)
    values = tree.this
    # sort_array puts NULLs first when ascending and last when descending, array_sort always last.
    if descending and nulls_first:
        return call("reverse", call("array_sort", values))
    if descending or nulls_first:
        return call("sort_array", values, exp.Boolean(this=not descending))
    return call("array_sort", values)


def _overlaps(tree: exp.Expr) -> exp.Expr | None:
    return call("arrays_overlap", _present(tree.this), _present(tree.expression))


def _distinct(tree: exp.Expr) -> exp.Expr | None:
    """NULLs do not count as values."""
    return call("array_distinct", _present(tree.this))


def _contains(tree: exp.Expr) -> exp.Expr | None:
    """False when the value is not there, also beside NULLs, where Spark says NULL."""
    if isinstance(tree.this, exp.Null):
        return cast(exp.Null(), "BOOLEAN")
    return call("array_contains", _present(tree.this), tree.expression)


def _has_all(values: exp.Expr, wanted: exp.Expr) -> exp.Expr:
    missing = call("array_except", _present(wanted), values)
    return exp.EQ(this=call("size", missing), expression=number(0))


def _zip(*lists: exp.Expr) -> exp.Expr:
    return call("arrays_zip", *lists)


def _without_last(values: exp.Expr) -> exp.Expr:
    size = exp.Sub(this=call("size", values.copy()), expression=number(1))
    return call("slice", values, number(1), call("greatest", size, number(0)))


def _refuse_map(*_: exp.Expr) -> exp.Expr:
    raise NotSupported("map_extract() is not supported.", hint="write map[key].")


BY_KIND: dict[type[exp.Expr], Callable[[exp.Expr], exp.Expr | None]] = {
    exp.ArrayFilter: _with_typed_list,
    exp.Transform: _with_typed_list,
    exp.ArraySlice: _array_slice,
    exp.ArraySort: _sort,
    exp.ArrayOverlaps: _overlaps,
    exp.ArrayDistinct: _distinct,
    exp.ArrayContains: _contains,
    exp.StructExtract: lambda tree: exp.Bracket(this=tree.this, expressions=[tree.expression]),
}

BY_NAME: dict[str, Callable[..., exp.Expr]] = {
    **{f"list_{name}": rewrite for name, rewrite in _AGGREGATES.items()},
    "list_aggregate": _aggregate,
    "list_aggr": _aggregate,
    "array_aggregate": _aggregate,
    "array_aggr": _aggregate,
    "list_position": _position,
    "list_indexof": _position,
    "array_indexof": _position,
    "list_reverse": lambda x: call("reverse", x),
    "array_reverse": lambda x: call("reverse", x),
    "list_unique": lambda x: cast(call("size", call("array_distinct", _present(x))), "BIGINT"),
    "array_unique": lambda x: cast(call("size", call("array_distinct", _present(x))), "BIGINT"),
    "list_reduce": _reduce,
    "array_reduce": _reduce,
    "list_slice": _slice,
    "list_extract": lambda x, i: call("try_element_at", x, i),
    "list_element": lambda x, i: call("try_element_at", x, i),
    "array_extract": lambda x, i: call("try_element_at", x, i),
    "list_has_all": _has_all,
    "array_has_all": _has_all,
    "list_intersect": lambda x, y: call("array_intersect", x, y),
    "list_zip": _zip,
    "list_pack": lambda *items: call("array", *items),
    "array_pop_back": _without_last,
    "map_contains": lambda m, k: call("map_contains_key", m, k),
    "map_extract": _refuse_map,
    "cardinality": lambda m: cast(call("size", m), "BIGINT"),
    "row": lambda *items: call("struct", *items),
}  # fmt: skip
