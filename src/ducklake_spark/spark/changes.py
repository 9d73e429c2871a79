"""From scans of files to the rows that came and went: joins with what was deleted when. Driver.

Frames of changes have the columns of the table, and the row id and the snapshot of each change
under internal names.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from ducklake_spark.limits import limits
from ducklake_spark.model.names import quote_for_spark
from ducklake_spark.model.schema import Column
from ducklake_spark.plan.changes import ChangedFile
from ducklake_spark.spark.deletes import DELETE_SCHEMA
from ducklake_spark.spark.internal import ADDED_AT, FILE_ID, KEPT_ROW_ID, POSITION
from ducklake_spark.spark.local import local_frame
from ducklake_spark.spark.relation import ListedFile, RelationSource, build_relation

CHANGE_TYPE: Final = "__ducklake_change_type"
CHANGED_AT: Final = "__ducklake_changed_at"

_FILE: Final = "__ducklake_deleted_file"
_POSITION: Final = "__ducklake_deleted_position"
_AT: Final = "__ducklake_deleted_at"
_END: Final = "__ducklake_file_end"
_KEYS: Final = ("__ducklake_other_row", "__ducklake_other_snapshot")
_POSITIONS: Final = [Column(-1, name, "int64") for name in (_FILE, _POSITION, _AT)]


@dataclass(frozen=True)
class Positions:
    """File, position and snapshot of deletes, and how many there are at most."""

    frame: DataFrame
    count: int


def without_undone(frame: DataFrame, positions: Positions | None) -> DataFrame:
    """The rows of `frame` that were not deleted by the very snapshot that added them."""
    if positions is None:
        return frame
    same = _same_row() & (F.col(ADDED_AT) == F.col(_AT))
    return frame.join(_hinted(positions.frame, positions), same, "left_anti")


def added(frame: DataFrame) -> DataFrame:
    """The rows of `frame` as changes of the snapshots that added them."""
    return frame.withColumnRenamed(ADDED_AT, CHANGED_AT)


def without_rewritten(frame: DataFrame, rewrites: Collection[int]) -> DataFrame:
    """The rows of `frame` that came with other snapshots than those that only replaced files."""
    return frame.where(~F.col(ADDED_AT).isin(sorted(rewrites)))


def only_deleted(frame: DataFrame, positions: Positions | None, start: int, end: int) -> DataFrame:
    """The rows of `frame` that snapshots of the range deleted one by one."""
    if positions is None:
        return added(frame.where(F.lit(False)))
    wanted = positions.frame.where(F.col(_AT).between(start, end))
    return _at(frame.join(_hinted(wanted, positions), _same_row(), "inner"), F.col(_AT), frame)


def only_ended(
    frame: DataFrame,
    positions: Positions | None,
    ends: Mapping[int, int],
    start: int,
    end: int,
) -> DataFrame:
    """The rows of files that ended, each with the snapshot that deleted it, if in the range.

    `ends` are the snapshots that removed the files as a whole, by file id. Rows of them may have
    been deleted before.
    """
    columns = [Column(-1, _FILE, "int64"), Column(-1, _END, "int64")]
    facts = local_frame(frame.sparkSession, columns, list(ends.items()))
    known = frame.join(F.broadcast(facts), F.col(FILE_ID) == F.col(_FILE), "inner").drop(_FILE)
    if positions is None:
        return _at(known, F.col(_END), frame)
    joined = known.join(_hinted(positions.frame, positions), _same_row(), "left")
    at = F.coalesce(F.col(_AT), F.col(_END))
    return _at(joined.where(at.between(start, end)), at, frame)


def _at(joined: DataFrame, at: SparkColumn, frame: DataFrame) -> DataFrame:
    """The columns of `frame`, with the snapshot of the deletion; came and went is no change."""
    kept = joined.where(at != F.col(ADDED_AT))
    names = [name for name in frame.columns if name != ADDED_AT]
    return kept.select(*map(quoted, names), at.alias(CHANGED_AT))


def _same_row() -> SparkColumn:
    return (F.col(FILE_ID) == F.col(_FILE)) & (F.col(POSITION) == F.col(_POSITION))


def _hinted(frame: DataFrame, positions: Positions) -> DataFrame:
    return F.broadcast(frame) if positions.count <= limits().broadcast_deletes else frame


def deleted_positions(
    spark: SparkSession, table: str, files: Sequence[ChangedFile]
) -> Positions | None:
    """Every delete in the files; None when there is none."""
    parts = []
    if any(changed.deletes for changed in files):
        parts.append(_in_files(spark, table, files))
    inlined = [(c.file.data_file_id, *pair) for c in files for pair in c.positions]
    if inlined:
        parts.append(local_frame(spark, _POSITIONS, inlined))
    if not parts:
        return None
    positions = functools.reduce(DataFrame.union, parts)
    if any(len(changed.deletes) + bool(changed.positions) > 1 for changed in files):
        # A newer delete file may repeat an older one: the first to delete a row counts.
        positions = positions.groupBy(_FILE, _POSITION).agg(F.min(_AT).alias(_AT))
    in_files = sum(delete.delete_count for changed in files for delete in changed.deletes)
    return Positions(positions, in_files + len(inlined))


def _in_files(spark: SparkSession, table: str, files: Sequence[ChangedFile]) -> DataFrame:
    label = f'the delete files of table "{table}"'
    listed = tuple(
        ListedFile(
            delete.path,
            delete.file_size_bytes,
            (changed.file.data_file_id, delete.begin_snapshot),
        )
        for changed in files
        for delete in changed.deletes
    )
    constants = StructType([StructField(name, LongType()) for name in (_FILE, _AT)])
    rows = build_relation(spark, RelationSource(label, DELETE_SCHEMA, constants, listed))
    missing = F.raise_error(F.lit(f"A position in {label} is missing.")).cast("bigint")
    return rows.select(
        _FILE,
        F.coalesce(F.col("pos"), missing).alias(_POSITION),
        F.coalesce(F.col("_ducklake_internal_snapshot_id"), F.col(_AT)).alias(_AT),
    )


def with_change_type(
    frame: DataFrame, other: DataFrame | None, *, alone: str, paired: str
) -> DataFrame:
    """Call each row `paired` if `other` has a row of the same id and snapshot, else `alone`."""
    if other is None:
        return frame.withColumn(CHANGE_TYPE, F.lit(alone))
    row, snapshot = _KEYS
    keys = other.select(F.col(KEPT_ROW_ID).alias(row), F.col(CHANGED_AT).alias(snapshot)).distinct()
    same = (F.col(KEPT_ROW_ID) == F.col(row)) & (F.col(CHANGED_AT) == F.col(snapshot))
    kind = F.when(F.col(row).isNotNull(), paired).otherwise(alone)
    return frame.join(keys, same, "left").withColumn(CHANGE_TYPE, kind).drop(*_KEYS)


def quoted(name: str) -> SparkColumn:
    """The column of exactly that name."""
    return F.col(quote_for_spark(name))
