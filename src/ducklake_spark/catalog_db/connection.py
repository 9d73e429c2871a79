"""An open metadata database: statements, transactions, errors."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ducklake_spark.catalog_db.dialect import (
    Dialect,
    OpenRequest,
    Row,
    Session,
    Statement,
    dialect_of,
    load_driver,
    quote,
)
from ducklake_spark.catalog_db.failures import (
    CommitUncertain,
    MissingTable,
    SnapshotTaken,
    translate,
)
from ducklake_spark.catalog_db.query_log import CatalogLog, LoggedSession, QueryLog
from ducklake_spark.catalog_db.statements import insert_inlined, select_sql
from ducklake_spark.catalog_db.tables import Kind, Table
from ducklake_spark.catalog_db.url import CatalogUrl, DatabaseKind
from ducklake_spark.errors import (
    CatalogError,
    CatalogUnreachable,
    DuckLakeError,
    NotALake,
    ReadOnlyLake,
    TransactionError,
)
from ducklake_spark.model.types import DataType

__all__ = [
    "CommitUncertain",
    "Database",
    "MissingTable",
    "SnapshotTaken",
    "Statement",
    "open_database",
]

_NONE: Mapping[str, str] = MappingProxyType({})


def open_database(
    url: CatalogUrl,
    *,
    read_only: bool = False,
    create: bool = True,
    metadata_schema: str | None = None,
    parameters: Mapping[str, str] = _NONE,
    busy_timeout_ms: int = 5000,
    log: CatalogLog | None = None,
) -> Database:
    """Open a metadata database on the driver.

    Args:
        url: where it is.
        read_only: refuse every change.
        create: make the file if there is none (DuckDB and SQLite).
        metadata_schema: the schema that holds the tables, where the database has schemas.
        parameters: further words for the connection (PostgreSQL and MySQL).
        busy_timeout_ms: how long to wait for a lock of SQLite.
        log: hears of every statement.

    Raises:
        DriverMissing, NotALake (no such file), CatalogLocked, CatalogUnreachable.
    """
    dialect = dialect_of(url.kind)
    load_driver(dialect)
    request = OpenRequest(url, read_only, create and not read_only, parameters, busy_timeout_ms)
    _check_file(request)
    return Database(request, dialect, metadata_schema or dialect.default_schema, log)


def _check_file(request: OpenRequest) -> None:
    """Complain about a missing file or directory in our words; drivers are vague about it."""
    url = request.url
    if url.kind not in {"duckdb", "sqlite"} or url.target == ":memory:":
        return
    path = Path(url.target).expanduser()
    if not request.create and not path.exists():
        raise NotALake(
            f"There is no lake at {url}: the file does not exist, and creating a new DuckLake is "
            "explicitly disabled.",
            hint="check the path, or attach without READ_ONLY to create it.",
        )
    if not path.parent.is_dir():
        raise CatalogUnreachable(
            f"The catalog {url} cannot be created: the directory {path.parent} does not exist.",
            hint="create the directory first.",
        )


class Database:
    """One connection to a metadata database, safe to share between threads.

    A read outside `transaction` is a transaction of its own and leaves nothing open. SQL is
    written with ``?`` for all databases; parameters may be bool, int, str, bytes, aware datetime,
    UUID and None.

    Attributes:
        trace: set it to a list to have every statement's text added to it.
        round_trips: how often a request went out and its answer was waited for.
    """

    def __init__(
        self,
        request: OpenRequest,
        dialect: Dialect,
        schema: str | None,
        log: CatalogLog | None = None,
    ) -> None:
        self.url = request.url
        self.dialect = dialect
        self.schema = schema
        self.read_only = request.read_only
        self.trace: list[str] | None = None
        self.round_trips = 0
        self._request = request
        self._log = log or QueryLog().of_catalog(str(request.url))
        self._lock = threading.RLock()
        self._in_transaction = False
        self._batched = False
        self._closed = False
        self._lost = False
        self._session = self._connect()

    @property
    def kind(self) -> DatabaseKind:
        """Which database it is."""
        return self.url.kind

    def table(self, name: str) -> str:
        """The quoted name of a table, with its schema where there are schemas."""
        return f"{quote(self.schema)}.{quote(name)}" if self.schema else quote(name)

    def decode(self, kind: Kind, value: Any) -> Any:
        """A fetched value as int, bool, str or aware UTC datetime."""
        return self.dialect.decode(kind, value)

    def not_after(self, column: str) -> str:
        """The clause, with a mark for a moment, that keeps the rows whose time is not later."""
        return self.dialect.not_after(column)

    def has_table(self, name: str) -> bool:
        """Whether the metadata database has that table."""
        query = self.has_table_query(name)
        return bool(self.fetch(query.sql, query.params))

    def has_table_query(self, name: str) -> Statement:
        """A query that has a row if the metadata database has that table."""
        where = (self.schema, name) if self.dialect.default_schema else (name,)
        return Statement(self.dialect.has_table_sql, where)

    def can_inline(self, name: str, kind: DataType) -> bool:
        """Whether a column of that name and type can be kept in the metadata database."""
        longest = self.dialect.longest_name
        fits = longest is None or len(name.encode()) <= longest
        return fits and self.dialect.can_inline(kind)

    def inlined_type(self, kind: DataType) -> str:
        """The type of a user's column in an inlined-data table."""
        return self.dialect.inlined_type(kind)

    def inlined_text(self, name: str, kind: DataType) -> str:
        """SQL that reads a user's column, given its bare name, from an inlined-data table.

        Its value is text that DuckDB casts to the type; upper-case hexadecimal for blobs.
        """
        return self.dialect.inlined_text(quote(name), kind)

    def insert_inlined_statements(
        self, name: str, kinds: Sequence[DataType], rows: Sequence[Sequence[Any]]
    ) -> list[Statement]:
        """The statements that insert rows into an inlined-data table; see `insert_inlined`."""
        return insert_inlined(self.table(name), kinds, rows, self.dialect)

    # --- statements ------------------------------------------------------------------------------

    def fetch(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        """All rows of a query. A connection lost while idle is opened again, once."""
        with self._lock:
            self._prepare()
            try:
                with self._errors():
                    return self._fetch(sql, params)
            except CatalogUnreachable:
                if self._in_transaction:
                    raise
            self._prepare()
            with self._errors():
                return self._fetch(sql, params)

    def fetch_one(self, sql: str, params: Sequence[Any] = ()) -> Row | None:
        """The first row of a query, or None."""
        rows = self.fetch(sql, params)
        return rows[0] if rows else None

    def fetch_batch(self, statements: Sequence[Statement]) -> list[list[Row]]:
        """The rows of several queries, all of one state, in one round trip where possible."""
        with self._lock:
            if not self._in_transaction:
                return self._fetch_batch_alone(statements)
            with self._errors():
                return self._fetch_all(statements)

    def _fetch_batch_alone(self, statements: Sequence[Statement]) -> list[list[Row]]:
        read = self._fetch_at_once if self.dialect.batches else self._fetch_in_turn
        try:
            return read(statements)
        except CatalogUnreachable:
            return read(statements)  # lost while idle, as in `fetch`

    def _fetch_in_turn(self, statements: Sequence[Statement]) -> list[list[Row]]:
        with self.reading():
            return self.fetch_batch(statements)

    def _fetch_at_once(self, statements: Sequence[Statement]) -> list[list[Row]]:
        """A whole reading transaction, from BEGIN to COMMIT, in one round trip."""
        self._prepare()
        frame = (Statement(self.dialect.begin_read), *statements, Statement("COMMIT"))
        self._batched = True
        try:
            with self._errors():
                return self._fetch_all(frame)[1:-1]
        except BaseException:
            self._batched = False
            self._roll_back()
            raise
        finally:
            self._batched = False

    def _fetch_all(self, statements: Sequence[Statement]) -> list[list[Row]]:
        for statement in statements:
            self._note(statement.sql)
        self.round_trips += self._batched
        return self._session.rows_of_all(
            [(each.sql, self._encoded(each.params)) for each in statements]
        )

    def select(
        self,
        table: Table,
        where: str = "",
        params: Sequence[Any] = (),
        *,
        columns: Sequence[str] = (),
    ) -> list[Row]:
        """Decoded rows of a catalog table, whole and in physical order unless told otherwise.

        Args:
            table: which.
            where: all that follows FROM, such as ``WHERE table_id = ? ORDER BY data_file_id``.
            params: for its marks.
            columns: the columns wanted, if not all.
        """
        kinds = [table.column(name).kind for name in columns or table.column_names]
        sql = f"{select_sql(table, self.table(table.name), columns)} {where}"
        decode = self.dialect.decode
        return [tuple(map(decode, kinds, row)) for row in self.fetch(sql, params)]

    def execute(self, sql: str, params: Sequence[Any] = ()) -> None:
        """Run a statement that changes something; outside `transaction` it commits by itself."""
        with self._lock, self._errors():
            self._check_writable()
            self._prepare()
            self._note(sql)
            self._session.run(sql, self._encoded(params))

    def run_batch(self, statements: Sequence[Statement]) -> None:
        """Run statements in order, sent together where the driver can.

        Inside `transaction` they are part of it; outside they are one of their own.
        """
        with self._lock:
            if self._in_transaction:
                with self._errors():
                    self._check_writable()
                    self._session.run_all(map(self._noted, statements))
                return
            with self.transaction():
                self.run_batch(statements)

    def _noted(self, statement: Statement) -> tuple[str, list[Any]]:
        """What the driver takes of a statement that is just about to be sent."""
        self._note(statement.sql)
        return statement.sql, self._encoded(statement.params)

    def insert_statements(self, table: Table, rows: Sequence[Row]) -> list[Statement]:
        """The statements that insert whole rows, by position, into a catalog table."""
        return list(self.dialect.insert(table, self.table(table.name), rows)) if rows else []

    def insert(self, table: Table, rows: Sequence[Row]) -> None:
        """Insert whole rows into a catalog table; any number of them, in few statements."""
        self.run_batch(self.insert_statements(table, rows))

    # --- transactions ----------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A transaction that changes the catalog: commits at the end, rolls back on an error.

        Those of this package wait for each other where the database can make them, so that few
        fail because another was first. On PostgreSQL all statements up to the next fetch, or to
        the commit, go out together, so an error may be raised by a later statement than the one
        that is wrong, or at the end.

        Raises:
            SnapshotTaken: another transaction was first.
            CatalogLocked: another transaction did not end for too long.
            CommitUncertain: it is not known whether the commit happened.
        """
        with self._lock:
            self._check_writable()
            queue = self.dialect.queue_writers(self.schema or "")
            with self._scope((self.dialect.begin_write, *queue)):
                yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A transaction whose reads all see one state. Keep it short: it may hold others up.

        Inside a transaction it is part of that one.
        """
        with self._lock:
            if self._in_transaction:
                yield
                return
            with self._scope((self.dialect.begin_read,)):
                yield

    @contextmanager
    def _scope(self, begin: Sequence[str]) -> Iterator[None]:
        if self._in_transaction:
            raise TransactionError("A transaction is already open on this catalog connection.")
        self._prepare()
        self._in_transaction, self._batched = True, self.dialect.batches
        stage = "begin"
        try:
            with self._session.batch():
                for sql in begin:
                    self._run(sql)
                stage = "body"
                yield
                stage = "commit"
                self._run("COMMIT")
            self.round_trips += self._batched
        except BaseException as error:
            self._batched = False
            if isinstance(error, KeyboardInterrupt) and self.dialect.batches:
                self._lost = True  # what was sent, and what of it is answered, is not known
            else:
                self._roll_back()
            if stage == "body" or not isinstance(error, Exception):
                raise  # the caller's own error, or one that is told in our words already
            known = self._translated(error)
            if stage == "commit" and self._leaves_doubt(known):
                raise self._uncertain(error) from error
            raise known from error
        finally:
            self._in_transaction = self._batched = False

    def _leaves_doubt(self, error: DuckLakeError) -> bool:
        """Whether a commit that failed with this error may have happened all the same.

        A server that answers has decided; a file whose disk failed may hold either state. Where
        statements are sent together, the error may be of an earlier one, which is certain.
        """
        if isinstance(error, CatalogUnreachable):
            return True
        return not self.dialect.batches and type(error) is CatalogError

    def _roll_back(self) -> None:
        # Where the transaction is gone already, the driver complains about the rollback.
        with suppress(Exception):
            self._run("ROLLBACK")

    def close(self) -> None:
        """End the connection. Further calls of this do nothing."""
        with self._lock, suppress(Exception):
            self._closed = True
            self._session.close()

    # --- the driver ------------------------------------------------------------------------------

    def _connect(self) -> Session:
        try:
            session = self.dialect.connect(self._request)
            return LoggedSession(session, self._log, self.url.mask)
        except Exception as error:
            known = self._translated(error)
            if known is error:
                raise
            denied = isinstance(known, ReadOnlyLake) and self.read_only  # there it cannot be read
            if type(known) is not CatalogError and not denied:
                raise known from error
            raise CatalogUnreachable(
                f"The catalog {self.url} cannot be opened: {self.url.mask(str(error)).strip()}.",
                hint="check the address, and the rights of the file.",
            ) from error

    def _prepare(self) -> None:
        """Make sure that there is a connection, unless a transaction went down with it."""
        if self._closed:
            raise CatalogError(f"The connection to {self.url} is closed.")
        if self._lost and not self._in_transaction:
            with suppress(Exception):
                self._session.close()
            self._session = self._connect()
            self._lost = False

    def _run(self, sql: str) -> None:
        self._note(sql)
        self._session.run(sql, ())

    def _fetch(self, sql: str, params: Sequence[Any]) -> list[Row]:
        self._note(sql)
        self.round_trips += self._batched
        return self._session.rows(sql, self._encoded(params))

    def _note(self, sql: str) -> None:
        self.round_trips += not self._batched
        if self.trace is not None:
            self.trace.append(sql)

    def _encoded(self, params: Sequence[Any]) -> list[Any]:
        return [self.dialect.encode(value) for value in params]

    def _check_writable(self) -> None:
        if self.read_only:
            raise ReadOnlyLake(
                f"The catalog {self.url} cannot be changed: it was opened read-only.",
                hint="attach it again without READ_ONLY.",
            )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            raise self._translated(error) from error

    def _translated(self, error: Exception) -> DuckLakeError:
        known = translate(error, self.url, self.dialect)
        self._lost = self._lost or isinstance(known, CatalogUnreachable)
        return known

    def _uncertain(self, error: Exception) -> CommitUncertain:
        return CommitUncertain(
            f"A commit to {self.url} broke off, and it is not known whether it happened: "
            f"{self.url.mask(str(error)).strip()}.",
            hint="look at the latest snapshot to see whether the change was made.",
        )
