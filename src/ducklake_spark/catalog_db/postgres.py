"""PostgreSQL as a metadata database, through psycopg 3 in pipeline mode."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from ducklake_spark.caching import remembered
from ducklake_spark.catalog_db.dialect import (
    Dialect,
    OpenRequest,
    Row,
    Statement,
    inlines_plain_types,
    to_format_marks,
    values_insert,
)
from ducklake_spark.catalog_db.tables import Kind, Table
from ducklake_spark.catalog_db.values import decode_value
from ducklake_spark.limits import limits
from ducklake_spark.model.types import DataType, DecimalType, ScalarType

if TYPE_CHECKING:
    import psycopg

_COLUMN_TYPES: Final[dict[Kind, str]] = {
    "bigint": "BIGINT",
    "boolean": "BOOLEAN",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
    "uuid": "UUID",
    "varchar": "VARCHAR",
}
# Dates and timestamps are text: PostgreSQL's ranges are narrower than DuckDB's. Strings are
# bytes: PostgreSQL's text has no zero character.
_INLINED_TYPES: Final = {
    "boolean": "BOOLEAN",
    "int8": "SMALLINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "uint8": "INTEGER",
    "uint16": "INTEGER",
    "uint32": "BIGINT",
    "float32": "REAL",
    "float64": "DOUBLE PRECISION",
    "time": "TIME",
    "timetz": "TIMETZ",
    "interval": "INTERVAL",
    "varchar": "BYTEA",
    "json": "BYTEA",
    "blob": "BYTEA",
    "uuid": "UUID",
}


_WRITERS: Final = 1684827499  # tells our locks from those of others in the same database


class PostgresSession:
    """A connection in autocommit mode."""

    def __init__(self, request: OpenRequest) -> None:
        import psycopg

        options: dict[str, Any] = {key.lower(): value for key, value in request.parameters.items()}
        options.setdefault("connect_timeout", 10)
        # Options of the address win over ours.
        given = psycopg.conninfo.conninfo_to_dict(request.url.target)
        self._connection = psycopg.connect(
            request.url.target,
            autocommit=True,
            fallback_application_name="ducklake-spark",
            **{key: value for key, value in options.items() if key not in given},
        )
        self._in_batch = False
        _read_bytes_as_text(self._connection)
        mode = "on" if request.read_only else "off"
        self._connection.execute(
            "SET TIME ZONE 'UTC'; SET extra_float_digits = 1; SET bytea_output = 'hex'; "
            # The catalog's tables have few indexes, and no statistics for a while: guesses of one
            # row lead to joins that read a whole table again for each row of another.
            "SET enable_nestloop = off; "
            f"SET default_transaction_read_only = {mode}"
        )

    def run(self, sql: str, params: Sequence[Any]) -> None:
        """Execute a statement; inside `batch` its error may come later."""
        if sql == "ROLLBACK":
            # As text it would not tell the driver to forget the statements that it believes to be
            # prepared: those behind an error in a batch are not.
            self._connection.rollback()
            return
        self._connection.execute(_query(sql), params)

    def run_all(self, statements: Iterable[tuple[str, Sequence[Any]]]) -> None:
        """Execute statements in order; inside `batch` the errors may come later."""
        for sql, params in statements:
            self.run(sql, params)

    def rows(self, sql: str, params: Sequence[Any]) -> list[Row]:
        """Execute a query and bring all its rows."""
        return self._connection.execute(_query(sql), params).fetchall()

    def rows_of_all(self, queries: Sequence[tuple[str, Sequence[Any]]]) -> list[list[Row]]:
        """The queries together: inside `batch` with what else was sent, outside in one trip.

        Outside, a statement without rows, such as BEGIN, gives none.
        """
        if self._in_batch:
            return [cursor.fetchall() for cursor in self._send(queries)]
        with self._connection.pipeline():
            cursors = self._send(queries)
        return [cursor.fetchall() if cursor.description else [] for cursor in cursors]

    def _send(self, queries: Sequence[tuple[str, Sequence[Any]]]) -> list[psycopg.Cursor[Row]]:
        return [self._connection.execute(_query(sql), params) for sql, params in queries]

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Statements inside are sent together; a query in between waits for its rows."""
        with self._connection.pipeline():
            self._in_batch = True
            try:
                yield
            finally:
                self._in_batch = False

    def close(self) -> None:
        """End the connection."""
        self._connection.close()


def _read_bytes_as_text(connection: psycopg.Connection[Any]) -> None:
    """Strings of inlined rows are stored as bytes, and nothing else that is fetched is bytes."""
    from psycopg.adapt import Loader

    class TextLoader(Loader):
        def load(self, data: Any) -> str:
            # Backslash, x and hexadecimal digits: see bytea_output above.
            return bytes.fromhex(bytes(data)[2:].decode("ascii")).decode("utf-8")

    connection.adapters.register_loader("bytea", TextLoader)


