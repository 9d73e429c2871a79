"""Building blocks of the rewrites."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp


def call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    """A call of a Spark function, written as it is."""
    found = exp.Anonymous(this=name, expressions=list(arguments))
    found.meta["spark"] = True  # never read again as a function of DuckDB
    return found


def number(value: int) -> exp.Expr:
    """An integer literal."""
    literal = exp.Literal.number(abs(value))
    return exp.Neg(this=literal) if value < 0 else literal


def text(value: str) -> exp.Literal:
    """A string literal."""
    return exp.Literal.string(value)


def cast(tree: exp.Expr, kind: str) -> exp.Cast:
    """A cast to a type, by DuckDB's name."""
    return exp.Cast(this=tree, to=exp.DataType.build(kind, dialect="duckdb"))


def replace_each(
    root: exp.Expr, kinds: type[exp.Expr] | tuple[type[exp.Expr], ...],
    change: Callable[[exp.Expr], exp.Expr | None],
) -> exp.Expr:  # fmt: skip
    """Replace every node of these kinds, innermost first, by what `change` makes of it.

    None leaves a node as it is. `change` may use the node it is given inside the new one.
    """
    wanted = kinds if isinstance(kinds, tuple) else (kinds,)
    found = [node for node in root.walk(bfs=False) if isinstance(node, wanted)]
    for node in reversed(found):
        if node is root:
            continue
        parent, key, index = node.parent, node.arg_key, node.index
        new = change(node)
        if new is None or new is node or parent is None or key is None:
            continue
        parent.set(key, new, index=index)
    return root
