"""The part of a connection that keeps lakes small, fast and sound."""

from __future__ import annotations

import datetime as dt
from abc import abstractmethod
from collections.abc import Callable, Sequence

from pyspark.sql import SparkSession

from ducklake_spark.lake import Lake
from ducklake_spark.operations.cleanup import cleanup_old_files
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.operations.orphans import delete_orphaned_files
from ducklake_spark.operations.progress import Progress
from ducklake_spark.result import Result
from ducklake_spark.session import Session


class Maintenance(Session):
    """A session that can run the maintenance of its lakes. See docs/maintenance.md."""

    @property
    @abstractmethod
    def spark(self) -> SparkSession:
        """The Spark session that does the work."""

    def result(self, rows: RowSet) -> Result:
        """Rows of the driver as the outcome of a statement."""
        return Result(rows.columns, rows.rows, lambda: self.spark)

    def expire_snapshots(
        self,
        *,
        versions: Sequence[int] | None = None,
        older_than: dt.datetime | str | None = None,
        dry_run: bool = False,
        lake: str | None = None,
    ) -> Result:
        """Forget old snapshots, but never the newest; returns those that are gone.

        Args:
            versions: their numbers; or else
            older_than: all that are older than this moment. With neither, the option
                expire_older_than decides; if it is not set, nothing happens.
            dry_run: only tell which they would be.
            lake: which lake, if not the one in use.
        """
        from ducklake_spark.execution.cleaning_functions import expire

        return self.result(expire(self, self._lake(lake), versions, older_than, dry_run=dry_run))

    def cleanup_old_files(
        self,
        *,
        older_than: dt.datetime | str | None = None,
        cleanup_all: bool = False,
        dry_run: bool = False,
        lake: str | None = None,
        progress: Callable[[int, int | None], None] | None = None,
    ) -> Result:
        """Remove files that no snapshot needs any more; returns their paths.

        Args:
            older_than: those that were scheduled before this moment, by default before the time
                that the option delete_older_than says, else two days ago.
            cleanup_all: all of them. Queries that still read them fail.
            dry_run: only tell which they would be.
            lake: which lake, if not the one in use.
            progress: called with the number of files done and of all.
        """
        from ducklake_spark.execution.cleaning_functions import clean

        limit = {"older_than": older_than, "cleanup_all": cleanup_all, "dry_run": dry_run}
        return self.result(clean(self, self._lake(lake), cleanup_old_files, limit, progress))

    def delete_orphaned_files(
        self,
        *,
        older_than: dt.datetime | str | None = None,
        cleanup_all: bool = False,
        dry_run: bool = False,
        lake: str | None = None,
        progress: Callable[[int, int | None], None] | None = None,
    ) -> Result:
        """Remove files below the data path that no lake knows; returns their paths.

        Args:
            older_than: those last changed before this moment, by default before the time that the
                option delete_older_than says, else two days ago.
            cleanup_all: all of them. Only safe while nobody writes to the lake.
            dry_run: only tell which they would be.
            lake: which lake, if not the one in use.
            progress: called with the number of files done, and None.
        """
        from ducklake_spark.execution.cleaning_functions import clean

        limit = {"older_than": older_than, "cleanup_all": cleanup_all, "dry_run": dry_run}
        return self.result(clean(self, self._lake(lake), delete_orphaned_files, limit, progress))

    def flush_inlined_data(
        self,
        table: str | None = None,
        *,
        schema: str | None = None,
        lake: str | None = None,
        progress: Progress | None = None,
    ) -> Result:
        """Move rows and deletes from the metadata database to files; see docs/maintenance.md.

        Args:
            table: one table; None for all of the schema, or of the lake.
            schema: where the tables are.
            lake: by default the one in use.
            progress: called with how many of how many steps are done.
        """
        from ducklake_spark.execution.compaction import flush

        return self.result(flush(self, self._lake(lake), (schema, table), progress))

    def merge_adjacent_files(
        self,
        table: str | None = None,
        *,
        schema: str | None = None,
        lake: str | None = None,
        min_file_size: int | None = None,
        max_file_size: int | None = None,
        max_compacted_files: int | None = None,
        progress: Progress | None = None,
    ) -> Result:
        """Merge small files into large ones, which show every snapshot what it saw.

        Args:
            table: one table; None for all of the schema, or of the lake.
            schema: where the tables are.
            lake: by default the one in use.
            min_file_size: smaller files are left alone; bytes.
            max_file_size: files as large as this are left alone; bytes.
            max_compacted_files: how many files are made of one table at most.
            progress: called with how many of how many steps are done.
        """
        from ducklake_spark.execution.compaction import merge
        from ducklake_spark.operations.merge_adjacent_files import MergeLimits

        limits = MergeLimits(min_file_size, max_file_size, max_compacted_files)
        return self.result(merge(self, self._lake(lake), (schema, table), limits, progress))

    def rewrite_data_files(
        self,
        table: str | None = None,
        *,
        schema: str | None = None,
        lake: str | None = None,
        delete_threshold: float | None = None,
        progress: Progress | None = None,
    ) -> Result:
        """Write files again of which a large part is deleted, without the deleted rows.

        Args:
            table: one table; None for all of the schema, or of the lake.
            schema: where the tables are.
            lake: by default the one in use.
            delete_threshold: the part of a file that must be deleted, from 0 to 1.
            progress: called with how many of how many steps are done.
        """
        from ducklake_spark.execution.compaction import rewrite

        place = (schema, table)
        return self.result(rewrite(self, self._lake(lake), place, delete_threshold, progress))

    def check(
        self,
        lake: str | None = None,
        *,
        progress: Progress | None = None,
    ) -> Result:
        """Verify a lake from its catalog to its bytes; no rows if all is well.

        Each row is one finding: severity, check, object, path and detail. Every file is read
        once, by Spark's tasks. See docs/reference/check.md for the list of checks.

        Args:
            lake: which lake, if not the one in use.
            progress: called with the number of files done and of all.
        """
        from ducklake_spark.execution.cleaning_functions import check

        return self.result(check(self, self._lake(lake), progress))

    def _lake(self, name: str | None) -> Lake:
        return self.lake(name) if name else self.current_lake()
