"""Read a table: load what the catalog says, plan, and hand Spark the files it may need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, cast

from pyspark.sql import DataFrame, SparkSession

from ducklake_spark.bridge.frames import fresh
from ducklake_spark.bridge.half import session_key
from ducklake_spark.caching import Cache, declare
from ducklake_spark.catalog.file_facts import KnownFacts
from ducklake_spark.catalog.files import (
    FILE_COLUMNS,
    files_query,
    load_files,
    load_name_mappings,
    load_positions,
    read_files,
)
from ducklake_spark.catalog.inlined import DatedTables, InlinedRow, load_inlined_rows
from ducklake_spark.catalog.places import Places, load_with_places
from ducklake_spark.catalog.plain_files import PlainFiles
from ducklake_spark.catalog.state import CatalogState
from ducklake_spark.catalog_db.connection import Statement
from ducklake_spark.commit.local import (
    LocalState,
    as_data_files,
    as_delete_file,
    local_mappings,
)
from ducklake_spark.lake import Lake
from ducklake_spark.limits import limits
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
    LargeTable,
    load_large_table,
    with_listings,
)
from ducklake_spark.operations.untouched import is_untouched
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
    """A table at a snapshot, with what the open transaction has added to it.

    `is_newest` says that the statement that asks has just found no newer snapshot.
    """

    lake: Lake
    table: TableEntry
    snapshot: Snapshot
    state: CatalogState
    local: LocalState | None = None
    is_newest: bool = False

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


_PLANS: Final = declare(
    "plans of tables",
    key="the session, a digest of its settings, and the virtual columns; for a table that Spark "
    "knows by name, that name and the snapshot",
    depends_on="what the table consists of at its snapshot, to which the cache belongs, and the "
    "settings with which Spark has analyzed it",
    seen_by="lake",
    emptied="when a newer snapshot is seen, with what is remembered of the table",
    entries=8,
)


@dataclass(frozen=True)
class Contents:
    """All that a version of a table consists of.

    Attributes:
        files: committed ones first; those of the open transaction have ids below zero.
        inlined_deletes: (data file id, position) of rows that the catalog says are deleted.
        inlined: rows of the catalog; those of the open transaction come last.
        large: files besides `files`, not fetched because they are many.
        known: what queries have learnt of the committed files.
        plans: what Spark has made of it.
    """

    files: Sequence[DataFile]
    inlined_deletes: Sequence[tuple[int, int]]
    inlined: Sequence[InlinedRow]
    large: LargeTable | None = None
    known: KnownFacts = field(default_factory=KnownFacts, compare=False)
    plans: Cache[Hashable, Any] = field(default_factory=_PLANS.make, compare=False)

    @property
    def size(self) -> int:
        """How many entries it has in memory."""
        return len(self.files) + len(self.inlined_deletes) + len(self.inlined)


def read_table(
    spark: SparkSession, version: TableVersion, *, virtual_columns: Sequence[str] = ()
) -> DataFrame:
    """The table's rows as a DataFrame that stays at this snapshot for ever."""
    return fresh(kept_plan(spark, version, virtual_columns=virtual_columns))


def kept_plan(
    spark: SparkSession,
    version: TableVersion,
    *,
    virtual_columns: Sequence[str] = (),
    session: str | None = None,
    contents: Contents | None = None,
) -> DataFrame:
    """`read_table` as one frame for all who ask the same: its columns have the same ids each time.

    Making a plan costs more than the rest of a small query does. Who knows the key of the session
    already, or has loaded the contents, says so.
    """
    # The name and the number of a file are joined to its rows: all files have to be known.
    lists_all = bool({"filename", "file_index"} & set(virtual_columns))
    if contents is None or lists_all:
        contents = load_contents(version, lazily=not lists_all)
    key = (session or session_key(spark), tuple(virtual_columns))
    return cast(
        "DataFrame",
        contents.plans.find(
            key, lambda: read_contents(spark, version, contents, virtual_columns=virtual_columns)
        ),
    )


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


