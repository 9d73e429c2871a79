"""``SELECT count(*) FROM t`` is answered by the catalog: no data file is opened."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from ducklake_spark.errors import DuckLakeError
from ducklake_spark.operations.count_rows import count_rows
from ducklake_spark.operations.read import TableVersion

# What a SELECT may have besides its list and its FROM for the count to be the table's own.
_ALLOWED = frozenset({"kind", "expressions", "from_", "from"})


def answer_counts(tree: exp.Expr, find: Callable[[tuple[str, ...]], TableVersion]) -> exp.Expr:
    """Replace plain counts of lake tables by their numbers, where the catalog knows them.

    `find` gives the table that a name means, or raises.
    """
    names = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    selects = [s for s in tree.find_all(exp.Select) if _is_plain_count(s)]
    if not selects:
        return tree
    copy = tree.copy()
    for select in [s for s in copy.find_all(exp.Select) if _is_plain_count(s)]:
        table = _source(select)
        if table is not None and table.name.lower() not in names:
            _answer(find, select, table)
    return copy


def _is_plain_count(select: exp.Select) -> bool:
    used = {key for key, value in select.args.items() if value}
    if not used <= _ALLOWED or _source(select) is None:
        return False
    return bool(select.expressions) and all(
        _is_count_star(item.unalias()) for item in select.expressions
    )


def _is_count_star(item: exp.Expr) -> bool:
    if not isinstance(item, exp.Count):
        return False
    counted = item.this
    return counted is None or isinstance(counted, exp.Star)


def _source(select: exp.Select) -> exp.Table | None:
    clause = select.args.get("from_") or select.args.get("from")
    table = clause.this if clause is not None else None
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        return None
    extras = {key for key, value in table.args.items() if value}
    return table if extras <= {"this", "db", "catalog", "alias"} else None


def _answer(
    find: Callable[[tuple[str, ...]], TableVersion], select: exp.Select, table: exp.Table
) -> None:
    try:
        number = count_rows(find(tuple(part.name for part in table.parts)))
    except DuckLakeError:
        return  # the query itself will say what is wrong, or the table is one of Spark's
    if number is None:
        return
    for item in list(select.expressions):
        count = exp.cast(exp.Literal.number(number), "bigint")
        name = item.alias if isinstance(item, exp.Alias) else "count_star()"
        item.replace(exp.alias_(count, name, quoted=True))
    for key in ("from_", "from"):
        select.args.pop(key, None)
