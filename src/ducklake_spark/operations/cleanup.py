"""Remove the files that were scheduled when the last snapshot let go of them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from ducklake_spark.catalog_db.tables import FILES_SCHEDULED_FOR_DELETION
from ducklake_spark.commit.repeat import in_one_transaction
from ducklake_spark.commit.retry import RetryPolicy
from ducklake_spark.errors import DataFileError
from ducklake_spark.lake import Lake
from ducklake_spark.limits import limits
from ducklake_spark.model.paths import join, resolve
from ducklake_spark.operations.ages import file_age_limit
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.operations.known_files import KnownFiles
from ducklake_spark.parquet.storage import remove_many

"""How many files are removed in one transaction of the metadata database."""

PATHS: Final = (("path", "VARCHAR"),)
Progress = Callable[[int, int | None], None]
"""Told how many files are done, and of how many where that is known."""


@dataclass(frozen=True, slots=True)
class ScheduledFile:
    """A file that waits for its removal."""

    file_id: int
    stored_path: str
    shown: str  # below the data path as that is stored
    path: str  # absolute


def cleanup_old_files(
    lake: Lake,
    *,
    older_than: dt.datetime | None = None,
    cleanup_all: bool = False,
    dry_run: bool = False,
    others: Iterable[Lake] = (),
    progress: Progress | None = None,
    retry: RetryPolicy | None = None,
) -> RowSet:
    """Remove scheduled files that are old enough, and take them off the schedule. Driver.

    In one transaction per batch, each file is looked up once more: one that a snapshot of this or
    another lake of the metadata database refers to is taken off the schedule and stays. Files go
    before their rows, so that whatever breaks off can be repeated.

    Args:
        lake: which.
        older_than: remove what was scheduled before this moment; by default before the time that
            the option delete_older_than says, else two days ago.
        cleanup_all: remove all, however young. Queries that still read them fail.
        dry_run: only tell which they would be.
        others: further lakes that may refer to the files.
        progress: told about every batch.
        retry: how often to try when others change the catalog at the same time.

    Returns:
        The paths of the files, one per row.

    Raises:
        InvalidInput: both limits, or none.
        DataFileError: some files could not be removed; they stay on the schedule.
    """
    limit = file_age_limit(
        lake, "ducklake_cleanup_old_files", older_than=older_than, cleanup_all=cleanup_all
    )
    if not dry_run:
        lake.check_writable("remove old files")
    files = _load_scheduled(lake, limit)
    known = KnownFiles(lake, others, scheduled=False)
    if files:
        known.refresh()
    if dry_run:
        return _rows(file.shown for file in files if file.path not in known)
    removed: list[str] = []
    failures: list[DataFileError] = []
    done = 0
    for batch in _batches(files):
        work = partial(_remove, lake, batch, known)
        gone, failed = in_one_transaction(lake.db, work, retry or RetryPolicy())
        removed += gone
        failures += failed
        done += len(batch)
        if progress is not None:
            progress(done, len(files))
    check_removed(lake, failures, "Repeat the cleanup when the cause is gone.")
    return _rows(removed)


def check_removed(lake: Lake, failures: Sequence[DataFileError], hint: str) -> None:
    """Complain about files that could not be removed."""
    if failures:
        raise DataFileError(
            f'{len(failures)} files of the lake "{lake.name}" could not be removed. The first: '
            f"{failures[0].message}",
            hint=hint,
        )


def _rows(paths: Iterable[str]) -> RowSet:
    return RowSet(PATHS, tuple((path,) for path in paths))


def _load_scheduled(lake: Lake, limit: dt.datetime | None) -> list[ScheduledFile]:
    rows = lake.db.select(FILES_SCHEDULED_FOR_DELETION, "ORDER BY data_file_id")
    files = []
    for file_id, path, relative, start in rows:
        # Compared here and not in SQL: SQLite keeps times as text of varying length.
        if limit is None or start < limit:
            shown = join(lake.data_path, path, relative=relative)
            files.append(ScheduledFile(file_id, path, shown, resolve(shown)))
    return files


def _batches(files: Sequence[ScheduledFile]) -> Iterator[Sequence[ScheduledFile]]:
    size = limits().removed_files
    for start in range(0, len(files), size):
        yield files[start : start + size]


def _remove(
    lake: Lake, batch: Sequence[ScheduledFile], known: KnownFiles
) -> tuple[list[str], list[DataFileError]]:
    """Remove files, then their rows; returns what is gone, and what could not be removed."""
    known.refresh()
    unneeded = [file for file in batch if file.path not in known]
    failed = remove_many([file.path for file in unneeded])
    done = [file for file in batch if file.path not in failed]
    if done:
        marks = ", ".join("?" for _ in done)
        lake.db.execute(
            f"DELETE FROM {lake.db.table(FILES_SCHEDULED_FOR_DELETION.name)} "
            f"WHERE data_file_id IN ({marks}) AND path IN ({marks})",
            [file.file_id for file in done] + [file.stored_path for file in done],
        )
    gone = [file.shown for file in unneeded if file.path not in failed]
    return gone, list(failed.values())
