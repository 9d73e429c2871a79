"""Rewrite groups of a table's files: what merging and rewriting have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property

from ducklake_spark.catalog.compaction import load_candidates, load_columns_without_nan
from ducklake_spark.catalog.files import load_name_mappings
from ducklake_spark.catalog.settings import Settings
from ducklake_spark.commit.transaction import Transaction
from ducklake_spark.errors import DuckLakeError
from ducklake_spark.lake import Lake
from ducklake_spark.limits import limits
from ducklake_spark.model.compaction import (
    MergeFiles,
    RewriteFiles,
    SourceFile,
)
from ducklake_spark.model.entities import DataFile, SchemaEntry, TableEntry
from ducklake_spark.model.paths import relative_to, resolve
from ducklake_spark.model.schema import Column, Schema
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.operations.progress import Progress
from ducklake_spark.operations.write_layout import plan_layout
from ducklake_spark.parquet.read import load_stored_types
from ducklake_spark.parquet.rewrite import GroupOutcome, GroupRewrite, SourceRead
from ducklake_spark.plan.compaction import Candidate, Group
from ducklake_spark.plan.layout import WriteLayout
from ducklake_spark.plan.scan import plan_scan
from ducklake_spark.spark.local import carrier_arrow_schema
from ducklake_spark.spark.rewrite import Outcome, discard_outcomes

COLUMNS = (
    ("schema_name", "VARCHAR"),
    ("table_name", "VARCHAR"),
    ("files_processed", "BIGINT"),
    ("files_created", "BIGINT"),
)
Done = tuple[Group, GroupOutcome]
Runner = Callable[[Sequence[GroupRewrite], Progress | None], list[Outcome]]
"""Rewrites groups; not called when there are none."""


# A group becomes one file, however large.
_ONE_FILE = 1 << 62


@dataclass(frozen=True)
class TableFiles:
    """The files of one table that a transaction may compact, with the options in force."""

    lake: Lake
    tx: Transaction
    schema: SchemaEntry
    table: TableEntry
    settings: Settings

    @property
    def directory(self) -> str:
        """Where the table's own files are."""
        return self.lake.table_directory(self.schema, self.table)

    @cached_property
    def _loaded(self) -> tuple[list[Candidate], dict[int, list[int]]]:
        return load_candidates(
            self.lake.db,
            self.table.table_id,
            self.tx.snapshot.snapshot_id,
            directory=self.directory,
        )

    @property
    def candidates(self) -> list[Candidate]:
        """The files that the transaction sees, but for those that it has compacted already."""
        done = {
            source.file_id
            for change in self.tx.local.changes
            if isinstance(change, MergeFiles | RewriteFiles)
            for group in change.groups
            for source in group.sources
        }
        return [c for c in self._loaded[0] if c.file.data_file_id not in done]

    @property
    def inlined_deletes(self) -> dict[int, list[int]]:
        """Positions that the catalog says are deleted, by file id."""
        return self._loaded[1]

    def option(self, key: str) -> str | None:
        """The value of an option for this table."""
        return self.settings.get(key, schema_id=self.table.schema_id, table_id=self.table.table_id)

    def source(self, file: DataFile) -> SourceFile:
        """The file as one that gives way."""
        path, is_relative = relative_to(resolve(self.lake.data_path), file.path)
        delete = file.delete_file.delete_file_id if file.delete_file else None
        return SourceFile(file.data_file_id, path, is_relative, delete)


@dataclass(frozen=True)
class Plan:
    """Groups of one table, and how each is rewritten."""

    files: TableFiles
    groups: tuple[Group, ...]
    rewrites: tuple[GroupRewrite, ...]


