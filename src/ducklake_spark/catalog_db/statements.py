"""The text of statements, derived from the declarations in `tables`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from ducklake_spark.catalog_db.dialect import Dialect, Statement, quote
from ducklake_spark.catalog_db.tables import Table, TableColumn
from ducklake_spark.limits import limits
from ducklake_spark.model.types import DataType

__all__ = [
    "VISIBLE_PARAMS",
    "Statement",
    "create_inlined_delete_sql",
    "create_inlined_sql",
    "create_table_sql",
    "insert_inlined",
    "insert_sql",
    "select_sql",
    "visible_at",
]

VISIBLE_PARAMS: Final = 2


def visible_at(alias: str = "") -> str:
    """The clause that keeps the rows that a snapshot sees.

    It takes two parameters, both the snapshot id (see `VISIBLE_PARAMS`).

    >>> visible_at("t")
    '(t.begin_snapshot <= ? AND (t.end_snapshot IS NULL OR t.end_snapshot > ?))'
    """
    of = f"{alias}." if alias else ""
    return f"({of}begin_snapshot <= ? AND ({of}end_snapshot IS NULL OR {of}end_snapshot > ?))"


def create_table_sql(table: Table, name: str, dialect: Dialect) -> str:
    """CREATE TABLE for a catalog table under its full name."""
    columns = ", ".join(_column_sql(column, dialect) for column in table.columns)
    return f"CREATE TABLE {name}({columns})"


def _column_sql(column: TableColumn, dialect: Dialect) -> str:
    key = " PRIMARY KEY" if column.key else ""
    null = " NOT NULL" if column.not_null else ""
    return f"{quote(column.name)} {dialect.column_types[column.kind]}{key}{null}"


def insert_sql(table: Table, name: str) -> str:
    """INSERT of one whole row, by position, under the table's full name."""
    return f"INSERT INTO {name} VALUES ({', '.join('?' for _ in table.columns)})"


def select_sql(table: Table, name: str, columns: Sequence[str] = ()) -> str:
    """SELECT of the given columns, or of all in physical order, without a WHERE."""
    wanted = ", ".join(quote(column) for column in columns or table.column_names)
    return f"SELECT {wanted} FROM {name}"


def create_inlined_sql(name: str, columns: Iterable[tuple[str, DataType]], dialect: Dialect) -> str:
    """CREATE TABLE for the inlined rows of a table, given its columns as they are now."""
    user = "".join(f", {quote(column)} {dialect.inlined_type(kind)}" for column, kind in columns)
    return f"CREATE TABLE {name}(row_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT{user})"


def create_inlined_delete_sql(name: str) -> str:
    """CREATE TABLE for the positions that small deletes hide in data files of one table."""
    return (
        f"CREATE TABLE IF NOT EXISTS {name}(file_id BIGINT, row_id BIGINT, begin_snapshot BIGINT)"
    )


def insert_inlined(
    name: str, kinds: Sequence[DataType], rows: Sequence[Sequence[Any]], dialect: Dialect
) -> list[Statement]:
    """INSERTs of inlined rows, by position.

    Args:
        name: the full name of the inlined-data table.
        kinds: the types of the user's columns.
        rows: row id, begin and end snapshot, then a text per column that DuckDB casts to its
            type (hexadecimal digits for blobs) or None.
        dialect: of the metadata database.
    """
    marks = f"({', '.join(('?, ?, ?', *(dialect.inlined_mark(kind) for kind in kinds)))})"
    statements = []
    size = limits().inlined_rows_per_statement
    for start in range(0, len(rows), size):
        chunk = rows[start : start + size]
        params: list[Any] = []
        for row in chunk:
            params += row[:3]
            params += map(dialect.encode_inlined, kinds, row[3:])
        text = f"INSERT INTO {name} VALUES {', '.join(marks for _ in chunk)}"
        statements.append(Statement(text, tuple(params)))
    return statements
