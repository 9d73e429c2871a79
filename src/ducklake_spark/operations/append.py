"""Add rows to a table: as data files, or inside the metadata database when they are few."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from secrets import token_hex
from typing import Any, Final

from pyspark.sql import DataFrame

from ducklake_spark.commit.apply_objects import can_inline
from ducklake_spark.commit.transaction import Transaction
from ducklake_spark.errors import InvalidValue, NotNullViolation
from ducklake_spark.lake import Lake, remove_files
from ducklake_spark.model.changes import AppendFiles, InlineRows
from ducklake_spark.model.entities import TableEntry
from ducklake_spark.model.literals import format_text
from ducklake_spark.model.schema import Column
from ducklake_spark.model.written import WrittenFile
from ducklake_spark.operations.sort_rows import sort_rows
from ducklake_spark.operations.write_layout import plan_layout, sorts_inserts, sorts_small_inserts
from ducklake_spark.parquet.rows import load_rows
from ducklake_spark.parquet.write import write_batches
from ducklake_spark.spark.internal import ROW_ID_FIELD
from ducklake_spark.spark.local import carrier_arrow_schema
from ducklake_spark.spark.write import write_files

ROW_ID_COLUMN: Final = Column(ROW_ID_FIELD, "_ducklake_internal_row_id", "int64")


def append(
    lake: Lake, tx: Transaction, table: TableEntry, df: DataFrame, *, inline: bool = True
) -> int:
    """Write the rows of `df`, which has the table's columns, and stage them. Returns how many.

    How many rows a DataFrame has is known when they are written: few enough are then taken from
    their file into the metadata database, if they may `inline`.
    """
    directory = lake.table_directory(tx.local.schema(table.schema_id), table)
    layout = plan_layout(lake, table, directory, sort=sorts_inserts(lake, table))
    return stage_files(lake, tx, table, write_files(df, layout), inline=inline)


def append_batches(lake: Lake, tx: Transaction, table: TableEntry, batches: Iterator[Any]) -> int:
    """Write Arrow record batches of the carriers on the driver, and stage them. Returns the rows.

    For rows that only the driver can read; no more than a row group of them is held at a time.
    They are not sorted.
    """
    directory = lake.table_directory(tx.local.schema(table.schema_id), table)
    layout = plan_layout(lake, table, directory, sort=False)
    return stage_files(lake, tx, table, list(write_batches(batches, layout, token_hex(6))))


def stage_files(
    lake: Lake,
    tx: Transaction,
    table: TableEntry,
    files: list[WrittenFile],
    *,
    inline: bool = True,
) -> int:
    """Stage files that were just written, or their rows when they are few. Returns how many."""
    try:
        stage_rows(lake, tx, table, files, inline=inline)
    except BaseException:
        # Until they are staged, no rollback knows of them.
        remove_files(file.path for file in files)
        raise
    return sum(file.record_count for file in files)


def stage_rows(
    lake: Lake,
    tx: Transaction,
    table: TableEntry,
    new: Sequence[WrittenFile],
    kept: Sequence[WrittenFile] = (),
    *,
    inline: bool = True,
) -> None:
    """Stage rows that have been written, as files or, when they are few, as inlined rows.

    Args:
        lake: where.
        tx: the transaction.
        table: whose rows they are.
        new: files of rows that get new ids.
        kept: files of rows that replace others, with their row ids in a column behind the table's.
        inline: whether they may be inlined rows.
    """
    files = (*kept, *new)
    if files and not (inline and _stage_inlined(lake, tx, table, new, kept)):
        tx.stage(AppendFiles(table, files))


def append_rows(
    lake: Lake, tx: Transaction, table: TableEntry, rows: Sequence[tuple[Any, ...]]
) -> bool:
    """Stage rows that the driver holds, if they may live in the metadata database.

    No Spark is needed. Returns False when they have to go to a file.
    """
    if not _may_inline(lake, table, len(rows)) or not _have_texts(table, rows):
        return False
    _check_nulls(table, rows)
    ordered: Sequence[tuple[Any, ...]] | None = rows
    if len(rows) > 1 and sorts_small_inserts(lake, table):
        ordered = sort_rows(table, rows)
    if ordered is None:
        return False
    if ordered:
        tx.stage(InlineRows(table, tuple(ordered)))
    return True


def _stage_inlined(
    lake: Lake,
    tx: Transaction,
    table: TableEntry,
    new: Sequence[WrittenFile],
    kept: Sequence[WrittenFile],
) -> bool:
    if not _may_inline(lake, table, sum(file.record_count for file in (*kept, *new))):
        return False
    try:
        with_ids = list(_load(table, kept, (ROW_ID_COLUMN,))) if kept else []
        without = list(_load(table, new)) if new else []
    except OverflowError:  # a time that Python's calendar does not have stays in its file
        return False
    rows = (*(row[:-1] for row in with_ids), *without)
    if not _have_texts(table, rows):
        return False
    ids = (*(row[-1] for row in with_ids), *(None for _ in without)) if with_ids else ()
    tx.stage(InlineRows(table, rows, ids))
    remove_files(file.path for file in (*kept, *new))
    return True


def _load(
    table: TableEntry, files: Sequence[WrittenFile], extra: tuple[Column, ...] = ()
) -> Iterator[tuple[Any, ...]]:
    columns = (*table.schema.columns, *extra)
    carriers = carrier_arrow_schema(columns)
    return load_rows(files, columns, carriers, label=f'table "{table.name}"')


def _may_inline(lake: Lake, table: TableEntry, count: int) -> bool:
    limit = lake.effective_inlining_limit(table.schema_id, table.table_id)
    return count <= limit and can_inline(lake.db, table.schema)


def _have_texts(table: TableEntry, rows: Sequence[tuple[Any, ...]]) -> bool:
    """Whether all values can be written as text: a few nested ones cannot, and go to a file."""
    kinds = [column.type for column in table.schema.columns]
    try:
        for row in rows:
            for value, kind in zip(row, kinds, strict=True):
                if value is not None:
                    format_text(value, kind)
    except InvalidValue:
        return False
    return True


def _check_nulls(table: TableEntry, rows: Sequence[tuple[Any, ...]]) -> None:
    for index, column in enumerate(table.schema.columns):
        if not column.nulls_allowed and any(row[index] is None for row in rows):
            raise NotNullViolation(f"NOT NULL constraint failed: {table.name}.{column.name}")
