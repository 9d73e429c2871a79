"""Macros are expanded on the tree: a call becomes the macro's body with its arguments put in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from sqlglot import exp

from ducklake_spark.errors import InvalidInput, NotSupported
from ducklake_spark.lake import Lake
from ducklake_spark.model.entities import (
    MacroEntry,
    MacroImplementation,
    MacroParameter,
    SchemaEntry,
)
from ducklake_spark.model.types import format_sql_type, parse_type
from ducklake_spark.sql.parse import parse_expression, parse_query
from ducklake_spark.sql.relations import TableFunctionCall
from ducklake_spark.sql.variables import value_tree

_DEEPEST_CALL = 64


class MacroFinder(Protocol):
    """Says which macro a name means."""

    def find_macro(
        self, parts: tuple[str, ...], *, is_table: bool
    ) -> tuple[Lake, SchemaEntry, MacroEntry] | None:
        """The macro, or None when the name is a function's."""
        ...


def expand_macros(tree: exp.Expr, finder: MacroFinder, depth: int = 0) -> exp.Expr:
    """A copy of the tree with every call of a scalar macro replaced; the tree if there is none."""
    if not any(True for _ in _calls(tree, finder)):
        return tree
    copy = exp.Paren(this=tree.copy())
    for call, macro in list(_calls(copy, finder)):
        if depth >= _DEEPEST_CALL:
            raise InvalidInput(f'The macro "{macro.name}" calls itself.')
        _outermost(call).replace(exp.paren(_scalar_body(macro, call), copy=False))
    return expand_macros(copy.this, finder, depth + 1)


def _calls(tree: exp.Expr, finder: MacroFinder) -> Iterator[tuple[exp.Anonymous, MacroEntry]]:
    """Calls of scalar macros; what stands in FROM is a table function."""
    for call in tree.find_all(exp.Anonymous):
        if not isinstance(call.parent, exp.Table):
            found = finder.find_macro(_call_parts(call), is_table=False)
            if found is not None:
                yield call, found[2]


def expand_table_macro(macro: MacroEntry, call: TableFunctionCall) -> exp.Expr:
    """The query that a table macro stands for."""
    positional = [_as_tree(value) for value in call.arguments]
    named = {name.lower(): _as_tree(value) for name, value in call.named.items()}
    impl = _choose(macro, positional, named)
    return _substitute(parse_query(_checked_sql(macro, impl)), impl, positional, named)


def _call_parts(call: exp.Anonymous) -> tuple[str, ...]:
    """The qualified name of a call: ``lake.schema.f(…)`` is a chain of dots."""
    parts: list[str] = [call.name]
    node: exp.Expr | None = call.parent
    while isinstance(node, exp.Dot) and node.expression.find(exp.Anonymous) is call:
        left = node.this
        parts = [*(part.name for part in _dotted(left)), *parts]
        node = None
    return tuple(parts)


def _dotted(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Dot):
        return [*_dotted(node.this), *_dotted(node.expression)]
    if isinstance(node, exp.Column):
        return list(node.parts)
    return [node]


def _outermost(call: exp.Expr) -> exp.Expr:
    """The node to replace: the whole dotted name, not only its last part."""
    parent = call.parent
    return parent if isinstance(parent, exp.Dot) and parent.expression is call else call


def _scalar_body(macro: MacroEntry, call: exp.Anonymous) -> exp.Expr:
    positional: list[exp.Expr] = []
    named: dict[str, exp.Expr] = {}
    for argument in call.expressions:
        if isinstance(argument, (exp.Kwarg, exp.PropertyEQ)):
            named[argument.this.name.lower()] = argument.expression
        else:
            positional.append(argument)
    impl = _choose(macro, positional, named)
    return _substitute(parse_expression(_checked_sql(macro, impl)), impl, positional, named)


