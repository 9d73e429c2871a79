"""What a connection is made of inside: attached lakes, transactions, and the meaning of names."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ducklake_spark.binder.mirror import MIRRORS
from ducklake_spark.catalog.state import CatalogState
from ducklake_spark.catalog_db.query_log import QueryLog
from ducklake_spark.commit.retry import RetryPolicy
from ducklake_spark.commit.transaction import CommitMessage, Transaction
from ducklake_spark.duckdb_file import DuckDBFile
from ducklake_spark.errors import (
    AlreadyExists,
    InvalidInput,
    InvalidValue,
    LakeNotFound,
    NotFound,
    NotNullViolation,
    NotSupported,
    ReadOnlyLake,
    SchemaNotFound,
    TableNotFound,
    TransactionError,
    attempting,
)
from ducklake_spark.lake import Lake
from ducklake_spark.model.entities import SchemaEntry, Snapshot, TableEntry
from ducklake_spark.model.moments import Zone
from ducklake_spark.operations.attach import default_name, open_lake, parse_attach_options
from ducklake_spark.operations.contents import TableVersion
from ducklake_spark.operations.metadata import metadata_name
from ducklake_spark.turns import TakesTurns


class Session(TakesTurns):
    """Lakes by name, the one in use, and at most one open transaction, of one thread."""

    def __init__(self) -> None:
        super().__init__()
        self.lakes: dict[str, Lake] = {}
        self.current: tuple[str, str] | None = None  # lake and schema in use
        self.variables: dict[str, Any] = {}
        self.settings: dict[str, Any] = {}  # what SET has set
        self.prepared: dict[str, Any] = {}  # statements of PREPARE
        self.secrets: dict[str, Any] = {}  # what CREATE SECRET has made
        self.temporary: dict[str, str] = {}  # tables of CREATE TEMP TABLE, by name in lower case
        self.sources: dict[str, DuckDBFile] = {}  # attached DuckDB databases, to be read only
        self.mirrors = MIRRORS.make()  # on which DuckDB binds queries, by settings
        self.retry = RetryPolicy()
        self.log = QueryLog()  # shared with the cursors
        self._attached: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self._transactions: dict[str, Transaction] | None = None  # while BEGIN is in force
        self._owner: threading.Thread | None = None  # which began the open transaction
        self.is_shared = False  # whether a transaction is of all threads: Spark asks in its own
        self._message: CommitMessage | None = None  # for the open transaction
        self._aborted = False  # a statement of the open transaction failed while it ran
        self._alone: dict[str, Transaction] = {}  # of a change that commits by itself
        self._read: dict[str, Transaction] | None = None  # of the query that is being planned
        self._committed: dict[str, int] = {}  # lake -> the last snapshot that we made

    def time_zone(self) -> Zone:
        """The zone of times that are given without one; None for the machine's."""
        return None

    # --- lakes -----------------------------------------------------------------------------------

    def attach(
        self, uri: str, alias: str | None = None, *, or_replace: bool = False, **options: Any
    ) -> str:
        """Attach a lake under a name; returns the name."""
        name = alias or default_name(uri)
        if name.lower() in self.lakes and not or_replace:
            raise AlreadyExists(
                f'Lake with name "{name}" already exists in this connection.',
                hint="choose another name with AS, or DETACH it first.",
            )
        if name.lower() in self.lakes:
            self._check_not_in_use(name)
        parsed = parse_attach_options(options, self.time_zone)
        if parsed.snapshot_time is not None:  # the same one for cursors, whatever the zone is then
            rest = {k: value for k, value in options.items() if k.lower() != "snapshot_time"}
            options = {**rest, "snapshot_time": parsed.snapshot_time}
        self._check_metadata_catalog(name, parsed.metadata_catalog)
        lake = open_lake(uri, name, parsed, log=self.log)
        in_use = self.current is not None and self.current[0].lower() == name.lower()
        if name.lower() in self.lakes:  # it goes only now that there is another in its place
            self.detach(name)
        self.lakes[name.lower()] = lake
        if in_use:
            self.current = (name, "main")
        self._attached[name.lower()] = (uri, options)
        return name

    def _check_metadata_catalog(self, name: str, metadata_catalog: str | None) -> None:
        """Refuse a name for the catalog's own tables that is a lake's."""
        taken = {name.lower(), *self.lakes}
        if metadata_catalog is not None and metadata_catalog.lower() in taken:
            raise AlreadyExists(
                f'Cannot attach "{name}" with METADATA_CATALOG "{metadata_catalog}": a lake has '
                "that name.",
                hint="choose another name for the catalog's own tables.",
            )

    def attach_all_of(self, other: Session) -> None:
        """Attach what another session has attached, with connections of our own."""
        self.log = other.log
        lakes = dict(other.lakes)  # copies: other threads may go on with it
        for name, (uri, options) in dict(other._attached).items():
            if name in lakes:
                self.attach(uri, lakes[name].name, **options)
                default = lakes[name].default_inlining_row_limit
                self.lakes[name].default_inlining_row_limit = default
                self.lakes[name].is_new = lakes[name].is_new
        self.is_shared = other.is_shared
        self.current, self.retry = other.current, other.retry
        self.settings, self.secrets = dict(other.settings), other.secrets

    def detach(self, name: str) -> None:
        """Let go of a lake."""
        lake = self.lake(name)
        key = lake.name.lower()
        self._check_not_in_use(name)
        del self.lakes[key], self._attached[key]
        self._committed.pop(key, None)
        if self.current and self.current[0] == lake.name:
            self.current = None
        lake.close()

    def _check_not_in_use(self, name: str) -> None:
        if self._transactions and name.lower() in self._transactions:
            raise TransactionError(
                f'Cannot detach "{name}": it is part of the open transaction.',
                hint="COMMIT or ROLLBACK first.",
            )

    def lake(self, name: str) -> Lake:
        """The attached lake of that name."""
        found = self.lakes.get(name.lower())
        if found is None:
            self._refuse_metadata(name)
            names = [lake.name for lake in self.lakes.values()]
            raise LakeNotFound.named(name, where="this connection", candidates=names)
        return found

    def owner_of_metadata(self, name: str) -> Lake | None:
        """The lake whose catalog's own tables are read under that name."""
        lowered = name.lower()
        lakes = self.lakes.values()
        return next((lake for lake in lakes if metadata_name(lake).lower() == lowered), None)

    def _refuse_metadata(self, name: str) -> None:
        owner = self.owner_of_metadata(name)
        if owner is not None:
            raise ReadOnlyLake(
                f'"{name}" is the catalog of the lake "{owner.name}" itself: it is read-only, and '
                "cannot be used or detached.",
                hint=f"read it with SELECT … FROM {name}.ducklake_snapshot, or use the lake.",
            )

    def current_lake(self) -> Lake:
        """The lake in use."""
        if self.current is None:
            raise InvalidInput(
                "No lake is in use.", hint="attach one and USE it, or write lake.schema.table."
            )
        return self.lake(self.current[0])

    def use_none(self) -> None:
        """USE memory: no lake is in use afterwards, so bare names are those of Spark."""
        self.current = None

    def use(self, lake: str, schema: str | None = None) -> None:
        """Make a lake, and one of its schemas, the place where bare names are looked up."""
        found = self.lake(lake)
        with self.reading(found) as tx:
            entry = self.schema_entry(found, tx, schema or "main")
        self.current = (found.name, entry.name)

    def close_lakes(self) -> None:
        """Roll back what is open and let go of everything."""
        if self._transactions is not None:
            self._roll_back()
        for lake in self.lakes.values():
            lake.close()
        self.lakes.clear()
        for source in self.sources.values():
            source.close()
        self.sources.clear()

    # --- transactions ----------------------------------------------------------------------------

    @property
    def in_transaction(self) -> bool:
        """Whether BEGIN is in force."""
        return self._transactions is not None

    def begin(self) -> None:
        """BEGIN: the statements that follow see one snapshot and their own changes."""
        if self._transactions is not None:
            self._check_owner("begin a transaction")
            self._aborted = True
            raise TransactionError("Cannot start a transaction within a transaction.")
        self._transactions, self._message, self._aborted = {}, None, False
        self._owner = None if self.is_shared else threading.current_thread()

    def commit(self) -> None:
        """COMMIT: make the changes visible to all, as one snapshot.

        The transaction is over also when this fails; then nothing of it was done. Where DuckDB
        takes COMMIT after a failed statement for ROLLBACK without a word, this is an error.
        """
        if self._transactions is None:
            raise TransactionError("Cannot commit: no transaction is active.")
        self._check_owner("commit")
        if self._aborted:
            self._roll_back()
            raise TransactionError(
                "Cannot commit: a statement of the transaction failed, so all of it has been "
                "rolled back.",
                hint="begin a new transaction and do the work again.",
            )
        transactions, self._transactions = self._transactions, None
        for name, tx in transactions.items():
            tx.message = self._message
            self._note(name, tx.commit())

    def rollback(self) -> None:
        """ROLLBACK: forget the changes; files written for them are removed."""
        if self._transactions is None:
            raise TransactionError("Cannot roll back: no transaction is active.")
        if self._owner is not None and self._owner.is_alive():
            self._check_owner("roll back")
        self._roll_back()

    def _roll_back(self) -> None:
        transactions, self._transactions = self._transactions or {}, None
        self._aborted = False
        for tx in transactions.values():
            tx.rollback()

    def _check_owner(self, action: str) -> None:
        """Refuse another thread: it would not know what it becomes a part of, or ends."""
        owner = self._owner
        if owner is None or owner is threading.current_thread():
            return
        if not owner.is_alive():
            raise TransactionError(
                f"Cannot {action}: a transaction is open that another thread began, which has "
                "ended since.",
                hint="ROLLBACK, and do the work again.",
            )
        raise TransactionError(
            f"Cannot {action}: a transaction is open on this connection that another thread "
            f'("{owner.name}") began.',
            hint="con.cursor() gives each thread a connection with a transaction of its own.",
        )

    def abort(self) -> None:
        """Let the open transaction end in ROLLBACK: a part of it failed outside of our hands."""
        self._aborted = self._transactions is not None

    def set_commit_message(
        self, author: str | None, message: str | None, extra_info: str | None = None
    ) -> None:
        """Say who makes the snapshot of the open transaction, and why."""
        if self._transactions is None:
            raise TransactionError(
                "Cannot set a commit message: no transaction is active.",
                hint="BEGIN first, or use con.transaction(author=…, message=…).",
            )
        self._check_owner("set a commit message")
        self._message = CommitMessage(author, message, extra_info)

    def last_committed_snapshot(self, lake: str | None = None) -> int | None:
        """The last snapshot that this connection made in a lake, by default in the one in use."""
        found = self.lake(lake) if lake else self.current_lake()
        return self._committed.get(found.name.lower())

    @contextmanager
    def reading(self, lake: Lake) -> Iterator[Transaction]:
        """The open transaction on the lake, or one just for this query or this read."""
        key = lake.name.lower()
        with self.turn:
            self.check_open()
            tx = self._open_transaction(lake) or self._alone.get(key) or (self._read or {}).get(key)
            if tx is None:
                tx = lake.begin(self.retry)
                if self._read is not None:
                    self._read[key] = tx
            yield tx

    @contextmanager
    def one_snapshot(self) -> Iterator[None]:
        """All that is read inside is of one snapshot of each lake, whatever others commit."""
        with self.turn:
            outer = self._read
            self._read = {} if outer is None else outer
            try:
                yield
            finally:
                self._read = outer

    @contextmanager
    def writing(
        self, lake: Lake, action: str, *, hold: bool = False, since: Snapshot | None = None
    ) -> Iterator[Transaction]:
        """The open transaction on the lake, or one that commits at the end of this change.

        The latter starts at the newest snapshot, or at that of `since`, which was read already.

        With `hold` the latter keeps others from the metadata database meanwhile, until it lets go.

        As in DuckDB, a statement that is refused before it runs leaves an open transaction as it
        was; one that fails while it runs ends it.
        """
        with self.turn:
            self.check_open()
            lake.check_writable(action)
            tx = self._open_transaction(lake)
            if tx is None:
                with self._writing_alone(lake, hold=hold, since=since) as tx, attempting(action):
                    yield tx
                return
            try:
                self._check_single_writer(lake)
                with tx.statement(), attempting(action):
                    yield tx
            except BaseException as error:
                self._aborted = _ends_transaction(error)
                raise

    @contextmanager
    def _writing_alone(
        self, lake: Lake, *, hold: bool, since: Snapshot | None
    ) -> Iterator[Transaction]:
        tx = lake.begin(self.retry, hold=hold, since=since)
        outer, self._alone = self._alone, {lake.name.lower(): tx}  # what it reads is of one state
        try:
            yield tx
        except BaseException:
            tx.rollback()
            raise
        finally:
            self._alone = outer
        self._note(lake.name.lower(), tx.commit())

    def _open_transaction(self, lake: Lake) -> Transaction | None:
        if self._transactions is None:
            return None
        self._check_owner(f'use the lake "{lake.name}"')
        if self._aborted:
            raise TransactionError(
                "Current transaction is aborted (please ROLLBACK).",
                hint="a statement of it failed; nothing of it can be committed.",
            )
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

    def _note(self, lake: str, snapshot: Snapshot | None) -> None:
        if snapshot is not None:
            self._committed[lake] = snapshot.snapshot_id

    # --- names -----------------------------------------------------------------------------------

    def place(
        self, parts: Sequence[str], home: tuple[Lake, str] | None = None
    ) -> tuple[Lake, str, str]:
        """Lake, schema and object that a name of one to three parts means.

        `home` is where a bare name is looked up when it does not stand in the user's own query.
        """
        match parts:
            case (name,):
                lake, schema = home or (self.current_lake(), self.current_schema())
                return lake, schema, name
            case (first, name):
                return (*self.schema_place((first,), home), name)
            case (lake_name, schema, name):
                return self.lake(lake_name), schema, name
            case _:
                raise InvalidInput(f"{'.'.join(parts)} has too many parts for a name.")

    def current_schema(self) -> str:
        """The schema in use."""
        return self.current[1] if self.current else "main"

    def schema_place(
        self, parts: Sequence[str], home: tuple[Lake, str] | None = None
    ) -> tuple[Lake, str]:
        """Lake and schema that one or two parts mean: a schema of the lake in use goes first."""
        if len(parts) == 2:
            return self.lake(parts[0]), parts[1]
        (name,) = parts
        if home is not None or self.current is not None:
            lake = home[0] if home else self.current_lake()
            with self.reading(lake) as tx:
                if tx.local.find_schema(name) is not None:
                    return lake, name
            if name.lower() not in self.lakes:
                self._refuse_metadata(name)
                return lake, name
        return self.lake(name), "main"

    @staticmethod
    def schema_entry(lake: Lake, tx: Transaction, name: str) -> SchemaEntry:
        """The schema as the transaction sees it, or an error that helps."""
        schema = tx.local.find_schema(name)
        if schema is None:
            known = [s.name for s in tx.local.schemas()]
            missing = SchemaNotFound.named(name, where=f'lake "{lake.name}"', candidates=known)
            raise SchemaNotFound(missing.message, hint=_new_lake(lake, tx) or missing.hint)
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
    def missing_table(tx: Transaction, lake: Lake, schema: SchemaEntry, name: str) -> TableNotFound:
        """The error for a table that is not there."""
        known = [n for _, n in tx.local.table_names(schema.schema_id)]
        where = f'schema "{lake.name}.{schema.name}"'
        missing = TableNotFound.named(name, where=where, candidates=known)
        return TableNotFound(missing.message, hint=_new_lake(lake, tx) or missing.hint)

    def table_version(
        self,
        parts: Sequence[str],
        *,
        version: int | None = None,
        timestamp: dt.datetime | None = None,
    ) -> TableVersion:
        """A table now, or as an older snapshot had it."""
        lake, schema_name, name = self.place(parts)
        if version is None and timestamp is None:
            with self.reading(lake) as tx:
                _, table = self.find_table(tx, lake, schema_name, name)
                newest = self._transactions is None and lake.pinned is None
                return TableVersion(
                    lake, table, tx.snapshot, tx.local.base, tx.local, is_newest=newest
                )
        snapshot = lake.snapshot_at(version=version, timestamp=timestamp)
        state = lake.state_at(snapshot)
        table = _find_past_table(lake, state, schema_name, name, snapshot.snapshot_id)
        return TableVersion(lake, table, snapshot, state)


