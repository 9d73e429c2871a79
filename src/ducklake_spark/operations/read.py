"""Read a table: load what the catalog says, plan, and hand Spark the files it may need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame, SparkSession

from ducklake_spark.catalog.files import (
    load_file_stats,
    load_files,
    load_name_mappings,
    load_partition_specs,
    load_partition_values,
)
from ducklake_spark.catalog.inlined import InlinedRow, count_inlined_rows, load_inlined_rows
from ducklake_spark.catalog.state import CatalogState
from ducklake_spark.commit.local import (
    LocalState,
    as_data_files,
    as_delete_file,
    local_mappings,
)
from ducklake_spark.lake import Lake
from ducklake_spark.model.entities import (
    DataFile,
    NameMapping,
    PartitionSpec,
    SchemaEntry,
    Snapshot,
    TableEntry,
)
from ducklake_spark.model.predicate import Predicate, columns_of
from ducklake_spark.model.schema import Column, Schema
from ducklake_spark.parquet.foreign import load_found_columns
from ducklake_spark.parquet.read import load_stored_types
from ducklake_spark.plan.prune import FileStats, PruneResult, prune
from ducklake_spark.plan.scan import plan_scan
from ducklake_spark.spark.internal import KEPT_ROW_ID, POSITION
from ducklake_spark.spark.local import local_frame
from ducklake_spark.spark.scan import scan
from ducklake_spark.spark.tags import tag_types


@dataclass
class FileChoice:
    """Answers Spark's question which files a filter can match. Called from Spark's planner.

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
        if not missing or self.table.table_id < 0:
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


@dataclass(frozen=True)
class TableVersion:
    """A table at a snapshot, with what the open transaction has added to it."""

    lake: Lake
    table: TableEntry
    snapshot: Snapshot
    state: CatalogState
    local: LocalState | None = None

    @property
    def schema(self) -> SchemaEntry:
        """The schema that it is in."""
        if self.local is not None:
            return self.local.schema(self.table.schema_id)
        return self.state.schemas[self.table.schema_id]

    @property
    def directory(self) -> str:
        """Where its files are."""
        return self.lake.table_directory(self.schema, self.table)


@dataclass(frozen=True)
class Contents:
    """All that a version of a table consists of.

    Attributes:
        files: committed ones first; those of the open transaction have ids below zero.
        inlined_deletes: (data file id, position) of rows that the catalog says are deleted.
        inlined: rows of the catalog; those of the open transaction come last.
    """

    files: Sequence[DataFile]
    inlined_deletes: Sequence[tuple[int, int]]
    inlined: Sequence[InlinedRow]


def read_table(
    spark: SparkSession, version: TableVersion, *, virtual_columns: Sequence[str] = ()
) -> DataFrame:
    """The table's rows as a DataFrame that stays at this snapshot for ever."""
    return read_contents(spark, version, load_contents(version), virtual_columns=virtual_columns)


def read_contents(
    spark: SparkSession,
    version: TableVersion,
    contents: Contents,
    *,
    virtual_columns: Sequence[str] = (),
) -> DataFrame:
    """`read_table` of what `load_contents` has loaded."""
    table, snapshot_id = version.table, version.snapshot.snapshot_id
    files, inlined = contents.files, contents.inlined
    choose = FileChoice(version.lake, table, files, same_types=_has_same_types(version))
    plan = plan_scan(
        table,
        snapshot_id,
        files,
        schema_at=lambda snapshot: _schema_at(version, snapshot),
        mappings=_mappings(version, files),
        changed_at=_changed_at(version),
        stored_types=load_stored_types,
        found_columns=load_found_columns,
    )
    frames = [_inlined_frame(spark, table, inlined, virtual_columns)] if inlined else []
    rows = scan(
        spark,
        plan,
        choose,
        inlined=frames,
        inlined_deletes=contents.inlined_deletes,
        virtual_columns=virtual_columns,
    )
    return tag_types(rows, table.schema)


def count_rows(version: TableVersion) -> int | None:
    """How many rows the table has, from the catalog alone; None when only the files can tell.

    Files that were merged or deleted from more than once hold rows and deletes of several
    snapshots: what an older snapshot sees of them stands in the files.
    """
    files, deletes = load_files_of(version)
    newest = version.snapshot.snapshot_id == version.lake.latest().snapshot_id
    if not newest and any(file.delete_file or file.partial_max is not None for file in files):
        return None
    total = sum(file.record_count for file in files) - len(deletes)
    total -= sum(file.delete_file.delete_count for file in files if file.delete_file)
    if version.table.table_id >= 0:
        total += count_inlined_rows(
            version.lake.db, version.table.table_id, version.snapshot.snapshot_id
        )
    if version.local is not None:
        total += len(version.local.local_rows(version.table.table_id))
        own = version.local.inline_deletes(version.table.table_id)
        total -= len(own.rows) if own else 0
    return total


def _mappings(
    version: TableVersion, files: Sequence[DataFile]
) -> dict[int, tuple[NameMapping, ...]]:
    """The name mappings that files refer to; those of the open transaction are below zero."""
    used = {file.mapping_id for file in files if file.mapping_id is not None}
    known = load_name_mappings(version.lake.db, [number for number in used if number >= 0])
    if version.local is not None:
        known |= local_mappings(version.local.local_files(version.table.table_id))
    return known


