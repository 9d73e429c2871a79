"""What a query reads from, and the question a renderer asks about each source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

from sqlglot import exp

VIRTUAL_COLUMNS: Final = frozenset(
    {"rowid", "snapshot_id", "filename", "file_row_number", "file_index"}
)


@dataclass(frozen=True)
class At:
    """``AT (VERSION => value)`` or ``AT (TIMESTAMP => value)``; the value is still a tree."""

    kind: Literal["version", "timestamp"]
    value: exp.Expr


@dataclass(frozen=True)
class TableReference:
    """A table or view named in a query.

    `virtual_columns` are the names among `VIRTUAL_COLUMNS` that the query mentions and that could
    belong to this table.
    """

    parts: tuple[str, ...]
    at: At | None = None
    virtual_columns: frozenset[str] = frozenset()
    text: str = ""


@dataclass(frozen=True)
class TableFunctionCall:
    """A function in FROM. Constants are Python values, other arguments trees.

    `virtual_columns` are as those of a `TableReference`: most functions have none.
    """

    parts: tuple[str, ...]
    arguments: tuple[object, ...] = ()
    named: Mapping[str, object] = field(default_factory=dict)
    text: str = ""
    virtual_columns: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Relation:
    """A relation that Spark knows by `name`; `hidden` are columns that ``*`` must not show."""

    name: str
    hidden: frozenset[str] = frozenset()


class Resolver(Protocol):
    """Finds the Spark relation for what a query names."""

    def table(self, reference: TableReference) -> Relation:
        """The relation of a table or view."""
        ...

    def table_function(self, call: TableFunctionCall) -> Relation:
        """The relation that a table function gives."""
        ...