def plan_contents(version: TableVersion, contents: Contents) -> ScanPlan:
    """How what `load_contents` has loaded is read, without Spark."""
    return _plan(version, contents)[0]


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
        found_columns=partial(load_found_columns, kept=version.lake.contents.columns),
    )
    lake, table, same = version.lake, version.table, _has_same_types(version)
    if large is None:
        return plan, FileChoice(lake, table, files, same_types=same, known=contents.known)
    choose = LargeChoice(
        lake,
        table,
        large.plain,
        large.groups,
        files,
        same_types=same,
        known=contents.known,
    )
    return with_listings(plan, large, files, choose), choose


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

    With `lazily` the files of a large table are only counted, as far as that is enough to plan;
    and what an earlier query has loaded is taken if no snapshot has been made since. Every commit
    makes one, also those that change what older snapshots consist of.
    """
    if not lazily or version.table.table_id < 0 or has_own_files(version):
        with version.lake.db.reading():
            files, deletes = load_files_of(version)
            return Contents(files, deletes, _load_inlined(version))
    if not version.is_newest or _has_own_rows(version):
        with version.lake.db.reading():
            return _load_lazily(version)[0]
    memory, table = version.lake.contents, version.table
    found = memory.find(table, version.snapshot)
    if isinstance(found, Contents):
        return found
    unchanged = _find_unchanged(version)
    if unchanged is not None:
        memory.keep(table, version.snapshot, unchanged)
        return unchanged
    with version.lake.db.reading():
        contents, places = _load_lazily(version)
    is_small = contents.size <= limits().remembered_contents
    if places.latest == version.snapshot.snapshot_id and is_small:
        memory.keep(table, version.snapshot, contents)
    return contents


def _find_unchanged(version: TableVersion) -> Contents | None:
    """What a large table consisted of at an older snapshot, if no commit has changed it since."""
    memory, table_id = version.lake.contents, version.table.table_id
    at, contents = memory.find_older(version.table)
    if at is None or not isinstance(contents, Contents) or contents.large is None:
        return None
    if not is_untouched(memory.log, table_id, at, version.snapshot):
        memory.changed.put(table_id, True)
        return None
    large = contents.large.at(version.snapshot.snapshot_id)
    return replace(contents, large=large, plans=_PLANS.make())


def _load_lazily(version: TableVersion) -> tuple[Contents, Places]:
    """The files at once if they are few, which is expected unless they have been many before."""
    table_id, many = version.table.table_id, version.lake.contents.many
    if table_id not in many:
        contents, places = _load_few(version)
        if contents is not None:
            return contents, places
        many.put(table_id, True)
    large, places = _load_large(version)
    if large.groups.files + large.groups.others <= limits().many_files:
        many.drop(table_id)
        return _load_lazily(version)
    files, deletes = large.plain.load_others() if large.groups.others else ([], [])
    return Contents(files, deletes, _load_inlined(version, places.inlined), large), places


def _load_few(version: TableVersion) -> tuple[Contents | None, Places]:
    """All files, or None if there are too many."""
    db, table_id = version.lake.db, version.table.table_id
    snapshot_id = version.snapshot.snapshot_id
    query = files_query(db, table_id, snapshot_id)
    many = limits().many_files
    some = Statement(f"{query.sql} ORDER BY d.data_file_id LIMIT {many + 1}", query.params)
    rows, places = load_with_places(db, version.table, some, FILE_COLUMNS)
    if len(rows) > many:
        return None, places
    positions = load_positions(db, table_id, snapshot_id) if rows and places.has_deletes else []
    rows = sorted(rows, key=lambda row: int(row[0]))
    files, deletes = read_files(db, rows, version.directory, positions)
    return Contents(files, deletes, _load_inlined(version, places.inlined)), places


def _load_inlined(version: TableVersion, tables: DatedTables | None = None) -> list[InlinedRow]:
    inlined: list[InlinedRow] = []
    if version.table.table_id >= 0:
        history = version.state.history(version.table.table_id)
        inlined = load_inlined_rows(
            version.lake.db, version.table, history, version.snapshot.snapshot_id, tables
        )
    if version.local is not None:
        deleted = version.local.inline_deletes(version.table.table_id)
        gone = set(deleted.rows) if deleted else set()
        inlined = [row for row in inlined if (row.table_name, row.row_id) not in gone]
        own = version.local.local_rows(version.table.table_id)
        inlined += [InlinedRow(row_id, None, values) for row_id, values in own]
    return inlined


def _has_own_rows(version: TableVersion) -> bool:
    local = version.local
    return local is not None and bool(local.local_rows(version.table.table_id))


def has_own_files(version: TableVersion) -> bool:
    """Whether the open transaction has added files to the table or deleted from some."""
    local, table_id = version.local, version.table.table_id
    return local is not None and bool(
        local.local_files(table_id)
        or local.file_deletes(table_id)
        or local.inline_deletes(table_id)
        or local.older_schemas(table_id)
    )


def _load_committed(version: TableVersion) -> tuple[list[DataFile], list[tuple[int, int]]]:
    return load_files(
        version.lake.db,
        version.table.table_id,
        version.snapshot.snapshot_id,
        directory=version.directory,
    )


def _load_large(version: TableVersion) -> tuple[LargeTable, Places]:
    plain = PlainFiles(
        version.lake.db,
        version.table.table_id,
        version.snapshot.snapshot_id,
        version.directory,
        with_ids=version.is_newest and not _has_own_rows(version),
    )
    history = load_history(
        version.table, lambda snapshot: _schema_at(version, snapshot), (), _changed_at(version)
    )
    return load_large_table(plain, history, version.table)


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
