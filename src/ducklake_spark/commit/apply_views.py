"""Rows for views, macros and comments."""

from __future__ import annotations

from ducklake_spark.commit.rows import CommitRows
from ducklake_spark.model.changes import CommentOn, CreateMacro, CreateView, DropMacro, DropView
from ducklake_spark.model.entities import MacroEntry, TableEntry, ViewEntry


def apply_create_view(commit: CommitRows, change: CreateView) -> None:
    """A new view takes an id; one that gets another name keeps its own and ends the old row."""
    view = change.view
    if view.view_id >= 0:
        commit.end("ducklake_view", "view_id", view.view_id)
        view_id = view.view_id
    else:
        view_id = commit.take_catalog_id(view.view_id)
    commit.insert(
        "ducklake_view",
        view_id,
        view.view_uuid,
        commit.snapshot_id,
        None,
        commit.real_id(view.schema_id),
        view.name,
        view.dialect,
        view.sql,
        ",".join('"' + alias.replace('"', '""') + '"' for alias in view.column_aliases),
    )


def apply_drop_view(commit: CommitRows, change: DropView) -> None:
    """End the view and its comment."""
    commit.end("ducklake_view", "view_id", change.view_id)
    commit.end("ducklake_tag", "object_id", change.view_id)


def apply_create_macro(commit: CommitRows, change: CreateMacro) -> None:
    """The macro, its overloads and their parameters."""
    macro = change.macro
    macro_id = commit.take_catalog_id(macro.macro_id)
    schema_id = commit.real_id(macro.schema_id)
    commit.insert("ducklake_macro", schema_id, macro_id, macro.name, commit.snapshot_id, None)
    _insert_implementations(commit, macro_id, macro)


def _insert_implementations(commit: CommitRows, macro_id: int, macro: MacroEntry) -> None:
    for impl_id, impl in enumerate(macro.implementations):
        commit.insert("ducklake_macro_impl", macro_id, impl_id, impl.dialect, impl.sql, impl.type)
        for index, parameter in enumerate(impl.parameters):
            commit.insert(
                "ducklake_macro_parameters",
                macro_id,
                impl_id,
                index,
                parameter.name,
                parameter.type_name,
                "NULL" if parameter.default is None else parameter.default,
                parameter.default_type,
            )


def apply_drop_macro(commit: CommitRows, change: DropMacro) -> None:
    """End the macro; its overloads have no snapshots of their own."""
    commit.end("ducklake_macro", "macro_id", change.macro.macro_id)


def apply_comment(commit: CommitRows, change: CommentOn) -> None:
    """End the comment that is there and write the new one; a removed one is a row with NULL."""
    object_id = commit.real_id(_object_id(change.target))
    if change.column_id is None:
        commit.execute(
            f"UPDATE {commit.db.table('ducklake_tag')} SET end_snapshot = ? WHERE object_id = ? "
            "AND key = 'comment' AND end_snapshot IS NULL",
            commit.snapshot_id,
            object_id,
        )
        commit.insert(
            "ducklake_tag", object_id, commit.snapshot_id, None, "comment", change.comment
        )
        return
    commit.execute(
        f"UPDATE {commit.db.table('ducklake_column_tag')} SET end_snapshot = ? WHERE table_id = ? "
        "AND column_id = ? AND key = 'comment' AND end_snapshot IS NULL",
        commit.snapshot_id,
        object_id,
        change.column_id,
    )
    commit.insert(
        "ducklake_column_tag",
        object_id,
        change.column_id,
        commit.snapshot_id,
        None,
        "comment",
        change.comment,
    )


def _object_id(target: TableEntry | ViewEntry) -> int:
    return target.view_id if isinstance(target, ViewEntry) else target.table_id
