"""The connection: attached lakes, the current one, transactions, and SQL."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Literal

from pyspark.sql import DataFrame, SparkSession

from ducklake_spark.catalog.state import CatalogState
from ducklake_spark.commit.retry import RetryPolicy
from ducklake_spark.commit.transaction import CommitMessage, Transaction
from ducklake_spark.errors import (
    AlreadyExists,
    InvalidInput,
    LakeNotFound,
    SchemaNotFound,
    TableNotFound,
    TransactionError,
)
from ducklake_spark.lake import Lake
from ducklake_spark.model.entities import SchemaEntry, TableEntry
from ducklake_spark.operations.append import append
from ducklake_spark.operations.attach import default_name, open_lake, parse_attach_options
from ducklake_spark.operations.describe import RowSet, snapshots
from ducklake_spark.operations.read import TableVersion, read_table
from ducklake_spark.result import Result
from ducklake_spark.spark.align import align_by_name
from ducklake_spark.spark.session import find_session, prepare_session


def connect(
    uri: str | None = None, *, spark: SparkSession | None = None, **attach_options: Any
) -> Connection:
    """Open a connection, and with a URI attach that lake and use it.

    Args:
        uri: ``ducklake:path``, ``ducklake:sqlite:path``, ``ducklake:postgres:…``; None for none.
        spark: the session to run on; by default the active one, or a new local one.
        **attach_options: the options of ATTACH in lower case, and `alias` for the lake's name.

    >>> con = connect("ducklake:shop.ducklake", data_path="shop_data/")  # doctest: +SKIP
    """
    con = Connection(spark=spark)
    if uri is not None:
        alias = attach_options.pop("alias", None)
        name = con.attach(uri, alias, **attach_options)
        con.use(name)
    return con


class Connection:
    """One user's view of any number of lakes, with a transaction of its own.

    Outside `transaction` (or BEGIN) every statement commits by itself.
    """

    def __init__(self, *, spark: SparkSession | None = None) -> None:
        self.lakes: dict[str, Lake] = {}
        self.variables: dict[str, Any] = {}
        self.retry = RetryPolicy()
        self.last_committed: int | None = None
        self._attached: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self._current: tuple[str, str] | None = None
        self._given_spark = spark
        self._spark: SparkSession | None = None
        self._owns_spark = False
        self._transactions: dict[str, Transaction] | None = None  # while BEGIN is in force
        self._closed = False

    # --- Spark -----------------------------------------------------------------------------------

    @property
    def spark(self) -> SparkSession:
        """The Spark session; a local one is started when the first job needs it."""
        if self._closed:
            raise InvalidInput("The connection is closed.", hint="open a new one with connect().")
        if self._spark is None:
            if self._given_spark is not None:
                self._spark = self._given_spark
            else:
                self._spark, self._owns_spark = find_session()
        return prepare_session(self._spark)

    # --- lakes -----------------------------------------------------------------------------------

    def attach(self, uri: str, alias: str | None = None, **options: Any) -> str:
        """Attach a lake under a name; returns the name."""
        name = alias or default_name(uri)
        if name.lower() in self.lakes:
            raise AlreadyExists(
                f'A lake with the name "{name}" is already attached.',
                hint="choose another name with AS, or DETACH it first.",
            )
        self.lakes[name.lower()] = open_lake(uri, name, parse_attach_options(options))
        self._attached[name.lower()] = (uri, options)
        return name

    def detach(self, name: str) -> None:
        """Let go of a lake."""
        lake = self.lake(name)
        if self._transactions and lake.name.lower() in self._transactions:
            raise TransactionError(
                f'Cannot detach "{name}": it is part of the open transaction.',
                hint="COMMIT or ROLLBACK first.",
            )
        del self.lakes[lake.name.lower()], self._attached[lake.name.lower()]
        if self._current and self._current[0] == lake.name:
            self._current = None
        lake.close()

    def lake(self, name: str) -> Lake:
        """The attached lake of that name."""
        found = self.lakes.get(name.lower())
        if found is None:
            names = [lake.name for lake in self.lakes.values()]
            raise LakeNotFound.named(name, where="this connection", candidates=names)
        return found

    def use(self, lake: str, schema: str | None = None) -> None:
        """Make a lake, and one of its schemas, the place where bare names are looked up."""
        found = self.lake(lake)
        with self.reading(found) as tx:
            entry = self.schema_entry(found, tx, schema or "main")
        self._current = (found.name, entry.name)

    @property
    def current(self) -> tuple[str, str] | None:
        """The lake and schema in use."""
        return self._current

    def current_lake(self) -> Lake:
        """The lake in use."""
        if self._current is None:
            raise InvalidInput(
                "No lake is in use.", hint="attach one and USE it, or write lake.schema.table."
            )
        return self.lake(self._current[0])

    def cursor(self) -> Connection:
        """A further connection over the same lakes, with its own transaction."""
        other = Connection(spark=self._spark or self._given_spark)
        for name, (uri, options) in self._attached.items():
            other.attach(uri, self.lakes[name].name, **options)
        other._current = self._current
        other.retry = self.retry
        return other

    # --- transactions ----------------------------------------------------------------------------

    @contextmanager
    def transaction(
        self,
        *,
        author: str | None = None,
        message: str | None = None,
        extra_info: str | None = None,
    ) -> Iterator[Connection]:
        """Everything inside becomes one snapshot, or nothing at all."""
        self.begin()
        try:
            yield self
        except BaseException:
            self.rollback()
            raise
        for tx in (self._transactions or {}).values():
            if author or message or extra_info:
                tx.message = CommitMessage(author, message, extra_info)
        self.commit()

    def begin(self) -> None:
        """BEGIN: the statements that follow see one snapshot and their own changes."""
        if self._transactions is not None:
            raise TransactionError("Cannot start a transaction within a transaction.")
        self._transactions = {}

    def commit(self) -> None:
        """COMMIT: make the changes visible to all, as one snapshot."""
        if self._transactions is None:
            raise TransactionError("Cannot commit: no transaction is active.")
        transactions, self._transactions = self._transactions, None
        for tx in transactions.values():
            self._note(tx.commit())

    def rollback(self) -> None:
        """ROLLBACK: forget the changes; files written for them are removed."""
        if self._transactions is None:
            raise TransactionError("Cannot roll back: no transaction is active.")
        transactions, self._transactions = self._transactions, None
        for tx in transactions.values():
            tx.rollback()

    @contextmanager
    def reading(self, lake: Lake) -> Iterator[Transaction]:
        """The open transaction on the lake, or one just for this read."""
        yield self._open_transaction(lake) or lake.begin(self.retry)

    @contextmanager
    def writing(self, lake: Lake, action: str) -> Iterator[Transaction]:
        """The open transaction on the lake, or one that commits at the end of this change."""
        lake.check_writable(action)
        tx = self._open_transaction(lake)
        if tx is not None:
            self._check_single_writer(lake)
            with tx.statement():
                yield tx
            return
        tx = lake.begin(self.retry)
        try:
            yield tx
        except BaseException:
            tx.rollback()
            raise
        self._note(tx.commit())

    def _open_transaction(self, lake: Lake) -> Transaction | None:
        if self._transactions is None:
            return None
        key = lake.name.lower()
        if key not in self._transactions:
            self._transactions[key] = lake.begin(self.retry)
        return self._transactions[key]

    def _check_single_writer(self, lake: Lake) -> None:
        for name, tx in (self._transactions or {}).items():
            if tx.has_changes and name != lake.name.lower():
                raise TransactionError(
                    f'Cannot change "{lake.name}": this transaction has already changed '
                    f'"{name}", and one transaction can change one lake only.',
                    hint="commit first.",
                )

    def _note(self, snapshot: Any) -> None:
        if snapshot is not None:
            self.last_committed = snapshot.snapshot_id

    # --- names -----------------------------------------------------------------------------------

    def place(self, parts: Sequence[str]) -> tuple[Lake, str, str]:
        """Lake, schema and object that a name of one to three parts means."""
        match parts:
            case (name,):
                lake = self.current_lake()
                schema = self._current[1] if self._current else "main"
                return lake, schema, name
            case (first, name):
                return (*self.schema_place((first,)), name)
            case (lake_name, schema, name):
                return self.lake(lake_name), schema, name
            case _:
                raise InvalidInput(f"{'.'.join(parts)} has too many parts for a name.")

    def schema_place(self, parts: Sequence[str]) -> tuple[Lake, str]:
        """Lake and schema that one or two parts mean: a schema of the lake in use goes first."""
        if len(parts) == 2:
            return self.lake(parts[0]), parts[1]
        (name,) = parts
        if self._current is not None:
            lake = self.current_lake()
            with self.reading(lake) as tx:
                if tx.local.find_schema(name) is not None or name.lower() not in self.lakes:
                    return lake, name
        return self.lake(name), "main"

    def schema_entry(self, lake: Lake, tx: Transaction, name: str) -> SchemaEntry:
        """The schema as the transaction sees it, or an error that helps."""
        schema = tx.local.find_schema(name)
        if schema is None:
            known = [s.name for s in tx.local.schemas()]
            raise SchemaNotFound.named(name, where=f'lake "{lake.name}"', candidates=known)
        return schema

    def find_table(
        self, tx: Transaction, lake: Lake, schema: str, name: str
    ) -> tuple[SchemaEntry, TableEntry]:
        """The table as the transaction sees it, or an error that helps."""
        entry = self.schema_entry(lake, tx, schema)
        table = tx.local.find_table(entry.schema_id, name)
        if table is None:
            raise self.missing_table(tx, lake, entry, name)
        return entry, table

    @staticmethod
    def missing_table(
        tx: Transaction, lake: Lake, schema: SchemaEntry, name: str
    ) -> TableNotFound:
        """The error for a table that is not there."""
        known = [n for _, n in tx.local.table_names(schema.schema_id)]
        error = TableNotFound.named(
            name, where=f'schema "{lake.name}.{schema.name}"', candidates=known
        )
        return TableNotFound(error.message, hint=error.hint)

    # --- tables ----------------------------------------------------------------------------------

    def table_version(
        self,
        parts: Sequence[str],
        *,
        version: int | None = None,
        timestamp: dt.datetime | None = None,
    ) -> TableVersion:
        """A table now, or as an older snapshot had it."""
        lake, schema_name, name = self.place(parts)
        with self.reading(lake) as tx:
            if version is None and timestamp is None:
                _, table = self.find_table(tx, lake, schema_name, name)
                return TableVersion(lake, table, tx.snapshot, tx.local.base, tx.local)
            snapshot = lake.snapshot_at(version=version, timestamp=timestamp)
            state = lake.state_at(snapshot)
            table = _find_past_table(lake, state, schema_name, name, snapshot.snapshot_id)
            return TableVersion(lake, table, snapshot, state)

    def table(
        self,
        name: str,
        *,
        version: int | None = None,
        timestamp: dt.datetime | str | None = None,
        virtual_columns: Sequence[str] = (),
    ) -> DataFrame:
        """A table as a DataFrame, which stays at the snapshot it was made at.

        Args:
            name: ``table``, ``schema.table`` or ``lake.schema.table``; quote parts with dots.
            version: a snapshot's number, for time travel.
            timestamp: a moment, for time travel: the newest snapshot not younger than it.
            virtual_columns: such as ``["rowid"]``: columns to add that no SELECT * shows.
        """
        found = self.table_version(
            split_name(name), version=version, timestamp=_moment(timestamp)
        )
        return read_table(self.spark, found, virtual_columns=tuple(virtual_columns))

    def append(self, name: str, df: DataFrame) -> int:
        """Add the rows of a DataFrame to a table, columns matched by name. Returns how many."""
        from ducklake_spark.sql.defaults import default_columns

        lake, schema, table_name = self.place(split_name(name))
        with self.writing(lake, f'append to table "{table_name}"') as tx:
            _, table = self.find_table(tx, lake, schema, table_name)
            defaults = default_columns(table.schema)
            rows = align_by_name(df, table.schema, defaults, table=table.name)
            return append(lake, tx, table, rows)

    def snapshots(self, lake: str | None = None) -> DataFrame:
        """Every snapshot of a lake, by default of the one in use."""
        found = self.lake(lake) if lake else self.current_lake()
        return self.result(snapshots(found)).frame

    # --- SQL -------------------------------------------------------------------------------------

    def sql(
        self,
        text: str,
        *,
        params: Sequence[Any] | Mapping[str, Any] | None = None,
        dialect: Literal["duckdb", "spark"] = "duckdb",
    ) -> DataFrame | Result:
        """Run one or more statements; returns the last one's outcome.

        A query gives a lazy pyspark DataFrame. Other statements are done at once; their outcome
        is a `Result`, which behaves as a DataFrame too.
        """
        from ducklake_spark.sql.execute import execute

        return execute(self, text, params=params, dialect=dialect)

    def explain(self, text: str) -> str:
        """How a query would run: the files and bytes it reads of how many, and Spark's plan."""
        from ducklake_spark.sql.execute import explain

        return explain(self, text)

    def result(self, rows: RowSet) -> Result:
        """Rows of the driver as the outcome of a statement."""
        return Result(rows.columns, rows.rows, lambda: self.spark)

    # --- the end ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Roll back what is open and let go of all lakes. Ends only a session started here."""
        if self._closed:
            return
        if self._transactions is not None:
            self.rollback()
        for lake in self.lakes.values():
            lake.close()
        self.lakes.clear()
        self._closed = True
        if self._owns_spark and self._spark is not None:
            self._spark.stop()

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _find_past_table(
    lake: Lake, state: CatalogState, schema_name: str, name: str, snapshot_id: int
) -> TableEntry:
    schema = state.find_schema(schema_name)
    where = f'lake "{lake.name}" at snapshot {snapshot_id}'
    if schema is None:
        known = [s.name for s in state.schemas.values()]
        raise SchemaNotFound.named(schema_name, where=where, candidates=known)
    table = state.find_table(schema.schema_id, name)
    if table is None:
        known = [t.name for t in state.tables.values() if t.schema_id == schema.schema_id]
        raise TableNotFound.named(name, where=where, candidates=known)
    return table


def split_name(name: str) -> tuple[str, ...]:
    """Parts of a dotted name; a part in double quotes may hold dots.

    >>> split_name('shop."odd.name"')
    ('shop', 'odd.name')
    """
    parts, current, quoted = [], "", False
    for char in name:
        if char == '"':
            quoted = not quoted
        elif char == "." and not quoted:
            parts.append(current)
            current = ""
        else:
            current += char
    return (*parts, current)


def _moment(value: dt.datetime | str | None) -> dt.datetime | None:
    if isinstance(value, str):
        from ducklake_spark.model.literals import parse_text
        from ducklake_spark.model.types import ScalarType

        moment: dt.datetime = parse_text(value, ScalarType("timestamptz"))
        return moment
    return value
