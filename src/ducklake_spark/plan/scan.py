"""How the files of a table are read: which together, by which reader, and what hides their rows.

Pure. Files are read alike when their columns have the same types, are found in the same way, and
the same kinds of rows are hidden; each such group is one branch of the scan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from ducklake_spark.errors import NotSupported
from ducklake_spark.model.entities import DataFile, NameMapping, TableEntry
from ducklake_spark.model.schema import Column, Schema
from ducklake_spark.plan.foreign import FileColumn
from ducklake_spark.plan.history import SchemaHistory, load_history
from ducklake_spark.plan.hive import hive_values
from ducklake_spark.plan.stored import (
    ColumnRead,
    FoundColumns,
    StoredTypes,
    needs_footer,
    read_by_footer,
    read_by_id,
    read_by_name,
)

Reader = Literal["native", "arrow"]

# Types of which two physical layouts are about, or which the JVM's Parquet reader refuses.
ARROW_TYPES: Final = frozenset({"int128", "uint128", "timetz", "interval"})
UNSUPPORTED_TYPES: Final = frozenset({"variant", "geometry", "unknown", "time_ns"})


@dataclass(frozen=True)
class Branch:
    """Files that are read alike.

    Args:
        reader: the JVM's own reader, or Arrow in Python tasks.
        columns: how each column of the table, in order, is had from these files.
        files: the files.
        by_name: columns are found by name, as a name mapping says, and not by field id.
        deletes: some rows are deleted: by delete files, or by rows of the catalog.
        later: some rows were added after the snapshot asked for, or before `ScanPlan.since`.
        hive: values of the columns that are in the path only, by file id, in column order.
    """

    reader: Reader
    columns: tuple[ColumnRead, ...]
    files: Sequence[DataFile]
    by_name: bool = False
    deletes: bool = False
    later: bool = False
    hive: tuple[tuple[int, tuple[str | None, ...]], ...] = ()

    @property
    def hive_columns(self) -> tuple[Column, ...]:
        """The columns whose values stand in the path."""
        return tuple(read.column for read in self.columns if read.hive)


@dataclass(frozen=True)
class ScanPlan:
    """All that a scan of one table at one snapshot reads from files.

    `since` is set when only rows are wanted that this snapshot or a later one added.
    """

    table: TableEntry
    snapshot_id: int
    branches: tuple[Branch, ...]
    since: int | None = None

    @property
    def files(self) -> tuple[DataFile, ...]:
        """The files of all branches."""
        return tuple(file for branch in self.branches for file in branch.files)


@dataclass(frozen=True, slots=True)
class _Way:
    """The part of a branch's key that does not depend on hidden rows."""

    reader: Reader
    columns: tuple[ColumnRead, ...]
    by_name: bool


def plan_scan(
    table: TableEntry,
    snapshot_id: int,
    files: Sequence[DataFile],
    *,
    schema_at: Callable[[int], Schema],
    mappings: Mapping[int, tuple[NameMapping, ...]] | None = None,
    changed_at: Iterable[int] | None = None,
    stored_types: StoredTypes | None = None,
    found_columns: FoundColumns | None = None,
) -> ScanPlan:
    """Group `files` into branches.

    Args:
        table: the table as of the snapshot asked for.
        snapshot_id: the snapshot asked for.
        files: the files that it shows. One without a path stands for many that are not listed.
        schema_at: the table's schema at an earlier snapshot.
        mappings: the name mappings that files refer to.
        changed_at: the snapshots that changed columns of the table. Without it each snapshot that
            added a file is asked for its schema.
        stored_types: reads the types of a file's columns from its footer. Asked only for the
            few files of a table with changed types of which the catalog does not tell.
        found_columns: reads the columns of files that others wrote from their footers. Asked only
            if the table has columns that may be kept in several ways.
    """
    _check_types(table)
    history = load_history(table, schema_at, {file.begin_snapshot for file in files}, changed_at)
    planner = _Planner(history, mappings or {}, stored_types)
    planner.look_at(files, found_columns)
    groups: _Groups = {}
    for file in files:
        _check_file(table, file)
        later = file.partial_max is not None and file.partial_max > snapshot_id
        deletes = file.delete_file is not None or file.inlined_deletes > 0
        groups.setdefault((planner.way(file), deletes, later), []).append(file)
    branches = tuple(
        _branch(planner.ways[way], members, deletes=deletes, later=later)
        for (way, deletes, later), members in _fewer(groups).items()
    )
    return ScanPlan(table, snapshot_id, branches)


