"""Read a table: load what the catalog says, plan, and hand Spark the files it may need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession

from ducklake_spark.catalog.file_totals import FileTotals, load_file_totals
from ducklake_spark.catalog.files import load_files, load_name_mappings
from ducklake_spark.catalog.inlined import InlinedRow, count_inlined_rows, load_inlined_rows
from ducklake_spark.catalog.plain_files import PlainFiles
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
    SchemaEntry,
    Snapshot,
    TableEntry,
)
from ducklake_spark.model.schema import Column, Schema
from ducklake_spark.operations.choose_files import FileChoice, LargeChoice
from ducklake_spark.operations.large_tables import (
    MANY,
    LargeTable,
    load_large_table,
    with_listings,
)
from ducklake_spark.parquet.foreign import load_found_columns
from ducklake_spark.parquet.read import load_stored_types
from ducklake_spark.plan.history import load_history
from ducklake_spark.plan.scan import ScanPlan, plan_scan
from ducklake_spark.spark.internal import KEPT_ROW_ID, POSITION
from ducklake_spark.spark.local import local_frame
from ducklake_spark.spark.relation import FileChooser
from ducklake_spark.spark.scan import scan
from ducklake_spark.spark.tags import tag_types


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
        large: files besides `files`, not fetched because they are many.
    """

    files: Sequence[DataFile]
    inlined_deletes: Sequence[tuple[int, int]]
    inlined: Sequence[InlinedRow]
    large: LargeTable | None = None


def read_table(
    spark: SparkSession, version: TableVersion, *, virtual_columns: Sequence[str] = ()
) -> DataFrame:
    """The table's rows as a DataFrame that stays at this snapshot for ever."""
    # The name and the number of a file are joined to its rows: all files have to be known.
    lists_all = bool({"filename", "file_index"} & set(virtual_columns))
    contents = load_contents(version, lazily=not lists_all)
    return read_contents(spark, version, contents, virtual_columns=virtual_columns)


def read_contents(
    spark: SparkSession,
    version: TableVersion,
    contents: Contents,
    *,
    virtual_columns: Sequence[str] = (),
) -> DataFrame:
    """`read_table` of what `load_contents` has loaded."""
    plan, choose = _plan(version, contents)
    inlined = contents.inlined
    frames = [_inlined_frame(spark, version.table, inlined, virtual_columns)] if inlined else []
    rows = scan(
        spark,
        plan,
        choose,
        inlined=frames,
        inlined_deletes=contents.inlined_deletes,
        virtual_columns=virtual_columns,
    )
    return tag_types(rows, version.table.schema)


def _plan(version: TableVersion, contents: Contents) -> tuple[ScanPlan, FileChooser]:
    files, large = contents.files, contents.large
    plan = plan_scan(
        version.table,
        version.snapshot.snapshot_id,
        [*files, *large.samples()] if large else files,
        schema_at=lambda snapshot: _schema_at(version, snapshot),
        mappings=_mappings(version, files),
        changed_at=_changed_at(version),
        stored_types=load_stored_types,
        found_columns=load_found_columns,
    )
    lake, table, same = version.lake, version.table, _has_same_types(version)
    if large is None:
        return plan, FileChoice(lake, table, files, same_types=same)
    choose = LargeChoice(lake, table, large.plain, large.groups, files, same_types=same)
    return with_listings(plan, large, files, choose), choose


def count_rows(version: TableVersion) -> int | None:
    """How many rows the table has, from the catalog alone; None when only the files can tell.

    Files that were merged or deleted from more than once hold rows and deletes of several
    snapshots: what an older snapshot sees of them stands in the files.
    """
    with version.lake.db.reading():
        return _count_rows(version)


def _count_rows(version: TableVersion) -> int | None:
    totals = _file_totals(version)
    newest = version.snapshot.snapshot_id == version.lake.latest().snapshot_id
    if not newest and totals.with_history:
        return None
    total = totals.rows - totals.deleted
    if version.table.table_id >= 0:
        total += count_inlined_rows(
            version.lake.db, version.table.table_id, version.snapshot.snapshot_id
        )
    if version.local is not None:
        total += len(version.local.local_rows(version.table.table_id))
        own = version.local.inline_deletes(version.table.table_id)
        total -= len(own.rows) if own else 0
    return total


def _file_totals(version: TableVersion) -> FileTotals:
    if version.table.table_id >= 0 and not _has_own_files(version):
        return load_file_totals(
            version.lake.db, version.table.table_id, version.snapshot.snapshot_id
        )
    files, deletes = load_files_of(version)
    hidden = [file.delete_file.delete_count for file in files if file.delete_file]
    merged = [file for file in files if file.delete_file or file.partial_max is not None]
    return FileTotals(
        sum(file.record_count for file in files), sum(hidden) + len(deletes), len(merged)
    )


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
        files, deletes = _load_committed(version)
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


def load_contents(version: TableVersion, *, lazily: bool = False) -> Contents:
    """Ask the catalog for the files and the inlined rows of a version.

    All of it is of one state of the catalog: a flush moves inlined rows and deletes into files of
    snapshots that are there already, and whoever asks before and after it misses them.

    With `lazily` the files of a large table are only counted, as far as that is enough to plan.
    """
    with version.lake.db.reading():
        return _load_contents(version, lazily=lazily)


def _load_contents(version: TableVersion, *, lazily: bool) -> Contents:
    large = None
    if lazily and version.table.table_id >= 0 and not _has_own_files(version):
        files, deletes = _load_committed(version, at_most=MANY + 1)
        if len(files) > MANY:
            large = _load_large(version, has_inlined_deletes=bool(deletes))
            files, deletes = large.plain.load_others() if large.groups.has_others else ([], [])
    else:
        files, deletes = load_files_of(version)
    return Contents(files, deletes, _load_inlined(version), large)


def _load_inlined(version: TableVersion) -> list[InlinedRow]:
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
    return inlined


def _has_own_files(version: TableVersion) -> bool:
    """Whether the open transaction has added files to the table or deleted from some."""
    local, table_id = version.local, version.table.table_id
    return local is not None and bool(
        local.local_files(table_id)
        or local.file_deletes(table_id)
        or local.inline_deletes(table_id)
        or local.older_schemas(table_id)
    )


def _load_committed(
    version: TableVersion, at_most: int | None = None
) -> tuple[list[DataFile], list[tuple[int, int]]]:
    return load_files(
        version.lake.db,
        version.table.table_id,
        version.snapshot.snapshot_id,
        directory=version.directory,
        at_most=at_most,
    )


def _load_large(version: TableVersion, *, has_inlined_deletes: bool) -> LargeTable:
    plain = PlainFiles(
        version.lake.db,
        version.table.table_id,
        version.snapshot.snapshot_id,
        version.directory,
        has_inlined_deletes=has_inlined_deletes,
    )
    history = load_history(
        version.table, lambda snapshot: _schema_at(version, snapshot), (), _changed_at(version)
    )
    return load_large_table(plain, history)


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