def _new_lake(lake: Lake, tx: Transaction) -> str | None:
    """The hint where a path may be misspelt: then ATTACH has made a lake that nobody meant."""
    if not lake.is_new or tx.snapshot.snapshot_id > 0 or tx.has_changes:
        return None
    return (
        f"this is a new, empty lake at {lake.db.url}, made by this connection; check its path, "
        "or attach with CREATE_IF_NOT_EXISTS false."
    )


# Raised before a statement runs, as DuckDB's parser, binder and catalog errors are.
_REFUSALS = (AlreadyExists, InvalidInput, NotFound, NotSupported, ReadOnlyLake)


def _ends_transaction(error: BaseException) -> bool:
    return isinstance(error, InvalidValue | NotNullViolation) or not isinstance(error, _REFUSALS)


def _find_past_table(
    lake: Lake, state: CatalogState, schema_name: str, name: str, snapshot_id: int
) -> TableEntry:
    schema = state.find_schema(schema_name)
    where = f'at version {snapshot_id} of lake "{lake.name}"'
    if schema is None:
        known = [s.name for s in state.schemas.values()]
        raise SchemaNotFound.named(schema_name, where=where, candidates=known)
    table = state.find_table(schema.schema_id, name)
    if table is None:
        known = [t.name for t in state.tables.values() if t.schema_id == schema.schema_id]
        raise TableNotFound.named(name, where=where, candidates=known)
    return table
