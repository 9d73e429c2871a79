"""Relations: what an operator's rows are in Spark SQL, before they are written as one SELECT.

Columns stay pieces of text over the items of a FROM clause as long as nothing is computed twice by
it, so that projections, filters and joins merge. ORDER BY and LIMIT stay properties until the
outermost SELECT, and predicates that read a query around are carried up to the join with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ducklake_spark.binder.expressions import ComparisonKind
from ducklake_spark.binder.types import BoundType
from ducklake_spark.model.names import quote_for_spark
from ducklake_spark.translate.fragments import (
    Column,
    Fragment,
    Outer,
    column,
    fragment_of,
    joined,
    sql,
)


class NotPullable(Exception):
    """A correlated subquery whose outer columns cannot stay symbolic up to its join."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The boolean column of a MARK join.

    Attributes:
        positive: true exactly where the column is true, else false.
        negative: true exactly where the column is false, else false.
    """

    positive: Fragment
    negative: Fragment

    @property
    def value(self) -> Fragment:
        """The column as a value, NULL where it is neither true nor false."""
        return sql("CASE WHEN {} THEN true WHEN {} THEN false END", self.positive, self.negative)

    def replace(self, new: dict[Column | Outer, Fragment]) -> Mark:
        """The mark with others in the place of columns."""
        return Mark(self.positive.replace(new), self.negative.replace(new))


Cell = Fragment | Mark


@dataclass(frozen=True, slots=True)
class Equality:
    """A comparison of an expression over the rows with one over the rows of the query around."""

    kind: ComparisonKind
    inner: Fragment
    outer: Fragment
    type: BoundType


@dataclass(frozen=True, slots=True)
class Carried:
    """A predicate that reads outer columns, on its way up to the join with them.

    Attributes:
        is_nested: whether it has a subquery, which for Spark may only read the query next to it.
    """

    text: Fragment
    equality: Equality | None = None
    is_nested: bool = False

    def replace(self, new: dict[Column | Outer, Fragment]) -> Carried:
        """The predicate with others in the place of columns."""
        equal = self.equality
        if equal is not None:
            inner, around = equal.inner.replace(new), equal.outer.replace(new)
            equal = replace(equal, inner=inner, outer=around)
        return Carried(self.text.replace(new), equal, self.is_nested)


@dataclass(frozen=True, slots=True)
class Relation:
    """Rows as the parts of a SELECT.

    Attributes:
        columns: the columns, over the items of `source`.
        source: the FROM clause; None for one row.
        where: predicates on the source.
        carried: predicates on the source that also read outer columns.
        order: keys of ORDER BY.
        limit: text of LIMIT and OFFSET.
        is_item: whether the source is one item, which may stand on the right of a JOIN.
        is_unique: whether there is at most one row for each row of the query around.
        is_optional: whether the rows of the query around have NULLs here where there is no row:
            columns are computed after the outer join.
        is_lateral: whether the source is a lateral item.
    """

    columns: tuple[Cell, ...]
    source: Fragment | None = None
    where: tuple[Fragment, ...] = ()
    carried: tuple[Carried, ...] = ()
    order: tuple[Fragment, ...] = ()
    limit: str = ""
    is_item: bool = True
    is_unique: bool = False
    is_optional: bool = False
    is_lateral: bool = False

    @property
    def values(self) -> tuple[Fragment, ...]:
        """The columns as values."""
        return tuple(value_of(cell) for cell in self.columns)

    @property
    def is_plain(self) -> bool:
        """Whether every column may be written any number of times."""
        return all(map(is_plain, self.columns))

    @property
    def is_movable(self) -> bool:
        """Whether every column may be written further up, marks too: they read FROM items only."""
        return all(isinstance(cell, Mark) or is_plain(cell) for cell in self.columns)

    @property
    def is_nullable(self) -> bool:
        """Whether every column is NULL if the source is: a literal is a value without a row."""
        return all(
            isinstance(cell, Fragment) and bool(cell.column or cell.outer) for cell in self.columns
        )


_LITERAL: Final = re.compile(
    r"""'(?:[^'\\]|\\.)*' | \(?-?\d+L?\)? | NULL | true | false
      | (?:DATE|TIMESTAMP|TIMESTAMP_NTZ|X)\s?'[^'\\]*'
      | CAST\((?:NULL|'[^'\\]*'|-?\d+)\ AS\ [A-Z_]+(?:\(\d+,\ ?\d+\))?\)""",
    re.VERBOSE | re.DOTALL,
)
_SCALAR_SUBQUERY: Final = "(SELECT "


def value_of(cell: Cell) -> Fragment:
    """A column as a value."""
    return cell.value if isinstance(cell, Mark) else cell


def is_literal(cell: Cell) -> bool:
    """Whether a column is a literal."""
    match cell:
        case Fragment((str(text),)):
            return _LITERAL.fullmatch(text) is not None
        case _:
            return False


