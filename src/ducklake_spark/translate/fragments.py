"""Pieces of Spark SQL that know which columns stand in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Final

from ducklake_spark.caching import remembered
from ducklake_spark.model.names import quote_for_spark


@dataclass(frozen=True, slots=True)
class Column:
    """A column of an item of the FROM clause."""

    item: str
    name: str

    def __str__(self) -> str:
        return f"{self.item}.{quote_for_spark(self.name)}"


@dataclass(frozen=True, slots=True)
class Outer:
    """A column of the rows around a correlated subquery: key `index` of the join `join`."""

    join: int
    index: int

    def __str__(self) -> str:
        raise AssertionError("a column of the query around has no text of its own")


Piece = str | Column | Outer


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of Spark SQL: text with columns between."""

    pieces: tuple[Piece, ...]

    def __str__(self) -> str:
        return "".join(map(str, self.pieces))

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of FROM items in it, each once."""
        return tuple(dict.fromkeys(p for p in self.pieces if isinstance(p, Column)))

    @property
    def outers(self) -> tuple[Outer, ...]:
        """The columns of queries around in it, each once."""
        return tuple(dict.fromkeys(p for p in self.pieces if isinstance(p, Outer)))

    @property
    def column(self) -> Column | None:
        """The column, if the fragment is nothing else."""
        only = self.pieces[0] if len(self.pieces) == 1 else None
        return only if isinstance(only, Column) else None

    @property
    def outer(self) -> Outer | None:
        """The column of a query around, if the fragment is nothing else."""
        only = self.pieces[0] if len(self.pieces) == 1 else None
        return only if isinstance(only, Outer) else None

    def replace(self, new: Mapping[Column | Outer, Fragment]) -> Fragment:
        """The fragment with others in the place of columns."""
        if not any(p in new for p in self.pieces if not isinstance(p, str)):
            return self
        found = (new.get(p) if not isinstance(p, str) else None for p in self.pieces)
        return fragment_of(
            f if f is not None else Fragment((p,)) for p, f in zip(self.pieces, found, strict=True)
        )


def fragment_of(parts: Iterable[Fragment | str]) -> Fragment:
    """Pieces one after the other."""
    pieces: list[Piece] = []
    texts: list[str] = []
    for part in parts:
        for piece in (part,) if isinstance(part, str) else part.pieces:
            if isinstance(piece, str):
                texts.append(piece)
            else:
                pieces += ["".join(texts), piece] if texts else [piece]
                texts = []
    return Fragment((*pieces, "".join(texts)) if texts else tuple(pieces))


def sql(template: str, *parts: Fragment | str) -> Fragment:
    """A template in which each ``{}`` stands for the next part, and ``{0}`` for a numbered one.

    Braces of Spark's own are written twice, as in `str.format`.

    >>> str(sql("substring({0}, {1})", "name", "1"))
    'substring(name, 1)'
    """
    return fragment_of([p if isinstance(p, str) else parts[p] for p in _pieces(template)])


def joined(separator: str, parts: Iterable[Fragment | str]) -> Fragment:
    """Parts with a separator between."""
    found: list[Fragment | str] = []
    for index, part in enumerate(parts):
        found += [separator, part] if index else [part]
    return fragment_of(found)


def column(item: str, name: str) -> Fragment:
    """A column as a fragment."""
    return Fragment((Column(item, name),))


def outer(join: int, index: int) -> Fragment:
    """A column of the query around as a fragment."""
    return Fragment((Outer(join, index),))


def literal_text(value: str) -> str:
    """A string literal of Spark, whatever its setting for backslashes is by default.

    ``${`` would be the start of a variable that Spark replaces before it parses a text.
    """
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("${", "\\u0024{")
    return f"'{escaped}'"


@remembered("templates of Spark SQL", entries=4_096)
def _pieces(template: str) -> tuple[str | int, ...]:
    """The text of a template, and for each place the number of its part."""
    pieces: list[str | int] = []
    automatic = 0
    for text, name, _, _ in Formatter().parse(template):
        if text:
            pieces.append(text)
        if name is not None:
            pieces.append(int(name) if name else automatic)
            automatic += 0 if name else 1
    return tuple(pieces)


EMPTY: Final = Fragment(())
TRUE: Final = Fragment(("true",))
