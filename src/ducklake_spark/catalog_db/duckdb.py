"""A DuckDB file as a metadata database.

Values are written into the statement's text: the driver takes about 0.1 ms to bind one value
when pandas is not installed, which is more than the statement itself takes.
"""

from __future__ import annotations

import datetime as dt
import json
import uuid
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ducklake_spark.caching import Cache, declare
from ducklake_spark.catalog_db.dialect import (
    Dialect,
    OpenRequest,
    Row,
    Statement,
    leaf_names,
    quote,
    split_at_marks,
    values_insert,
)
from ducklake_spark.catalog_db.tables import Kind, Table
from ducklake_spark.catalog_db.values import decode_value, format_timestamp
from ducklake_spark.errors import UnknownOption
from ducklake_spark.limits import limits
from ducklake_spark.model.types import DataType, ScalarType, format_sql_type

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_STORAGE_VERSION: Final = "v1.0.0"

_COLUMN_TYPES: Final[dict[Kind, str]] = {
    "bigint": "BIGINT",
    "boolean": "BOOLEAN",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
    "uuid": "UUID",
    "varchar": "VARCHAR",
}


# Which columns of a query are times, so that it is asked the right way at once.
_TIMES: Final = declare(
    "queries with times",
    key="the text of a query",
    depends_on="the types of its columns: DuckDB refuses the text if they are others",
    seen_by="connection",
    emptied="never",
    entries=512,
)


class DuckdbSession:
    """A connection to a DuckDB file; those of one process share one open file."""

    def __init__(self, request: OpenRequest) -> None:
        for name in request.parameters:
            raise UnknownOption(f'"{name}" is no parameter of a DuckDB catalog.')
        self._connection = _connect(request.url.target, read_only=request.read_only)
        self._connection.execute("SET TimeZone = 'UTC'")
        # Statements on a catalog are small: handing their work to threads costs more than it.
        self._connection.execute("SET threads = 1")
        self._times: Cache[str, str] = _TIMES.make()

    def run(self, sql: str, params: Sequence[Any]) -> None:
        """Execute a statement."""
        self._execute(sql, params)

    def run_all(self, statements: Iterable[tuple[str, Sequence[Any]]]) -> None:
        """Execute statements in order, as few texts: DuckDB is quicker with one than with each."""
        texts: list[str] = []
        length = 0
        for sql, params in statements:
            text, rest = write_in(sql, params) if params else (sql, [])
            if rest or length > limits().statements_text:
                self._run_texts(texts)
                length = 0
            if rest:
                self._connection.execute(text, rest)
            else:
                texts.append(text)
                length += len(text)
        self._run_texts(texts)

    def _run_texts(self, texts: list[str]) -> None:
        if texts:
            self._connection.execute(";\n".join(texts))
            texts.clear()

    def rows(self, sql: str, params: Sequence[Any]) -> list[Row]:
        """Execute a query; times come as microseconds since 1970.

        The driver needs a further package to make a datetime, so a query with times is asked
        again around itself.
        """
        known = self._times.get(sql)
        if known is not None:
            return self._execute(known, params).fetchall()
        cursor = self._execute(sql, params)
        columns = cursor.description or []
        times = [str(column[1]) == "TIMESTAMP WITH TIME ZONE" for column in columns]
        if not any(times):
            return cursor.fetchall()
        names = [f"c{index}" for index in range(len(times))]
        wanted = [f"epoch_us({n})" if t else n for n, t in zip(names, times, strict=True)]
        wrapped = f"SELECT {', '.join(wanted)} FROM ({sql}) AS q({', '.join(names)})"
        self._times.put(sql, wrapped)
        return self._execute(wrapped, params).fetchall()

    def rows_of_all(self, queries: Sequence[tuple[str, Sequence[Any]]]) -> list[list[Row]]:
        """The queries one after the other."""
        return [self.rows(sql, params) for sql, params in queries]

    def batch(self) -> AbstractContextManager[object]:
        """There is no network to save trips on."""
        return nullcontext()

    def close(self) -> None:
        """End the connection; the last one of a process writes the file's log back."""
        self._connection.close()

    def _execute(self, sql: str, params: Sequence[Any]) -> DuckDBPyConnection:
        text, rest = write_in(sql, params) if params else (sql, [])
        return self._connection.execute(text, rest) if rest else self._connection.execute(text)


def _connect(target: str, *, read_only: bool) -> DuckDBPyConnection:
    import duckdb

    path = target if target == ":memory:" else str(Path(target).expanduser())
    if not read_only and path != ":memory:" and not Path(path).exists():
        _make_file(path)
    try:
        return duckdb.connect(path, read_only=read_only)
    except duckdb.ConnectionException:
        # This process has the file open the other way; `Database` refuses writes by itself.
        if not read_only:
            raise
        return duckdb.connect(path)


