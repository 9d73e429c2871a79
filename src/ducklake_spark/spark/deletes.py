"""Hiding deleted rows: a left-anti join on (file, position). Runs on the driver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from ducklake_spark.model.schema import Column
from ducklake_spark.plan.scan import Branch, ScanPlan
from ducklake_spark.spark.internal import FILE_ID, POSITION
from ducklake_spark.spark.local import local_frame
from ducklake_spark.spark.relation import ListedFile, RelationSource, build_relation

# More positions than this are joined by shuffling: the hash table would not fit every executor.
BROADCAST_DELETES: Final = 2_000_000

_KEY: Final = "__ducklake_deleted"
_DELETED_FILE: Final = "__ducklake_deleted_file"
_LAST: Final = "__ducklake_last_snapshot"
_POSITION_BITS: Final = 36
_FILE_IDS: Final = 1 << 26

# Found by name, as the reference does: files of other writers need not have ids.
DELETE_SCHEMA: Final = StructType(
    [StructField("pos", LongType()), StructField("_ducklake_internal_snapshot_id", LongType())]
)


def hide_deleted(
    spark: SparkSession,
    frame: DataFrame,
    plan: ScanPlan,
    branch: Branch,
    inlined_deletes: Sequence[tuple[int, int]],
) -> DataFrame:
    """The rows of `frame` that no delete file and no row of the catalog hides.

    `frame` must have the file id and the position of each row.
    """
    present = {file.data_file_id for file in branch.files}
    inlined = [pair for pair in inlined_deletes if pair[0] in present]
    parts = []
    if any(file.delete_file is not None for file in branch.files):
        parts.append(_positions(spark, plan, branch))
    if inlined:
        columns = [Column(1, _DELETED_FILE, "int64"), Column(2, _KEY, "int64")]
        parts.append(local_frame(spark, columns, inlined))
    if not parts:
        return frame
    deleted = parts[0] if len(parts) == 1 else parts[0].union(parts[1])
    return _anti_join(frame, deleted, branch, len(inlined))


def _anti_join(frame: DataFrame, deleted: DataFrame, branch: Branch, inlined: int) -> DataFrame:
    in_files = sum(file.delete_file.delete_count for file in branch.files if file.delete_file)
    small = in_files + inlined <= BROADCAST_DELETES
    file, position = F.col(FILE_ID), F.col(POSITION)
    if all(abs(member.data_file_id) < _FILE_IDS for member in branch.files):
        # One BIGINT as the key: Spark has a faster hash table for those.
        deleted = deleted.select(_packed(F.col(_DELETED_FILE), F.col(_KEY)).alias(_KEY))
        condition = _packed(file, position) == F.col(_KEY)
    else:
        condition = (file == F.col(_DELETED_FILE)) & (position == F.col(_KEY))
    hinted = F.broadcast(deleted) if small else deleted.hint("merge")
    return frame.join(hinted, condition, "left_anti")


def _packed(file: SparkColumn, position: SparkColumn) -> SparkColumn:
    return F.shiftleft(file, _POSITION_BITS).bitwiseOR(position)


def _positions(spark: SparkSession, plan: ScanPlan, branch: Branch) -> DataFrame:
    """(file, position) of the rows that delete files hide at the plan's snapshot."""
    label = f'the delete files of table "{plan.table.name}"'
    files = tuple(
        ListedFile(
            file.delete_file.path,
            file.delete_file.file_size_bytes,
            # One of the open transaction holds the number of a snapshot that is still to come.
            (file.data_file_id, None if file.delete_file.delete_file_id < 0 else plan.snapshot_id),
        )
        for file in branch.files
        if file.delete_file is not None
    )
    constants = StructType([StructField(name, LongType()) for name in (_DELETED_FILE, _LAST)])
    source = RelationSource(label, DELETE_SCHEMA, constants, files)
    rows = build_relation(spark, source)
    since, last = F.col("_ducklake_internal_snapshot_id"), F.col(_LAST)
    missing = F.raise_error(F.lit(f"A position in {label} is missing.")).cast("bigint")
    return rows.where(since.isNull() | last.isNull() | (since <= last)).select(
        _DELETED_FILE, F.coalesce(F.col("pos"), missing).alias(_KEY)
    )
