"""Answer Spark's question which files a filter can match. Called from Spark's planner, driver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ducklake_spark.catalog.file_facts import FileFacts, KnownFacts, load_file_facts
from ducklake_spark.catalog.plain_files import PlainFiles, PlainGroups
from ducklake_spark.errors import MissingDataFile
from ducklake_spark.lake import Lake
from ducklake_spark.limits import limits
from ducklake_spark.model.entities import DataFile, TableEntry
from ducklake_spark.model.predicate import Predicate, columns_of
from ducklake_spark.model.types import DataType
from ducklake_spark.operations.file_bounds import find_bounds, places_of, stats_of
from ducklake_spark.plan.prune import PruneResult, prune

"""Files that are asked for by their ids."""


@dataclass
class FileChoice:
    """Chooses among files that are at hand.

    What is known of them is read for the filter's columns only, and once for a DataFrame; with
    `is_part` for these files only, because the table has others.
    """

    lake: Lake
    table: TableEntry
    files: Sequence[DataFile]
    is_part: bool = False
    same_types: bool = False  # no column of the table has ever had another type
    known: KnownFacts = field(default_factory=KnownFacts)
    last: PruneResult | None = None

    def __call__(self, predicate: Predicate) -> Sequence[DataFile]:
        """The files that may hold a row that satisfies the predicate."""
        wanted = columns_of(predicate)
        facts = self.known.find(wanted, self._load)
        kinds = {i: self.table.schema.by_id[i].type for i in wanted}
        self.last = prune(
            self.files,
            predicate,
            kinds,
            facts.stats,
            specs=facts.specs,
            same_types=self.same_types,
            partition_values=facts.partition_values,
        )
        return self.last.kept

    def _load(self, missing: set[int]) -> FileFacts:
        if not self.files or self.table.table_id < 0:
            return FileFacts()
        ids = [file.data_file_id for file in self.files] if self.is_part else None
        # Files stay divided as they were written, whatever the table's spec is now.
        divided = any(file.partition_id is not None for file in self.files)
        return load_file_facts(
            self.lake.db, self.table.table_id, missing, ids, with_partitions=divided
        )


@dataclass
class LargeChoice:
    """Chooses among the files of a large table: the metadata database leaves most of them out.

    Attributes:
        plain: which files are fetched when a filter is known.
        groups: how many of them there were when the DataFrame was made.
        others: the files that are not plain.
        known: what is known of the others.
    """

    lake: Lake
    table: TableEntry
    plain: PlainFiles
    groups: PlainGroups
    others: Sequence[DataFile]
    same_types: bool = False
    known: KnownFacts = field(default_factory=KnownFacts)
    last: PruneResult | None = None

    def __call__(self, predicate: Predicate) -> Sequence[DataFile]:
        """The files that may hold a row that satisfies the predicate."""
        kinds = {i: self.table.schema.by_id[i].type for i in columns_of(predicate)}
        loaded = self._load_some(predicate, kinds) or self.plain.load(self.groups, predicate, kinds)
        if loaded is None:
            raise MissingDataFile(
                f'Cannot read table "{self.table.name}" at snapshot {self.plain.snapshot_id}: '
                "its files were merged or expired after this DataFrame was made.",
                hint="make the DataFrame again, at a snapshot that is still there.",
            )
        fetched, facts = loaded
        excluded = Counter({"statistics": self.groups.files - len(fetched)})
        kept: list[DataFile] = []
        for files, known in ((self.others, self.known), (fetched, KnownFacts(facts))):
            choice = FileChoice(
                self.lake, self.table, files, is_part=True, same_types=self.same_types, known=known
            )
            kept += choice(predicate)
            excluded.update(choice.last.excluded if choice.last else {})
        self.last = PruneResult(tuple(kept), dict(+excluded))
        return kept

    def _load_some(
        self, predicate: Predicate, kinds: Mapping[int, DataType]
    ) -> tuple[list[DataFile], FileFacts] | None:
        """The files that bounds in memory leave, if they are few; None if the catalog has to tell.

        Right after a change of the table it has to: to load bounds is one more statement.
        """
        memory, table_id = self.lake.contents, self.table.table_id
        if table_id in memory.changed:
            memory.changed.drop(table_id)
            return None
        bounds = find_bounds(memory, self.plain, self.groups, kinds)
        places = None if bounds is None else places_of(predicate, bounds, kinds)
        if not bounds or places is None or len(places) > limits().places_per_query:
            return None
        all_ids = next(iter(bounds.values())).ids
        ids = {all_ids[place].as_py(): place for place in places}
        loaded = self.plain.load_some(self.groups, list(ids))
        if loaded is None:
            return None
        files, facts = loaded
        numbers = [file.data_file_id for file in files]
        stats = {number: stats_of(bounds, ids[number], kinds) for number in numbers}
        return files, replace(facts, stats=stats, columns=frozenset(kinds))
