"""A transaction: what it sees, what it intends, and the one commit that makes it true."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from ducklake_spark.catalog.snapshots import load_changes_since, load_latest_snapshot
from ducklake_spark.catalog.state import CatalogState
from ducklake_spark.catalog_db.connection import CommitUncertain, Database, SnapshotTaken
from ducklake_spark.catalog_db.tables import TABLES
from ducklake_spark.commit.apply import apply_changes
from ducklake_spark.commit.change_log import format_changes
from ducklake_spark.commit.conflicts import check_conflicts
from ducklake_spark.commit.local import LocalState
from ducklake_spark.commit.retry import RetryPolicy
from ducklake_spark.commit.rows import CommitRows
from ducklake_spark.commit.summary import intent_of, log_changes
from ducklake_spark.errors import CommitRetriesExceeded
from ducklake_spark.model.changes import AppendFiles, Change
from ducklake_spark.model.entities import Snapshot


@dataclass(frozen=True, slots=True)
class CommitMessage:
    """What the author says about a commit."""

    author: str | None = None
    message: str | None = None
    extra_info: str | None = None


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
    ) -> None:
        self.db = db
        self.snapshot = snapshot
        self.local = LocalState(state)
        self.message = CommitMessage()
        self._retry = retry
        self._remove_files = remove_files
        self._written: list[str] = []

    @property
    def has_changes(self) -> bool:
        """Whether a commit would make a snapshot."""
        return bool(self.local.changes)

    def stage(self, change: Change) -> None:
        """Intend a change: visible to this transaction at once, to others after the commit."""
        if isinstance(change, AppendFiles):
            self._written += [file.path for file in change.files]
        self.local.stage(change)

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
        """
        if not self.has_changes:
            self._forget_unused_files()
            return None
        try:
            snapshot = self._commit_with_retries()
        except CommitUncertain:
            # The snapshot may exist: its files must not go. If it does not, they are orphans.
            raise
        except BaseException:
            self.rollback()
            raise
        self._forget_unused_files()
        return snapshot

    def rollback(self) -> None:
        """Give up: the files written for this transaction are removed."""
        self._remove_files(self._written)
        self._written = []
        self.local.changes = []

    def _commit_with_retries(self) -> Snapshot:
        for _ in self._retry.attempts():
            with suppress(SnapshotTaken), self.db.transaction():
                return self._write_snapshot()
        raise CommitRetriesExceeded(
            f"The commit was tried {self._retry.max_retry_count + 1} times, and each time another "
            "writer was first.",
            hint="try again, or raise the setting ducklake_max_retry_count.",
        )

    def _write_snapshot(self) -> Snapshot:
        latest = load_latest_snapshot(self.db)
        if latest.snapshot_id != self.snapshot.snapshot_id:
            others = load_changes_since(self.db, self.snapshot.snapshot_id)
            check_conflicts(intent_of(self.local), ",".join(others))
        commit = CommitRows(self.db, latest)
        apply_changes(commit, self.local.changes)
        values = commit.snapshot_values(dt.datetime.now(dt.timezone.utc))
        commit.insert("ducklake_snapshot", *values)
        commit.insert(
            "ducklake_snapshot_changes",
            commit.snapshot_id,
            format_changes(log_changes(self.local.changes, commit.real_id)),
            self.message.author,
            self.message.message,
            self.message.extra_info,
        )
        # The snapshot goes first: its primary key decides a race before anything else is sent.
        inserts = [
            statement
            for name in sorted(commit.rows, key=lambda name: name != "ducklake_snapshot")
            for statement in self.db.insert_statements(TABLES[name], commit.rows[name])
        ]
        self.db.run_batch([inserts[0], *commit.statements, *inserts[1:]])
        return Snapshot(*values)

    def _forget_unused_files(self) -> None:
        """Remove files whose table was dropped again before the commit; keep the committed ones."""
        used = {
            file.path
            for change in self.local.changes
            if isinstance(change, AppendFiles)
            for file in change.files
        }
        self._remove_files([path for path in self._written if path not in used])
        self._written = []
