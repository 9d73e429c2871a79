"""Counts, least and greatest values in queries of Spark's dialect are answered by the catalog.

``SELECT count(*), min(c), max(c), count(c) FROM t`` opens no data file if the statistics of the
files are exact. The results have the names and types that the query itself would give them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlglot import exp

from ducklake_spark.errors import DuckLakeError
from ducklake_spark.model.literals import format_text
from ducklake_spark.model.schema import Column
from ducklake_spark.model.temporal import TEMPORALS, from_ordinal
from ducklake_spark.model.types import DataType, ScalarType
from ducklake_spark.operations.column_totals import TableTotals, find_totals
from ducklake_spark.operations.contents import TableVersion
from ducklake_spark.operations.count_rows import count_rows
from ducklake_spark.sql.carriers import format_spark_type

# What a SELECT may have besides its list and its FROM for the answer to be the table's own.
_ALLOWED: Final = frozenset({"kind", "expressions", "from_", "from"})
_BOUNDS: Final = (exp.Min, exp.Max)
_SIMPLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Find = Callable[[tuple[str, ...]], TableVersion]


@dataclass(frozen=True, slots=True)
class _Item:
    """An aggregate of a select list, and the column of it; None for the rows."""

    tree: exp.Expr
    aggregate: exp.Expr
    column: exp.Column | None

    @property
    def is_bound(self) -> bool:
        return isinstance(self.aggregate, _BOUNDS)

    @property
    def name(self) -> str | None:
        """The name of the result; None when it is not known what Spark would call it."""
        if isinstance(self.tree, exp.Alias):
            return str(self.tree.alias)
        if self.column is None:
            return "count(1)"
        plain = _SIMPLE.fullmatch(self.column.name)
        return f"{self.aggregate.key}({self.column.name})" if plain else None


def answer_counts(tree: exp.Expr, find: Find) -> exp.Expr:
    """Replace plain aggregates of lake tables by their values, where the catalog knows them.

    `find` gives the table that a name means, or raises.
    """
    if not any(_items(select) for select in tree.find_all(exp.Select)):
        return tree
    names = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    copy = tree.copy()
    for select in list(copy.find_all(exp.Select)):
        items, table = _items(select), _source(select)
        if items and table is not None and table.name.lower() not in names:
            answers = _answers(find, items, table)
            if answers is not None:
                _replace(select, items, answers)
    return copy


def _items(select: exp.Select) -> list[_Item]:
    """The items of a select list if each is an aggregate of a whole table, else none."""
    used = {key for key, value in select.args.items() if value}
    if not used <= _ALLOWED or _source(select) is None:
        return []
    found = [_item(tree) for tree in select.expressions]
    items = [item for item in found if item is not None]
    return items if len(items) == len(found) else []


def _item(tree: exp.Expr) -> _Item | None:
    aggregate = tree.unalias()
    if not isinstance(aggregate, exp.Count | exp.Min | exp.Max):
        return None
    others = {key for key, value in aggregate.args.items() if value} - {"this", "big_int"}
    inner = aggregate.this
    if others:
        return None
    if isinstance(inner, exp.Column) and isinstance(inner.this, exp.Identifier):
        return _Item(tree, aggregate, inner)
    counts_rows = inner is None or isinstance(inner, exp.Star) or _is_number(inner)
    return _Item(tree, aggregate, None) if counts_rows and aggregate.key == "count" else None


def _is_number(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Literal) and tree.this == "1" and not tree.is_string


def _source(select: exp.Select) -> exp.Table | None:
    clause = select.args.get("from_") or select.args.get("from")
    table = clause.this if clause is not None else None
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        return None
    extras = {key for key, value in table.args.items() if value}
    return table if extras <= {"this", "db", "catalog", "alias"} else None


def _answers(find: Find, items: list[_Item], table: exp.Table) -> list[exp.Expr] | None:
    try:
        version = find(tuple(part.name for part in table.parts))
        if all(item.column is None for item in items):
            rows = count_rows(version)
            totals = None if rows is None else TableTotals(rows, {})
            columns: dict[int, Column] = {}
        else:
            found = _columns(items, table, version)
            if found is None:
                return None
            columns = found
            totals = find_totals(version, _asked(items, columns))
        if totals is None or any(item.name is None for item in items):
            return None
        return [_answer(item, columns.get(id(item.tree)), totals) for item in items]
    except DuckLakeError:
        return None  # the query itself will say what is wrong, or the table is one of Spark's


def _columns(
    items: list[_Item], table: exp.Table, version: TableVersion
) -> dict[int, Column] | None:
    """The column of the table that each item names, by the item's tree; None if one is unclear."""
    alias = table.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        return None
    schema = version.table.schema
    owner = table.alias_or_name.lower()
    columns: dict[int, Column] = {}
    for item in items:
        if item.column is None:
            continue
        parts = [part.name.lower() for part in item.column.parts]
        named = [c for c in schema.columns if c.name.lower() == parts[-1]]
        # A name with a dot may also mean a field of a column that is called like the table.
        if len(named) != 1 or (len(parts) > 1 and (parts[:-1] != [owner] or schema.find(owner))):
            return None
        columns[id(item.tree)] = named[0]
    return columns


def _asked(items: list[_Item], columns: Mapping[int, Column]) -> dict[int, bool]:
    """The columns by id, and whether somebody asks for their bounds."""
    asked: dict[int, bool] = {}
    for item in items:
        if item.column is not None:
            column_id = columns[id(item.tree)].column_id
            asked[column_id] = asked.get(column_id, False) or item.is_bound
    return asked


def _answer(item: _Item, column: Column | None, totals: TableTotals) -> exp.Expr:
    if column is None:
        return _count(totals.rows)
    found = totals.columns[column.column_id]
    if not item.is_bound:
        return _count(found.values)
    value = found.low if isinstance(item.aggregate, exp.Min) else found.high
    return _value(value, column.type)


def _count(number: int) -> exp.Expr:
    return exp.cast(exp.Literal.number(number), "bigint")


def _value(value: Any, kind: DataType) -> exp.Expr:
    """A value in comparable form as an expression of the type that the column has in Spark.

    It may be NULL as far as its type tells, as the results of min and max may.
    """
    to = exp.DataType.build(format_spark_type(kind), dialect="spark")
    inner: exp.Expr = exp.null() if value is None else _literal(value, kind)
    found = exp.Cast(this=inner, to=to)
    return exp.If(this=exp.false(), true=exp.null(), false=found)


def _literal(value: Any, kind: DataType) -> exp.Expr:
    """What Spark casts to the value; InvalidValue for years that it does not write so.

    Days and moments are no casts of text, of which Spark loses the time zone inside a subquery.
    """
    text = format_text(value, kind)
    if not isinstance(kind, ScalarType) or kind.name not in TEMPORALS:
        return exp.Literal.string(text)
    from_ordinal(value, kind.name)
    match kind.name:
        case "date":
            return exp.var(f"DATE '{text}'")
        case "timestamptz":
            return exp.var(f"TIMESTAMP_LTZ '{text}:00'")
        case _:
            return exp.var(f"TIMESTAMP_NTZ '{text}'")


def _replace(select: exp.Select, items: list[_Item], answers: list[exp.Expr]) -> None:
    named = [
        exp.alias_(answer, str(item.name), quoted=True)
        for item, answer in zip(items, answers, strict=True)
    ]
    select.set("expressions", named)
    for key in ("from_", "from"):
        select.args.pop(key, None)
