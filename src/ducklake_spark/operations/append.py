"""Add rows to a table as data files."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from ducklake_spark.catalog.settings import Settings
from ducklake_spark.commit.transaction import Transaction
from ducklake_spark.lake import Lake
from ducklake_spark.model.changes import AppendFiles
from ducklake_spark.model.entities import TableEntry
from ducklake_spark.plan.layout import WriteLayout
from ducklake_spark.spark.write import write_files


def append(lake: Lake, tx: Transaction, table: TableEntry, df: DataFrame) -> int:
    """Write the rows of `df`, which has the table's columns, and stage them. Returns how many."""
    schema = tx.local.schema(table.schema_id)
    layout = plan_layout(lake.settings(), table, lake.table_directory(schema, table))
    files = write_files(df, layout)
    if files:
        tx.stage(AppendFiles(table, tuple(files)))
    return sum(file.record_count for file in files)


def plan_layout(settings: Settings, table: TableEntry, directory: str) -> WriteLayout:
    """How the table's options want its files."""

    def option(key: str) -> str | None:
        return settings.get(key, schema_id=table.schema_id, table_id=table.table_id)

    given: dict[str, Any] = {
        "compression": option("parquet_compression"),
        "compression_level": _number(option("parquet_compression_level")),
        "row_group_rows": _number(option("parquet_row_group_size")),
        "row_group_bytes": _number(option("parquet_row_group_size_bytes")),
        "parquet_version": option("parquet_version"),
        "target_file_size": _number(option("target_file_size")),
        "hive": None if option("hive_file_pattern") != "false" else False,
    }
    stored = {key: value for key, value in given.items() if value is not None}
    return WriteLayout(table.schema, directory, table.name, partition=table.partition, **stored)


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)