@remembered("statements for psycopg", entries=1024)
def _query(sql: str) -> bytes:
    # psycopg takes only literal str by type; bytes say that the text is meant to be built.
    return to_format_marks(sql).encode()


def _insert(table: Table, name: str, rows: Sequence[Row]) -> Iterable[Statement]:
    """Many rows as one array per column: one plan and few parameters whatever their number."""
    if len(rows) == 1:
        yield from values_insert(table, name, rows)
        return
    arrays = ", ".join(f"CAST(? AS {_COLUMN_TYPES[column.kind]}[])" for column in table.columns)
    size = limits().rows_per_insert
    for start in range(0, len(rows), size):
        columns = tuple(map(list, zip(*rows[start : start + size], strict=True)))
        yield Statement(f"INSERT INTO {name} SELECT * FROM unnest({arrays})", columns)


def _sqlstate(error: BaseException) -> str:
    return getattr(error, "sqlstate", None) or ""


def _is_lost(error: BaseException) -> bool:
    import psycopg

    # 57P01-57P03: the server shuts down; without a state the connection itself broke.
    lost = {"57P01", "57P02", "57P03"}
    return isinstance(error, psycopg.OperationalError) and (
        not error.sqlstate or error.sqlstate in lost or error.sqlstate.startswith("08")
    )


def _inlined_type(kind: DataType) -> str:
    match kind:
        case DecimalType(precision, scale):
            return f"DECIMAL({precision},{scale})"
        case ScalarType(name):
            return _INLINED_TYPES.get(name, "VARCHAR")
        case _:
            return "VARCHAR"


def _inlined_text(column: str, kind: DataType) -> str:
    match kind:
        case ScalarType("blob"):
            return f"upper(encode({column}, 'hex'))"
        case ScalarType("varchar" | "json"):
            return column
        case ScalarType("interval"):
            return _interval_text(column)
        case _:
            return f"CAST({column} AS VARCHAR)"


def _interval_text(column: str) -> str:
    """DuckDB does not read all that PostgreSQL prints: name the three parts that both store."""
    months = f"extract(year FROM {column}) * 12 + extract(month FROM {column})"
    micros = (
        f"extract(hour FROM {column}) * 3600000000 + extract(minute FROM {column}) * 60000000 "
        f"+ extract(microseconds FROM {column})"
    )
    parts = ((months, "months"), (f"extract(day FROM {column})", "days"), (micros, "microseconds"))
    return " || ' ' || ".join(
        f"CAST(CAST({sql} AS BIGINT) AS VARCHAR) || ' {unit}'" for sql, unit in parts
    )


def _encode_inlined(kind: DataType, text: str | None) -> Any:
    if text is None:
        return None
    match kind:
        case ScalarType("varchar" | "json"):
            return text.encode()
        case ScalarType("blob"):
            return bytes.fromhex(text)
        case _:
            return text


def _queue_writers(schema: str) -> tuple[str, ...]:
    """Take the lock of the lake's writers, which the end of the transaction gives back.

    A writer that hangs keeps the others waiting for so long only, and then its rows decide.
    """
    key = zlib.crc32(schema.encode()) - 2**31
    return (
        "SET LOCAL lock_timeout = '20s'",
        f"SELECT pg_advisory_xact_lock({_WRITERS}, {key})",
    )


DIALECT: Final = Dialect(
    name="postgres",
    driver="psycopg",
    extra="postgres",
    column_types=_COLUMN_TYPES,
    # Reads of a commit must see what was committed while it waited for its turn.
    begin_write="BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
    begin_read="BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    default_schema="public",
    batches=True,
    connect=PostgresSession,
    encode=lambda value: value,
    decode=decode_value,
    insert=_insert,
    has_table_sql=(
        "SELECT 1 FROM information_schema.tables WHERE table_schema = ? AND table_name = ?"
    ),
    # unique_violation, serialization_failure, deadlock_detected
    is_conflict=lambda e: _sqlstate(e) in {"23505", "40001", "40P01"},
    # undefined_table, invalid_schema_name
    is_missing_table=lambda e: _sqlstate(e) in {"42P01", "3F000"},
    # lock_not_available
    is_locked=lambda e: _sqlstate(e) == "55P03",
    is_lost=_is_lost,
    # disk_full
    is_full=lambda e: _sqlstate(e) == "53100",
    longest_name=63,
    can_inline=inlines_plain_types,
    inlined_type=_inlined_type,
    inlined_text=_inlined_text,
    inlined_mark=lambda kind: f"CAST(? AS {_inlined_type(kind)})",
    encode_inlined=_encode_inlined,
    queue_writers=_queue_writers,
)
