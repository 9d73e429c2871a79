"""Answer Spark's question which files a filter can match. Called from Spark's planner, driver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from ducklake_spark.catalog.files import (
    load_file_stats,
    load_partition_specs,
    load_partition_values,
)
from ducklake_spark.catalog.plain_files import PlainFiles, PlainGroups
from ducklake_spark.errors import MissingDataFile
from ducklake_spark.lake import Lake
from ducklake_spark.model.entities import DataFile, PartitionSpec, TableEntry
from ducklake_spark.model.predicate import Predicate, columns_of
from ducklake_spark.plan.prune import FileStats, PruneResult, prune


@dataclass
class FileChoice:
    """Chooses among files that are at hand.

    Statistics are read for the filter's columns only, and once for a DataFrame; with `is_part`
    for these files only, because the table has others.
    """

    lake: Lake
    table: TableEntry
    files: Sequence[DataFile]
    is_part: bool = False
    same_types: bool = False  # no column of the table has ever had another type
    last: PruneResult | None = None
    _stats: dict[int, dict[int, FileStats]] = field(default_factory=dict)
    _loaded: set[int] = field(default_factory=set)
    _partition_values: dict[int, tuple[str | None, ...]] | None = None
    _specs: dict[int, PartitionSpec] = field(default_factory=dict)

    def __call__(self, predicate: Predicate) -> Sequence[DataFile]:
        """The files that may hold a row that satisfies the predicate."""
        wanted = columns_of(predicate)
        self._load(wanted - self._loaded)
        kinds = {i: self.table.schema.by_id[i].type for i in wanted}
        self.last = prune(
            self.files,
            predicate,
            kinds,
            self._stats,
            specs=self._specs,
            same_types=self.same_types,
            partition_values=self._partition_values or {},
        )
        return self.last.kept

    def _load(self, missing: set[int]) -> None:
        if not missing or not self.files or self.table.table_id < 0:
            return
        db = self.lake.db
        ids = [file.data_file_id for file in self.files] if self.is_part else None
        for file_id, columns in load_file_stats(db, self.table.table_id, missing, ids).items():
            self._stats.setdefault(file_id, {}).update(columns)
        # Files stay divided as they were written, whatever the table's spec is now.
        divided = any(file.partition_id is not None for file in self.files)
        if divided and self._partition_values is None:
            self._partition_values = load_partition_values(db, self.table.table_id, ids)
            self._specs = load_partition_specs(db, self.table.table_id)
        self._loaded |= missing


@dataclass
class LargeChoice:
    """Chooses among the files of a large table: the metadata database leaves most of them out.

    Attributes:
        plain: which files are fetched when a filter is known.
        groups: how many of them there were when the DataFrame was made.
        others: the files that are not plain.
    """

    lake: Lake
    table: TableEntry
    plain: PlainFiles
    groups: PlainGroups
    others: Sequence[DataFile]
    same_types: bool = False
    last: PruneResult | None = None

    def __call__(self, predicate: Predicate) -> Sequence[DataFile]:
        """The files that may hold a row that satisfies the predicate."""
        kinds = {i: self.table.schema.by_id[i].type for i in columns_of(predicate)}
        fetched = self.plain.load(self.groups, predicate, kinds)
        if fetched is None:
            raise MissingDataFile(
                f'Cannot read table "{self.table.name}" at snapshot {self.plain.snapshot_id}: '
                "its files were merged or expired after this DataFrame was made.",
                hint="make the DataFrame again, at a snapshot that is still there.",
            )
        excluded = Counter({"statistics": self.groups.files - len(fetched)})
        kept: list[DataFile] = []
        for files in (self.others, fetched):
            choice = FileChoice(
                self.lake, self.table, files, is_part=True, same_types=self.same_types
            )
            kept += choice(predicate)
            excluded.update(choice.last.excluded if choice.last else {})
        self.last = PruneResult(tuple(kept), dict(+excluded))
        return kept