def _schema_at(version: TableVersion, snapshot_id: int) -> Schema:
    uncommitted = _uncommitted_schemas(version)
    if snapshot_id in uncommitted:
        return uncommitted[snapshot_id]
    if version.table.table_id < 0:
        return version.table.schema
    return version.state.history(version.table.table_id).schema_at(snapshot_id)


def _changed_at(version: TableVersion) -> set[int]:
    """The snapshots at which a column of the table came, went or changed."""
    points = set(_uncommitted_schemas(version))
    if version.table.table_id < 0:
        return points
    return points | version.state.history(version.table.table_id).changes


def _has_same_types(version: TableVersion) -> bool:
    """Whether no column of the table has ever had another type than now."""
    table = version.table
    if table.table_id < 0:
        return False
    rows = version.state.history(table.table_id).rows
    types = {(row.column_id, row.type_name.lower()) for row in rows}
    own = {(column.column_id, column.type_name.lower()) for column in table.schema.by_id.values()}
    return len(types | own) == len({column_id for column_id, _ in types | own})


def _uncommitted_schemas(version: TableVersion) -> dict[int, Schema]:
    """Columns that own files may have been written with, as if of snapshots yet to come."""
    if version.local is None:
        return {}
    older = version.local.older_schemas(version.table.table_id)
    return dict(enumerate(older, version.snapshot.snapshot_id + 1))


def load_files_of(version: TableVersion) -> tuple[list[DataFile], list[tuple[int, int]]]:
    """The files of the table, own ones last, and the rows of them that the catalog deletes."""
    table = version.table
    files: list[DataFile] = []
    deletes: list[tuple[int, int]] = []
    snapshot_id = version.snapshot.snapshot_id
    if table.table_id >= 0:
        files, deletes = load_files(
            version.lake.db, table.table_id, snapshot_id, directory=version.directory
        )
    if version.local is not None:
        files, deletes = _less_own_deletes(version.local, table.table_id, files, deletes)
        added = version.local.local_files(table.table_id)
        files = [*files, *as_data_files(added, begin_snapshot=snapshot_id)]
    return files, deletes


def _less_own_deletes(
    local: LocalState, table_id: int, files: list[DataFile], deletes: list[tuple[int, int]]
) -> tuple[list[DataFile], list[tuple[int, int]]]:
    """Committed files without what the open transaction has deleted from them."""
    by_file, by_row = local.file_deletes(table_id), local.inline_deletes(table_id)
    if by_file is not None:
        ended = set(by_file.ended)
        own = {each.data_file_id: as_delete_file(each.written) for each in by_file.deletes}
        files = [
            replace(file, delete_file=own.get(file.data_file_id, file.delete_file))
            for file in files
            if file.data_file_id not in ended
        ]
        deletes = [each for each in deletes if each[0] not in ended]
    if by_row is not None:
        present = {file.data_file_id for file in files}
        added = [each for each in by_row.positions if each[0] in present]
        hidden = Counter(file_id for file_id, _ in added)
        files = [
            replace(file, inlined_deletes=file.inlined_deletes + hidden[file.data_file_id])
            for file in files
        ]
        deletes = [*deletes, *added]
    return files, deletes


def load_contents(version: TableVersion) -> Contents:
    """Ask the catalog for the files and the inlined rows of a version."""
    files, deletes = load_files_of(version)
    inlined: list[InlinedRow] = []
    if version.table.table_id >= 0:
        history = version.state.history(version.table.table_id)
        inlined = load_inlined_rows(
            version.lake.db, version.table, history, version.snapshot.snapshot_id
        )
    if version.local is not None:
        deleted = version.local.inline_deletes(version.table.table_id)
        gone = set(deleted.rows) if deleted else set()
        inlined = [row for row in inlined if (row.table_name, row.row_id) not in gone]
        own = version.local.local_rows(version.table.table_id)
        inlined += [InlinedRow(row_id, None, values) for row_id, values in own]
    return Contents(files, deletes, inlined)


def _inlined_frame(
    spark: SparkSession,
    table: TableEntry,
    rows: Sequence[InlinedRow],
    virtual_columns: Sequence[str],
) -> DataFrame:
    columns = list(table.schema.columns)
    extra = [Column(-1 - i, name, _virtual_type(name)) for i, name in enumerate(virtual_columns)]
    values = [
        (*row.values, *(_virtual_value(row, place, name) for name in virtual_columns))
        for place, row in enumerate(rows)
    ]
    return local_frame(spark, [*columns, *extra], values)


def _virtual_type(name: str) -> str:
    return "varchar" if name == "filename" else "int64"


def _virtual_value(row: InlinedRow, place: int, name: str) -> int | str | None:
    match name:
        case _ if name in ("rowid", KEPT_ROW_ID):
            return row.row_id
        case _ if name == POSITION:
            return place
        case "snapshot_id":
            return row.snapshot_id
        case _:
            return None  # facts of a file; `scan` refuses names that it does not know
