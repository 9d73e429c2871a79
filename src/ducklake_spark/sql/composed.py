"""Queries of ours with parts of the user's text in them, which stay as they were written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlglot import exp

from ducklake_spark.sql.reader import CTES, WRITTEN, Written

PARAMS: Final = "params"  # the key of a tree's meta that holds the values of its parameters
_PART: Final = "part"
_MARK: Final = "\x00"


@dataclass(frozen=True, slots=True)
class Composed:
    """A query in DuckDB's dialect.

    Attributes:
        written: the user's text, of which parts stand in the query; None if there are none.
        places: of each part where it begins in the query and in the user's text, and its length.
        params: the values of the parameters in it.
    """

    text: str
    written: str | None = None
    places: tuple[tuple[int, int, int], ...] = ()
    params: Any = None


def verbatim(tree: exp.Expr) -> exp.Expr:
    """A node that stands for the text of a tree, or a copy of a tree that has none.

    Trees of Spark's dialect have none, nor have those that were made here.
    """
    if WRITTEN not in tree.meta:
        return tree.copy()
    return _part(tree.meta[WRITTEN], tree.meta)


def verbatim_text(text: str, meta: Mapping[str, Any]) -> exp.Expr:
    """A node for a text that was made of that of a tree with this meta."""
    return _part(Written.whole(text), meta)


def _part(written: Written, meta: Mapping[str, Any]) -> exp.Expr:
    node = exp.Var(this=written.text)
    node.meta.update({_PART: written, PARAMS: meta.get(PARAMS)})
    return node


def set_ctes(query: exp.Select, ctes: exp.With | None) -> None:
    """Let a query see the CTEs that stand before a statement."""
    if ctes is not None and WRITTEN in ctes.meta:
        query.meta.update({CTES: ctes.meta[WRITTEN], PARAMS: ctes.meta.get(PARAMS)})
    elif ctes is not None:
        query.set("with_", ctes.copy())


def written_query(tree: exp.Expr) -> Composed:
    """A query as the user wrote it, with the CTEs that stood before its statement."""
    written, params = tree.meta[WRITTEN], tree.meta.get(PARAMS)
    if CTES not in tree.meta:
        return as_written(written, params)
    wrapped = exp.Paren(this=verbatim(tree))
    wrapped.meta.update(tree.meta)
    return compose(wrapped)


def as_written(written: Written, params: Any = None) -> Composed:
    """A query that is a part of the user's text."""
    place = (0, written.start, written.end - written.start)
    return Composed(written.text, written.sql, (place,), params)


def enclosed(tree: exp.Expr, before: str, after: str) -> Composed:
    """The query of a tree inside of a text of ours."""
    inner = compose(verbatim(tree)) if CTES not in tree.meta else written_query(tree)
    return _shifted(inner, before, after)


def _shifted(query: Composed, before: str, after: str) -> Composed:
    places = tuple((made + len(before), own, length) for made, own, length in query.places)
    return Composed(before + query.text + after, query.written, places, query.params)


def compose(query: exp.Expr) -> Composed:
    """The text of a query that `verbatim` nodes stand in."""
    copy = exp.Paren(this=query.copy()).this
    parts: list[exp.Expr] = [node for node in copy.find_all(exp.Var) if _PART in node.meta]
    for number, node in enumerate(parts):
        node.set("this", f"{_MARK}{number}{_MARK}")
    pieces: list[str | Written] = list(copy.sql(dialect="duckdb").split(_MARK))
    for place in range(1, len(pieces), 2):
        pieces[place] = parts[int(str(pieces[place]))].meta[_PART]
    if CTES in query.meta:
        pieces = [query.meta[CTES], " ", *pieces]
    params = [node.meta[PARAMS] for node in (*parts, query) if node.meta.get(PARAMS)]
    return _joined(pieces, params[0] if params else None)


def _joined(pieces: list[str | Written], params: Any) -> Composed:
    text, places = "", []
    user = next((each.sql for each in pieces if isinstance(each, Written)), None)
    for each in pieces:
        if isinstance(each, Written):
            if each.sql == user:
                places.append((len(text), each.start, each.end - each.start))
            text += each.text
        else:
            text += each
    return Composed(text, user, tuple(places), params)
