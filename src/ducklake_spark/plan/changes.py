"""Which files tell what a range of snapshots added to a table and removed from it. Pure."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ducklake_spark.errors import NotSupported
from ducklake_spark.model.entities import DataFile, DeleteFile


@dataclass(frozen=True)
class ChangedFile:
    """A data file with all that has ever removed rows of it, up to the end of the range.

    Args:
        file: the file, without a delete file of its own.
        end_snapshot: the snapshot that removed the file as a whole.
        deletes: its delete files, of any age.
        positions: (position, snapshot) of rows deleted inside the metadata database.
    """

    file: DataFile
    end_snapshot: int | None = None
    deletes: tuple[DeleteFile, ...] = ()
    positions: tuple[tuple[int, int], ...] = ()

    @property
    def last_snapshot(self) -> int:
        """The newest snapshot that added rows of the file."""
        partial_max = self.file.partial_max
        return self.file.begin_snapshot if partial_max is None else partial_max

    @property
    def is_rewritten(self) -> bool:
        """Whether it has the shape of a file that replaced others: no row ids of its own."""
        return self.file.row_id_start is None and self.file.partial_max is None


class Spans:
    """A set of snapshots, given as ranges with both ends."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for low, high in sorted(spans):
            if self._ends and low <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], high)
            else:
                self._starts.append(low)
                self._ends.append(high)

    def touches(self, low: int, high: int) -> bool:
        """Whether a snapshot from `low` to `high` is among them.

        >>> Spans([(2, 3), (7, 9)]).touches(4, 6), Spans([(2, 3), (7, 9)]).touches(3, 4)
        (False, True)
        """
        before = bisect.bisect_right(self._starts, high)
        return before > 0 and self._ends[before - 1] >= low


@dataclass(frozen=True)
class InsertedFiles:
    """Files with rows that the range added.

    Args:
        files: the files.
        paired: a deletion of the same snapshot may make an insertion one half of an update.
        undone: some rows may have been deleted by the snapshot that added them.
    """

    files: tuple[ChangedFile, ...]
    paired: bool
    undone: bool

    @property
    def is_mixed(self) -> bool:
        """Whether some files hold rows of several snapshots."""
        return any(changed.file.partial_max is not None for changed in self.files)


@dataclass(frozen=True)
class DeletedFiles:
    """Files with rows that the range removed.

    Args:
        files: the files.
        paired: an insertion of the same snapshot may make a deletion one half of an update.
        ended: the files went as a whole, with all rows that had not been deleted before.
    """

    files: tuple[ChangedFile, ...]
    paired: bool
    ended: bool


@dataclass(frozen=True)
class ChangePlan:
    """Where the changes from `start` to `end`, both included, are read from."""

    start: int
    end: int
    files: tuple[ChangedFile, ...]
    rewrites: frozenset[int]  # snapshots that only replaced files; merged files have their rows
    first_file_id: int  # files with smaller ids were made before `start`
    inserted_rows: frozenset[int]  # snapshots that added rows to the metadata database
    deleted_rows: frozenset[int]  # snapshots that removed such rows

    def in_range(self, snapshot_id: int | None) -> bool:
        """Whether a snapshot is one of those asked for."""
        return snapshot_id is not None and self.start <= snapshot_id <= self.end

    @cached_property
    def insertions(self) -> tuple[InsertedFiles, ...]:
        """Files with rows that the range added, by how they are read."""
        groups = _group(
            (changed for changed in self.files if self._is_inserted(changed)),
            lambda changed: (self.deleted_at.touches(*self._added(changed)), _is_undone(changed)),
        )
        return tuple(InsertedFiles(files, *key) for key, files in groups.items())

    @cached_property
    def deletions(self) -> tuple[DeletedFiles, ...]:
        """Files with rows that the range removed, by how they are read."""
        groups = _group(
            (changed for changed in self.files if self._removed(changed)),
            lambda changed: (
                any(self.inserted_at.touches(*span) for span in self._removed(changed)),
                self._is_ended(changed),
            ),
        )
        return tuple(DeletedFiles(files, *key) for key, files in groups.items())

    @cached_property
    def inserted_at(self) -> Spans:
        """Snapshots of the range that may have added rows."""
        files = [self._added(changed) for changed in self.files if self._is_inserted(changed)]
        return Spans([*files, *((s, s) for s in self.inserted_rows)])

    @cached_property
    def deleted_at(self) -> Spans:
        """Snapshots of the range that may have removed rows."""
        files = [span for changed in self.files for span in self._removed(changed)]
        return Spans([*files, *((s, s) for s in self.deleted_rows)])

    def _is_inserted(self, changed: ChangedFile) -> bool:
        first, last = changed.file.begin_snapshot, changed.last_snapshot
        if first == last and (first in self.rewrites or first == changed.end_snapshot):
            return False  # it replaced others, or came and went in one commit
        return first <= self.end and last >= self.start

    def _added(self, changed: ChangedFile) -> tuple[int, int]:
        first = max(changed.file.begin_snapshot, self.start)
        return first, min(changed.last_snapshot, self.end)

    def _is_ended(self, changed: ChangedFile) -> bool:
        end = changed.end_snapshot
        is_vain = end == changed.file.begin_snapshot
        return self.in_range(end) and end not in self.rewrites and not is_vain

    def _removed(self, changed: ChangedFile) -> list[tuple[int, int]]:
        """The snapshots of the range that may have removed rows of a file."""
        spans = [(s, s) for _, s in changed.positions if self.in_range(s)]
        if changed.end_snapshot is not None and self._is_ended(changed):
            spans.append((changed.end_snapshot, changed.end_snapshot))
        for delete in changed.deletes:
            first = max(delete.begin_snapshot, self.start)
            last = min(self._last_delete(changed.file, delete), self.end)
            if first <= last:
                spans.append((first, last))
        return spans

    def _last_delete(self, file: DataFile, delete: DeleteFile) -> int:
        """The newest snapshot that a delete file can hold deletes of.

        A flush writes the deletes of several snapshots without saying of which; it does so for
        data files that it wrote itself. The number of the file tells at least its age.
        """
        if delete.partial_max is not None:
            return delete.partial_max
        plain = file.partial_max is None or delete.delete_file_id < self.first_file_id
        return delete.begin_snapshot if plain else self.end