def is_plain(cell: Cell) -> bool:
    """Whether writing a column twice costs nothing and changes nothing.

    Spark computes equal uncorrelated scalar subqueries once.
    """
    match cell:
        case Fragment((Column() | Outer(),)):
            return True
        case Fragment((str(text),)):
            return text.startswith(_SCALAR_SUBQUERY) or _LITERAL.fullmatch(text) is not None
        case _:
            return False


def cell_outers(cell: Cell) -> tuple[Outer, ...]:
    """The outer columns in a column."""
    if isinstance(cell, Mark):
        return (*cell.positive.outers, *cell.negative.outers)
    return cell.outers


def reads_around(relation: Relation) -> bool:
    """Whether anything in a relation reads outer columns."""
    texts = (*relation.where, *relation.order, *filter(None, (relation.source,)))
    return (
        bool(relation.carried)
        or any(map(cell_outers, relation.columns))
        or any(text.outers for text in texts)
    )


def item_columns(item: str, count: int, *, prefix: str = "c") -> tuple[Fragment, ...]:
    """The generated columns of an item."""
    return tuple(column(item, f"{prefix}{index}") for index in range(count))


def and_text(predicates: Iterable[Fragment]) -> Fragment:
    """Predicates that must all be true."""
    return joined(" AND ", predicates)


def select_list(values: Iterable[Fragment], names: Iterable[str]) -> Fragment:
    """Columns with their names."""
    return joined(
        ", ",
        (
            fragment_of((value, " AS ", quote_for_spark(name)))
            for value, name in zip(values, names, strict=True)
        ),
    )


def select(
    relation: Relation,
    names: Sequence[str] | None = None,
    *,
    hidden: Sequence[Fragment] = (),
    is_distinct: bool = False,
) -> Fragment:
    """A relation as a SELECT; `hidden` columns are called h0, h1, ... behind the others."""
    given = names if names is not None else [f"c{i}" for i in range(len(relation.columns))]
    called = (*given, *(f"h{i}" for i in range(len(hidden))))
    listed = select_list((*relation.values, *hidden), called)
    return fragment_of(
        (
            "SELECT DISTINCT " if is_distinct else "SELECT ",
            listed if called else "1 AS c0",
            rest_of(relation),
        )
    )


def rest_of(relation: Relation) -> Fragment:
    """What stands behind the columns of a SELECT, up to LIMIT."""
    parts: list[Fragment | str] = []
    if relation.source is not None:
        parts += [" FROM ", relation.source]
    if relation.where:
        parts += [" WHERE ", and_text(relation.where)]
    if relation.order:
        parts += [" ORDER BY ", joined(", ", relation.order)]
    return fragment_of((*parts, relation.limit))


def whole(relation: Relation) -> Fragment:
    """A relation as a SELECT that stands alone.

    Raises:
        NotPullable: it reads a query around.
    """
    if reads_around(relation):
        raise NotPullable("its rows depend on the query around")
    return select(relation if relation.limit else replace(relation, order=()))


def subquery(text: Fragment, item: str) -> Fragment:
    """A SELECT as an item of FROM."""
    return sql("({}) {}", text, item)


def wrapped(relation: Relation, item: str) -> Relation:
    """The relation as one item of FROM.

    What reads outer columns stays outside, over hidden columns. An order stays one above a LIMIT.

    Raises:
        NotPullable: the source itself reads outer columns, or the columns are optional.
    """
    if relation.is_optional or _source_reads_around(relation):
        raise NotPullable("its FROM clause depends on the query around")
    outside = [bool(cell_outers(cell)) for cell in relation.columns]
    needed = _hidden(relation, outside)
    moved: dict[Column | Outer, Fragment] = {
        each: column(item, f"h{index}") for index, each in enumerate(needed)
    }
    inside = tuple(c for c, out in zip(relation.columns, outside, strict=True) if not out)
    places = iter(item_columns(item, len(inside)))
    cells = tuple(
        cell.replace(moved) if out else next(places)
        for cell, out in zip(relation.columns, outside, strict=True)
    )
    inner = replace(relation, columns=inside, order=relation.order if relation.limit else ())
    text = select(inner, hidden=[Fragment((each,)) for each in needed])
    return Relation(
        cells,
        subquery(text, item),
        carried=tuple(each.replace(moved) for each in relation.carried),
        order=tuple(each.replace(moved) for each in relation.order),
        is_unique=relation.is_unique,
    )


def _source_reads_around(relation: Relation) -> bool:
    inside = (*relation.where, *relation.order, *filter(None, (relation.source,)))
    return any(text.outers for text in inside)


def _hidden(relation: Relation, outside: Sequence[bool]) -> tuple[Column, ...]:
    """The columns of FROM items that are still needed above."""
    kept: list[Fragment] = [*(each.text for each in relation.carried), *relation.order]
    kept += [each.equality.inner for each in relation.carried if each.equality is not None]
    for cell, out in zip(relation.columns, outside, strict=True):
        if out:
            kept += [cell.positive, cell.negative] if isinstance(cell, Mark) else [cell]
    return tuple(dict.fromkeys(each for text in kept for each in text.columns))