_Groups = dict[tuple[int, bool, bool], list[DataFile]]


def _fewer(groups: _Groups) -> _Groups:
    """Read files without deletes together with those that have them, if these are the larger part.

    To look for deletes costs less than one more branch. The files keep their order. Files that are
    not listed stay apart: they are chosen without the deletes of others.
    """
    merged = dict(groups)
    for way, deletes, later in groups:
        changed = groups.get((way, True, later))
        if deletes or changed is None:
            continue
        plain = groups[way, False, later]
        if not all(file.path for file in plain):
            continue
        if sum(f.file_size_bytes for f in plain) <= sum(f.file_size_bytes for f in changed):
            merged[way, True, later] = sorted([*changed, *plain], key=_age)
            del merged[way, False, later]
    return merged


def _age(file: DataFile) -> tuple[bool, int]:
    """Files of the open transaction, whose ids are negative, come behind all others."""
    return file.data_file_id < 0, abs(file.data_file_id)


def only_since(plan: ScanPlan, since: int) -> ScanPlan:
    """The same scan, but only of the rows that snapshot `since` or a later one added."""
    branches: list[Branch] = []
    for branch in plan.branches:
        for older in (False, True):
            files = tuple(file for file in branch.files if _has_older(file, since) == older)
            ids = {file.data_file_id for file in files}
            hive = tuple(pair for pair in branch.hive if pair[0] in ids)
            if files:
                later = branch.later or older
                branches.append(replace(branch, files=files, later=later, hive=hive))
    return replace(plan, branches=tuple(branches), since=since)


def _has_older(file: DataFile, since: int) -> bool:
    return file.partial_max is not None and file.begin_snapshot < since


def _branch(way: _Way, files: list[DataFile], *, deletes: bool, later: bool) -> Branch:
    names = [read.hive for read in way.columns if read.hive]
    hive = tuple((file.data_file_id, hive_values(file.path, names)) for file in files)
    return Branch(
        way.reader,
        way.columns,
        tuple(files),
        way.by_name,
        deletes=deletes,
        later=later,
        hive=hive if names else (),
    )


