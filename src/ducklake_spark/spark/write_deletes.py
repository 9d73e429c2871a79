"""Identities of rows -> delete files, written by tasks. Driver, but for `_delete_task`."""

from __future__ import annotations

import pickle
import secrets
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ducklake_spark.model.schema import Column
from ducklake_spark.parquet.delete_files import DeletedRows, DeleteLayout, FileFacts, write_deletes
from ducklake_spark.spark.failures import marked_errors, spark_failures
from ducklake_spark.spark.internal import FILE_ID, POSITION
from ducklake_spark.spark.local import local_frame
from ducklake_spark.spark.write import remove_leftovers

if TYPE_CHECKING:
    from collections.abc import Iterable

_FACTS: Final = "__ducklake_facts"
_RESULT: Final = "task int, sequence int, deleted binary"


def write_delete_files(
    identities: DataFrame, files: Sequence[FileFacts], layout: DeleteLayout
) -> list[DeletedRows]:
    """Write the delete files for rows that are to go, one for each data file at most.

    The rows of a file come together by one shuffle on the file id; a task then has all positions
    of a file, and nothing of the table but them. The driver gets one small record for each file.
    When it fails, no file is left.

    Args:
        identities: has the columns `FILE_ID` (NULL for inlined rows) and `POSITION`; one row may
            be there more than once, unless the layout says otherwise.
        files: all data files of which rows may be among them.
        layout: where and how to write.
    """
    job_id = secrets.token_hex(6)
    rows = identities.select(FILE_ID, POSITION, F.lit(None).cast("binary").alias(_FACTS))
    if files:
        rows = rows.unionAll(_facts_frame(identities, files))
    grouped = rows.repartition(FILE_ID).sortWithinPartitions(FILE_ID, POSITION)
    try:
        with spark_failures(f'delete from table "{layout.table_name}"'):
            write = partial(_delete_task, layout, job_id)
            found = grouped.mapInArrow(write, _RESULT).collect()
    except BaseException:
        remove_leftovers(layout.directory, job_id)
        raise
    outcomes: list[DeletedRows] = [
        pickle.loads(row["deleted"])  # noqa: S301 - made by our own tasks
        for row in found
    ]
    return sorted(outcomes, key=lambda each: (each.data_file_id is None, each.data_file_id or 0))


def _facts_frame(identities: DataFrame, files: Sequence[FileFacts]) -> DataFrame:
    """The facts of a file travel with its positions, in front of them."""
    columns = [Column(1, FILE_ID, "int64"), Column(2, POSITION, "int64"), Column(3, _FACTS, "blob")]
    rows = [(file.data_file_id, -1, pickle.dumps(file)) for file in files]
    return local_frame(identities.sparkSession, columns, rows)


def _delete_task(layout: DeleteLayout, job_id: str, batches: Iterable[Any]) -> Iterator[Any]:
    """Write the delete files of one partition, give one row for each data file. Task."""
    context = TaskContext.get()
    partition, attempt = (context.partitionId(), context.taskAttemptId()) if context else (0, 0)
    with marked_errors():
        outcomes = write_deletes(iter(batches), layout, job_id, task_id=attempt)
        for sequence, outcome in enumerate(outcomes):
            yield pa.RecordBatch.from_arrays(
                [
                    pa.array([partition], pa.int32()),
                    pa.array([sequence], pa.int32()),
                    pa.array([pickle.dumps(outcome)], pa.binary()),
                ],
                names=["task", "sequence", "deleted"],
            )
