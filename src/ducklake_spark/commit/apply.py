"""Turn the changes of a transaction into rows of the catalog."""

from __future__ import annotations

from collections.abc import Sequence

from ducklake_spark.commit.apply_files import apply_appends
from ducklake_spark.commit.apply_objects import (
    apply_create_schema,
    apply_create_table,
    apply_drop_schema,
    apply_drop_table,
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
    AppendFiles,
    Change,
    CommentOn,
    CreateMacro,
    CreateSchema,
    CreateTable,
    CreateView,
    DropMacro,
    DropSchema,
    DropTable,
    DropView,
    InlineRows,
)


def apply_changes(commit: CommitRows, changes: Sequence[Change]) -> None:
    """Objects first, in the order they were changed; then data, table by table."""
    commit.changes_schema = any(not isinstance(c, AppendFiles | InlineRows) for c in changes)
    for change in changes:
        _apply(commit, change)
    apply_appends(commit, [c for c in changes if isinstance(c, AppendFiles | InlineRows)])


def _apply(commit: CommitRows, change: Change) -> None:  # noqa: C901 - one line for each change
    match change:
        case CreateSchema():
            apply_create_schema(commit, change)
        case DropSchema():
            apply_drop_schema(commit, change)
        case CreateTable():
            apply_create_table(commit, change)
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
        case AppendFiles() | InlineRows():
            pass  # after all objects have their ids
