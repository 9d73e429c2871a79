"""SQLite as a metadata database: the standard library's driver, values as the extension stores."""

from __future__ import annotations

import datetime as dt
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Final

from ducklake_spark.catalog_db.dialect import (
    Dialect,
    OpenRequest,
    Row,
    inlines_plain_types,
    values_insert,
)
from ducklake_spark.catalog_db.values import decode_value, encode_as_text, parse_timestamp
from ducklake_spark.errors import InvalidInput, UnknownOption
from ducklake_spark.model.types import DataType, ScalarType

_WHOLE_NUMBERS: Final = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"}
_MICROS: Final = "ducklake_micros"
_JOURNAL_MODES: Final = ("delete", "truncate", "persist", "wal")
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_MICROSECOND: Final = dt.timedelta(microseconds=1)
# Result codes of SQLite; the driver names them from Python 3.11 on only.
_BUSY, _LOCKED, _PRIMARY_KEY, _UNIQUE = 5, 6, 1555, 2067
_READONLY, _FULL, _CANTOPEN = 8, 13, 14
_ENDED: Final = "the transaction has ended before its commit; nothing of it was kept"


def _micros(text: str | None) -> int | None:
    """Text of a time, whatever its length and offset, as a number that can be compared."""
    return None if text is None else (parse_timestamp(text) - _EPOCH) // _MICROSECOND


def _read_parameters(request: OpenRequest) -> tuple[int, str | None]:
    """How long to wait for others, in milliseconds, and the journal mode: META_… of ATTACH."""
    timeout, mode = request.busy_timeout_ms, None
    for name, value in request.parameters.items():
        match name.lower(), str(value).lower():
            case "busy_timeout", text if text.isdecimal():
                timeout = int(text)
            case "journal_mode", text if text in _JOURNAL_MODES:
                mode = text
            case ("busy_timeout" | "journal_mode") as known, text:
                raise InvalidInput(
                    f'The parameter "{known}" of a SQLite catalog cannot be {text!r}.',
                    hint="busy_timeout takes milliseconds, journal_mode takes one of "
                    f"{', '.join(_JOURNAL_MODES)}.",
                )
            case _:
                raise UnknownOption(
                    f'"{name}" is no parameter of a SQLite catalog.',
                    hint="there are busy_timeout and journal_mode.",
                )
    return timeout, mode


class SqliteSession:
    """A connection in autocommit mode; the journal mode stays as the file has it, unless given."""

    def __init__(self, request: OpenRequest) -> None:
        timeout, journal_mode = _read_parameters(request)
        self._begun = False  # a transaction, which neither COMMIT nor ROLLBACK has ended
        mode = "ro" if request.read_only else "rwc" if request.create else "rw"
        path = Path(request.url.target).expanduser().absolute().as_uri()
        self._connection = sqlite3.connect(
            f"{path}?mode={mode}",
            uri=True,
            timeout=timeout / 1000,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=512,
        )
        try:
            self._connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
            self._connection.create_function(_MICROS, 1, _micros, deterministic=True)
            if journal_mode is not None:
                self._connection.execute(f"PRAGMA journal_mode = {journal_mode}")
        except sqlite3.Error:
            self._connection.close()
            raise

    def run(self, sql: str, params: Sequence[Any]) -> None:
        """Execute a statement.

        SQLite ends a transaction by itself after some errors, and each statement that comes then
        would be a commit of its own: it is refused.
        """
        if sql == "ROLLBACK":
            self._begun = False
        self._check_begun()
        self._connection.execute(sql, params).close()
        if sql in (DIALECT.begin_write, DIALECT.begin_read):
            self._begun = True
        elif sql == "COMMIT":
            self._begun = False

    def _check_begun(self) -> None:
        if self._begun and not self._connection.in_transaction:
            raise sqlite3.OperationalError(_ENDED)

    def run_all(self, statements: Iterable[tuple[str, Sequence[Any]]]) -> None:
        """Execute statements in order."""
        for sql, params in statements:
            self.run(sql, params)

    def rows(self, sql: str, params: Sequence[Any]) -> list[Row]:
        """Execute a query; reading it to its end releases SQLite's read lock."""
        self._check_begun()
        return self._connection.execute(sql, params).fetchall()

    def rows_of_all(self, queries: Sequence[tuple[str, Sequence[Any]]]) -> list[list[Row]]:
        """The queries one after the other."""
        return [self.rows(sql, params) for sql, params in queries]

    def batch(self) -> AbstractContextManager[object]:
        """There is no network to save trips on."""
        return nullcontext()

    def close(self) -> None:
        """End the connection."""
        self._connection.close()


