"""``*`` in a select list: hiding virtual columns, EXCLUDE, REPLACE, RENAME and COLUMNS().

Spark knows ``* EXCEPT (…)`` only, so the other forms become lists of columns; for these the columns
of every source have to be known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from ducklake_spark.errors import InvalidInput, NotSupported
from ducklake_spark.sql.relations import Relation


@dataclass(frozen=True)
class _Source:
    """One source of a select: what qualifies its columns, and what is known of them."""

    alias: str
    hidden: frozenset[str]
    columns: tuple[str, ...] | None


def expand_stars(select: exp.Select) -> None:
    """Rewrite the select list of `select`, in place. Its tables must be resolved already."""
    if not any(item.find(exp.Star) or item.find(exp.Columns) for item in select.expressions):
        return
    sources = list(_sources(select))
    items: list[exp.Expr] = []
    for item in select.expressions:
        items.extend(_expand(item, select, sources))
    select.set("expressions", items)


def _expand(item: exp.Expr, select: exp.Select, sources: list[_Source]) -> Iterator[exp.Expr]:
    star = _top_star(item)
    if star is not None:
        yield from _expand_star(item, star, select, sources)
        return
    columns = list(item.find_all(exp.Columns))
    if not columns:
        yield item
        return
    for name in _matching(columns[0], sources):
        yield _instance(item, name)


def _top_star(item: exp.Expr) -> exp.Star | None:
    """The star of ``*`` and ``t.*``; the one of count(*) is no select list."""
    if isinstance(item, exp.Star):
        return item
    if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
        return item.this
    return None


def _expand_star(
    item: exp.Expr, star: exp.Star, select: exp.Select, sources: list[_Source]
) -> Iterator[exp.Expr]:
    table = item.args["table"].name if isinstance(item, exp.Column) and item.table else ""
    chosen = [s for s in sources if not table or s.alias.lower() == table.lower()]
    excluded = _excluded(star)
    if star.args.get("replace") or star.args.get("rename"):
        yield from _listed(star, chosen, excluded, select)
        return
    hidden = {name for source in chosen for name in source.hidden}
    if not table and _joined_columns(select, chosen):
        yield from _listed(star, chosen, excluded, select)
    elif table or len(chosen) == 1 or not hidden:
        without = sorted(hidden | excluded)
        yield _star(table, without) if without else item
    else:
        for source in chosen:
            yield _star(source.alias, sorted(source.hidden | excluded))


def _joined_columns(select: exp.Select, sources: list[_Source]) -> set[str]:
    """The columns of USING and NATURAL joins: shown once, where the first source has them.

    Spark shows them in front of all others, so that a plain star would change the order.
    """
    joins = _joins(select)
    found = {c.name.lower() for join in joins for c in join.args.get("using") or ()}
    if any(str(join.args.get("method") or "").upper() == "NATURAL" for join in joins):
        seen: set[str] = set()
        for _, name in _named(sources):
            (found if name.lower() in seen else seen).add(name.lower())
    return found


def _joins(select: exp.Select) -> list[exp.Join]:
    from_ = select.args.get("from_")
    nested = from_.this.args.get("joins") or [] if from_ is not None else []
    return [*(select.args.get("joins") or []), *nested]


def _excluded(star: exp.Star) -> set[str]:
    found = star.args.get("except_") or []
    if isinstance(found, exp.Expr):
        found = found.expressions or [found]
    return {column.name.lower() for column in found}


def _star(table: str, without: list[str]) -> exp.Expr:
    names = [exp.column(exp.to_identifier(name, quoted=True)) for name in without]
    star = exp.Star(except_=names) if names else exp.Star()
    if not table:
        return star
    return exp.Column(this=star, table=exp.to_identifier(table, quoted=True))


def _listed(
    star: exp.Star, chosen: list[_Source], excluded: set[str], select: exp.Select
) -> Iterator[exp.Expr]:
    """The columns one by one, replaced and renamed; those of USING are shown once."""
    replaced = {a.alias.lower(): a.this for a in star.args.get("replace") or ()}
    renamed = {a.this.name.lower(): a.alias for a in star.args.get("rename") or ()}
    joined = _joined_columns(select, chosen)
    seen: set[str] = set()
    for source, name in _named(chosen):
        low = name.lower()
        if low in excluded or (low in joined and low in seen):
            continue
        seen.add(low)
        column = _column(name, "" if low in joined or len(chosen) == 1 else source.alias)
        value = replaced[low].copy() if low in replaced else column
        yield exp.alias_(value, renamed.get(low, name), quoted=True)


def _column(name: str, table: str) -> exp.Column:
    qualifier = exp.to_identifier(table, quoted=True) if table else None
    return exp.Column(this=exp.to_identifier(name, quoted=True), table=qualifier)


def _named(chosen: list[_Source]) -> Iterator[tuple[_Source, str]]:
    for source in chosen:
        if source.columns is None:
            raise NotSupported(
                "* with REPLACE, RENAME, USING or COLUMNS() needs the columns of every source, and "
                f'those of "{source.alias}" are not known.',
                hint="list the columns by name.",
            )
        for name in source.columns:
            if name.lower() not in source.hidden:
                yield source, name


def _matching(columns: exp.Columns, sources: list[_Source]) -> list[str]:
    """The names that COLUMNS(*), COLUMNS('pattern'), COLUMNS([…]) or COLUMNS(c -> …) picks."""
    names = [name for _, name in _named(sources)]
    chosen = columns.this
    if isinstance(chosen, exp.Star):
        without = _excluded(chosen)
        return [name for name in names if name.lower() not in without]
    if isinstance(chosen, exp.Literal) and chosen.is_string:
        pattern = re.compile(str(chosen.this))
        return [name for name in names if pattern.search(name)]
    if isinstance(chosen, exp.Array):
        wanted = {str(item.name).lower() for item in chosen.expressions}
        return [name for name in names if name.lower() in wanted]
    if isinstance(chosen, exp.Lambda) and isinstance(chosen.this, (exp.Like, exp.ILike)):
        pattern = _like(chosen.this)
        return [name for name in names if pattern.fullmatch(name)]
    raise InvalidInput(
        f"Cannot tell which columns {columns.sql(dialect='duckdb')} means.",
        hint="COLUMNS takes *, a regular expression, a list of names or c -> c LIKE 'pattern'.",
    )


def _like(like: exp.Expr) -> re.Pattern[str]:
    pieces = {"%": ".*", "_": "."}
    text = "".join(pieces.get(char, re.escape(char)) for char in str(like.expression.name))
    return re.compile(text, re.IGNORECASE if isinstance(like, exp.ILike) else 0)


def _instance(item: exp.Expr, name: str) -> exp.Expr:
    """`item` with its COLUMNS() replaced by one column; the result keeps the column's name."""
    column = _column(name, "")
    if isinstance(item, exp.Columns):
        return column
    copy = item.copy()
    for found in list(copy.find_all(exp.Columns)):
        found.replace(column.copy())
    return copy if isinstance(copy, exp.Alias) else exp.alias_(copy, name, quoted=True)


