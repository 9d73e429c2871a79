"""The names of result columns that have no alias: DuckDB's text of the expression."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.tokenizer_core import Token

from ducklake_spark.sql.duckdb_text import DuckDBText

_NAME = "duckdb_name"
_NAMED_BY_THEMSELVES = (exp.Alias, exp.Column, exp.Star, exp.Dot, exp.Columns)


def note_names(tree: exp.Expr, tokens: list[Token], sql: str) -> None:
    """Note on each unnamed item of a select list what DuckDB would call it.

    The tokens are read once more with functions left as they are named; where the two readings do
    not agree on the shape of the query, nothing is noted and Spark names the columns.
    """
    selects = list(tree.find_all(exp.Select))
    if all(isinstance(item, _NAMED_BY_THEMSELVES) for s in selects for item in s.expressions):
        return
    plain = _read(tokens, sql)
    others = list(plain.find_all(exp.Select)) if plain is not None else []
    if len(selects) != len(others):
        return
    for select, other in zip(selects, others, strict=True):
        if _outline(select) == _outline(other):
            for item, same in zip(select.expressions, other.expressions, strict=True):
                if not isinstance(item, _NAMED_BY_THEMSELVES):
                    item.meta[_NAME] = _name(same)


def _read(tokens: list[Token], sql: str) -> exp.Expr | None:
    parser = DuckDBText().parser(error_level=ErrorLevel.IMMEDIATE)
    try:
        return parser.parse(tokens, sql)[0]
    except SqlglotError:
        return None


def _outline(select: exp.Select) -> list[str]:
    return [item.alias_or_name for item in select.expressions if isinstance(item, exp.Alias)] + [
        str(len(select.expressions))
    ]


def _name(item: exp.Expr) -> str:
    text = item.sql(dialect=DuckDBText)
    return "count_star()" if text in ("count(*)", "count()") else text


def noted_name(item: exp.Expr) -> str | None:
    """The name that `note_names` has noted on an item of a select list."""
    name = item.meta.get(_NAME)
    return None if name is None else str(name)


def name_projections(root: exp.Expr) -> exp.Expr:
    """Give each unnamed item of a select list the name that was noted, as an alias."""
    for select in root.find_all(exp.Select):
        items = [
            exp.alias_(item, item.meta[_NAME], quoted=True, copy=False)
            if _NAME in item.meta
            else item
            for item in select.expressions
        ]
        select.set("expressions", items)
    return root
