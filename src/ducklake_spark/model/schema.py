"""Columns of a table: trees of named, typed nodes, each with the id that never changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from ducklake_spark.errors import ColumnNotFound
from ducklake_spark.model.types import (
    DataType,
    DecimalType,
    ListType,
    MapType,
    ScalarType,
    StructField,
    StructType,
    format_type,
    parse_type,
)


@dataclass(frozen=True, slots=True)
class Default:
    """What a column takes when an INSERT leaves it out.

    A literal's text is the bare value (``42``, ``hi``); an expression's is SQL in `dialect`.
    """

    text: str
    kind: Literal["literal", "expression"] = "literal"
    dialect: str = "duckdb"


@dataclass(frozen=True, slots=True)
class Column:
    """One node of the tree: a column, a struct's field, a list's element, a map's key or value."""

    column_id: int
    name: str
    type_name: str  # as in the catalog; "struct", "list" and "map" for nodes with children
    children: tuple[Column, ...] = ()
    nulls_allowed: bool = True
    initial_default: str | None = None  # what rows of files that lack the column show
    default: Default | None = None

    @property
    def type(self) -> DataType:
        """The type of this node, children included."""
        match self.type_name.lower():
            case "list":
                return ListType(self.children[0].type)
            case "map":
                return MapType(self.children[0].type, self.children[1].type)
            case "struct":
                return StructType(tuple(StructField(c.name, c.type) for c in self.children))
            case scalar:
                return parse_type(scalar)

    def walk(self) -> Iterator[Column]:
        """This node and all below it, parents first: the order in which ids are given."""
        yield self
        for child in self.children:
            yield from child.walk()

    def leaves(self) -> Iterator[Column]:
        """The nodes that hold values, and so have statistics."""
        return (node for node in self.walk() if not node.children)


@dataclass(frozen=True)
class Schema:
    """The top-level columns of a table, in order."""

    columns: tuple[Column, ...]

    @property
    def names(self) -> list[str]:
        """Names of the columns, in order."""
        return [column.name for column in self.columns]

    @cached_property
    def by_id(self) -> dict[int, Column]:
        """Every node of every tree by its id."""
        return {node.column_id: node for column in self.columns for node in column.walk()}

    def leaves(self) -> Iterator[Column]:
        """The leaves of all columns."""
        for column in self.columns:
            yield from column.leaves()

    def find(self, name: str) -> Column | None:
        """The column of that name, whatever its case, or None."""
        wanted = name.lower()
        return next((c for c in self.columns if c.name.lower() == wanted), None)

    def get(self, name: str, *, table: str) -> Column:
        """The column of that name; `table` is for the error message."""
        column = self.find(name)
        if column is None:
            raise ColumnNotFound.named(name, where=f'table "{table}"', candidates=self.names)
        return column


def build_column(
    name: str,
    kind: DataType,
    ids: Iterator[int],
    *,
    nulls_allowed: bool = True,
    initial_default: str | None = None,
    default: Default | None = None,
) -> Column:
    """Make a column's tree, taking ids parents first as the format demands.

    >>> import itertools
    >>> tree = build_column("l", ListType(ScalarType("int32")), itertools.count(1))
    >>> [(node.column_id, node.name) for node in tree.walk()]
    [(1, 'l'), (2, 'element')]
    """
    column_id = next(ids)
    children = tuple(build_column(part, of, ids) for part, of in _parts(kind))
    return Column(
        column_id, name, format_type(kind), children, nulls_allowed, initial_default, default
    )


def _parts(kind: DataType) -> Iterable[tuple[str, DataType]]:
    match kind:
        case ListType(element):
            return (("element", element),)
        case MapType(key, value):
            return (("key", key), ("value", value))
        case StructType(fields):
            return tuple((field.name, field.type) for field in fields)
        case ScalarType() | DecimalType():
            return ()
