"""Rows for tables that get other columns or another name."""

from __future__ import annotations

from ducklake_spark.commit.apply_objects import (
    can_inline,
    create_inlined_table,
    insert_version,
)
from ducklake_spark.commit.rows import CommitRows
from ducklake_spark.model.changes import AlterTable, RenameTable
from ducklake_spark.model.entities import TableEntry


def apply_alter_table(commit: CommitRows, change: AlterTable, *, has_files: bool) -> None:
    """End the rows of changed columns and write the new ones.

    Args:
        commit: gets the rows.
        change: all that the transaction does to the table's columns.
        has_files: whether the transaction adds files to the table. They may have columns that
            came and went meanwhile, whose ids must then be remembered.
    """
    table, evolution = change.table, change.evolution
    table_id = commit.real_id(table.table_id)
    for version in evolution.written:
        insert_version(commit, table_id, version)
    if has_files:
        for version in evolution.retired:
            insert_version(commit, table_id, version, ended=True)
    if table.table_id < 0:
        return  # the rest belongs to the creation of the table
    _end_columns(commit, table_id, evolution.ended)
    _note_version(commit, table_id)
    if evolution.new_layout and change.inline:
        _make_room(commit, table)


def apply_rename_table(commit: CommitRows, change: RenameTable, altered: AlterTable | None) -> None:
    """End the table's row and write it with the new name; its columns and its path stay."""
    table = change.table
    if table.table_id < 0:
        return  # it is created with this name
    commit.end("ducklake_table", "table_id", table.table_id)
    commit.insert(
        "ducklake_table",
        table.table_id,
        table.table_uuid,
        commit.snapshot_id,
        None,
        commit.real_id(table.schema_id),
        table.name,
        table.path,
        table.path_is_relative,
    )
    _note_version(commit, table.table_id)
    if change.inline and not (altered and altered.evolution.new_layout):
        _make_room(commit, table)


def _end_columns(commit: CommitRows, table_id: int, column_ids: frozenset[int]) -> None:
    if not column_ids:
        return
    ids = sorted(column_ids)
    commit.execute(
        f"UPDATE {commit.db.table('ducklake_column')} SET end_snapshot = ? WHERE table_id = ? "
        f"AND column_id IN ({', '.join('?' for _ in ids)}) AND end_snapshot IS NULL",
        commit.snapshot_id,
        table_id,
        *ids,
    )


def _note_version(commit: CommitRows, table_id: int) -> None:
    row = (commit.snapshot_id, commit.schema_version, table_id)
    if row not in commit.rows["ducklake_schema_versions"]:
        commit.insert("ducklake_schema_versions", *row)


def _make_room(commit: CommitRows, table: TableEntry) -> None:
    """The place for small inserts with the columns that the table has now."""
    if can_inline(commit.db, table.schema):
        create_inlined_table(commit, table.table_id, table.schema)
