"""What a table consists of at a snapshot: its files, deletes and inlined rows. Driver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ducklake_spark.caching import Cache, declare
from ducklake_spark.catalog.file_facts import KnownFacts
from ducklake_spark.catalog.files import (
    FILE_COLUMNS,
    files_query,
    load_files,
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
)
from ducklake_spark.lake import Lake
from ducklake_spark.limits import limits
from ducklake_spark.model.entities import (
    DataFile,
    SchemaEntry,
    Snapshot,
    TableEntry,
)
from ducklake_spark.model.schema import Schema
from ducklake_spark.operations.large_tables import (
    LargeTable,
    load_large_table,
)
from ducklake_spark.operations.untouched import is_untouched
from ducklake_spark.plan.history import load_history


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


def schema_at(version: TableVersion, snapshot_id: int) -> Schema:
    """The columns that a table had at a snapshot, or has in the open transaction."""
    uncommitted = _uncommitted_schemas(version)
    if snapshot_id in uncommitted:
        return uncommitted[snapshot_id]
    if version.table.table_id < 0:
        return version.table.schema
    return version.state.history(version.table.table_id).schema_at(snapshot_id)


def changed_at(version: TableVersion) -> set[int]:
    """The snapshots at which a column of the table came, went or changed."""
    points = set(_uncommitted_schemas(version))
    if version.table.table_id < 0:
        return points
    return points | version.state.history(version.table.table_id).changes


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
        version.table, lambda snapshot: schema_at(version, snapshot), (), changed_at(version)
    )
    return load_large_table(plain, history, version.table)
