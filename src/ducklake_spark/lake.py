"""An attached lake: its metadata database, its data path, and the snapshots that it shows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Final

from ducklake_spark.caching import Cache, declare
from ducklake_spark.catalog.remembered import Remembered
from ducklake_spark.catalog.settings import (
    DEFAULT_INLINING_ROW_LIMIT,
    Settings,
    load_settings,
)
from ducklake_spark.catalog.snapshots import (
    load_latest_after,
    load_latest_snapshot,
    load_snapshot_at_time,
    load_snapshot_at_version,
    load_snapshot_since,
    load_snapshots_since,
)
from ducklake_spark.catalog.state import CatalogState, load_state
from ducklake_spark.catalog_db.connection import Database
from ducklake_spark.commit.base import BaseMemory, load_start
from ducklake_spark.commit.options import OptionPlace
from ducklake_spark.commit.retry import RetryPolicy
from ducklake_spark.commit.transaction import Transaction
from ducklake_spark.errors import (
    CatalogLocked,
    CatalogUnreachable,
    DataFileError,
    ReadOnlyLake,
)
from ducklake_spark.limits import limits
from ducklake_spark.model.entities import SchemaEntry, Snapshot, SortKey, TableEntry
from ducklake_spark.model.paths import join, resolve
from ducklake_spark.parquet.delete_files import restamp
from ducklake_spark.parquet.storage import remove_file

_STATES: Final = declare(
    "states",
    key="the schema version of a snapshot",
    depends_on="the schemas, tables, views, macros and comments of that version: every change of "
    "them raises it",
    seen_by="lake",
    emptied="when the newest snapshot seen is gone or another, as after a restore",
    entries=lambda: limits().remembered_states,
)
_NEWEST: Final = declare(
    "newest snapshot",
    key="none",
    depends_on="nothing: it is where the search for the newest begins, and compared with its row",
    seen_by="lake",
    emptied="by each look",
    entries=1,
)

SortText = Callable[[TableEntry, SortKey], str | None]
"""The Spark SQL of a sort key over the names of the table's columns; None when it lacks one."""


def remove_files(paths: Iterable[str]) -> None:
    """Remove files that no snapshot knows. What cannot be removed now is an orphan, not a loss."""
    for path in paths:
        with suppress(DataFileError):
            remove_file(path)


