"""Values that a session or a caller supplies: getvariable('x'), ``?``, ``$1`` and ``$name``."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlglot import exp

from ducklake_spark.errors import InvalidInput
from ducklake_spark.sql.trees import cast, number, replace_each, text

Params = Sequence[Any] | Mapping[str, Any]


def bind_variables(
    tree: exp.Expr, variables: Mapping[str, Any], params: Params | None = None
) -> exp.Expr:
    """A copy of `tree` with variables and parameters replaced by their values. Runs on the driver.

    A variable that is not set is NULL, as in DuckDB; a parameter that is not given is an error.
    """
    root = exp.Paren(this=tree.copy())
    lowered = {name.lower(): value for name, value in variables.items()}
    replace_each(root, exp.Anonymous, lambda call: _variable(call, lowered))
    marks = [node for node in root.walk(bfs=False) if isinstance(node, exp.Placeholder)]
    for index, mark in enumerate(marks):
        mark.replace(value_tree(_parameter(mark, index, params)))
    bound: exp.Expr = root.this
    return bound


def _variable(call: exp.Expr, variables: Mapping[str, Any]) -> exp.Expr | None:
    if str(call.this).lower() != "getvariable" or len(call.expressions) != 1:
        return None
    name = call.expressions[0]
    if not name.is_string:
        raise InvalidInput("getvariable() takes the name of a variable as a string.")
    return value_tree(variables.get(str(name.this).lower()))


def _parameter(mark: exp.Expr, index: int, params: Params | None) -> Any:
    name = mark.name if mark.this is not None else str(index + 1)
    if isinstance(params, Mapping):
        if name in params:
            return params[name]
    elif params is not None and name.isdigit() and 0 < int(name) <= len(params):
        return params[int(name) - 1]
    raise InvalidInput(
        f"The parameter {'$' + name if mark.this is not None else '?'} has no value.",
        hint="give one value for each parameter: params=[…] or params={'name': …}.",
    )


@dataclass(frozen=True, slots=True)
class TypedValue:
    """A value with its type in DuckDB, and its text there if the value does not tell all of it."""

    value: Any
    type: str
    text: str | None


class MapValue(dict[Any, Any]):
    """A map; a plain dict is a struct."""


def value_tree(value: Any) -> exp.Expr:
    """A Python value as a constant expression; `literal_value` is the way back."""
    if value is None:
        return exp.Null()
    if isinstance(value, exp.Expr):
        return value
    if isinstance(value, TypedValue):
        return value_tree(value.value)
    for kind, build in _BUILDERS:
        if isinstance(value, kind):
            return build(value)
    raise InvalidInput(f"A value of type {type(value).__name__} cannot be used in SQL.")


def _bytes(value: bytes | bytearray) -> exp.Expr:
    return cast(text("".join(f"\\x{byte:02X}" for byte in value)), "BLOB")


def _moment(value: dt.datetime) -> exp.Expr:
    kind = "TIMESTAMP" if value.tzinfo is None else "TIMESTAMPTZ"
    return cast(text(value.isoformat(sep=" ")), kind)


def _map(value: MapValue) -> exp.Expr:
    entries = [
        exp.PropertyEQ(this=value_tree(k), expression=value_tree(v)) for k, v in value.items()
    ]
    return exp.ToMap(this=exp.Struct(expressions=entries))


def _struct(value: dict[Any, Any]) -> exp.Expr:
    fields = [
        exp.PropertyEQ(this=exp.to_identifier(str(name)), expression=value_tree(item))
        for name, item in value.items()
    ]
    return exp.Struct(expressions=fields)


# The first kind that fits decides: a bool is an int, a datetime is a date.
_BUILDERS: tuple[tuple[type | tuple[type, ...], Callable[[Any], exp.Expr]], ...] = (
    (bool, lambda value: exp.Boolean(this=value)),
    (int, number),
    (Decimal, lambda value: cast(text(str(value)), _decimal_type(value))),
    (float, lambda value: cast(text(repr(value)), "DOUBLE")),
    (str, text),
    ((bytes, bytearray), _bytes),
    (dt.datetime, _moment),
    (dt.date, lambda value: cast(text(value.isoformat()), "DATE")),
    (dt.time, lambda value: cast(text(value.isoformat()), "TIME")),
    (UUID, lambda value: cast(text(str(value)), "UUID")),
    ((list, tuple), lambda value: exp.Array(expressions=[value_tree(item) for item in value])),
    (MapValue, _map),
    (dict, _struct),
)


def _decimal_type(value: Decimal) -> str:
    digits = value.as_tuple()
    scale = max(-int(digits.exponent), 0) if isinstance(digits.exponent, int) else 0
    precision = max(len(digits.digits) + max(int(digits.exponent), 0), scale, 1)
    return f"DECIMAL({min(precision, 38)},{min(scale, 38)})"
