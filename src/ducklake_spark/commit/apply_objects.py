"""Rows for schemas, tables and views that come or go."""

from __future__ import annotations

from ducklake_spark.catalog_db.connection import Database
from ducklake_spark.catalog_db.statements import create_inlined_sql
from ducklake_spark.commit.rows import CommitRows
from ducklake_spark.model.changes import (
    AlterTable,
    CreateSchema,
    CreateTable,
    DropSchema,
    DropTable,
    RenameTable,
)
from ducklake_spark.model.evolution import ColumnVersion, new_versions
from ducklake_spark.model.schema import Schema

RESERVED_COLUMNS = frozenset(
    {
        "row_id",
        "begin_snapshot",
        "end_snapshot",
        "_ducklake_internal_row_id",
        "_ducklake_internal_snapshot_id",
    }
)

_ENDED_WITH_TABLE = (
    "ducklake_table",
    "ducklake_partition_info",
    "ducklake_column",
    "ducklake_column_tag",
    "ducklake_data_file",
    "ducklake_delete_file",
    "ducklake_sort_info",
)


def apply_create_schema(commit: CommitRows, change: CreateSchema) -> None:
    """One row of ducklake_schema."""
    schema = change.schema
    commit.insert(
        "ducklake_schema",
        commit.take_catalog_id(schema.schema_id),
        schema.schema_uuid,
        commit.snapshot_id,
        None,
        schema.name,
        schema.path,
        schema.path_is_relative,
    )


def apply_drop_schema(commit: CommitRows, change: DropSchema) -> None:
    """End the schema; its tables and views are changes of their own."""
    commit.end("ducklake_schema", "schema_id", change.schema_id)


def apply_create_table(
    commit: CommitRows,
    change: CreateTable,
    altered: AlterTable | None = None,
    renamed: RenameTable | None = None,
) -> None:
    """The table, its columns, its schema version and the place for its small inserts.

    What the transaction has changed since has rows of its own: a column that is not as it was
    made has ended before anybody saw it, and its id is taken.
    """
    table = change.table
    latest = altered.table if altered else table
    ended = altered.evolution.ended if altered else frozenset()
    table_id = commit.take_catalog_id(table.table_id)
    commit.insert(
        "ducklake_table",
        table_id,
        table.table_uuid,
        commit.snapshot_id,
        None,
        commit.real_id(table.schema_id),
        renamed.table.name if renamed else table.name,
        table.path,
        table.path_is_relative,
    )
    for column in table.schema.columns:
        for version in new_versions(column, None):
            insert_version(commit, table_id, version, ended=version.column_id in ended)
    commit.insert("ducklake_schema_versions", commit.snapshot_id, commit.schema_version, table_id)
    if change.inline and can_inline(commit.db, latest.schema):
        create_inlined_table(commit, table_id, latest.schema)


def apply_drop_table(commit: CommitRows, change: DropTable) -> None:
    """End everything that belongs to the table. Its files stay for time travel."""
    for name in _ENDED_WITH_TABLE:
        commit.end(name, "table_id", change.table_id)
    commit.end("ducklake_tag", "object_id", change.table_id)


def apply_new_versions(commit: CommitRows) -> None:
    """The schema versions of tables that changed, and the new places for their small inserts."""
    for table_id, schema in commit.new_versions.items():
        version = (commit.snapshot_id, commit.schema_version, table_id)
        if version not in commit.rows["ducklake_schema_versions"]:
            commit.insert("ducklake_schema_versions", *version)
        # A change of its columns has made the place already.
        made = any(row[0] == table_id for row in commit.rows["ducklake_inlined_data_tables"])
        if schema is not None and not made and can_inline(commit.db, schema):
            create_inlined_table(commit, table_id, schema)


def can_inline(db: Database, schema: Schema) -> bool:
    """Whether the metadata database can hold rows of such a table."""
    return all(
        column.name.lower() not in RESERVED_COLUMNS and db.can_inline(column.name, column.type)
        for column in schema.columns
    )


def create_inlined_table(commit: CommitRows, table_id: int, schema: Schema) -> str:
    """Make the empty table for small inserts of this schema version; returns its name."""
    name = f"ducklake_inlined_data_{table_id}_{commit.schema_version}"
    columns = [(column.name, column.type) for column in schema.columns]
    commit.execute(create_inlined_sql(commit.db.table(name), columns, commit.db.dialect))
    commit.insert("ducklake_inlined_data_tables", table_id, name, commit.schema_version)
    return name


def insert_version(
    commit: CommitRows, table_id: int, version: ColumnVersion, *, ended: bool = False
) -> None:
    """One row of ducklake_column. One that has `ended` in its own snapshot is never seen."""
    column, default = version.column, version.column.default
    commit.insert(
        "ducklake_column",
        column.column_id,
        commit.snapshot_id,
        commit.snapshot_id if ended else None,
        table_id,
        column.column_id,  # the order is the id, as the extension writes it
        column.name,
        column.type_name,
        column.initial_default,
        default.text if default else "NULL",
        version.nulls_allowed,
        version.parent_id,
        version.default_type,
        default.dialect if default else "duckdb",
    )