def plan_rewrites(
    files: TableFiles, groups: Sequence[Group], *, keep_row_ids: bool, keep_snapshots: bool
) -> Plan:
    """Find out how the columns of every file are had. Reads footers of a few doubtful ones only."""
    if not groups:
        return Plan(files, (), ())
    table, db = files.table, files.lake.db
    history = files.tx.local.base.history(table.table_id)
    members = [c.file for group in groups for c in group]
    mappings = [file.mapping_id for file in members if file.mapping_id is not None]
    names = load_name_mappings(db, mappings)
    clean = load_columns_without_nan(db, table.table_id, [f.data_file_id for f in members])
    rewrites = []
    for group in groups:
        # As of the time when its files were written: older columns are not to get lost.
        stored = history.schema_at(group[0].file.begin_snapshot)
        then = replace(table, schema=schema_then(stored, table))
        scan = plan_scan(
            then,
            files.tx.snapshot.snapshot_id,
            [candidate.file for candidate in group],
            schema_at=history.schema_at,
            mappings=names,
            changed_at=history.changes,
            stored_types=load_stored_types,
        )
        reads = {
            file.data_file_id: SourceRead(
                file,
                branch.columns,
                branch.by_name,
                dict(branch.hive).get(file.data_file_id, ()),
                tuple(files.inlined_deletes.get(file.data_file_id, ())),
            )
            for branch in scan.branches
            for file in branch.files
        }
        rewrites.append(
            GroupRewrite(
                sources=tuple(reads[c.file.data_file_id] for c in group),
                layout=replace(_layout(files, then), with_nan=_with_nan(then.schema, group, clean)),
                carriers=carrier_arrow_schema(then.schema.columns),
                snapshot_id=files.tx.snapshot.snapshot_id,
                keep_row_ids=keep_row_ids,
                keep_snapshots=keep_snapshots,
                folder=_folder(group[0], files.directory),
                scan=scan,
                batch_rows=limits().read_batch_rows,
            )
        )
    return Plan(files, tuple(groups), tuple(rewrites))


@dataclass(frozen=True)
class Compacted:
    """What became of a call: a row for each group that is done, and why others are not."""

    rows: RowSet
    failure: DuckLakeError | None = None


def compact(
    run: Runner,
    plans: Sequence[Plan],
    stage: Callable[[Plan, Sequence[Done]], None],
    progress: Progress | None,
) -> Compacted:
    """Rewrite the groups of all tables side by side, and stage those that succeed."""
    rewrites = [rewrite for plan in plans for rewrite in plan.rewrites]
    outcomes = run(rewrites, progress) if rewrites else []
    failures = [outcome for outcome in outcomes if isinstance(outcome, DuckLakeError)]
    rows: list[tuple[str, str, int, int]] = []
    remaining = iter(outcomes)
    try:
        for plan in plans:
            own = [(group, next(remaining)) for group in plan.groups]
            done = [(g, outcome) for g, outcome in own if isinstance(outcome, GroupOutcome)]
            if done:
                stage(plan, done)
            names = (plan.files.schema.name, plan.files.table.name)
            rows += [(*names, len(group), len(outcome.files)) for group, outcome in done]
    except BaseException:
        discard_outcomes(outcomes)  # those that are staged are removed twice, which does no harm
        raise
    return Compacted(RowSet(COLUMNS, tuple(rows)), _first_of(failures, len(outcomes)))


def _first_of(failures: Sequence[DuckLakeError], total: int) -> DuckLakeError | None:
    if not failures:
        return None
    first = failures[0]
    if total == 1:
        return first
    return type(first)(
        f"{len(failures)} of {total} groups of files could not be rewritten, the others are done. "
        f"The first failure: {first.message}",
        hint=first.hint,
    )


def schema_then(stored: Schema, table: TableEntry) -> Schema:
    """The columns of older rows as they are written again.

    Without NOT NULL, since rows that are in the table stay there. Of a sorted table they have the
    names of today, of which sort keys speak; files are read by the ids of columns anyway.
    """
    columns = tuple(replace(column, nulls_allowed=True) for column in stored.columns)
    if table.sort is None:
        return Schema(columns)
    today = {column.column_id: column.name for column in table.schema.columns}
    taken = {name.lower() for name in today.values()}
    return Schema(
        tuple(
            replace(column, name=today.get(column.column_id) or _free_name(column, taken))
            for column in columns
        )
    )


def _free_name(column: Column, taken: AbstractSet[str]) -> str:
    """A name for a dropped column that no other has."""
    return f"{column.name}_{column.column_id}" if column.name.lower() in taken else column.name


def _layout(files: TableFiles, then: TableEntry) -> WriteLayout:
    layout = plan_layout(files.lake, replace(then, partition=None), files.directory)
    return replace(layout, target_file_size=_ONE_FILE)


def _folder(candidate: Candidate, directory: str) -> str:
    """The folder of a partition, which the new file shares."""
    path, is_relative = relative_to(directory, candidate.file.path)
    if candidate.file.partition_id is None or not is_relative or "/" not in path:
        return ""
    return path.rpartition("/")[0] + "/"


def _with_nan(
    schema: Schema, group: Iterable[Candidate], clean: Mapping[int, set[int]]
) -> frozenset[int]:
    floats = {
        leaf.column_id
        for leaf in schema.leaves()
        if leaf.type_name.lower() in ("float32", "float64")
    }
    maybe: set[int] = set()
    for candidate in group:
        maybe |= floats - clean.get(candidate.file.data_file_id, set())
    return frozenset(maybe)
