"""Lists, structs and maps: literals, indexes, slices, membership."""

from __future__ import annotations

from sqlglot import exp

from ducklake_spark.sql.rewrite_casts import TEXTS, is_list, known_type
from ducklake_spark.sql.trees import call, number, replace_each, text


def rewrite_nested(root: exp.Expr) -> exp.Expr:
    """Literals and indexes of nested values."""
    replace_each(root, (exp.ToMap, exp.Map), _map)
    replace_each(root, exp.Struct, _struct)
    replace_each(root, exp.Comprehension, _comprehension)
    replace_each(root, exp.Array, _without_comprehension)
    replace_each(root, exp.Bracket, _bracket)
    return replace_each(root, exp.In, _membership)


def _map(tree: exp.Expr) -> exp.Expr | None:
    """``MAP {k: v}`` becomes map(k, v); ``MAP(keys, values)`` map_from_arrays."""
    if isinstance(tree, exp.Map):
        if tree.args.get("keys") is None:
            return call("map")
        return call("map_from_arrays", tree.args["keys"], tree.args["values"])
    if not isinstance(tree.this, exp.Struct):
        return None
    pairs: list[exp.Expr] = []
    for pair in tree.this.expressions:
        pairs += [pair.this, pair.expression]
    return call("map", *pairs)


def _struct(tree: exp.Expr) -> exp.Expr | None:
    """``{'a': 1}`` becomes named_struct('a', 1)."""
    if isinstance(tree.parent, exp.ToMap):
        return None
    pairs: list[exp.Expr] = []
    for index, item in enumerate(tree.expressions):
        if isinstance(item, exp.PropertyEQ):
            pairs += [text(item.this.name), item.expression]
        elif isinstance(item, exp.Alias):
            pairs += [text(item.alias), item.this]
        else:
            pairs += [text(f"col{index + 1}"), item]
    return call("named_struct", *pairs)


def _comprehension(tree: exp.Expr) -> exp.Expr | None:
    """``[x * 2 FOR x IN l IF x > 1]``."""
    name = tree.expression.name
    source = tree.args["iterator"]
    condition = tree.args.get("condition")
    if condition is not None:
        source = call("filter", source, _function_of(name, condition))
    listed = call("transform", source, _function_of(name, tree.this))
    listed.meta["whole"] = True
    return listed


def _function_of(name: str, body: exp.Expr) -> exp.Lambda:
    for column in list(body.find_all(exp.Column)):
        if column.name == name and not column.table and column is not body:
            column.replace(exp.to_identifier(name))
    if isinstance(body, exp.Column) and body.name == name:
        body = exp.to_identifier(name)
    return exp.Lambda(this=body, expressions=[exp.to_identifier(name)])


def _without_comprehension(tree: exp.Expr) -> exp.Expr | None:
    """A comprehension is the whole list, not its only element."""
    items = tree.expressions
    if len(items) == 1 and isinstance(items[0], exp.Anonymous) and items[0].meta.get("whole"):
        return items[0]
    return None


def _bracket(tree: exp.Expr) -> exp.Expr | None:
    """``l[1]`` is the first element, outside is NULL; ``s['a']`` is a field or a map's value."""
    if len(tree.expressions) != 1:
        return None
    index = tree.expressions[0]
    if isinstance(index, exp.Slice):
        return slice_of(tree.this, index)
    if index.is_string:
        return None
    if isinstance(index, exp.Literal) and str(index.this) == "0":
        return exp.Null()
    if known_type(tree.this) in TEXTS:
        return call("substring", tree.this, index, number(1))
    return call("try_element_at", tree.this, index)


def slice_of(value: exp.Expr, index: exp.Slice) -> exp.Expr:
    """``l[a:b]``, both ends included, negative from the end; a string gives a string."""
    if known_type(value) in TEXTS:
        size: exp.Expr = call("char_length", value.copy())
        function = "substring"
    else:
        size = call("size", value.copy())
        function = "slice"
    first = _end(index.this, size, default=number(1))
    last = _end(index.expression, size, default=size)
    start = call("greatest", first, number(1))
    length = exp.Add(
        this=exp.Sub(this=call("least", last, size.copy()), expression=start.copy()),
        expression=number(1),
    )
    return call(function, value, start, call("greatest", length, number(0)))


def _end(tree: exp.Expr | None, size: exp.Expr, *, default: exp.Expr) -> exp.Expr:
    if (
        tree is None
        or isinstance(tree, exp.Null)
        or (isinstance(tree, exp.Var) and tree.name == "-")
    ):
        return default.copy()
    if isinstance(tree, exp.Literal):
        return tree
    from_end = exp.Add(
        this=exp.Add(this=size.copy(), expression=exp.Paren(this=tree.copy())), expression=number(1)
    )
    if isinstance(tree, exp.Neg):
        return from_end
    negative = exp.LT(this=tree.copy(), expression=number(0))
    return exp.Case(ifs=[exp.If(this=negative, true=from_end)], default=tree)


def _membership(tree: exp.Expr) -> exp.Expr | None:
    """``x IN list`` and ``'x' IN string``: no parentheses, so no set of values."""
    within = tree.args.get("field")
    if within is None or tree.args.get("query") is not None:
        return None
    value = tree.this
    if value.is_string and not is_list(within):
        return call("contains", within, value)
    # Beside NULLs a missing value is not contained; Spark would not know.
    present = call("filter", within, _function_of("x", call("isnotnull", exp.column("x"))))
    return call("array_contains", present, value)