def plan_changes(
    files: Sequence[ChangedFile],
    *,
    start: int,
    end: int,
    logged: Mapping[int, bool],
    first_file_id: int = 0,
    inserted_rows: Iterable[int] = (),
    deleted_rows: Iterable[int] = (),
) -> ChangePlan:
    """Decide where the changes of a table are read from.

    Args:
        files: the files that began, ended or lost rows in the range.
        start: the first snapshot of the range.
        end: the last one.
        logged: the snapshots from `start` - 1 to `end` that still exist, and whether each is a
            rewrite of the table according to its log.
        first_file_id: ids below this one were given to files before `start`.
        inserted_rows: the snapshots of inlined rows that the range added.
        deleted_rows: the snapshots of inlined rows that the range removed.
    """
    return ChangePlan(
        start,
        end,
        tuple(files),
        find_rewrites(files, logged, start),
        first_file_id,
        frozenset(inserted_rows),
        frozenset(deleted_rows),
    )


def find_rewrites(
    files: Iterable[ChangedFile], logged: Mapping[int, bool], start: int
) -> frozenset[int]:
    """The snapshots that only rewrote files: no row changed, so they show nothing.

    A commit rewrites or changes, never both. The log says which; where it was expired the shape
    of the new files does. When the snapshot before was expired too, the files that were rewritten
    may be gone, and the new ones are all that tells of their rows: then nothing is hidden.
    """
    by_log = {snapshot for snapshot, is_rewrite in logged.items() if is_rewrite}
    by_shape = {
        changed.file.begin_snapshot
        for changed in files
        if changed.is_rewritten and changed.file.begin_snapshot not in logged
    }
    return frozenset(s for s in by_log | by_shape if s == start or s - 1 in logged)


def check_deletes(table: str, files: Iterable[ChangedFile]) -> None:
    """Refuse delete files that cannot be read."""
    for changed in files:
        for delete in changed.deletes:
            where = f'Cannot read the changes of table "{table}": the delete file "{delete.path}"'
            if delete.encryption_key is not None:
                raise NotSupported(f"{where} is encrypted.")
            if delete.format != "parquet":
                raise NotSupported(
                    f"{where} is in {delete.format} format.",
                    hint="such files do not say which snapshot deleted which row.",
                )


def _is_undone(changed: ChangedFile) -> bool:
    last = changed.last_snapshot
    return any(delete.begin_snapshot <= last for delete in changed.deletes) or any(
        snapshot <= last for _, snapshot in changed.positions
    )


_Key = tuple[bool, bool]


def _group(
    files: Iterable[ChangedFile], key: Callable[[ChangedFile], _Key]
) -> dict[_Key, tuple[ChangedFile, ...]]:
    groups: dict[_Key, list[ChangedFile]] = {}
    for changed in files:
        groups.setdefault(key(changed), []).append(changed)
    return {found: tuple(members) for found, members in groups.items()}
