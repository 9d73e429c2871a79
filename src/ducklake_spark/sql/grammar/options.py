"""Option lists ``(NAME value, …)`` and argument lists ``(value, name => value)``."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from ducklake_spark.sql.literals import constant_or_tree, literal_value
from ducklake_spark.sql.reader import Reader


def parse_options(reader: Reader) -> dict[str, object]:
    """``(NAME [=] value, NAME, …)`` with upper-case names; a name alone is true."""
    options: dict[str, object] = {}
    if not reader.accept("("):
        return options
    while not reader.accept(")"):
        name = reader.name_or_string().upper()
        options[name] = _option_value(reader)
        if not reader.accept(","):
            reader.expect(")")
            break
    return options


def _option_value(reader: Reader) -> object:
    reader.accept_any("=", ":", "=>", ":=")
    if reader.word in (",", ")"):
        return True
    if reader.peek("("):
        return _option_list(reader)
    tree = reader.operand()
    if isinstance(tree, exp.Column) and len(tree.parts) == 1:
        return tree.name  # TYPE ducklake: a word stands for its text
    if isinstance(tree, exp.Var):
        return tree.name
    return constant_or_tree(tree)


def _option_list(reader: Reader) -> object:
    """``PARTITION_BY (a, b)``: names or constants in parentheses."""
    reader.expect("(")
    values: list[object] = []
    while not reader.accept(")"):
        tree = reader.expression()
        values.append(tree.name if isinstance(tree, exp.Column) else literal_value(tree))
        if not reader.accept(","):
            reader.expect(")")
            break
    return values


def parse_arguments(reader: Reader) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """``(value, name => value, …)``: constants as Python values, other expressions as trees."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    reader.expect("(")
    while not reader.accept(")"):
        if reader.following_word in ("=>", ":=") or (reader.following_word == "=" and reader.word):
            name = reader.name().lower()
            reader.advance()
            named[name] = constant_or_tree(reader.expression())
        else:
            positional.append(constant_or_tree(reader.expression()))
        if not reader.accept(","):
            reader.expect(")")
            break
    return tuple(positional), named
