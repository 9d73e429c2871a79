"""Answers about a lake, as rows: snapshots, tables, files, columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from ducklake_spark.catalog.files import load_files
from ducklake_spark.catalog.snapshots import SnapshotRecord, load_snapshots
from ducklake_spark.catalog_db.statements import visible_at
from ducklake_spark.commit.change_log import parse_changes, to_map
from ducklake_spark.commit.local import LocalState
from ducklake_spark.lake import Lake
from ducklake_spark.model.entities import TableEntry
from ducklake_spark.model.schema import Column
from ducklake_spark.model.types import format_sql_type
from ducklake_spark.operations.contents import TableVersion
from ducklake_spark.spark.tags import type_of_field


@dataclass(frozen=True)
class RowSet:
    """Rows that the driver has, with the names and DuckDB types of their columns."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Any, ...], ...] = ()


SNAPSHOT_COLUMNS = (
    ("snapshot_id", "BIGINT"),
    ("snapshot_time", "TIMESTAMP WITH TIME ZONE"),
    ("schema_version", "BIGINT"),
    ("changes", "MAP(VARCHAR, VARCHAR[])"),
    ("author", "VARCHAR"),
    ("commit_message", "VARCHAR"),
    ("commit_extra_info", "VARCHAR"),
)


def snapshots(lake: Lake) -> RowSet:
    """Every snapshot with what it changed."""
    return snapshot_rows(load_snapshots(lake.db))


def snapshot_rows(records: Iterable[SnapshotRecord]) -> RowSet:
    """Snapshots as the rows that users see."""
    return RowSet(
        SNAPSHOT_COLUMNS,
        tuple(
            (
                record.snapshot.snapshot_id,
                record.snapshot.snapshot_time,
                record.snapshot.schema_version,
                to_map(parse_changes(record.changes_made or "")),
                record.author,
                record.commit_message,
                record.commit_extra_info,
            )
            for record in records
        ),
    )


def current_snapshot(snapshot_id: int) -> RowSet:
    """The snapshot that the connection sees now."""
    return RowSet((("id", "BIGINT"),), ((snapshot_id,),))


def settings(lake: Lake, version: str) -> RowSet:
    """What kind of lake this is."""
    columns = (
        ("catalog_type", "VARCHAR"),
        ("extension_version", "VARCHAR"),
        ("data_path", "VARCHAR"),
    )
    return RowSet(columns, ((lake.db.kind, version, lake.data_path),))


def list_files(version: TableVersion) -> RowSet:
    """The files behind a table at a snapshot."""
    columns = (
        ("data_file", "VARCHAR"),
        ("data_file_size_bytes", "UBIGINT"),
        ("data_file_footer_size", "UBIGINT"),
        ("data_file_encryption_key", "BLOB"),
        ("delete_file", "VARCHAR"),
        ("delete_file_size_bytes", "UBIGINT"),
        ("delete_file_footer_size", "UBIGINT"),
        ("delete_file_encryption_key", "BLOB"),
    )
    if version.table.table_id < 0:
        return RowSet(columns)
    files, _ = load_files(
        version.lake.db,
        version.table.table_id,
        version.snapshot.snapshot_id,
        directory=version.directory,
    )
    rows = []
    for file in files:
        delete = file.delete_file
        part = (delete.path, delete.file_size_bytes, delete.footer_size, None) if delete else ()
        data = (file.path, file.file_size_bytes, file.footer_size, None)
        rows.append((*data, *(part or (None,) * 4)))
    return RowSet(columns, tuple(rows))


def table_info(lake: Lake, local: LocalState, snapshot_id: int) -> RowSet:
    """Files and bytes of every table."""
    columns = (
        ("table_name", "VARCHAR"),
        ("schema_id", "BIGINT"),
        ("table_id", "BIGINT"),
        ("table_uuid", "UUID"),
        ("file_count", "BIGINT"),
        ("file_size_bytes", "BIGINT"),
        ("delete_file_count", "BIGINT"),
        ("delete_file_size_bytes", "BIGINT"),
    )
    data = _file_totals(lake, "ducklake_data_file", snapshot_id)
    deletes = _file_totals(lake, "ducklake_delete_file", snapshot_id)
    rows = [
        (
            table.name,
            table.schema_id,
            table.table_id,
            table.table_uuid,
            *data.get(table.table_id, (0, 0)),
            *deletes.get(table.table_id, (0, 0)),
        )
        for table in local.tables()
        if table.table_id >= 0
    ]
    return RowSet(columns, tuple(rows))


def _file_totals(lake: Lake, table: str, snapshot_id: int) -> dict[int, tuple[int, int]]:
    rows = lake.db.fetch(
        f"SELECT table_id, count(*), sum(file_size_bytes) FROM {lake.db.table(table)} "
        f"WHERE {visible_at()} GROUP BY table_id",
        (snapshot_id, snapshot_id),
    )
    return {row[0]: (int(row[1]), int(row[2] or 0)) for row in rows}


DESCRIBE_COLUMNS = (
    ("column_name", "VARCHAR"),
    ("column_type", "VARCHAR"),
    ("null", "VARCHAR"),
    ("key", "VARCHAR"),
    ("default", "VARCHAR"),
    ("extra", "VARCHAR"),
)


def describe(table: TableEntry) -> RowSet:
    """The columns of a table, as DuckDB's DESCRIBE shows them."""
    return RowSet(DESCRIBE_COLUMNS, tuple(_describe_column(c) for c in table.schema.columns))


def _describe_column(column: Column) -> tuple[Any, ...]:
    default = column.default
    shown = None
    if default is not None:
        text = default.text.replace("'", "''")
        shown = default.text if default.kind == "expression" else f"'{text}'"
    null = "YES" if column.nulls_allowed else "NO"
    return (column.name, format_sql_type(column.type), null, None, shown, None)


def describe_frame(df: DataFrame) -> RowSet:
    """The columns of a query."""
    return RowSet(
        DESCRIBE_COLUMNS,
        tuple(
            (field.name, format_sql_type(type_of_field(field)), "YES", None, None, None)
            for field in df.schema.fields
        ),
    )


def show_tables(local: LocalState, schema_id: int) -> RowSet:
    """Names of the tables and views of a schema."""
    names = [name for _, name in local.table_names(schema_id)]
    names += [view.name for view in local.views() if view.schema_id == schema_id]
    return RowSet((("name", "VARCHAR"),), tuple((name,) for name in sorted(names)))
