"""Replace rows of a table by those of a DataFrame: all, some, or whole partitions. Driver.

The new rows are written before anything is deleted, so that they may come from the table itself.
They get new row ids; ids of the rows that go are never used again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ducklake_spark.catalog.files import load_partition_values
from ducklake_spark.commit.transaction import Transaction
from ducklake_spark.errors import InvalidInput
from ducklake_spark.lake import remove_files
from ducklake_spark.model.entities import PartitionSpec
from ducklake_spark.model.literals import parse_text
from ducklake_spark.model.schema import Column
from ducklake_spark.model.written import WrittenFile
from ducklake_spark.operations.append import stage_files
from ducklake_spark.operations.contents import TableVersion
from ducklake_spark.operations.row_changes import (
    IDENTITY,
    Target,
    stage_deletes,
)
from ducklake_spark.operations.whole_files import stage_truncate, stage_whole_files
from ducklake_spark.operations.write_layout import plan_layout, sorts_inserts
from ducklake_spark.plan.layout import WriteLayout
from ducklake_spark.spark.failures import spark_failures
from ducklake_spark.spark.internal import FILE_ID, POSITION
from ducklake_spark.spark.local import local_frame
from ducklake_spark.spark.partitioning import partition_columns
from ducklake_spark.spark.write import write_files

Keys = set[tuple[str | None, ...]]
"""Partition values as the catalog has them."""


def overwrite_all(tx: Transaction, version: TableVersion, rows: DataFrame) -> int:
    """Replace all rows, none of which is read. Returns how many there are now."""
    return _write_then(tx, version, rows, lambda _: stage_truncate(tx, version))


def overwrite_some(tx: Transaction, target: Target, identities: DataFrame, rows: DataFrame) -> int:
    """Replace the rows that `identities` names. Returns how many were written."""
    return _write_then(tx, target.version, rows, lambda _: stage_deletes(tx, target, identities))


def overwrite_partitions(tx: Transaction, target: Target, rows: DataFrame) -> int:
    """Replace the partitions that the new rows are of. Returns how many were written.

    A file that is divided as the table is now goes or stays as a whole and is not read. Rows of
    other files, and inlined ones, are looked at one by one.
    """
    spec = target.table.partition
    if spec is None:
        raise InvalidInput(
            f'Cannot overwrite partitions of table "{target.table.name}": it has none.',
            hint="overwrite all of it, or the rows of a condition with replace_where.",
        )
    return _write_then(
        tx,
        target.version,
        rows,
        lambda files: _delete_partitions(
            tx, target, spec, {file.partition_values for file in files}
        ),
    )


def _write_then(
    tx: Transaction,
    version: TableVersion,
    rows: DataFrame,
    delete: Callable[[Sequence[WrittenFile]], Any],
) -> int:
    lake, table = version.lake, version.table
    layout = plan_layout(lake, table, version.directory, sort=sorts_inserts(lake, table))
    files = write_files(rows, layout)
    try:
        delete(files)
    except BaseException:
        # Until they are staged, no rollback knows of them.
        remove_files(file.path for file in files)
        raise
    return stage_files(lake, tx, table, files)


def _delete_partitions(tx: Transaction, target: Target, spec: PartitionSpec, keys: Keys) -> None:
    if not keys:
        return
    version, contents = target.version, target.contents
    divided = {
        file.data_file_id
        for file in contents.files
        if file.data_file_id >= 0 and file.partition_id == spec.partition_id
    }
    values = (
        load_partition_values(version.lake.db, target.table.table_id, divided) if divided else {}
    )
    rest = [file for file in contents.files if file.data_file_id not in divided]
    whole = [
        file
        for file in contents.files
        if file.data_file_id in divided and values.get(file.data_file_id) in keys
    ]
    stage_whole_files(tx, version, contents, whole)
    if rest or contents.inlined:
        others = replace(target, contents=replace(contents, files=rest))
        stage_deletes(tx, others, _rows_of(others, spec, keys))


def _rows_of(target: Target, spec: PartitionSpec, keys: Keys) -> DataFrame:
    """The identities of the rows that are of one of the partitions."""
    table, version = target.table, target.version
    layout = plan_layout(version.lake, table, version.directory, sort=False)
    names = [f"c{i}" for i in range(len(table.schema.columns))]
    with spark_failures(f'overwrite partitions of table "{table.name}"'):
        rows = target.frame().toDF(*names, *IDENTITY)
        found = [key.alias(f"k{i}") for i, key in enumerate(partition_columns(rows, layout))]
        wanted = F.broadcast(_keys_frame(target, layout, spec, keys))
        rows = rows.select(FILE_ID, POSITION, *found)
        same = (F.col(f"k{i}").eqNullSafe(F.col(f"w{i}")) for i in range(len(found)))
        return rows.join(wanted, reduce(lambda a, b: a & b, same), "left_semi").select(
            FILE_ID, POSITION
        )


def _keys_frame(
    target: Target, layout: WriteLayout, spec: PartitionSpec, keys: Iterable[Any]
) -> DataFrame:
    columns = []
    for place, field in enumerate(spec.fields):
        column = layout.schema.by_id[field.column_id]
        kind = column.type_name if field.transform == "identity" else "int32"
        columns.append(Column(place + 1, f"w{place}", kind))
    rows = [
        tuple(
            None if text is None else parse_text(text, column.type)
            for text, column in zip(key, columns, strict=True)
        )
        for key in keys
    ]
    return local_frame(target.spark, columns, rows)