class _Planner:
    """Decides for one file at a time, remembering what files of one age share."""

    def __init__(
        self,
        history: SchemaHistory,
        mappings: Mapping[int, tuple[NameMapping, ...]],
        stored_types: StoredTypes | None,
    ) -> None:
        self.history = history
        self.table = history.table
        self.mappings = mappings
        self.stored_types = stored_types
        self.ways: list[_Way] = []
        self._ordinals: dict[_Way, int] = {}
        self._known: dict[tuple[int, int | None], int] = {}
        self._found: Mapping[int, tuple[FileColumn, ...]] = {}
        self._by_columns: dict[tuple[int, tuple[FileColumn, ...]], int] = {}

    def look_at(self, files: Sequence[DataFile], found_columns: FoundColumns | None) -> None:
        """Learn what files with a name mapping really have, where that matters."""
        foreign = [file for file in files if file.mapping_id is not None]
        if foreign and found_columns is not None and needs_footer(self.table.schema.columns):
            self._found = found_columns(foreign)

    def way(self, file: DataFile) -> int:
        """How `file` is read, as an index of `ways`: files are many and ways few."""
        if file.data_file_id in self._found and file.mapping_id is not None:
            return self._way_of_foreign(file.mapping_id, self._found[file.data_file_id])
        if self._is_doubtful(file):
            return self._ordinal(self._way_from_footer(file))
        key = (self.history.version_of(file.begin_snapshot), file.mapping_id)
        if key not in self._known:
            types = self.history.versions[key[0]].by_id
            self._known[key] = self._ordinal(self._make_way(types, file.mapping_id))
        return self._known[key]

    def _way_of_foreign(self, mapping_id: int, found: tuple[FileColumn, ...]) -> int:
        key = (mapping_id, found)
        if key not in self._by_columns:
            mapping = {node.target_field_id: node for node in self._mapping(mapping_id)}
            columns = self.table.schema.columns
            reads = tuple(read_by_footer(column, mapping, found) for column in columns)
            arrow = any(_needs_arrow(read) for read in reads)
            way = _Way("arrow" if arrow else "native", reads, True)
            self._by_columns[key] = self._ordinal(way)
        return self._by_columns[key]

    def _ordinal(self, way: _Way) -> int:
        if way not in self._ordinals:
            self._ordinals[way] = len(self.ways)
            self.ways.append(way)
        return self._ordinals[way]

    def _make_way(self, types: Mapping[int, Column], mapping_id: int | None) -> _Way:
        columns = self.table.schema.columns
        if mapping_id is None:
            aliased = self.history.ambiguous
            reads = tuple(read_by_id(column, types, aliased) for column in columns)
        else:
            mapping = {node.target_field_id: node for node in self._mapping(mapping_id)}
            reads = tuple(read_by_name(column, mapping, types) for column in columns)
        arrow = any(_needs_arrow(read) for read in reads)
        return _Way("arrow" if arrow else "native", reads, mapping_id is not None)

    def _way_from_footer(self, file: DataFile) -> _Way:
        if self.stored_types is None:
            raise NotSupported(
                f'Cannot read the file "{file.path}" of table "{self.table.name}": a column '
                "was changed in the same commit or before a rewrite, and the catalog does not "
                "say which columns the file has."
            )
        version = self.history.versions[self.history.version_of(file.begin_snapshot)]
        types: dict[int, Column] = {}
        for column_id, type_name in self.stored_types(file).items():
            # A file of an open transaction may have columns that no snapshot has yet.
            known = version.by_id.get(column_id) or self.table.schema.by_id.get(column_id)
            if known is not None:
                types[column_id] = replace(known, type_name=type_name or known.type_name)
        return self._make_way(types, file.mapping_id)

    def _is_doubtful(self, file: DataFile) -> bool:
        """Whether the schema at the file's snapshot may not be the one it was written with."""
        if file.mapping_id is not None or self.history.is_plain:
            return False
        rewritten = file.row_id_start is None and file.partial_max is None
        return rewritten or not self.history.is_exact_at(file.begin_snapshot)

    def _mapping(self, mapping_id: int) -> tuple[NameMapping, ...]:
        if mapping_id not in self.mappings:
            raise NotSupported(
                f'Cannot read table "{self.table.name}": a file refers to the name mapping '
                f"{mapping_id}, which the catalog does not have."
            )
        return self.mappings[mapping_id]


def _needs_arrow(read: ColumnRead) -> bool:
    """Whether a type of the column, now or in the file, is one that only Arrow reads."""
    if read.stored is None or read.only_arrow:
        return read.only_arrow
    nodes = (*read.stored.walk(), *read.column.walk())
    return any(node.type_name.lower() in ARROW_TYPES for node in nodes)


def _check_types(table: TableEntry) -> None:
    for node in table.schema.by_id.values():
        if node.type_name.lower() in UNSUPPORTED_TYPES:
            raise NotSupported(
                f'Cannot read table "{table.name}": the type {node.type_name} of its column '
                f'"{node.name}" is not supported yet.',
                hint="read it with DuckDB, or leave the column out of the table.",
            )


def _check_file(table: TableEntry, file: DataFile) -> None:
    delete = file.delete_file
    where = f'Cannot read table "{table.name}"'
    if file.encryption_key is not None:
        raise NotSupported(f'{where}: its file "{file.path}" is encrypted.')
    if delete is not None and delete.encryption_key is not None:
        raise NotSupported(f'{where}: its delete file "{delete.path}" is encrypted.')
    if delete is not None and delete.format != "parquet":
        raise NotSupported(
            f'{where}: its delete file "{delete.path}" is in {delete.format} format.',
            hint="rewrite the table with DuckDB: CALL ducklake_rewrite_data_files(...).",
        )