def _code(error: BaseException) -> int | None:
    code = getattr(error, "sqlite_errorcode", None)
    return code if isinstance(code, int) else None


def _is_conflict(error: BaseException) -> bool:
    if not isinstance(error, sqlite3.IntegrityError):
        return False
    return _code(error) in {None, _PRIMARY_KEY, _UNIQUE}


def _is_locked(error: BaseException) -> bool:
    if not isinstance(error, sqlite3.OperationalError):
        return False
    code = _code(error)
    # Extended codes carry the plain one in their low byte.
    return "is locked" in str(error) if code is None else code & 0xFF in {_BUSY, _LOCKED}


def _is_full(error: BaseException) -> bool:
    return _is_plain(error, "disk is full", _FULL)


def _is_denied(error: BaseException) -> bool:
    if _is_plain(error, "readonly database", _READONLY):
        return True
    return _is_plain(error, "unable to open database file", _CANTOPEN)


def _is_plain(error: BaseException, text: str, known: int) -> bool:
    """Whether it is the error of that code, or of that text where the driver tells no codes."""
    if not isinstance(error, sqlite3.OperationalError):
        return False
    code = _code(error)
    return text in str(error) if code is None else code & 0xFF == known


def _is_missing_table(error: BaseException) -> bool:
    # SQLite has the same code for every mistake in a statement.
    return isinstance(error, sqlite3.OperationalError) and "no such table" in str(error)


def _inlined_type(kind: DataType) -> str:
    match kind:
        case ScalarType(name) if name in _WHOLE_NUMBERS or name == "boolean":
            return "BIGINT"
        case ScalarType("blob"):
            return "BLOB"
        case _:
            return "VARCHAR"


def _inlined_text(column: str, kind: DataType) -> str:
    if kind == ScalarType("blob"):
        # hex() of NULL is an empty text here.
        return f"CASE WHEN {column} IS NULL THEN NULL ELSE hex({column}) END"
    return f"CAST({column} AS VARCHAR)"


def _encode_inlined(kind: DataType, text: str | None) -> Any:
    if text is None:
        return None
    match kind:
        case ScalarType("boolean"):
            return decode_value("boolean", text)
        case ScalarType("blob"):
            return bytes.fromhex(text)
        case ScalarType(name) if name in _WHOLE_NUMBERS:
            return int(text)
        case _:
            return text


DIALECT: Final = Dialect(
    name="sqlite",
    driver="sqlite3",
    extra=None,
    # DuckDB's SQLite connector turns its own types into these.
    column_types={
        "bigint": "BIGINT",
        "boolean": "BIGINT",
        "timestamptz": "VARCHAR",
        "uuid": "VARCHAR",
        "varchar": "VARCHAR",
    },
    # The write lock is taken at once: a lock taken later fails without waiting.
    begin_write="BEGIN IMMEDIATE",
    begin_read="BEGIN",
    default_schema=None,
    batches=False,
    connect=SqliteSession,
    encode=encode_as_text,
    decode=decode_value,
    insert=values_insert,
    has_table_sql="SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?",
    is_conflict=_is_conflict,
    is_missing_table=_is_missing_table,
    is_locked=_is_locked,
    is_lost=lambda error: False,
    is_full=_is_full,
    is_denied=_is_denied,
    longest_name=None,
    can_inline=inlines_plain_types,
    inlined_type=_inlined_type,
    inlined_text=_inlined_text,
    inlined_mark=lambda kind: "?",
    encode_inlined=_encode_inlined,
    not_after=lambda column: f"{_MICROS}({column}) <= {_MICROS}(?)",
)
