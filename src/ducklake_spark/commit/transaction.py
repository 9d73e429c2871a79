"""A transaction: what it sees, what it intends, and the one commit that makes it true."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, fields, replace

from ducklake_spark.catalog.newest import Newest
from ducklake_spark.catalog.state import CatalogState
from ducklake_spark.catalog_db.connection import (
    CommitUncertain,
    Database,
    SnapshotTaken,
    Statement,
)
from ducklake_spark.catalog_db.tables import TABLES
from ducklake_spark.commit.apply import apply_changes
from ducklake_spark.commit.base import BaseMemory, CommitBase, load_base
from ducklake_spark.commit.change_log import format_changes
from ducklake_spark.commit.conflicts import check_conflicts
from ducklake_spark.commit.local import LocalState
from ducklake_spark.commit.next_state import next_state
from ducklake_spark.commit.options import OptionPlace, write_options
from ducklake_spark.commit.retry import RetryPolicy
from ducklake_spark.commit.rows import CommitRows
from ducklake_spark.commit.summary import intent_of, log_changes
from ducklake_spark.errors import (
    CatalogError,
    CatalogLocked,
    CatalogUnreachable,
    CommitRetriesExceeded,
    InvalidInput,
    TransactionError,
)
from ducklake_spark.model.changes import (
    AppendFiles,
    Change,
    DeleteFromFiles,
    FileDeletes,
    InlineDeletes,
    InlineRows,
    written_paths,
)
from ducklake_spark.model.compaction import FlushDeletes, FlushRows, MergeFiles, RewriteFiles
from ducklake_spark.model.entities import Snapshot
from ducklake_spark.model.written import WrittenDeletes

Restamp = Callable[[WrittenDeletes, int], WrittenDeletes]

_SNAPSHOT = tuple(field.name for field in fields(Snapshot))


@dataclass(frozen=True, slots=True)
class CommitMessage:
    """What the author says about a commit."""

    author: str | None = None
    message: str | None = None
    extra_info: str | None = None


@dataclass(frozen=True)
class _Held:
    """A transaction of the metadata database that is open already, and what was read in it."""

    newest: Newest
    scope: ExitStack
    base: CommitBase | None = None


class _LetGo(Exception):
    """Ends a held transaction of the metadata database without a commit."""


class Transaction:
    """Pins a snapshot, stages changes, and commits them as the next snapshot or not at all."""

    def __init__(
        self,
        db: Database,
        state: CatalogState,
        *,
        snapshot: Snapshot,
        retry: RetryPolicy,
        remove_files: Callable[[Iterable[str]], None],
        restamp: Restamp,
        remember: Callable[[CatalogState], None] = lambda _: None,
        memory: BaseMemory | None = None,
    ) -> None:
        self.db = db
        self.snapshot = snapshot
        self.local = LocalState(state)
        self.message: CommitMessage | None = None
        self.options: dict[OptionPlace, str] = {}  # set by this transaction
        self._retry = retry
        self._remove_files = remove_files
        self._remember = remember
        self._memory = memory or BaseMemory()
        self._next_base: CommitBase | None = None
        self._overtaken = False  # whether others have committed since this transaction began
        self._restamp = restamp
        self._held: _Held | None = None
        self._written: list[str] = []
        self._is_sent = False  # whether all of the latest attempt was sent, and may be committed
        self._doubtful: list[Snapshot] = []  # of attempts whose outcome is not known

    @property
    def has_changes(self) -> bool:
        """Whether a commit would make a snapshot."""
        return bool(self.local.changes)

    def stage(self, change: Change) -> None:
        """Intend a change: visible to this transaction at once, to others after the commit."""
        self._written += written_paths(change)
        self.local.stage(change)

    def delete_own(
        self, table_id: int, files: Mapping[int, WrittenDeletes | None], rows: AbstractSet[int]
    ) -> None:
        """Delete rows that this transaction has added itself.

        Args:
            table_id: whose.
            files: the delete file of each file, by its place among `local.local_files`; None for
                a file of which no row is left.
            rows: places among `local.local_rows`.
        """
        self._written += [written.path for written in files.values() if written is not None]
        self.local.delete_own(table_id, files, rows)

    def hold(self, newest: Newest, scope: ExitStack, base: CommitBase | None = None) -> None:
        """Take over the transaction of the metadata database in which this one was begun.

        The first attempt to commit is made in it. Others wait or fail meanwhile, so it must not
        take long, and start no Spark, which may ask the database from another thread.

        Args:
            newest: what was read in it.
            scope: leaving it commits, or rolls back on an error.
            base: what else was read in it that a commit needs.
        """
        self._held = _Held(newest, scope, base)

    def let_go(self) -> None:
        """Leave the metadata database to others until the commit: what follows may take long."""
        held, self._held = self._held, None
        if held is not None:
            with suppress(_LetGo), held.scope:
                raise _LetGo

    @contextmanager
    def statement(self) -> Iterator[None]:
        """A statement happens as a whole: one that fails leaves nothing staged, and no file."""
        before, written = self.local.copy(), len(self._written)
        try:
            yield
        except BaseException:
            self.local = before
            self._remove_files(self._written[written:])
            del self._written[written:]
            raise

    def commit(self) -> Snapshot | None:
        """Write everything as one snapshot. Returns it, or None when there was nothing to do.

        If another transaction took the number first, its changes are checked against ours; what
        is compatible is tried again with new ids, and no file is written twice.

        Raises:
            TransactionConflict: others did what this transaction cannot live with.
            CommitRetriesExceeded, CatalogLocked: others kept the catalog busy for too long.
            CommitUncertain: the catalog was lost while it committed, and did not come back.
        """
        if not self.has_changes:
            self.let_go()
            self._forget_unused_files()
            self._commit_options()
            return None
        try:
            _check_unmixed(self.local.changes)
            snapshot = self._commit_with_retries()
        except BaseException as error:
            # While the snapshot may exist its files must not go. If it does not, they are orphans.
            # The same doubt stays when Ctrl-C comes once all of the commit is sent.
            interrupted = not isinstance(error, Exception)
            if not self._doubtful and not (interrupted and self._is_sent):
                self.rollback()
            raise
        self._forget_unused_files()
        self.options.clear()
        if not self._overtaken:
            state = next_state(self.local, snapshot)
            if state is not None:
                self._remember(state)
        return snapshot

    def _commit_options(self) -> None:
        """Options alone make no snapshot."""
        if self.options:
            with self.db.transaction():
                write_options(self.db, self.options)
            self.options.clear()

    def rollback(self) -> None:
        """Give up: the files written for this transaction are removed."""
        self.let_go()
        self._remove_files(self._written)
        self._written = []
        self.options.clear()
        self.local = LocalState(self.local.base)

    def _commit_with_retries(self) -> Snapshot:
        failure: CatalogError | None = None
        for _ in self._retry.attempts():
            snapshot, self._is_sent = None, False
            held, self._held = self._held, None  # it serves for the first attempt only
            turn: AbstractContextManager[object] = held.scope if held else self.db.transaction()
            try:
                with turn:
                    snapshot = self._write_snapshot(held)
                    self._is_sent = True
            except (SnapshotTaken, CatalogLocked) as error:
                failure = error
            except CatalogUnreachable as error:
                if isinstance(error, CommitUncertain) and snapshot is not None:
                    self._doubtful.append(snapshot)
                if not self._doubtful:
                    raise
                failure = error
            else:
                self._memory.keep(self._next_base)
                return snapshot
        if self._doubtful:
            raise CommitUncertain(
                "A commit broke off, and it could not be found out whether it happened.",
                hint="look at the latest snapshot to see whether the change was made.",
            ) from failure
        if isinstance(failure, CatalogLocked):
            raise failure
        raise CommitRetriesExceeded(
            f"The commit was tried {self._retry.max_retry_count + 1} times, and each time another "
            f"writer was first. Exceeded the maximum retry count of {self._retry.max_retry_count} "
            "set by the ducklake_max_retry_count setting.",
            hint="try again, or raise the setting ducklake_max_retry_count.",
        ) from failure

    def _write_snapshot(self, held: _Held | None) -> Snapshot:
        doubtful = self._doubtful
        base = load_base(
            self.db,
            self.snapshot,
            _tables_with_new_rows(self.local.changes),
            deleted_from=_tables_deleted_from(self.local.changes),
            sent=doubtful[0].snapshot_id if doubtful else None,
            known=(held.base if held else None) or self._memory.base,
            newest=held.newest if held else None,
        )
        if base.sent is not None:
            if base.sent in doubtful:
                return base.sent  # it did happen
            doubtful.clear()  # another took the number: it did not, and never will
        self._check(base)
        self._overtaken = base.latest.snapshot_id != self.snapshot.snapshot_id
        commit = CommitRows(self.db, base, history=self.local.base.history)
        self._stamp_deletes(commit.snapshot_id)
        apply_changes(commit, self.local.changes)
        snapshot = Snapshot(*commit.snapshot_values(dt.datetime.now(dt.timezone.utc)))
        self.db.run_batch(self._statements(commit, snapshot))
        adds_rows = all(isinstance(each, AppendFiles | InlineRows) for each in self.local.changes)
        known = adds_rows and not commit.changes_schema
        self._next_base = commit.next_base(snapshot) if known else None
        write_options(self.db, _with_real_ids(self.options, commit.real_id))
        return snapshot

    def _check(self, base: CommitBase) -> None:
        if base.requires_message and self.message is None:
            raise InvalidInput(
                "Commit information for the snapshot is required but has not been provided.",
                hint="give it with con.transaction(author=…, message=…) or set_commit_message, or "
                "set the option require_commit_message to false.",
            )
        if base.others:
            check_conflicts(
                intent_of(self.local), ",".join(base.others), deleted_files=base.deleted_files
            )

    def _stamp_deletes(self, snapshot_id: int) -> None:
        """Write delete files anew that hold the number of another snapshot than this one.

        They say since when each row is gone, and were written before that was known for certain.
        """
        for index, change in enumerate(self.local.changes):
            if isinstance(change, DeleteFromFiles):
                deletes = tuple(self._stamped(each, snapshot_id) for each in change.deletes)
                self.local.changes[index] = replace(change, deletes=deletes)

    def _stamped(self, deletes: FileDeletes, snapshot_id: int) -> FileDeletes:
        if deletes.written.partial_max in (None, snapshot_id):
            return deletes
        written = self._restamp(deletes.written, snapshot_id)
        self._written.append(written.path)
        return replace(deletes, written=written)

    def _statements(self, commit: CommitRows, snapshot: Snapshot) -> list[Statement]:
        """All that the commit writes, in an order that makes others wait, not fail."""
        message = self.message or CommitMessage()
        commit.insert("ducklake_snapshot", *(getattr(snapshot, name) for name in _SNAPSHOT))
        commit.insert(
            "ducklake_snapshot_changes",
            commit.snapshot_id,
            format_changes(log_changes(self.local.changes, commit.real_id)),
            message.author,
            message.message,
            message.extra_info,
        )
        # The snapshot goes first: its primary key decides a race before anything else is sent.
        inserts = [
            statement
            for name in sorted(commit.rows, key=lambda name: name != "ducklake_snapshot")
            for statement in self.db.insert_statements(TABLES[name], commit.rows[name])
        ]
        return [inserts[0], *commit.statements, *inserts[1:]]

    def _forget_unused_files(self) -> None:
        """Remove files whose table was dropped again before the commit; keep the committed ones."""
        used = {path for change in self.local.changes for path in written_paths(change)}
        self._remove_files([path for path in self._written if path not in used])
        self._written = []


def _with_real_ids(
    options: Mapping[OptionPlace, str], real_id: Callable[[int], int]
) -> dict[OptionPlace, str]:
    """The options with the ids that objects of this transaction have got."""
    found: dict[OptionPlace, str] = {}
    for (scope, scope_id, name), text in options.items():
        with suppress(KeyError):  # a table that was made and dropped again
            found[scope, None if scope_id is None else real_id(scope_id), name] = text
    return found


def _tables_with_new_rows(changes: Iterable[Change]) -> set[int]:
    """Tables that exist already; those of this transaction have nothing to be read."""
    return {
        change.table.table_id
        for change in changes
        if isinstance(change, AppendFiles | InlineRows | RewriteFiles | FlushRows)
        and change.table.table_id >= 0
    }


def _tables_deleted_from(changes: Iterable[Change]) -> set[int]:
    return {change.table.table_id for change in changes if isinstance(change, DeleteFromFiles)}


def _check_unmixed(changes: Sequence[Change]) -> None:
    """As in the reference: what compaction does to files, other changes must not meet."""
    compactions = [isinstance(change, MergeFiles | RewriteFiles) for change in changes]
    if any(compactions) and not all(compactions):
        raise TransactionError(
            "Transactions can either make changes OR perform compaction - not both.",
            hint="commit the changes first, then merge or rewrite files.",
        )
    flushed = {c.table.table_id for c in changes if isinstance(c, FlushRows | FlushDeletes)}
    deleted = {c.table.table_id for c in changes if isinstance(c, DeleteFromFiles | InlineDeletes)}
    if flushed & deleted:
        raise TransactionError(
            "A transaction cannot both delete rows of a table and flush its inlined data.",
            hint="commit the changes first, then flush.",
        )