def _make_file(path: str) -> None:
    """Make a file that DuckDB 1.x opens too, whose extension shares the lake."""
    import duckdb

    if int(duckdb.__version__.split(".", maxsplit=1)[0]) < 2:
        return  # it makes such files by itself
    # What stands in the way is told where the file is opened; another may be making it as well.
    with suppress(duckdb.Error), duckdb.connect(":memory:") as db:
        db.execute(f"ATTACH {_literal(path)} AS made (STORAGE_VERSION '{_STORAGE_VERSION}')")
        db.execute("DETACH made")


def write_in(sql: str, params: Sequence[Any]) -> tuple[str, list[Any]]:
    """Put values into the text where they have a plain literal; the rest stay parameters."""
    pieces = split_at_marks(sql)
    if len(pieces) != len(params) + 1:
        message = f"{len(params)} values for {len(pieces) - 1} marks"
        raise ValueError(message)
    out, rest = [pieces[0]], []
    for value, piece in zip(params, pieces[1:], strict=True):
        literal = _literal(value)
        if literal is None:
            rest.append(value)
        out += ["?" if literal is None else literal, piece]
    return "".join(out), rest


def _literal(value: Any) -> str | None:
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case str() if "\0" not in value:
            return "'" + value.replace("'", "''") + "'"
        case _:
            return None


def _encode(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return format_timestamp(value)
    return str(value) if isinstance(value, uuid.UUID) else value


def _insert(table: Table, name: str, rows: Sequence[Row]) -> Iterable[Statement]:
    """Few rows as VALUES; many as one JSON text, which DuckDB reads ten times as fast."""
    if len(rows) < limits().json_rows:
        yield from values_insert(table, name, rows)
        return
    shape = json.dumps([{column.name: _json_type(column.kind) for column in table.columns}])
    names = table.column_names
    casts = ", ".join(f"r.{quote(column.name)}" for column in table.columns)
    size = limits().rows_per_insert
    for start in range(0, len(rows), size):
        chunk = rows[start : start + size]
        objects = [dict(zip(names, map(_encode, row), strict=True)) for row in chunk]
        yield Statement(
            f"INSERT INTO {name} SELECT {casts} "
            f"FROM (SELECT unnest(from_json_strict(?, '{shape}')) AS r)",
            (json.dumps(objects),),
        )


def _json_type(kind: Kind) -> str:
    return kind.upper() if kind in {"bigint", "boolean"} else "VARCHAR"


def _driver_error(error: BaseException, *names: str) -> bool:
    import duckdb

    return isinstance(error, tuple(getattr(duckdb, name) for name in names))


def _is_locked(error: BaseException) -> bool:
    # A lock, a missing file and a broken one are of the same class.
    text = str(error)
    return (_driver_error(error, "IOException") and "lock" in text) or (
        _driver_error(error, "BinderException", "ConnectionException")
        and "same database file" in text
    )


def _says(error: BaseException, *texts: str) -> bool:
    """What the system says of a file; DuckDB has several classes for it, and no number."""
    return _driver_error(error, "Error") and any(text in str(error) for text in texts)


def _is_full(error: BaseException) -> bool:
    return _says(error, "No space left on device", "File too large", "Disk quota exceeded")


def _is_denied(error: BaseException) -> bool:
    return _says(error, "Permission denied", "Read-only file system")


def _is_conflict(error: BaseException) -> bool:
    # A commit whose file cannot be written is of the same class.
    return _driver_error(error, "ConstraintException", "TransactionException") and not _says(
        error, "Could not write", "Cannot open file", "IO Error"
    )


def _inlined_text(column: str, kind: DataType) -> str:
    return f"hex({column})" if kind == ScalarType("blob") else f"CAST({column} AS VARCHAR)"


def _inlined_mark(kind: DataType) -> str:
    if kind == ScalarType("blob"):
        return "unhex(?)"
    return f"CAST(? AS {format_sql_type(kind)})"


DIALECT: Final = Dialect(
    name="duckdb",
    driver="duckdb",
    extra=None,
    column_types=_COLUMN_TYPES,
    begin_write="BEGIN TRANSACTION",
    begin_read="BEGIN TRANSACTION",
    default_schema="main",
    batches=False,
    connect=DuckdbSession,
    encode=_encode,
    decode=decode_value,
    insert=_insert,
    has_table_sql=(
        "SELECT 1 FROM duckdb_tables() WHERE database_name = current_database() "
        "AND schema_name = ? AND table_name = ?"
    ),
    is_conflict=_is_conflict,
    # The same class stands for what exists already.
    is_missing_table=lambda e: _driver_error(e, "CatalogException") and "not exist" in str(e),
    is_locked=_is_locked,
    is_lost=lambda error: False,
    is_full=_is_full,
    is_denied=_is_denied,
    longest_name=None,
    can_inline=lambda kind: "geometry" not in set(leaf_names(kind)),
    inlined_type=format_sql_type,
    inlined_text=_inlined_text,
    inlined_mark=_inlined_mark,
    encode_inlined=lambda kind, text: text,
    not_after=lambda column: f"{column} <= CAST(? AS TIMESTAMP WITH TIME ZONE)",
)