def _sources(select: exp.Select) -> Iterator[_Source]:
    from_ = select.args.get("from_")
    if from_ is not None:
        yield from _source(from_.this)
    for join in select.args.get("joins") or ():
        yield from _source(join.this)


def _source(node: exp.Expr) -> Iterator[_Source]:
    relation = node.meta.get("relation")
    alias = node.args.get("alias")
    renamed = tuple(c.name for c in (alias.args.get("columns") or ())) if alias else ()
    if isinstance(relation, Relation):
        yield _Source(node.alias_or_name, relation.hidden, renamed or relation.columns)
    elif isinstance(node, exp.Subquery):
        columns = renamed or query_columns(node.this)
        yield _Source(node.alias_or_name, frozenset(), columns)
    elif isinstance(node, exp.Table) and (cte := _cte(node)) is not None:
        named = tuple(c.name for c in cte.args["alias"].args.get("columns") or ())
        columns = renamed or named or query_columns(cte.this)
        yield _Source(node.alias_or_name, frozenset(), columns)
    else:
        yield _Source(node.alias_or_name, frozenset(), renamed or _series_columns(node))
    for join in node.args.get("joins") or ():
        yield from _source(join.this)


def _cte(table: exp.Table) -> exp.CTE | None:
    """The common table expression that a name means where it stands."""
    node = table.parent
    while node is not None:
        with_ = node.args.get("with_")
        for cte in with_.expressions if isinstance(with_, exp.With) else ():
            if cte.alias.lower() == table.name.lower() and not table.args.get("db"):
                return cte if isinstance(cte, exp.CTE) else None
        node = node.parent
    return None


def _series_columns(node: exp.Expr) -> tuple[str, ...] | None:
    if isinstance(node, exp.Table) and isinstance(node.this, exp.GenerateSeries):
        return ("range",) if node.this.args.get("is_end_exclusive") else ("generate_series",)
    return None


def known_columns(select: exp.Select) -> set[str] | None:
    """The columns, in lower case, that all sources of a select have; None if one is not known."""
    found: set[str] = set()
    for source in _sources(select):
        if source.columns is None:
            return None
        found.update(name.lower() for name in source.columns)
    return found


def query_columns(query: exp.Expr) -> tuple[str, ...] | None:
    """The output names of a derived table, when its select list has no star left."""
    first = query
    while isinstance(first, (exp.SetOperation, exp.Subquery)):
        first = first.this
    if not isinstance(first, exp.Select):
        return None
    if any(item.find(exp.Star) and not item.find(exp.Func) for item in first.expressions):
        sources = list(_sources(first))
        if len(first.expressions) == 1 and all(s.columns is not None for s in sources):
            return tuple(name for _, name in _named(sources))
        return None
    names = tuple(item.alias_or_name for item in first.expressions)
    return names if all(names) else None
