"""What a transaction intends to do to the catalog, as a closed union.

Ids below zero are provisional: they stand for objects of the same transaction and are replaced by
real ones inside the commit, so that a retry needs nothing but new numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ducklake_spark.model.compaction import (
    FlushDeletes,
    FlushRows,
    MergeFiles,
    RewriteFiles,
    compaction_paths,
)
from ducklake_spark.model.entities import (
    DeleteFile,
    MacroEntry,
    PartitionSpec,
    SchemaEntry,
    SortSpec,
    TableEntry,
    ViewEntry,
)
from ducklake_spark.model.evolution import Evolution
from ducklake_spark.model.written import WrittenDeletes, WrittenFile


@dataclass(frozen=True, slots=True)
class CreateSchema:
    """A new schema, with a provisional id."""

    schema: SchemaEntry


@dataclass(frozen=True, slots=True)
class DropSchema:
    """The end of an empty schema."""

    schema_id: int
    name: str


@dataclass(frozen=True, slots=True)
class CreateTable:
    """A new table, with a provisional id, in a schema called `schema_name`."""

    table: TableEntry
    schema_name: str
    inline: bool  # whether rows of it may live in the metadata database


@dataclass(frozen=True, slots=True)
class DropTable:
    """The end of a table."""

    table_id: int
    schema_name: str
    name: str


@dataclass(frozen=True, slots=True)
class AlterTable:
    """Other columns for a table, which is given as it is then.

    A rename of a column can change the sort keys, which name columns: `new_sort` says so.
    """

    table: TableEntry
    evolution: Evolution
    inline: bool  # whether rows of it may live in the metadata database
    new_sort: bool = False
    not_null: bool = False  # whether rows that others add might break a new rule


@dataclass(frozen=True, slots=True)
class RenameTable:
    """Another name for a table, which is given with it, in the same schema."""

    table: TableEntry
    schema_name: str
    inline: bool  # whether rows of it may live in the metadata database


@dataclass(frozen=True, slots=True)
class CreateView:
    """A new view, with a provisional id; or an old one under a new name, with its own."""

    view: ViewEntry
    schema_name: str


@dataclass(frozen=True, slots=True)
class DropView:
    """The end of a view."""

    view_id: int
    schema_name: str
    name: str


@dataclass(frozen=True, slots=True)
class CreateMacro:
    """A new macro, with a provisional id."""

    macro: MacroEntry
    schema_name: str


@dataclass(frozen=True, slots=True)
class DropMacro:
    """The end of a macro."""

    macro: MacroEntry


@dataclass(frozen=True, slots=True)
class CommentOn:
    """A comment on a table, on a view or on a column of a table; None takes it away."""

    target: TableEntry | ViewEntry
    comment: str | None
    column_id: int | None = None


@dataclass(frozen=True, slots=True)
class SetPartition:
    """Another way to divide the files of a table; a spec without keys divides no more."""

    table: TableEntry  # as it was before
    spec: PartitionSpec  # with a provisional id
    inline: bool  # whether rows of the table may live in the metadata database


@dataclass(frozen=True, slots=True)
class SetSort:
    """Another order for the rows of a table; None for none.

    `place` tells which of several orders is the last: provisional ids count down. `exact` is
    whether each key says where NULLs go: only then the same order again leaves no rows.
    """

    table: TableEntry  # as it was before
    spec: SortSpec | None  # with a provisional id
    place: int
    exact: bool = False


@dataclass(frozen=True, slots=True)
class AppendFiles:
    """Rows added to a table as data files."""

    table: TableEntry
    files: tuple[WrittenFile, ...]


@dataclass(frozen=True, slots=True)
class InlineRows:
    """Rows added to a table inside the metadata database: values of the carriers, in order.

    `row_ids` has one for each row, None for a row that is new; it is empty when all are new. A row
    that replaces another keeps its id.
    """

    table: TableEntry
    rows: tuple[tuple[Any, ...], ...]
    row_ids: tuple[int | None, ...] = ()


@dataclass(frozen=True, slots=True)
class FileDeletes:
    """A delete file for a committed data file, in place of `replaced` if it had one."""

    data_file_id: int
    written: WrittenDeletes
    replaced: DeleteFile | None = None


@dataclass(frozen=True, slots=True)
class DeleteFromFiles:
    """Rows that go from committed data files; `ended` are files of which no row is left."""

    table: TableEntry
    deletes: tuple[FileDeletes, ...] = ()
    ended: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class InlineDeletes:
    """Rows that go, noted inside the metadata database.

    `positions` are rows of committed data files as (data file id, position), `rows` are inlined
    ones as (name of their table in the metadata database, row id).
    """

    table: TableEntry
    positions: tuple[tuple[int, int], ...] = ()
    rows: tuple[tuple[str, int], ...] = ()


Change = (
    CreateSchema
    | DropSchema
    | CreateTable
    | DropTable
    | AlterTable
    | RenameTable
    | CreateView
    | DropView
    | CreateMacro
    | DropMacro
    | CommentOn
    | SetPartition
    | SetSort
    | AppendFiles
    | InlineRows
    | MergeFiles
    | RewriteFiles
    | FlushRows
    | FlushDeletes
    | DeleteFromFiles
    | InlineDeletes
)


def written_paths(change: Change) -> list[str]:
    """The files that were written for a change, which go when it is not committed."""
    match change:
        case AppendFiles(_, files):
            hiding = [file.deletes.path for file in files if file.deletes is not None]
            return [*(file.path for file in files if file.is_ours), *hiding]
        case DeleteFromFiles(_, deletes):
            return [each.written.path for each in deletes]
        case MergeFiles() | RewriteFiles() | FlushRows() | FlushDeletes():
            return compaction_paths(change)
        case _:
            return []
