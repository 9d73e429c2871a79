"""Several unnest() in one SELECT: DuckDB puts their lists side by side, Spark would multiply."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from ducklake_spark.errors import NotSupported
from ducklake_spark.sql.trees import call, number

_ROWS: Final = "__unnest_rows"
_PLACE: Final = "__unnest_place"


def rewrite_unnests(root: exp.Expr) -> exp.Expr:
    """Give lists that are unnested together one row for each place, NULL where one is shorter."""
    for select in list(root.find_all(exp.Select)):
        unnests = [node for each in select.expressions for node in _own_unnests(each, select)]
        if len(unnests) > 1:
            _put_side_by_side(select, unnests)
    return root


def _own_unnests(projection: exp.Expr, select: exp.Select) -> list[exp.Explode]:
    return [
        node
        for node in projection.find_all(exp.Explode)
        if node.parent_select is select and not node.find_ancestor(exp.Explode)
    ]


def _put_side_by_side(select: exp.Select, unnests: list[exp.Explode]) -> None:
    _check(select, unnests)
    sizes = (call("array_size", node.this.copy()) for node in unnests)
    longest = call("greatest", *(call("coalesce", size, number(0)) for size in sizes))
    places = call("posexplode", call("array_repeat", number(0), longest))
    names = exp.TableAlias(
        this=exp.to_identifier(_ROWS),
        columns=[exp.to_identifier(_PLACE), exp.to_identifier(f"{_PLACE}_none")],
    )
    rows = exp.Subquery(this=exp.select(places))
    if select.args.get("from_"):
        select.append("joins", exp.Join(this=exp.Lateral(this=rows, alias=names)))
    else:
        rows.set("alias", names)
        select.set("from_", exp.From(this=rows))
    for node in unnests:
        node.replace(call("get", node.this.copy(), exp.column(_PLACE, table=_ROWS)))


def _check(select: exp.Select, unnests: list[exp.Explode]) -> None:
    """The lists must be known before groups are made, and no column may come with a star."""
    grouped = select.args.get("group") or any(
        found.parent_select is select
        for each in select.expressions
        for found in each.find_all(exp.AggFunc)
        if not isinstance(found, exp.Explode)
    )
    stars = any(each.find(exp.Star) for each in select.expressions)
    nested = any(node.this.find(exp.Explode) for node in unnests)
    if grouped or stars or nested:
        raise NotSupported(
            "Cannot unnest several lists in one SELECT together with groups, aggregates, stars or "
            "an unnest() inside another.",
            hint="make the lists in a subquery, and unnest them by name outside.",
        )
