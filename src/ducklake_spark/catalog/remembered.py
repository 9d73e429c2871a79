"""What a lake remembers of its tables while nobody changes them. Driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ducklake_spark.caching import Cache, declare
from ducklake_spark.catalog.snapshots import SnapshotRecord
from ducklake_spark.limits import limits
from ducklake_spark.model.entities import Snapshot, TableEntry

_REPLACED: Final = "when the newest snapshot seen is gone or another, as after a restore"

_CONTENTS: Final = declare(
    "contents of tables",
    key="the table's id; an entry holds the table and the snapshot that it is of, and only serves "
    "for the very same two",
    depends_on="files, deletes and inlined rows of the table at the newest snapshot",
    seen_by="lake",
    emptied=_REPLACED,
    entries=lambda: limits().remembered_tables,
)
_MANY: Final = declare(
    "large tables",
    key="the table's id",
    depends_on="nothing: a guess that it has many files, which the next look corrects",
    seen_by="lake",
    emptied=_REPLACED,
    entries=lambda: limits().remembered_tables,
)
_CHANGED: Final = declare(
    "changed tables",
    key="the table's id",
    depends_on="nothing: a hint to ask the catalog once, and not to load bounds",
    seen_by="lake",
    emptied="by the next query of the table",
    entries=lambda: limits().remembered_tables,
)
_LOG: Final = declare(
    "change log",
    key="none: it is the list of the latest snapshots, without a gap",
    depends_on="rows of snapshots and their changes, which are never changed",
    seen_by="lake",
    emptied=f"{_REPLACED}; when there is a gap",
    entries=1,
)
_BOUNDS: Final = declare(
    "bounds of files",
    key="table and column; an entry holds the list of files that it is of, and only serves for "
    "the very same list",
    depends_on="statistics of the files in that list, and the type of the column, with which the "
    "list is made anew",
    seen_by="lake",
    emptied=_REPLACED,
    entries=1000,
    most_bytes=lambda: 40 * limits().remembered_bounds,
    size_of=lambda found: 0 if found[1] is None else 40 * len(found[1].ids),
)
_COLUMNS: Final = declare(
    "columns of files",
    key="data file id, path and size; not for files of an open transaction, whose ids are "
    "provisional",
    depends_on="the footer of a file that others wrote: files of a lake never change",
    seen_by="lake",
    emptied=_REPLACED,
    entries=100_000,
)


@dataclass
class Remembered:
    """What tables consisted of at the newest snapshot, for as long as it is the newest.

    Attributes:
        many: tables that had too many files to list; a guess that saves asking twice.
        bounds: of files of large tables, by table and column; see `operations.file_bounds`.
        changed: large tables that had been changed when they were last asked for.
        columns: of files that others wrote; see `parquet.foreign`.
    """

    many: Cache[int, bool] = field(default_factory=_MANY.make)
    bounds: Cache[tuple[int, int], Any] = field(default_factory=_BOUNDS.make)
    changed: Cache[int, bool] = field(default_factory=_CHANGED.make)
    columns: Cache[Any, Any] = field(default_factory=_COLUMNS.make)
    _log: Cache[None, dict[int, SnapshotRecord]] = field(default_factory=_LOG.make)
    _tables: Cache[int, tuple[TableEntry, Snapshot, object]] = field(default_factory=_CONTENTS.make)

    @property
    def log(self) -> Mapping[int, SnapshotRecord]:
        """What the latest snapshots have changed, by id; kept while there are large tables."""
        return self._log.get(None) or {}

    def find(self, table: TableEntry, snapshot: Snapshot) -> object | None:
        """What was kept for the very same table at the very same snapshot."""
        known, at, contents = self._tables.get(table.table_id) or (None, None, None)
        return contents if known is table and at == snapshot else None

    def note(self, records: Sequence[SnapshotRecord]) -> None:
        """Add to the log what was loaded from its last snapshot on, or from a later one."""
        log = self.log
        last = max(log, default=None)
        has_gap = last is not None and log[last] not in records[:1]
        known = {} if has_gap else dict(log)
        known.update((each.snapshot.snapshot_id, each) for each in records)
        kept = sorted(known)[-limits().logged_snapshots :]
        self._log.put(None, {snapshot_id: known[snapshot_id] for snapshot_id in kept})

    def find_older(self, table: TableEntry) -> tuple[Snapshot | None, object]:
        """The snapshot at which something was kept for the same table, and what."""
        known, at, contents = self._tables.get(table.table_id) or (None, None, None)
        return (at, contents) if known == table else (None, None)

    def keep(self, table: TableEntry, snapshot: Snapshot, contents: object) -> None:
        """Keep it until another snapshot's is kept, or that of many other tables."""
        self._tables.put(table.table_id, (table, snapshot, contents))

    def clear(self) -> None:
        """Forget everything: it is of another history of the lake."""
        for each in (self.many, self.bounds, self.changed, self.columns, self._log, self._tables):
            each.clear()
