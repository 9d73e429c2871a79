"""Put the values of variables and parameters into a statement before it runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from sqlglot import exp

from ducklake_spark.sql.variables import bind_variables

Node = TypeVar("Node")


def bind_parameters(
    statement: Node,
    variables: Mapping[str, Any],
    params: Sequence[Any] | Mapping[str, Any] | None,
) -> Node:
    """The statement with every ``getvariable('x')``, ``?``, ``$1`` and ``$name`` replaced."""
    return _bound(statement, variables, params)  # type: ignore[no-any-return]


def _bound(node: Any, variables: Mapping[str, Any], params: Any) -> Any:
    """Trees may stand anywhere in a statement: in its fields, in tuples and maps of them."""
    if isinstance(node, exp.Expression):
        return bind_variables(node, variables, params)
    if isinstance(node, tuple):
        return tuple(_bound(item, variables, params) for item in node)
    if isinstance(node, Mapping):
        return {key: _bound(value, variables, params) for key, value in node.items()}
    if dataclasses.is_dataclass(node) and not isinstance(node, type):
        values = {
            field.name: _bound(getattr(node, field.name), variables, params)
            for field in dataclasses.fields(node)
        }
        return dataclasses.replace(node, **values)
    return node
