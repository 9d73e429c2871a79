"""Whether a column holds NULLs: from the catalog where it can tell, else from the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from ducklake_spark.catalog.files import load_file_stats
from ducklake_spark.errors import InvalidInput
from ducklake_spark.model.entities import DataFile
from ducklake_spark.model.names import quote_for_spark
from ducklake_spark.model.schema import Column
from ducklake_spark.operations.contents import TableVersion, load_contents, load_files_of
from ducklake_spark.operations.read import read_table
from ducklake_spark.spark.jobs import run_job


def check_no_nulls(
    version: TableVersion, column: Column, spark: Callable[[], SparkSession]
) -> None:
    """Refuse SET NOT NULL on a column with a NULL in it.

    Inlined rows are looked at, files are asked for their statistics. A job runs only if a file may
    hold NULLs: rows that are deleted count in its statistics still.
    """
    if _inlined_null(version, column) or _stored_null(version, column, spark):
        raise InvalidInput(
            f'Cannot SET NOT NULL on column "{column.name}" of table "{version.table.name}": the '
            "column has NULL values.",
            hint="fill or delete those rows first.",
        )


def _inlined_null(version: TableVersion, column: Column) -> bool:
    index = version.table.schema.columns.index(column)
    return any(row.values[index] is None for row in load_contents(version).inlined)


def _stored_null(version: TableVersion, column: Column, spark: Callable[[], SparkSession]) -> bool:
    if not _may_hold_nulls(version, column):
        return False
    rows = read_table(spark(), version)
    nulls = rows.where(F.col(quote_for_spark(column.name)).isNull()).limit(1)
    return bool(run_job(rows.sparkSession, nulls.count))


def _may_hold_nulls(version: TableVersion, column: Column) -> bool:
    files, _ = load_files_of(version)
    if not files:
        return False
    if column.children:
        return True  # only leaves have statistics
    return _committed_nulls(version, column, files) or _own_nulls(version, column)


def _own_nulls(version: TableVersion, column: Column) -> bool:
    if version.local is None:
        return False
    own = version.local.local_files(version.table.table_id)
    counts = [{s.column_id: s.null_count for s in f.column_stats} for f in own]
    return any(count.get(column.column_id) != 0 for count in counts)


def _committed_nulls(version: TableVersion, column: Column, files: Sequence[DataFile]) -> bool:
    wanted = [file.data_file_id for file in files if file.data_file_id >= 0]
    if not wanted:
        return False
    column_id = column.column_id
    stats = load_file_stats(version.lake.db, version.table.table_id, {column_id})
    for file_id in wanted:
        known = stats.get(file_id, {}).get(column_id)
        if known is None or known.null_count != 0:
            return True
    return False
