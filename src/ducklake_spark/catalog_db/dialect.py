"""What differs between the metadata databases, as one record of facts per database."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from ducklake_spark.caching import remembered
from ducklake_spark.catalog_db.tables import Kind, Table
from ducklake_spark.catalog_db.url import CatalogUrl, DatabaseKind
from ducklake_spark.errors import DriverMissing
from ducklake_spark.limits import limits
from ducklake_spark.model.types import DataType, ListType, MapType, ScalarType, StructType

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL text written with ``?``, and the values for the marks."""

    sql: str
    params: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """How a metadata database is to be opened."""

    url: CatalogUrl
    read_only: bool
    create: bool
    parameters: Mapping[str, str]
    busy_timeout_ms: int


class Session(Protocol):
    """One open connection of a driver, in autocommit mode. Not safe for threads by itself."""

    def run(self, sql: str, params: Sequence[Any]) -> None:
        """Execute a statement of which no rows are wanted."""

    def run_all(self, statements: Iterable[tuple[str, Sequence[Any]]]) -> None:
        """Execute statements in order, of which no rows are wanted; none after one that fails."""

    def rows(self, sql: str, params: Sequence[Any]) -> list[Row]:
        """Execute a query and bring all its rows."""

    def rows_of_all(self, queries: Sequence[tuple[str, Sequence[Any]]]) -> list[list[Row]]:
        """The rows of several queries, asked together where the driver can inside `batch`."""

    def batch(self) -> AbstractContextManager[object]:
        """Send what runs inside together, where the driver can; errors may come at the end."""

    def close(self) -> None:
        """End the connection; an open transaction is rolled back."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The facts about one kind of metadata database.

    Attributes:
        name: as in the address of a lake.
        driver: the module that talks to it.
        extra: the extra of this package that installs the driver, if it is not there by default.
        column_types: the type of a catalog column of each kind, as the DuckDB extension makes it.
        begin_write: begins a transaction that will change the catalog.
        begin_read: begins a transaction whose reads see one state.
        default_schema: where the tables stand when nothing else is said; None: no schemas.
        batches: whether statements can be sent together in one round trip.
        connect: opens a session.
        encode: a Python value as the driver takes it.
        decode: a driver's value as aware UTC datetime, bool, int or str.
        insert: rows of Python values as statements for a catalog table of the given full name.
        has_table_sql: answers rows if a table exists; takes the schema (where there are schemas)
            and the name.
        is_conflict: another transaction took a key or changed the same row first.
        is_missing_table: the statement named a table that does not exist.
        is_locked: another connection holds the database.
        is_lost: the connection is gone.
        is_full: there is no space left for the change, of which nothing has happened.
        is_denied: the file, or the folder that it is in, cannot be written.
        longest_name: how many bytes a column's name may have; None: any number.
        can_inline: whether rows of that type can be kept in the metadata database.
        inlined_type: the column type of a user's column in an inlined-data table.
        inlined_text: SQL that reads an inlined value as text that DuckDB casts back to the type;
            blobs as upper-case hexadecimal digits.
        inlined_mark: SQL with one ``?`` that stores an inlined value.
        encode_inlined: the parameter for `inlined_mark` from text as `inlined_text` gives it.
        queue_writers: statements that make a writer wait for others of this package before it
            reads; given the schema of the catalog. Correctness does not rest on them.
        not_after: SQL with one ``?``, for a time, that keeps the rows whose column is not later.
    """

    name: DatabaseKind
    driver: str
    extra: str | None
    column_types: Mapping[Kind, str]
    begin_write: str
    begin_read: str
    default_schema: str | None
    batches: bool
    connect: Callable[[OpenRequest], Session]
    encode: Callable[[Any], Any]
    decode: Callable[[Kind, Any], Any]
    insert: Callable[[Table, str, Sequence[Row]], Iterable[Statement]]
    has_table_sql: str
    is_conflict: Callable[[BaseException], bool]
    is_missing_table: Callable[[BaseException], bool]
    is_locked: Callable[[BaseException], bool]
    is_lost: Callable[[BaseException], bool]
    longest_name: int | None
    can_inline: Callable[[DataType], bool]
    inlined_type: Callable[[DataType], str]
    inlined_text: Callable[[str, DataType], str]
    inlined_mark: Callable[[DataType], str]
    encode_inlined: Callable[[DataType, str | None], Any]
    is_full: Callable[[BaseException], bool] = lambda error: False
    is_denied: Callable[[BaseException], bool] = lambda error: False
    queue_writers: Callable[[str], tuple[str, ...]] = lambda schema: ()
    not_after: Callable[[str], str] = lambda column: f"{column} <= ?"