def _choose(
    macro: MacroEntry, positional: list[exp.Expr], named: dict[str, exp.Expr]
) -> MacroImplementation:
    """The overload that takes these arguments."""
    for impl in macro.implementations:
        names = [parameter.name.lower() for parameter in impl.parameters]
        rest = impl.parameters[len(positional) :]
        fits = (
            len(positional) <= len(names)
            and set(named) <= set(names[len(positional) :])
            and all(p.default is not None or p.name.lower() in named for p in rest)
        )
        if fits:
            return impl
    forms = " or ".join(
        f"{macro.name}({', '.join(p.name for p in impl.parameters)})"
        for impl in macro.implementations
    )
    raise InvalidInput(
        f'Macro "{macro.name}" does not take {len(positional) + len(named)} such arguments.',
        hint=f"it is {forms}.",
    )


def _checked_sql(macro: MacroEntry, impl: MacroImplementation) -> str:
    if impl.dialect.lower() != "duckdb":
        raise NotSupported(f'The macro "{macro.name}" is written in the dialect "{impl.dialect}".')
    return impl.sql


def _substitute(
    body: exp.Expr,
    impl: MacroImplementation,
    positional: list[exp.Expr],
    named: dict[str, exp.Expr],
) -> exp.Expr:
    values: dict[str, exp.Expr] = {}
    for index, parameter in enumerate(impl.parameters):
        name = parameter.name.lower()
        given = positional[index] if index < len(positional) else named.get(name)
        values[name] = _argument(parameter, given)
    root: exp.Paren = exp.Paren(this=body)
    # In the body of a comprehension or lambda a name is a bare identifier and no column.
    for bare in [n for n in root.find_all(exp.Identifier) if _stands_for_value(n)]:
        if bare.name.lower() in values and not _is_bound(bare):
            bare.replace(values[bare.name.lower()].copy())
    for column in list(root.find_all(exp.Column)):
        if len(column.parts) == 1 and column.name.lower() in values:
            column.replace(values[column.name.lower()].copy())
    substituted: exp.Expr = root.this
    return substituted


_VALUE_PARENTS = (exp.Func, exp.Bracket, exp.Binary, exp.Paren, exp.Array, exp.Unary)
_NAMING = (exp.PropertyEQ, exp.Kwarg, exp.Dot)


def _stands_for_value(name: exp.Identifier) -> bool:
    parent = name.parent
    if isinstance(parent, (exp.Comprehension, exp.Lambda)):
        return name.arg_key in ("this", "iterator", "condition")
    if isinstance(parent, exp.Dot):
        return name.arg_key == "this"
    return isinstance(parent, _VALUE_PARENTS) and not isinstance(parent, _NAMING)


def _is_bound(name: exp.Identifier) -> bool:
    """Whether a comprehension or lambda around it has a variable of that name."""
    node = name.parent
    while node is not None:
        bound: list[exp.Expr] = []
        if isinstance(node, exp.Lambda):
            bound = node.expressions
        elif isinstance(node, exp.Comprehension):
            bound = [node.expression]
        if any(variable.name.lower() == name.name.lower() for variable in bound):
            return True
        node = node.parent
    return False


def _argument(parameter: MacroParameter, given: exp.Expr | None) -> exp.Expr:
    """An argument in parentheses, cast where the parameter has a type."""
    if given is None:
        return _default(parameter)
    if parameter.type_name in ("", "unknown"):
        return exp.paren(given.copy())
    return exp.cast(given.copy(), _sql_type(parameter.type_name), dialect="duckdb")


def _default(parameter: MacroParameter) -> exp.Expr:
    text = exp.Literal.string(parameter.default or "")
    if parameter.default_type in ("", "unknown", "varchar"):
        return text
    return exp.cast(text, _sql_type(parameter.default_type), dialect="duckdb")


def _sql_type(name: str) -> str:
    return format_sql_type(parse_type(name))


def _as_tree(value: Any) -> exp.Expr:
    return value if isinstance(value, exp.Expr) else value_tree(value)
