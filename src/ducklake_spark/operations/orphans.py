"""Find and remove files below the data path that no snapshot and no schedule knows."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from ducklake_spark.catalog_db.connection import Database
from ducklake_spark.commit.repeat import in_one_transaction
from ducklake_spark.commit.retry import RetryPolicy
from ducklake_spark.errors import DataFileError
from ducklake_spark.lake import Lake
from ducklake_spark.limits import limits
from ducklake_spark.model.paths import resolve
from ducklake_spark.operations.ages import file_age_limit
from ducklake_spark.operations.cleanup import PATHS, Progress, check_removed
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.operations.known_files import KnownFiles
from ducklake_spark.parquet.storage import remove_many, walk_files

# Files of a lake: Parquet of whatever name, and the deletion vectors that DuckDB names so.
_OURS: Final = re.compile(r".*\.parquet|.*ducklake-[0-9a-f-]+-delete\.puffin")


def delete_orphaned_files(
    lake: Lake,
    *,
    older_than: dt.datetime | None = None,
    cleanup_all: bool = False,
    dry_run: bool = False,
    others: Iterable[Lake] = (),
    progress: Progress | None = None,
    retry: RetryPolicy | None = None,
) -> RowSet:
    """Remove files below the data path that nothing refers to and that are old enough. Driver.

    The age limit protects writers: what they have written but not committed looks like an orphan.

    Args:
        lake: which.
        older_than: remove what was last changed before this moment; by default before the time
            that the option delete_older_than says, else two days ago.
        cleanup_all: remove all, however young. Only safe while nobody writes.
        dry_run: only tell which they would be.
        others: further lakes that may own files below the same data path.
        progress: told about every batch; the total is not known.
        retry: how often to try when others change the catalog at the same time.

    Returns:
        The paths of the files, one per row.

    Raises:
        InvalidInput: both limits, or none.
        DataFileError: some files could not be removed.
    """
    limit = file_age_limit(
        lake, "ducklake_delete_orphaned_files", older_than=older_than, cleanup_all=cleanup_all
    )
    if not dry_run:
        lake.check_writable("remove orphaned files")
    known = KnownFiles(lake, others, scheduled=True)
    known.refresh()
    found: list[str] = []
    failures: list[DataFileError] = []
    candidates = find_orphans(lake, known, limit)
    while batch := list(islice(candidates, limits().removed_files)):
        if dry_run:
            gone = batch
        else:
            gone, failed = _remove(lake.db, batch, known, retry or RetryPolicy())
            failures += failed
        found += gone
        if progress is not None:
            progress(len(found), None)
    check_removed(lake, failures, "Repeat it when the cause is gone.")
    shown = len(resolve(lake.data_path))
    return RowSet(PATHS, tuple((f"{lake.data_path}{path[shown:]}",) for path in found))


def find_orphans(lake: Lake, known: KnownFiles, limit: dt.datetime | None) -> Iterator[str]:
    """The absolute paths of files that are not known and old enough, as the storage lists them."""
    for file in walk_files(resolve(lake.data_path)):
        # A store that does not tell a file's age gives no reason to believe that it is old.
        young = limit is not None and (file.modified is None or file.modified >= limit)
        if not young and _OURS.fullmatch(file.path) and file.path not in known:
            yield file.path


def _remove(
    db: Database, batch: list[str], known: KnownFiles, retry: RetryPolicy
) -> tuple[list[str], list[DataFileError]]:
    """Remove files, unless a commit has made one known meanwhile.

    The transaction changes nothing: it makes writers of this package wait while files go.
    """

    def remove() -> tuple[list[str], dict[str, DataFileError]]:
        known.refresh()
        unknown = [path for path in batch if path not in known]
        return unknown, remove_many(unknown)

    unknown, failed = in_one_transaction(db, remove, retry)
    return [path for path in unknown if path not in failed], list(failed.values())
