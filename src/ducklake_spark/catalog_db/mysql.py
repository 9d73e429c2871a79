"""MySQL 8 as a metadata database, through PyMySQL.

Rows are never inlined here: the extension does not offer it on MySQL, and a CREATE TABLE ends
the transaction that it stands in.
"""

from __future__ import annotations

import datetime as dt
import re
import uuid
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

from ducklake_spark.catalog_db.dialect import (
    Dialect,
    OpenRequest,
    Row,
    to_format_marks,
    values_insert,
)
from ducklake_spark.catalog_db.values import decode_value, in_utc
from ducklake_spark.errors import InvalidInput

# Words of the DuckDB connector's connection strings -> words of the driver.
_WORDS: Final = {
    "host": "host",
    "user": "user",
    "password": "password",
    "passwd": "password",
    "db": "database",
    "database": "database",
    "dbname": "database",
    "port": "port",
    "socket": "unix_socket",
    "unix_socket": "unix_socket",
}
_PAIR = re.compile(r"\s*(\w+)\s*=\s*('(?:\\.|[^'\\])*'|\S+)")


class MysqlSession:
    """A connection in autocommit mode, with double quotes for identifiers."""

    def __init__(self, request: OpenRequest) -> None:
        import pymysql

        words = {**parse_conninfo(request.url.target), **request.parameters}
        options: dict[str, Any] = {}
        for word, value in words.items():
            if word.lower() not in _WORDS:
                raise InvalidInput(f'"{word}" is no part of a MySQL address.')
            options[_WORDS[word.lower()]] = value
        if "port" in options:
            options["port"] = int(options["port"])
        self._connection = pymysql.connect(autocommit=True, charset="utf8mb4", **options)
        mode = "READ ONLY" if request.read_only else "READ WRITE"
        self.run("SET SESSION sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES,PIPES_AS_CONCAT')", ())
        self.run("SET SESSION time_zone = '+00:00'", ())
        self.run(f"SET SESSION TRANSACTION {mode}", ())

    def run(self, sql: str, params: Sequence[Any]) -> None:
        """Execute a statement."""
        with self._connection.cursor() as cursor:
            cursor.execute(to_format_marks(sql), tuple(params))

    def run_all(self, statements: Iterable[tuple[str, Sequence[Any]]]) -> None:
        """Execute statements in order."""
        for sql, params in statements:
            self.run(sql, params)

    def rows(self, sql: str, params: Sequence[Any]) -> list[Row]:
        """Execute a query and bring all its rows."""
        with self._connection.cursor() as cursor:
            cursor.execute(to_format_marks(sql), tuple(params))
            return list(cursor.fetchall())

    def rows_of_all(self, queries: Sequence[tuple[str, Sequence[Any]]]) -> list[list[Row]]:
        """The queries one after the other."""
        return [self.rows(sql, params) for sql, params in queries]

    def batch(self) -> AbstractContextManager[object]:
        """The protocol has no pipelines."""
        return nullcontext()

    def close(self) -> None:
        """End the connection."""
        self._connection.close()


def parse_conninfo(text: str) -> dict[str, str]:
    """The pairs of ``db=lake host=localhost``; values with blanks stand in single quotes.

    >>> parse_conninfo("db=lake password='a b'")
    {'db': 'lake', 'password': 'a b'}
    """
    found, at = {}, 0
    while match := _PAIR.match(text, at):
        found[match[1]] = re.sub(r"\\(.)", r"\1", match[2].strip("'"))
        at = match.end()
    if text[at:].strip():
        raise InvalidInput("The MySQL address is not a list of key=value pairs.")
    return found


def _encode(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return in_utc(value).replace(tzinfo=None)
    return str(value) if isinstance(value, uuid.UUID) else value


def _code(error: BaseException) -> int:
    import pymysql

    if isinstance(error, pymysql.MySQLError) and error.args and isinstance(error.args[0], int):
        return error.args[0]
    return 0


DIALECT: Final = Dialect(
    name="mysql",
    driver="pymysql",
    extra="mysql",
    column_types={
        "bigint": "BIGINT",
        "boolean": "BOOLEAN",
        # The extension leaves out the digits, and with them the microseconds.
        "timestamptz": "DATETIME(6)",
        "uuid": "TEXT",
        "varchar": "TEXT",
    },
    begin_write="START TRANSACTION READ WRITE",
    begin_read="START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
    default_schema=None,
    batches=False,
    connect=MysqlSession,
    encode=_encode,
    decode=decode_value,
    insert=values_insert,
    has_table_sql=(
        "SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?"
    ),
    # duplicate entry, deadlock, lock wait timeout
    is_conflict=lambda e: _code(e) in {1062, 1213, 1205},
    is_missing_table=lambda e: _code(e) == 1146,
    is_locked=lambda e: False,
    # cannot connect, server gone, connection lost in a query
    is_lost=lambda e: _code(e) in {2002, 2003, 2006, 2013},
    # the disk is full, a table is full
    is_full=lambda e: _code(e) in {1021, 1114},
    longest_name=64,
    can_inline=lambda kind: False,
    inlined_type=lambda kind: "TEXT",
    inlined_text=lambda column, kind: column,
    inlined_mark=lambda kind: "?",
    encode_inlined=lambda kind, text: text,
)
