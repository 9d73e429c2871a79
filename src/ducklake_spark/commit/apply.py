"""Turn the changes of a transaction into rows of the catalog."""

from __future__ import annotations

from collections.abc import Sequence

from ducklake_spark.commit.apply_alter import apply_alter_table, apply_rename_table
from ducklake_spark.commit.apply_compaction import (
    apply_flush_deletes,
    apply_flush_rows,
    apply_merge,
    apply_rewrite,
)
from ducklake_spark.commit.apply_deletes import apply_deletes, insert_delete_file
from ducklake_spark.commit.apply_files import apply_appends
from ducklake_spark.commit.apply_layout import (
    apply_first_partition,
    apply_set_partition,
    apply_sort,
)
from ducklake_spark.commit.apply_objects import (
    apply_create_schema,
    apply_create_table,
    apply_drop_schema,
    apply_drop_table,
    apply_new_versions,
)
from ducklake_spark.commit.apply_views import (
    apply_comment,
    apply_create_macro,
    apply_create_view,
    apply_drop_macro,
    apply_drop_view,
)
from ducklake_spark.commit.rows import CommitRows
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
from ducklake_spark.model.entities import TableEntry

_OF_DATA = (
    *(AppendFiles, InlineRows, DeleteFromFiles, InlineDeletes),
    *(MergeFiles, RewriteFiles, FlushRows, FlushDeletes),
)


def apply_changes(commit: CommitRows, changes: Sequence[Change]) -> None:
    """Objects first, in the order they were changed; then data, table by table."""
    commit.changes_schema = any(not isinstance(c, _OF_DATA) for c in changes)
    for change in changes:
        if isinstance(change, CreateTable | AlterTable | RenameTable | SetPartition | SetSort):
            _apply_to_table(commit, change, changes)
        else:
            _apply(commit, change)
    apply_new_versions(commit)
    own = apply_appends(commit, [c for c in changes if isinstance(c, AppendFiles | InlineRows)])
    apply_deletes(commit, [c for c in changes if isinstance(c, DeleteFromFiles | InlineDeletes)])
    for table_id, file_id, written in own:
        insert_delete_file(commit, table_id, file_id, written)


def _apply(commit: CommitRows, change: Change) -> None:  # noqa: C901, PLR0912 - one line for each change
    match change:
        case CreateSchema():
            apply_create_schema(commit, change)
        case DropSchema():
            apply_drop_schema(commit, change)
        case DropTable():
            apply_drop_table(commit, change)
        case CreateView():
            apply_create_view(commit, change)
        case DropView():
            apply_drop_view(commit, change)
        case CreateMacro():
            apply_create_macro(commit, change)
        case DropMacro():
            apply_drop_macro(commit, change)
        case CommentOn():
            apply_comment(commit, change)
        case MergeFiles():
            apply_merge(commit, change)
        case RewriteFiles():
            apply_rewrite(commit, change)
        case FlushRows():
            apply_flush_rows(commit, change)
        case FlushDeletes():
            apply_flush_deletes(commit, change)
        case _:
            pass  # data comes after all objects have their ids


def _apply_to_table(
    commit: CommitRows,
    change: CreateTable | AlterTable | RenameTable | SetPartition | SetSort,
    changes: Sequence[Change],
) -> None:
    """What is done to one table makes one set of rows: rows of one commit have no order."""
    table_id = change.table.table_id
    same = [c for c in changes if _table_id(c) == table_id]
    altered = next((c for c in same if isinstance(c, AlterTable)), None)
    match change:
        case CreateTable():
            renamed = next((c for c in same if isinstance(c, RenameTable)), None)
            apply_create_table(commit, change, altered, renamed)
            apply_first_partition(commit, change.table, same)
        case AlterTable():
            has_files = any(isinstance(c, AppendFiles) for c in same)
            apply_alter_table(commit, change, has_files=has_files)
        case RenameTable():
            apply_rename_table(commit, change, altered)
        case SetPartition():
            apply_set_partition(commit, change, same)
        case SetSort():
            pass
    apply_sort(commit, change, same)


def _table_id(change: Change) -> int | None:
    table = getattr(change, "table", None)
    return table.table_id if isinstance(table, TableEntry) else None
