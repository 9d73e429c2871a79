"""``*`` in a select list of Spark's dialect, which must not show added virtual columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from ducklake_spark.errors import NotSupported
from ducklake_spark.sql.relations import Relation

RELATION = "relation"  # the key of a table's meta that holds its `Relation`


@dataclass(frozen=True)
class _Source:
    """One source of a select: what qualifies its columns, and what no star shows of them."""

    alias: str
    hidden: frozenset[str]


def hide_virtual_columns(select: exp.Select) -> None:
    """Rewrite the stars of a select list, in place. Its tables must be resolved already."""
    sources = list(_sources(select))
    if not any(source.hidden for source in sources):
        return
    items = [each for item in select.expressions for each in _shown(item, select, sources)]
    select.set("expressions", items)


def _shown(item: exp.Expr, select: exp.Select, sources: list[_Source]) -> Iterator[exp.Expr]:
    star = _top_star(item)
    if star is None:
        yield item
        return
    table = item.args["table"].name if isinstance(item, exp.Column) and item.table else ""
    chosen = [each for each in sources if not table or each.alias.lower() == table.lower()]
    if not table and len(chosen) > 1 and _joins_by_name(select):
        raise NotSupported(
            "A star over joins by name cannot be read beside virtual columns.",
            hint="list the columns by name.",
        )
    for source in chosen:
        qualifier = source.alias if table or len(chosen) > 1 else ""
        yield _star(qualifier, sorted(source.hidden | _excluded(star)))


def _top_star(item: exp.Expr) -> exp.Star | None:
    """The star of ``*`` and ``t.*``; the one of count(*) is no select list."""
    if isinstance(item, exp.Star):
        return item
    if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
        return item.this
    return None


def _joins_by_name(select: exp.Select) -> bool:
    joins = select.args.get("joins") or []
    return any(
        join.args.get("using") or str(join.args.get("method") or "").upper() == "NATURAL"
        for join in joins
    )


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


def _sources(select: exp.Select) -> Iterator[_Source]:
    from_ = select.args.get("from_")
    if from_ is not None:
        yield from _source(from_.this)
    for join in select.args.get("joins") or ():
        yield from _source(join.this)


def _source(node: exp.Expr) -> Iterator[_Source]:
    relation = node.meta.get(RELATION)
    hidden = relation.hidden if isinstance(relation, Relation) else frozenset()
    yield _Source(node.alias_or_name, hidden)
    for join in node.args.get("joins") or ():
        yield from _source(join.this)
