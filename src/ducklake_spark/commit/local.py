"""What a transaction sees: its snapshot, and on top of it what it has done itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

from ducklake_spark.catalog.state import CatalogState
from ducklake_spark.commit.local_alter import merge_alter, with_columns
from ducklake_spark.commit.local_rows import (
    OwnRow,
    find_file_deletes,
    find_inline_deletes,
    merged,
    own_files,
    own_rows,
    without_own,
)
from ducklake_spark.model.changes import (
    AlterTable,
    AppendFiles,
    Change,
    CommentOn,
    CreateMacro,
    CreateSchema,
    CreateTable,
    CreateView,
    DeleteFromFiles,
    DropMacro,
    DropSchema,
    DropTable,
    DropView,
    InlineDeletes,
    InlineRows,
    RenameTable,
    SetPartition,
    SetSort,
)
from ducklake_spark.model.compaction import (
    FlushDeletes,
    FlushRows,
    MergeFiles,
    RewriteFiles,
)
from ducklake_spark.model.entities import (
    DataFile,
    DeleteFile,
    MacroEntry,
    NameMapping,
    SchemaEntry,
    TableEntry,
    ViewEntry,
)
from ducklake_spark.model.schema import Schema
from ducklake_spark.model.written import WrittenDeletes, WrittenFile


class LocalState:
    """The pinned state with the transaction's own changes laid over it.

    Objects made here have ids below zero until the commit gives them real ones.
    """

    def __init__(self, base: CatalogState) -> None:
        self.base = base
        self.changes: list[Change] = []
        self._schemas: dict[int, SchemaEntry] = {}
        self._tables: dict[int, TableEntry] = {}
        self._views: dict[int, ViewEntry] = {}
        self._macros: dict[int, MacroEntry] = {}
        self._older_schemas: dict[int, tuple[Schema, ...]] = {}
        self._next_column_ids: dict[int, int] = {}
        self._dropped: set[int] = set()
        self._last_id = 0

    def copy(self) -> LocalState:
        """The same view; what is staged in one is not seen in the other."""
        other = LocalState(self.base)
        other.changes = list(self.changes)
        other._schemas, other._tables = dict(self._schemas), dict(self._tables)
        other._views, other._macros = dict(self._views), dict(self._macros)
        other._older_schemas = dict(self._older_schemas)
        other._next_column_ids = dict(self._next_column_ids)
        other._dropped, other._last_id = set(self._dropped), self._last_id
        return other

    def provisional_id(self) -> int:
        """A fresh id for an object of this transaction."""
        self._last_id -= 1
        return self._last_id

    def schemas(self) -> list[SchemaEntry]:
        """Every schema, in the order of creation."""
        kept = (s for s in self.base.schemas.values() if s.schema_id not in self._dropped)
        return [*kept, *self._schemas.values()]

    def schema(self, schema_id: int) -> SchemaEntry:
        """The schema of that id."""
        return self._schemas.get(schema_id) or self.base.schemas[schema_id]

    def find_schema(self, name: str) -> SchemaEntry | None:
        """The schema of that name, whatever its case."""
        wanted = name.lower()
        return next((s for s in self.schemas() if s.name.lower() == wanted), None)

    def table_names(self, schema_id: int | None = None) -> list[tuple[SchemaEntry, str]]:
        """Schema and name of every table, of one schema or of all."""
        kept = [
            (t.schema_id, t.name)
            for t in self.base.tables.values()
            if t.table_id not in self._dropped and t.table_id not in self._tables
        ]
        made = [(t.schema_id, t.name) for t in self._tables.values()]
        return [
            (self.schema(parent), name)
            for parent, name in (*kept, *made)
            if schema_id is None or parent == schema_id
        ]

    def tables(self) -> Iterator[TableEntry]:
        """Every table with its columns."""
        for schema, name in self.table_names():
            table = self.find_table(schema.schema_id, name)
            if table is not None:
                yield table

    def table(self, table_id: int) -> TableEntry:
        """The table of that id."""
        return self._tables.get(table_id) or self.base.table(table_id)

    def views(self) -> list[ViewEntry]:
        """Every view."""
        kept = {i: v for i, v in self.base.views.items() if i not in self._dropped}
        return list({**kept, **self._views}.values())

    def macros(self) -> list[MacroEntry]:
        """Every macro."""
        kept = [m for i, m in self.base.macros.items() if i not in self._dropped]
        return [*kept, *self._macros.values()]

    def find_macro(self, schema_id: int, name: str, *, is_table: bool) -> MacroEntry | None:
        """The scalar or table macro of that name, whatever its case."""
        wanted = name.lower()
        places = (m for m in self.macros() if m.schema_id == schema_id and m.is_table == is_table)
        return next((macro for macro in places if macro.name.lower() == wanted), None)

    def find_table(self, schema_id: int, name: str) -> TableEntry | None:
        """The table of that name, whatever its case."""
        wanted = name.lower()
        for table in self._tables.values():
            if table.schema_id == schema_id and table.name.lower() == wanted:
                return table
        found = self.base.find_table(schema_id, name)
        if found is None or found.table_id in self._dropped:
            return None
        return None if found.table_id in self._tables else found  # under another name here

    def find_view(self, schema_id: int, name: str) -> ViewEntry | None:
        """The view of that name, whatever its case."""
        wanted = name.lower()
        return next(
            (v for v in self.views() if v.schema_id == schema_id and v.name.lower() == wanted),
            None,
        )

    def local_files(self, table_id: int) -> list[WrittenFile]:
        """Files that this transaction has added to the table."""
        return own_files(self.changes, table_id)

    def local_rows(self, table_id: int) -> list[OwnRow]:
        """Rows that this transaction has added to the table inside the metadata database."""
        return own_rows(self.changes, table_id)

    def file_deletes(self, table_id: int) -> DeleteFromFiles | None:
        """What this transaction has deleted from committed files, as files."""
        return find_file_deletes(self.changes, table_id)

    def inline_deletes(self, table_id: int) -> InlineDeletes | None:
        """What this transaction has deleted inside the metadata database."""
        return find_inline_deletes(self.changes, table_id)

    def delete_own(
        self, table_id: int, files: Mapping[int, WrittenDeletes | None], rows: AbstractSet[int]
    ) -> None:
        """Delete rows that this transaction has added itself; see `without_own`."""
        self.changes = without_own(self.changes, table_id, files, rows)

    def older_schemas(self, table_id: int) -> tuple[Schema, ...]:
        """The columns that the table had before each ALTER of this transaction."""
        return self._older_schemas.get(table_id, ())

    def next_column_id(self, table: TableEntry) -> int:
        """The first column id of the table that was never given, here or before."""
        known = [max(table.schema.by_id) + 1, self._next_column_ids.get(table.table_id, 0)]
        if table.table_id >= 0:
            known.append(self.base.history(table.table_id).next_column_id)
        return max(known)

    def stage(  # noqa: C901, PLR0912 - one case for each change
        self, change: Change
    ) -> None:
        """Make the change part of what this transaction sees and will commit."""
        if isinstance(change, AlterTable):
            change = self._alter(change)
        self._record(merged(self.changes, change))
        match change:
            case CreateSchema(schema):
                self._schemas[schema.schema_id] = schema
            case CreateTable(table) | AlterTable(table) | RenameTable(table):
                self._tables[table.table_id] = table
            case AppendFiles() | InlineRows() | DeleteFromFiles() | InlineDeletes():
                pass  # they are asked for where a table is read
            case DropSchema(schema_id):
                self._drop(schema_id, self._schemas)
            case DropTable(table_id):
                self._drop(table_id, self._tables)
            case CreateView(view):
                self._views[view.view_id] = view
            case DropView(view_id):
                self._drop(view_id, self._views)
            case CreateMacro(macro):
                self._macros[macro.macro_id] = macro
            case DropMacro(macro):
                self._drop(macro.macro_id, self._macros)
            case CommentOn():
                self._comment(change)
            case SetPartition(table, spec):
                divided = spec if spec.fields else None
                self._tables[table.table_id] = replace(table, partition=divided)
            case SetSort(table, order):
                self._tables[table.table_id] = replace(table, sort=order)
            case MergeFiles() | RewriteFiles() | FlushRows() | FlushDeletes():
                pass  # the rows are the same: this transaction reads on where they are now

    def _record(self, change: Change) -> None:
        for index, before in enumerate(self.changes):
            if _replaces(change, before):
                # In its place: what follows may be about the object that it makes.
                self.changes[index] = change
                return
        self.changes.append(change)

    def _alter(self, change: AlterTable) -> AlterTable:
        """Bring what is staged to the new columns; returns all that is done to them as one."""
        table_id = change.table.table_id
        before = self.table(table_id).schema
        committed = before if table_id < 0 else self.base.table(table_id).schema
        given = [i + 1 for i in (*before.by_id, *change.table.schema.by_id)]
        self._next_column_ids[table_id] = max(*given, self._next_column_ids.get(table_id, 0))
        self._older_schemas[table_id] = (*self.older_schemas(table_id), before)
        self.changes = [with_columns(c, before, change.table) for c in self.changes]
        return merge_alter(self.changes, change, committed)

    def _comment(self, change: CommentOn) -> None:
        target = change.target
        if isinstance(target, ViewEntry):
            self._views[target.view_id] = replace(target, comment=change.comment)
            return
        if change.column_id is None:
            self._tables[target.table_id] = replace(target, comment=change.comment)
            return
        comments = {**target.column_comments, change.column_id: change.comment}
        kept = {i: text for i, text in comments.items() if text is not None}
        self._tables[target.table_id] = replace(target, column_comments=kept)

    def _drop(self, object_id: int, local: dict[int, Any]) -> None:
        """End an object, and forget what this transaction did to it before.

        One made by this transaction vanishes as if it had never been.
        """
        local.pop(object_id, None)
        end = self.changes.pop()
        self.changes = [c for c in self.changes if object_id not in _objects_of(c)]
        if object_id >= 0:
            self._dropped.add(object_id)
            self.changes.append(end)


def _replaces(new: Change, old: Change) -> bool:
    """Whether the new change leaves nothing of the old one: rows of one commit have no order."""
    match new, old:
        case CreateView(view), CreateView(before):
            return view.view_id == before.view_id
        case (AlterTable(), AlterTable()) | (RenameTable(), RenameTable()):
            return _objects_of(new) == _objects_of(old)
        case CommentOn(), CommentOn():
            same = new.column_id == old.column_id
            return same and _objects_of(new) == _objects_of(old)
        case DeleteFromFiles(table), DeleteFromFiles(other):
            return table.table_id == other.table_id
        case InlineDeletes(table), InlineDeletes(other):
            return table.table_id == other.table_id
        case _:
            return False


def _objects_of(change: Change) -> tuple[int, ...]:
    match change:
        case CreateSchema(schema):
            return (schema.schema_id,)
        case CreateTable(table) | AlterTable(table) | RenameTable(table):
            return (table.table_id,)
        case SetPartition(table) | SetSort(table):
            return (table.table_id,)
        case MergeFiles(table) | RewriteFiles(table) | FlushRows(table) | FlushDeletes(table):
            return (table.table_id,)
        case AppendFiles(table) | InlineRows(table) | CommentOn(TableEntry() as table):
            return (table.table_id,)
        case DeleteFromFiles(table) | InlineDeletes(table):
            return (table.table_id,)
        case CreateView(view) | CommentOn(ViewEntry() as view):
            return (view.view_id,)
        case CreateMacro(macro) | DropMacro(macro):
            return (macro.macro_id,)
        case DropSchema(object_id) | DropTable(object_id) | DropView(object_id):
            return (object_id,)
        case _:
            return ()


def as_data_files(files: list[WrittenFile], *, begin_snapshot: int) -> list[DataFile]:
    """Show uncommitted files to a scan. Their row ids are known only after the commit."""
    mapping_ids = {mapping: number for number, mapping in local_mappings(files).items()}
    return [
        DataFile(
            data_file_id=-1 - index,
            path=file.path,
            record_count=file.record_count,
            file_size_bytes=file.file_size_bytes,
            footer_size=file.footer_size,
            row_id_start=None,
            begin_snapshot=begin_snapshot,
            mapping_id=mapping_ids.get(file.mapping) if file.mapping is not None else None,
            delete_file=None if file.deletes is None else as_delete_file(file.deletes),
        )
        for index, file in enumerate(files)
    ]


def local_mappings(files: list[WrittenFile]) -> dict[int, tuple[NameMapping, ...]]:
    """The name mappings of uncommitted files, by a number below zero."""
    distinct = dict.fromkeys(file.mapping for file in files if file.mapping is not None)
    return {-1 - index: mapping for index, mapping in enumerate(distinct)}


def as_delete_file(written: WrittenDeletes) -> DeleteFile:
    """Show an uncommitted delete file to a scan."""
    return DeleteFile(
        delete_file_id=-1,
        path=written.path,
        format="parquet",
        delete_count=written.delete_count,
        file_size_bytes=written.file_size_bytes,
        footer_size=written.footer_size,
        begin_snapshot=written.begin_snapshot or 0,
        partial_max=written.partial_max,
    )
