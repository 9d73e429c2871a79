"""Changes that move rows to other files and leave what every snapshot shows as it is."""

from __future__ import annotations

from dataclasses import dataclass

from ducklake_spark.model.entities import TableEntry
from ducklake_spark.model.written import WrittenDeletes, WrittenFile


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that gives way to another one.

    Args:
        file_id: of the data file, or of the delete file when that is replaced.
        path: below the lake's data path when it is relative.
        path_is_relative: whether it is.
        delete_file_id: the delete file that is in force for a data file.
    """

    file_id: int
    path: str
    path_is_relative: bool
    delete_file_id: int | None = None


@dataclass(frozen=True, slots=True)
class CompactedFile:
    """A data file whose rows have been in the table before.

    Args:
        written: the file.
        begin_snapshot: since when it shows rows; None for the snapshot that is being made.
        partial_max: the last snapshot that added one of its rows, when it tells them apart.
        row_id_start: the id of its first row, None when the ids are in the file alone.
        partition_id: the partition spec that its partition values belong to.
    """

    written: WrittenFile
    begin_snapshot: int | None = None
    partial_max: int | None = None
    row_id_start: int | None = None
    partition_id: int | None = None


@dataclass(frozen=True, slots=True)
class CompactedGroup:
    """Files that take the place of others; none if no row was left of them."""

    sources: tuple[SourceFile, ...]
    files: tuple[CompactedFile, ...]


@dataclass(frozen=True, slots=True)
class MergeFiles:
    """Small files become large ones. Past snapshots are shown from the new ones."""

    table: TableEntry
    groups: tuple[CompactedGroup, ...]


@dataclass(frozen=True, slots=True)
class RewriteFiles:
    """Files are written again without their deleted rows. Past snapshots keep the old ones."""

    table: TableEntry
    groups: tuple[CompactedGroup, ...]


@dataclass(frozen=True, slots=True)
class FlushedFile:
    """Rows of the metadata database as a data file, with those of them that have ended."""

    file: CompactedFile
    deletes: WrittenDeletes | None = None


@dataclass(frozen=True, slots=True)
class FlushedTable:
    """A table of inlined rows that is emptied."""

    table_name: str
    schema_version: int
    files: tuple[FlushedFile, ...]


@dataclass(frozen=True, slots=True)
class FlushRows:
    """Rows leave the metadata database for data files.

    Args:
        table: whose rows.
        until: the last snapshot of which rows are moved.
        emptied: the tables of inlined rows that give rows.
        superseded: tables of inlined rows that nothing is written to any more.
    """

    table: TableEntry
    until: int
    emptied: tuple[FlushedTable, ...]
    superseded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FlushedDeletes:
    """Deletes of one data file that leave the metadata database."""

    data_file_id: int
    deletes: WrittenDeletes
    replaced: SourceFile | None = None  # a delete file whose positions are in the new one


@dataclass(frozen=True, slots=True)
class FlushDeletes:
    """Deletes leave the metadata database for delete files: all up to a snapshot."""

    table: TableEntry
    until: int
    files: tuple[FlushedDeletes, ...]


Compaction = MergeFiles | RewriteFiles


def compaction_paths(
    change: MergeFiles | RewriteFiles | FlushRows | FlushDeletes,
) -> list[str]:
    """The files that were written for a change."""
    match change:
        case MergeFiles() | RewriteFiles():
            return [file.written.path for group in change.groups for file in group.files]
        case FlushRows():
            flushed = [file for table in change.emptied for file in table.files]
            paths = [file.file.written.path for file in flushed]
            return paths + [file.deletes.path for file in flushed if file.deletes is not None]
        case FlushDeletes():
            return [file.deletes.path for file in change.files]
