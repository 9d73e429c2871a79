"""Lists, maps and structs as text, the way DuckDB writes them: ``{'a': 1}``, ``{k=[x, 'y z']}``."""

from __future__ import annotations

from sqlglot import exp

from ducklake_spark.sql.trees import call, cast, text

DType = exp.DType
_LISTS = (DType.ARRAY, DType.LIST)
# What cannot stand without quotes inside a nested value.
_NEEDS_QUOTES = r"""^$|^\s|\s$|^(?i:null)$|[\[\]{}(),=:'"]"""
# Their text in Spark is another than DuckDB's.
_OTHER_TEXT = (DType.VARBINARY, DType.FLOAT, DType.DOUBLE, DType.TIMESTAMPTZ)


def nested_text(tree: exp.Expr, kind: exp.DataType, depth: int = 0) -> exp.Expr | None:
    """The text of a nested value; None where its type, or a type in it, is not known to be safe."""
    if kind.this in _LISTS and len(kind.expressions) == 1:
        return _list(tree, kind.expressions[0], depth)
    if kind.this is DType.MAP and len(kind.expressions) == 2:
        key, value = kind.expressions
        return _map(tree, key, value, depth)
    if kind.this is DType.STRUCT:
        return _struct(tree, kind, depth)
    return None


def _value(tree: exp.Expr, kind: exp.Expr, depth: int) -> exp.Expr | None:
    """A value inside another: NULL is a word, and text in quotes only if it needs them."""
    if not isinstance(kind, exp.DataType) or kind.this in _OTHER_TEXT or not kind.this:
        return None
    if kind.is_type(*_LISTS, DType.MAP, DType.STRUCT):
        shown = nested_text(tree, kind, depth)
        return None if shown is None else call("coalesce", shown, text("NULL"))
    plain = cast(tree, "VARCHAR")
    escaped = call("replace", plain.copy(), text("\\"), text("\\\\"))
    quoted = call("concat", text("'"), call("replace", escaped, text("'"), text("\\'")), text("'"))
    needs = call("rlike", plain.copy(), text(_NEEDS_QUOTES))
    return call("coalesce", call("if", needs, quoted, plain), text("NULL"))


def _list(tree: exp.Expr, element: exp.Expr, depth: int) -> exp.Expr | None:
    name = f"e{depth}"
    item = _value(exp.to_identifier(name), element, depth + 1)
    if item is None:
        return None
    items = call("transform", tree, exp.Lambda(this=item, expressions=[exp.to_identifier(name)]))
    return call("concat", text("["), call("array_join", items, text(", ")), text("]"))


def _map(tree: exp.Expr, key: exp.Expr, value: exp.Expr, depth: int) -> exp.Expr | None:
    name = f"e{depth}"
    shown_key = _value(_field(exp.to_identifier(name), "key"), key, depth + 1)
    shown_value = _value(_field(exp.to_identifier(name), "value"), value, depth + 1)
    if shown_key is None or shown_value is None:
        return None
    pair = call("concat", shown_key, text("="), shown_value)
    entries = call("map_entries", tree)
    items = call("transform", entries, exp.Lambda(this=pair, expressions=[exp.to_identifier(name)]))
    return call("concat", text("{"), call("array_join", items, text(", ")), text("}"))


def _struct(tree: exp.Expr, kind: exp.DataType, depth: int) -> exp.Expr | None:
    parts: list[exp.Expr] = []
    for field in kind.expressions:
        if not isinstance(field, exp.ColumnDef):
            return None
        shown = _value(_field(tree.copy(), field.name), field.args["kind"], depth + 1)
        if shown is None:
            return None
        name = field.name.replace("\\", "\\\\").replace("'", "\\'")
        parts += [text(f"{', ' if parts else ''}'{name}': "), shown]
    whole = call("concat", text("{"), *parts, text("}"))
    return call("if", call("isnull", tree.copy()), exp.Null(), whole)


def _field(tree: exp.Expr, name: str) -> exp.Expr:
    return exp.Dot(this=tree, expression=exp.to_identifier(name, quoted=True))
