"""Which files are merged with which, and which are worth writing again. Pure; driver.

A group becomes one file: its files have the same columns (they were written under one schema
version) and the same partition, and follow each other in the order in which they were added.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ducklake_spark.model.entities import DataFile


@dataclass(frozen=True, slots=True)
class Candidate:
    """A live data file with what decides about its compaction.

    Args:
        file: the file, with the deletes that are in force.
        schema_version: in force when the file was added; None when the catalog does not tell.
        partition_values: one for each key of its partition spec.
        had_deletes: whether the catalog has a delete file for it, in force or not.
    """

    file: DataFile
    schema_version: int | None = None
    partition_values: tuple[str | None, ...] = ()
    had_deletes: bool = False


@dataclass(frozen=True, slots=True)
class SizeLimits:
    """Which files are merged, and how large the outcome is meant to become; in bytes.

    Args:
        target: files as large as this are left alone; a group ends when it has reached it.
        least: smaller files are left alone.
        most: files as large as this are left alone, too.
    """

    target: int
    least: int | None = None
    most: int | None = None

    def admits(self, size: int) -> bool:
        """Whether a file of this size may be merged.

        >>> SizeLimits(100, most=50).admits(50), SizeLimits(100, least=50).admits(50)
        (False, True)
        """
        at_most = self.target if self.most is None else min(self.most, self.target)
        return (self.least or 0) <= size < at_most


Group = tuple[Candidate, ...]


def plan_merge(
    candidates: Iterable[Candidate], limits: SizeLimits, *, max_groups: int | None = None
) -> list[Group]:
    """Groups of at least two small files that are to become one file each.

    Files with deletes are left alone: `plan_rewrite` is for those. As in the reference a file
    that is left over counts as a group when `max_groups` is counted.
    """
    small = [c for c in candidates if limits.admits(c.file.file_size_bytes) and not _deleted(c)]
    planned: list[Group] = []
    begun = 0
    for alike in _alike(small):
        if len(alike) < 2:
            continue
        for group in _fill(alike, limits.target):
            if len(group) > 1:
                planned.append(group)
            begun += 1
            if max_groups is not None and begun >= max_groups:
                return planned
    return planned


def plan_rewrite(candidates: Iterable[Candidate], threshold: float) -> list[Group]:
    """Groups of files of which so large a part is deleted that they are to be written again."""
    worth = [c for c in candidates if is_worth_rewriting(c.file, threshold)]
    return [tuple(alike) for alike in _alike(worth)]


def is_worth_rewriting(file: DataFile, threshold: float) -> bool:
    """Whether enough rows of the file are deleted.

    Args:
        file: a live file.
        threshold: the part of its rows that must be deleted, from 0 to 1.
    """
    gone = deleted_rows(file)
    return gone > 0 and file.record_count > 0 and gone / file.record_count >= threshold


def deleted_rows(file: DataFile) -> int:
    """How many rows of the file are deleted."""
    return file.inlined_deletes + (file.delete_file.delete_count if file.delete_file else 0)


def follow_each_other(files: Sequence[DataFile]) -> bool:
    """Whether the ids of the rows go on from file to file, if they are counted from the start."""
    expected = None
    for file in files:
        if file.row_id_start is None or expected not in (None, file.row_id_start):
            return False
        expected = file.row_id_start + file.record_count
    return True


def last_snapshot(files: Iterable[DataFile]) -> int:
    """The last snapshot that added a row to one of the files."""
    return max(
        file.begin_snapshot if file.partial_max is None else file.partial_max for file in files
    )


def _deleted(candidate: Candidate) -> bool:
    file = candidate.file
    return candidate.had_deletes or file.delete_file is not None or file.inlined_deletes > 0


def _alike(candidates: Iterable[Candidate]) -> list[list[Candidate]]:
    """Candidates that may go into one file, in the order of their rows."""
    groups: dict[tuple[object, ...], list[Candidate]] = {}
    for candidate in sorted(candidates, key=_order):
        key = (
            candidate.schema_version,
            candidate.file.partition_id,
            candidate.partition_values,
        )
        groups.setdefault(key, []).append(candidate)
    return list(groups.values())


def _order(candidate: Candidate) -> tuple[int, bool, int, int]:
    file = candidate.file
    start = file.row_id_start
    return file.begin_snapshot, start is None, start or 0, file.data_file_id


def _fill(candidates: Sequence[Candidate], target: int) -> list[Group]:
    """Cut the sequence wherever the target size is reached."""
    groups: list[Group] = []
    current: list[Candidate] = []
    size = 0
    for candidate in candidates:
        if current and size >= target:
            groups.append(tuple(current))
            current, size = [], 0
        current.append(candidate)
        size += candidate.file.file_size_bytes
    groups.append(tuple(current))
    return groups