@dataclass
class Lake:
    """One lake of one connection.

    What it has learnt of the catalog is kept as long as the newest snapshot that it has seen is
    there unchanged. When that is gone, it may have expired; or the catalog was restored, or made
    anew, and what the same numbers mean now is another history.
    """

    name: str
    db: Database
    data_path: str  # as the catalog stores it
    read_only: bool = False
    pinned: Snapshot | None = None  # attached at a past snapshot
    inlining_row_limit: int | None = None  # given at ATTACH: for this session only
    default_inlining_row_limit: int = DEFAULT_INLINING_ROW_LIMIT
    pending: dict[OptionPlace, str] = field(default_factory=dict)  # of the open transaction
    sort_text: SortText | None = None  # how sort keys are told to Spark
    target_file_size: int | None = None  # of the session: it wins over the stored option
    is_new: bool = False  # made by the ATTACH of this connection
    metadata_catalog: str | None = None  # the name for the catalog's own tables, if one was given
    contents: Remembered = field(default_factory=Remembered)
    _states: Cache[int, CatalogState] = field(default_factory=_STATES.make)
    _memory: BaseMemory = field(default_factory=BaseMemory)
    _seen: Cache[None, Snapshot] = field(default_factory=_NEWEST.make)
    _held_settings: Settings | None = None  # read by the transaction that holds the database

    def latest(self) -> Snapshot:
        """The snapshot that a new transaction sees."""
        if self.pinned is not None:
            return self.pinned
        known = self._seen.get(None)
        if known is not None and len(self.contents.many):
            return self._load_logged(known)
        newest, follows = load_latest_after(self.db, known)
        self._see(newest, follows=follows)
        return newest

    def _load_logged(self, known: Snapshot) -> Snapshot:
        """The newest snapshot, and by the same statement what was changed since the last look."""
        last = max(self.contents.log, default=known.snapshot_id)
        if known.snapshot_id - last > limits().logged_snapshots:
            last = known.snapshot_id
        records = load_snapshots_since(self.db, last)
        newest = records[-1].snapshot if records else load_latest_snapshot(self.db)
        self._see(newest, follows=any(each.snapshot == known for each in records))
        self.contents.note(records)
        return newest

    def _see(self, newest: Snapshot, *, follows: bool) -> None:
        """Note the newest snapshot; what is kept is forgotten if it does not follow the last."""
        if not follows:
            self._states.clear()
            self.contents.clear()
            self._memory.forget()
        self._seen.put(None, newest)

    def snapshot_at(
        self, *, version: int | None = None, timestamp: dt.datetime | None = None
    ) -> Snapshot:
        """The snapshot that time travel asks for."""
        if version is not None:
            found = load_snapshot_at_version(self.db, version)
        elif timestamp is not None:
            found = load_snapshot_at_time(self.db, timestamp)
        else:
            return self.latest()
        known = self._states.get(found.schema_version)
        if known is None or known.snapshot != found:
            self.latest()  # is the history the one that states are kept of?
        return found

    def snapshot_since(self, moment: dt.datetime) -> Snapshot:
        """The first snapshot that is not older than a moment."""
        return load_snapshot_since(self.db, moment)

    def state_at(self, snapshot: Snapshot) -> CatalogState:
        """The objects that a snapshot shows."""
        version = snapshot.schema_version
        return self._states.find(version, lambda: load_state(self.db, snapshot))

    def begin(
        self, retry: RetryPolicy, *, hold: bool = False, since: Snapshot | None = None
    ) -> Transaction:
        """Start a transaction on what the lake shows now, or showed at the snapshot of `since`.

        With `hold` it is begun inside the transaction of the metadata database that will commit
        it, which saves reading the same things twice; see `Transaction.hold`.
        """
        if hold:
            # Locked, it waits for its turn when it commits; lost while idle, it is opened again.
            with suppress(CatalogLocked, CatalogUnreachable):
                return self._begin_held(retry)
        return self._begin_at(since or self.latest(), retry)

    def _begin_held(self, retry: RetryPolicy) -> Transaction:
        with ExitStack() as scope:
            scope.enter_context(self.db.transaction())
            newest, base = load_start(self.db, self._seen.get(None), self._memory)
            self._see(newest.snapshot, follows=newest.follows)
            self._held_settings = newest.settings
            scope.callback(self._forget_settings)
            tx = self._begin_at(newest.snapshot, retry)
            tx.hold(newest, scope.pop_all(), base)
            return tx

    def _begin_at(self, snapshot: Snapshot, retry: RetryPolicy) -> Transaction:
        return Transaction(
            self.db,
            self.state_at(snapshot),
            snapshot=snapshot,
            retry=retry,
            remove_files=remove_files,
            remember=self._remember,
            memory=self._memory,
            restamp=restamp,
        )

    def _forget_settings(self) -> None:
        self._held_settings = None

    def _remember(self, state: CatalogState) -> None:
        """Keep the state that a commit of ours has made: it need not be loaded."""
        self._states.put(state.snapshot.schema_version, state)

    def settings(self) -> Settings:
        """The stored options as they are now, and those that the open transaction has set."""
        stored = self._held_settings or load_settings(self.db)
        return Settings({**stored.values, **self.pending}) if self.pending else stored

    def effective_inlining_limit(self, schema_id: int, table_id: int | None = None) -> int:
        """How many rows of an insert may go to the metadata database."""
        stored = self.settings().get(
            "data_inlining_row_limit", schema_id=schema_id, table_id=table_id
        )
        if stored is not None:
            return int(stored)
        if self.inlining_row_limit is not None:
            return self.inlining_row_limit
        return self.default_inlining_row_limit

    def check_writable(self, action: str) -> None:
        """Refuse a change of a lake that was attached for reading."""
        if self.pinned is not None:
            raise ReadOnlyLake(
                f'Cannot {action}: the lake "{self.name}" is attached at snapshot '
                f"{self.pinned.snapshot_id} and so read-only.",
                hint="attach it without SNAPSHOT_VERSION and SNAPSHOT_TIME.",
            )
        if self.read_only:
            raise ReadOnlyLake(
                f'Cannot {action}: the lake "{self.name}" is attached read-only.',
                hint="attach it without READ_ONLY.",
            )

    def table_directory(self, schema: SchemaEntry, table: TableEntry) -> str:
        """Where the table's files are: an absolute path or a URL, with a trailing slash."""
        below = join(resolve(self.data_path), schema.path, relative=schema.path_is_relative)
        return join(below, table.path, relative=table.path_is_relative)

    def close(self) -> None:
        """Let go of the metadata database."""
        self.db.close()
