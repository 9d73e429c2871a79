"""An attached lake: its metadata database, its data path, and the snapshots that it shows."""

from __future__ import annotations

import datetime as dt
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any

from ducklake_spark.catalog.settings import (
    DEFAULT_INLINING_ROW_LIMIT,
    Settings,
    load_settings,
)
from ducklake_spark.catalog.snapshots import (
    SnapshotRecord,
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
from ducklake_spark.model.entities import SchemaEntry, Snapshot, SortKey, TableEntry
from ducklake_spark.model.paths import join, resolve
from ducklake_spark.parquet.delete_files import restamp
from ducklake_spark.parquet.storage import remove_file

_CACHED_STATES = 16
_CACHED_TABLES = 64
_LOGGED_SNAPSHOTS = 200

SortText = Callable[[TableEntry, SortKey], str | None]
"""The Spark SQL of a sort key over the names of the table's columns; None when it lacks one."""


def remove_files(paths: Iterable[str]) -> None:
    """Remove files that no snapshot knows. What cannot be removed now is an orphan, not a loss."""
    for path in paths:
        with suppress(DataFileError):
            remove_file(path)


@dataclass
class Remembered:
    """What tables consisted of at the newest snapshot, for as long as it is the newest.

    Attributes:
        many: tables that had too many files to list; a guess that saves asking twice.
        bounds: of files of large tables, by table and column; see `operations.file_bounds`.
        changed: large tables that had been changed when they were last asked for.
        log: what the latest snapshots have changed, by id; kept while there are large tables.
    """

    many: set[int] = field(default_factory=set)
    bounds: OrderedDict[tuple[int, int], Any] = field(default_factory=OrderedDict)
    changed: set[int] = field(default_factory=set)
    log: dict[int, SnapshotRecord] = field(default_factory=dict)
    _tables: OrderedDict[int, tuple[TableEntry, Snapshot, object]] = field(
        default_factory=OrderedDict
    )

    def find(self, table: TableEntry, snapshot: Snapshot) -> object | None:
        """What was kept for the very same table at the very same snapshot."""
        known, at, contents = self._tables.get(table.table_id, (None, None, None))
        return contents if known is table and at == snapshot else None

    def note(self, records: Sequence[SnapshotRecord]) -> None:
        """Add to the log what was loaded from its last snapshot on, or from a later one."""
        last = max(self.log, default=None)
        if last is not None and self.log[last] not in records[:1]:
            self.log.clear()  # there is a gap
        self.log.update((each.snapshot.snapshot_id, each) for each in records)
        for snapshot_id in sorted(self.log)[:-_LOGGED_SNAPSHOTS]:
            del self.log[snapshot_id]

    def find_older(self, table: TableEntry) -> tuple[Snapshot | None, object]:
        """The snapshot at which something was kept for the same table, and what."""
        known, at, contents = self._tables.get(table.table_id, (None, None, None))
        return (at, contents) if known == table else (None, None)

    def keep(self, table: TableEntry, snapshot: Snapshot, contents: object) -> None:
        """Keep it until another snapshot's is kept, or that of many other tables."""
        self._tables[table.table_id] = (table, snapshot, contents)
        self._tables.move_to_end(table.table_id)
        if len(self._tables) > _CACHED_TABLES:
            self._tables.popitem(last=False)


@dataclass
class Lake:
    """One lake of one connection. States are cached by schema version: they never grow stale."""

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
    metadata_catalog: str | None = None  # the name for the catalog's own tables, if one was given
    contents: Remembered = field(default_factory=Remembered)
    _states: OrderedDict[int, CatalogState] = field(default_factory=OrderedDict)
    _memory: BaseMemory = field(default_factory=BaseMemory)
    _newest: Snapshot | None = None  # when it was last asked for
    _held_settings: Settings | None = None  # read by the transaction that holds the database

    def latest(self) -> Snapshot:
        """The snapshot that a new transaction sees."""
        if self.pinned is not None:
            return self.pinned
        if self.contents.many and self._newest is not None:
            self._newest = self._load_logged(self._newest)
        else:
            self._newest = load_latest_snapshot(self.db, self._newest)
        return self._newest

    def _load_logged(self, known: Snapshot) -> Snapshot:
        """The newest snapshot, and by the same statement what was changed since the last look."""
        last = max(self.contents.log, default=known.snapshot_id)
        if known.snapshot_id - last > _LOGGED_SNAPSHOTS:
            last = known.snapshot_id
        records = load_snapshots_since(self.db, last)
        self.contents.note(records)
        return records[-1].snapshot if records else load_latest_snapshot(self.db)

    def snapshot_at(
        self, *, version: int | None = None, timestamp: dt.datetime | None = None
    ) -> Snapshot:
        """The snapshot that time travel asks for."""
        if version is not None:
            return load_snapshot_at_version(self.db, version)
        if timestamp is not None:
            return load_snapshot_at_time(self.db, timestamp)
        return self.latest()

    def snapshot_since(self, moment: dt.datetime) -> Snapshot:
        """The first snapshot that is not older than a moment."""
        return load_snapshot_since(self.db, moment)

    def state_at(self, snapshot: Snapshot) -> CatalogState:
        """The objects that a snapshot shows."""
        version = snapshot.schema_version
        if version not in self._states:
            self._remember(load_state(self.db, snapshot))
        self._states.move_to_end(version)
        return self._states[version]

    def begin(self, retry: RetryPolicy, *, hold: bool = False) -> Transaction:
        """Start a transaction on what the lake shows now.

        With `hold` it is begun inside the transaction of the metadata database that will commit
        it, which saves reading the same things twice; see `Transaction.hold`.
        """
        if hold:
            # Locked, it waits for its turn when it commits; lost while idle, it is opened again.
            with suppress(CatalogLocked, CatalogUnreachable):
                return self._begin_held(retry)
        return self._begin_at(self.latest(), retry)

    def _begin_held(self, retry: RetryPolicy) -> Transaction:
        with ExitStack() as scope:
            scope.enter_context(self.db.transaction())
            newest, base = load_start(self.db, self._newest, self._memory)
            self._newest, self._held_settings = newest.snapshot, newest.settings
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
        self._states[state.snapshot.schema_version] = state
        if len(self._states) > _CACHED_STATES:
            self._states.popitem(last=False)

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
