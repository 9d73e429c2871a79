"""Put the values of variables, settings and parameters into a statement before it runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from ducklake_spark.errors import InvalidInput
from ducklake_spark.execution.settings import current_setting
from ducklake_spark.sql.composed import PARAMS
from ducklake_spark.sql.dialect import DuckLake
from ducklake_spark.sql.reader import WRITTEN
from ducklake_spark.sql.trees import replace_each
from ducklake_spark.sql.variables import bind_variables, value_tree

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection

Node = TypeVar("Node")
Params = Sequence[Any] | Mapping[str, Any]

_SESSION_FUNCTIONS = ("current_setting", "current_database", "current_schema", "current_catalog")


def number_marks(text: str) -> str:
    """The text with every ``?`` as ``$1``, ``$2``, …, counted anew in each statement.

    A statement is taken apart into trees whose order is not that of the text, so each mark has to
    say by itself which value it stands for.

    >>> number_marks("SELECT ? + ?; SELECT '?', ?")
    "SELECT $1 + $2; SELECT '?', $1"
    """
    if "?" not in text:
        return text
    pieces, start, number = [], 0, 0
    for token in DuckLake().tokenize(text):
        if token.token_type == TokenType.SEMICOLON:
            number = 0
        elif token.token_type == TokenType.PLACEHOLDER:
            number += 1
            pieces += [text[start : token.start], f"${number}"]
            start = token.end + 1
    return "".join([*pieces, text[start:]])


def bind_parameters(con: Connection, statement: Node, params: Params | None) -> Node:
    """The statement with every ``getvariable('x')``, ``$1`` and ``$name`` replaced."""
    used: set[str] = set()
    bound = _bound(con, statement, params, used)
    if params is not None and (extra := _unused(params, used)):
        raise InvalidInput(
            f"The statement has no parameter {extra}.", hint="give as many values as parameters."
        )
    return bound  # type: ignore[no-any-return]


def needs_binding(node: Any) -> bool:
    """Whether anything stands in the statement that `bind_parameters` might replace."""
    if isinstance(node, exp.Expression):
        return any(isinstance(part, exp.Func | exp.Placeholder) for part in node.walk())
    if isinstance(node, tuple):
        return any(map(needs_binding, node))
    if isinstance(node, Mapping):
        return any(map(needs_binding, node.values()))
    if dataclasses.is_dataclass(node) and not isinstance(node, type):
        return any(needs_binding(getattr(node, each.name)) for each in dataclasses.fields(node))
    return False


def _unused(params: Params, used: set[str]) -> str | None:
    names = params if isinstance(params, Mapping) else range(1, len(params) + 1)
    return next((f"${name}" for name in names if str(name) not in used), None)


def _bound(con: Connection, node: Any, params: Any, used: set[str]) -> Any:
    """Trees may stand anywhere in a statement: in its fields, in tuples and maps of them."""
    if isinstance(node, exp.Expression):
        used.update(mark.name for mark in node.find_all(exp.Placeholder))
        bound = _bind_session(con, bind_variables(node, con.variables, params))
        if WRITTEN in node.meta:
            bound.meta.update({**node.meta, PARAMS: params})
        return bound
    if isinstance(node, tuple):
        return tuple(_bound(con, item, params, used) for item in node)
    if isinstance(node, Mapping):
        return {key: _bound(con, value, params, used) for key, value in node.items()}
    if dataclasses.is_dataclass(node) and not isinstance(node, type):
        values = {
            field.name: _bound(con, getattr(node, field.name), params, used)
            for field in dataclasses.fields(node)
        }
        return dataclasses.replace(node, **values)
    return node


def _bind_session(con: Connection, tree: exp.Expr) -> exp.Expr:
    """Replace the functions that ask for the state of the session."""
    root = exp.Paren(this=tree)
    replace_each(root, exp.Func, lambda call: _session_value(con, call))
    bound: exp.Expr = root.this
    return bound


def _session_value(con: Connection, call: exp.Expr) -> exp.Expr | None:
    name = call.name if isinstance(call, exp.Anonymous) else call.sql_name()  # type: ignore[attr-defined]
    name = name.lower()
    if name not in _SESSION_FUNCTIONS or not (con.current or name == "current_setting"):
        return None
    if name == "current_setting":
        setting = call.expressions[0] if call.expressions else None
        if setting is None or not setting.is_string:
            raise InvalidInput("current_setting() takes the name of a setting as a string.")
        return value_tree(current_setting(con, str(setting.this)))
    return value_tree(con.current_schema() if name == "current_schema" else con.current_lake().name)
