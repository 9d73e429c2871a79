"""What a query reads from, and the question a renderer asks about each source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

from sqlglot import exp

from ducklake_spark.model.types import DataType

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

    ``FROM (DESCRIBE t)`` is the function ``describe`` whose argument is the statement's text;
    ``SHOW`` and ``SUMMARIZE`` likewise.
    """

    parts: tuple[str, ...]
    arguments: tuple[object, ...] = ()
    named: Mapping[str, object] = field(default_factory=dict)
    text: str = ""
    virtual_columns: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Relation:
    """A relation that Spark knows by `name`.

    `hidden` are the columns that ``*`` must not show; `columns` are the shown ones in order, needed
    where ``* REPLACE``, ``* RENAME`` or ``COLUMNS`` is applied to the relation; `types` are theirs,
    and let functions that DuckDB overloads (``len``, ``||``, ``IN``) be told apart.
    """

    name: str
    hidden: frozenset[str] = frozenset()
    columns: tuple[str, ...] | None = None
    types: tuple[DataType, ...] | None = None


class Resolver(Protocol):
    """Finds the Spark relation for what a query names.

    A plain name as the answer to a `TableReference` means that all of its `virtual_columns` are in
    the relation and hidden; a `Relation` says which really are.
    """

    def table(self, reference: TableReference) -> str | Relation:
        """The relation of a table or view."""
        ...

    def table_function(self, call: TableFunctionCall) -> str | Relation:
        """The relation that a table function gives."""
        ...
