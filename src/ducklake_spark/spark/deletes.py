"""Hiding deleted rows: by a bit for each row, or by a left-anti join. Runs on the driver.

Where the driver can read all delete files, it sends a bit for each row of the files that have
deleted rows to the tasks, and the scan looks at it. That adds no job and no join to a query. What
is too large for that is joined on (file, position).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from ducklake_spark.bridge.columns import has_bit
from ducklake_spark.bridge.frames import keep_column
from ducklake_spark.caching import Cache, declare
from ducklake_spark.limits import limits
from ducklake_spark.model.entities import DataFile
from ducklake_spark.model.schema import Column
from ducklake_spark.parquet.hidden_rows import HiddenRows, load_hidden_rows
from ducklake_spark.plan.scan import Branch, ScanPlan
from ducklake_spark.spark.internal import FILE_ID, HIDDEN_FROM, POSITION
from ducklake_spark.spark.local import local_frame
from ducklake_spark.spark.places import can_pack, pack
from ducklake_spark.spark.relation import ListedFile, RelationSource, build_relation

_KEY: Final = "__ducklake_deleted"
_DELETED_FILE: Final = "__ducklake_deleted_file"
_LAST: Final = "__ducklake_last_snapshot"

# Found by name, as the reference does: files of other writers need not have ids.
DELETE_SCHEMA: Final = StructType(
    [StructField("pos", LongType()), StructField("_ducklake_internal_snapshot_id", LongType())]
)


@dataclass(frozen=True)
class DeletedBits:
    """The deleted rows of some files, sent to the tasks.

    Attributes:
        starts: the first bit of each file that has deleted rows: its constant `HIDDEN_FROM`.
        visible: which rows are not deleted, given their `HIDDEN_FROM` and `POSITION`.
        size: how many bytes the bits are.
    """

    starts: Mapping[int, int]
    visible: SparkColumn
    size: int


def find_bits(
    spark: SparkSession,
    plan: ScanPlan,
    branch: Branch,
    inlined_deletes: Sequence[tuple[int, int]],
) -> DeletedBits | None:
    """The deleted rows of a branch as bits; None if they are too many, and have to be joined.

    Reads delete files. What was sent lately and has not changed is not sent again.
    """
    present = {file.data_file_id for file in branch.files}
    inlined = tuple(pair for pair in inlined_deletes if pair[0] in present)
    in_catalog = {file_id for file_id, _ in inlined}
    changed = [f for f in branch.files if f.delete_file or f.data_file_id in in_catalog]
    if branch.reader != "native" or not _fits(changed, len(inlined)):
        return None
    with _sending:
        found = _sent.get(_key(spark, changed, inlined, plan.snapshot_id))
        if found is None:
            label = f'table "{plan.table.name}"'
            hidden = load_hidden_rows(changed, inlined, snapshot_id=plan.snapshot_id, label=label)
            for path, snapshot_id in hidden.newest.items():
                _newest.put(path, snapshot_id)
            found = _send(spark, hidden)
            _sent.put(_key(spark, changed, inlined, plan.snapshot_id), found)
    return found


def _send(spark: SparkSession, hidden: HiddenRows) -> DeletedBits:
    place, has_none = (keep_column(spark, name, make) for name, make in _BITS.items())
    visible = has_none | ~has_bit(spark, hidden.bits, place)
    return DeletedBits(hidden.starts, visible, len(hidden.bits))


_BITS: Final[dict[str, Callable[[], SparkColumn]]] = {
    "place": lambda: F.expr(f"CAST({HIDDEN_FROM} + {POSITION} AS INT)"),
    "has_none": lambda: F.col(HIDDEN_FROM).isNull(),
}
_sent: Cache[tuple[object, ...], DeletedBits] = declare(
    "deleted rows that were sent",
    key="the Spark application; of each file with deletes its id, its rows, its delete file and up "
    "to which snapshot that counts; the positions that the catalog holds",
    depends_on="delete files, which are never changed, and what is in the key",
    seen_by="process",
    emptied="never; frames that use an entry hold on to it",
    entries=lambda: limits().kept_broadcasts,
    most_bytes=lambda: limits().kept_broadcast_bytes,
    size_of=lambda bits: bits.size,
).make()
_newest: Cache[str, int] = declare(
    "newest delete of a delete file",
    key="the path of the delete file",
    depends_on="the file, which is never changed",
    seen_by="process",
    emptied="never",
    entries=lambda: limits().kept_broadcasts * limits().bits_files,
).make()
_sending = threading.Lock()


def _fits(changed: Sequence[DataFile], inlined: int) -> bool:
    files = [file.delete_file for file in changed if file.delete_file is not None]
    remote = any("://" in file.path and not file.path.startswith("file:") for file in files)
    most = limits()
    return (
        len(files) <= (most.bits_remote_files if remote else most.bits_files)
        and sum(file.record_count for file in changed) <= most.bits_rows
        and sum(file.delete_count for file in files) + inlined <= most.bits_deletes
    )


def _key(
    spark: SparkSession,
    changed: Sequence[DataFile],
    inlined: tuple[tuple[int, int], ...],
    snapshot_id: int,
) -> tuple[object, ...]:
    """What decides which rows are hidden."""
    states = tuple(_state(file, snapshot_id) for file in changed)
    return spark.sparkContext.applicationId, states, inlined


def _state(file: DataFile, snapshot_id: int) -> tuple[object, ...]:
    """What decides which rows of a file a snapshot does not see, besides those of the catalog.

    The catalog need not say that a delete file has deletes of several snapshots: those of a flush
    have them, and `partial_max` is NULL. Only the file tells; one that was not read yet may be
    another one at each snapshot.
    """
    delete = file.delete_file
    if delete is None:
        return file.data_file_id, file.record_count
    newest = _newest.get(delete.path)
    until = snapshot_id if newest is None else min(newest, snapshot_id)
    return file.data_file_id, file.record_count, delete.path, delete.delete_file_id < 0, until


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
    # More would not fit a hash table of every executor.
    small = in_files + inlined <= limits().broadcast_deletes
    file, position = F.col(FILE_ID), F.col(POSITION)
    if can_pack(member.data_file_id for member in branch.files):
        # One BIGINT as the key: Spark has a faster hash table for those.
        deleted = deleted.select(pack(F.col(_DELETED_FILE), F.col(_KEY)).alias(_KEY))
        condition = pack(file, position) == F.col(_KEY)
    else:
        condition = (file == F.col(_DELETED_FILE)) & (position == F.col(_KEY))
    hinted = F.broadcast(deleted) if small else deleted.hint("merge")
    return frame.join(hinted, condition, "left_anti")


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