def dialect_of(kind: DatabaseKind) -> Dialect:
    """The record of that database. Loads no driver."""
    module = importlib.import_module(f"ducklake_spark.catalog_db.{kind}")
    record: Dialect = module.DIALECT
    return record


def load_driver(dialect: Dialect) -> None:
    """Import the driver, or say how to install it."""
    try:
        importlib.import_module(dialect.driver)
    except ImportError as error:
        package = f"ducklake-spark[{dialect.extra}]" if dialect.extra else dialect.driver
        raise DriverMissing(
            f"A {dialect.name} catalog cannot be opened: "
            f'the Python driver "{dialect.driver}" is not installed.',
            hint=f"pip install '{package}'",
        ) from error


# --- placeholders --------------------------------------------------------------------------------

_MARK_OR_QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\?""")


@remembered("pieces of statements", entries=1024)
def split_at_marks(sql: str) -> tuple[str, ...]:
    """The pieces of `sql` between its ``?`` marks; marks inside quotes or comments are text.

    >>> split_at_marks("SELECT '?' WHERE a = ? AND b = ?")
    ("SELECT '?' WHERE a = ", ' AND b = ', '')
    """
    pieces, start = [], 0
    for match in _MARK_OR_QUOTED.finditer(sql):
        if match.group() == "?":
            pieces.append(sql[start : match.start()])
            start = match.end()
    return (*pieces, sql[start:])


@remembered("statements with format marks", entries=1024)
def to_format_marks(sql: str) -> str:
    """The statement with ``%s`` marks, for drivers of that style.

    >>> to_format_marks("SELECT a % 2 WHERE b = ?")
    'SELECT a %% 2 WHERE b = %s'
    """
    return "%s".join(piece.replace("%", "%%") for piece in split_at_marks(sql))


def quote(name: str) -> str:
    """An identifier in double quotes, which all four databases take (MySQL once told to).

    >>> quote("order")
    '"order"'
    """
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


# --- rows --------------------------------------------------------------------------------------


def values_insert(table: Table, name: str, rows: Sequence[Row]) -> Iterable[Statement]:
    """Rows as ``INSERT ... VALUES`` statements of not too many rows each."""
    size = limits().rows_per_values
    for start in range(0, len(rows), size):
        chunk = rows[start : start + size]
        text = _values_text(name, len(table.columns), len(chunk))
        yield Statement(text, tuple(value for row in chunk for value in row))


@remembered("texts of VALUES", entries=256)
def _values_text(name: str, columns: int, rows: int) -> str:
    row_marks = f"({', '.join('?' for _ in range(columns))})"
    return f"INSERT INTO {name} VALUES {', '.join(row_marks for _ in range(rows))}"


# --- inlined rows --------------------------------------------------------------------------------


def leaf_names(kind: DataType) -> Iterable[str]:
    """The scalar types that a type is made of, by catalog name."""
    match kind:
        case ScalarType(name):
            yield name
        case ListType(element):
            yield from leaf_names(element)
        case MapType(key, value):
            yield from leaf_names(key)
            yield from leaf_names(value)
        case StructType(fields):
            for field in fields:
                yield from leaf_names(field.type)
        case _:
            return


def inlines_plain_types(kind: DataType) -> bool:
    """The rule of every database but DuckDB's own: no variant and no geometry at any depth."""
    return not {"variant", "geometry"}.intersection(leaf_names(kind))
