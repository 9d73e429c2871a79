"""Constants of SQL as Python values, and expressions as DuckDB's text."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from sqlglot import exp

from ducklake_spark.errors import InvalidInput

_INTEGERS = frozenset(
    {"TINYINT", "SMALLINT", "INT", "BIGINT", "INT128", "UTINYINT", "USMALLINT", "UINT", "UBIGINT",
     "UINT128"}
)  # fmt: skip
_TEXTS = frozenset({"VARCHAR", "TEXT", "CHAR", "NVARCHAR", "JSON", "UUID"})


def literal_value(expression: exp.Expr) -> Any:
    """The Python value of a constant expression. Runs on the driver.

    Numbers, strings, booleans, NULL, signs, casts of constants, DATE and TIMESTAMP literals, lists,
    structs and maps are constants.

    Raises:
        InvalidInput: for anything that would have to be computed.
    """
    found = _constant(expression)
    if found is _NOT_CONSTANT:
        raise InvalidInput(
            f"Expected a constant, but {expression.sql(dialect='duckdb')} must be computed.",
            hint="write the value itself, or SET VARIABLE first and use getvariable().",
        )
    return found


def is_constant(expression: exp.Expr) -> bool:
    """Whether `literal_value` would answer."""
    try:
        return _constant(expression) is not _NOT_CONSTANT
    except InvalidInput:
        return False


def constant_or_tree(expression: exp.Expr) -> Any:
    """The Python value of a constant, and any other expression as its tree."""
    found = _constant(expression)
    return expression if found is _NOT_CONSTANT else found


class _NotConstant:
    """Marks what is no constant: None is a value (NULL)."""


_NOT_CONSTANT = _NotConstant()


def _constant(tree: exp.Expr) -> Any:
    reader = _READERS.get(type(tree))
    return reader(tree) if reader else _NOT_CONSTANT


def _literal(tree: exp.Expr) -> Any:
    text = str(tree.this)
    if tree.is_string:
        return text
    if set(text) <= set("0123456789"):
        return int(text)
    return float(text) if "e" in text.lower() else Decimal(text)


def _negative(tree: exp.Expr) -> Any:
    value = _constant(tree.this)
    return -value if isinstance(value, (int, float, Decimal)) else _NOT_CONSTANT


def _all(trees: list[exp.Expr]) -> Any:
    values = [_constant(item) for item in trees]
    return _NOT_CONSTANT if any(v is _NOT_CONSTANT for v in values) else values


def _array(tree: exp.Expr) -> Any:
    return _all(tree.expressions)


def _tuple(tree: exp.Expr) -> Any:
    return _all(tree.expressions)


def _struct(tree: exp.Expr) -> Any:
    pairs = [e for e in tree.expressions if isinstance(e, (exp.PropertyEQ, exp.Alias))]
    if len(pairs) != len(tree.expressions):
        return _NOT_CONSTANT
    values = _all([p.expression if isinstance(p, exp.PropertyEQ) else p.this for p in pairs])
    if values is _NOT_CONSTANT:
        return values
    names = [p.this.name if isinstance(p, exp.PropertyEQ) else p.alias for p in pairs]
    return dict(zip(names, values, strict=True))


def _map(tree: exp.Expr) -> Any:
    inner = tree.this
    if not isinstance(inner, exp.Struct):
        return _NOT_CONSTANT
    pairs = [e for e in inner.expressions if isinstance(e, (exp.PropertyEQ, exp.Slice))]
    keys = _all([p.this for p in pairs])
    values = _all([p.expression for p in pairs])
    if len(pairs) != len(inner.expressions) or _NOT_CONSTANT in (keys, values):
        return _NOT_CONSTANT
    return dict(zip(keys, values, strict=True))


def _cast(tree: exp.Expr) -> Any:
    value = _constant(tree.this)
    if value is _NOT_CONSTANT or value is None:
        return value
    to = tree.args["to"]
    name = to.this.name if isinstance(to.this, exp.DType) else ""
    if name in _INTEGERS or name in ("FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN"):
        return _number(value, name, tree)
    if name in _TEXTS:
        return value if isinstance(value, str) else _NOT_CONSTANT
    if name in _MOMENTS and isinstance(value, str):
        return _moment(value, name, tree)
    return _NOT_CONSTANT


def _number(value: Any, name: str, tree: exp.Expr) -> Any:
    """Cast to a number or boolean; what needs rounding is left to be computed."""
    try:
        if name == "BOOLEAN":
            return _boolean(value)
        number = Decimal(str(value).strip()) if not isinstance(value, bool) else Decimal(int(value))
        if name in ("FLOAT", "DOUBLE"):
            return float(number)
        if name == "DECIMAL":
            return number
        return int(number) if number == number.to_integral_value() else _NOT_CONSTANT
    except (ArithmeticError, ValueError):
        raise InvalidInput(f"Cannot read {tree.sql(dialect='duckdb')}.") from None


def _boolean(value: Any) -> Any:
    words = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
    found = words.get(str(value).strip().lower())
    return _NOT_CONSTANT if found is None else found


def _moment(text: str, name: str, tree: exp.Expr) -> Any:
    try:
        return _MOMENTS[name](text.strip())
    except ValueError:
        raise InvalidInput(f"Cannot read {tree.sql(dialect='duckdb')}.") from None


def _timestamp(text: str) -> dt.datetime:
    """As in DuckDB, a TIMESTAMP has what the clock shows; an offset in its text is left out."""
    return _timestamptz(text).replace(tzinfo=None)


def _timestamptz(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(_padded(text))


def _padded(text: str) -> str:
    """Make ``+02`` and ``Z`` readable for every supported Python."""
    if text.endswith(("Z", "z")):
        return text[:-1] + "+00:00"
    if len(text) > 13 and text[-3] in "+-" and text[-2:].isdigit():
        return text + ":00"
    return text


_MOMENTS: dict[str, Callable[[str], Any]] = {
    "DATE": dt.date.fromisoformat,
    "TIME": dt.time.fromisoformat,
    "TIMESTAMP": _timestamp,
    "TIMESTAMPNTZ": _timestamp,
    "TIMESTAMP_S": _timestamp,
    "TIMESTAMP_MS": _timestamp,
    "TIMESTAMPTZ": _timestamptz,
}


_READERS: dict[type[exp.Expr], Callable[[exp.Expr], Any]] = {
    exp.Literal: _literal,
    exp.Boolean: lambda tree: bool(tree.this),
    exp.Null: lambda _: None,
    exp.Neg: _negative,
    exp.Paren: lambda tree: _constant(tree.this),
    exp.Array: _array,
    exp.Tuple: _tuple,
    exp.Struct: _struct,
    exp.ToMap: _map,
    exp.Cast: _cast,
}
