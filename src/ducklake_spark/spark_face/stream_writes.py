"""Batches of streams that are written to a table, each exactly once. Driver.

The number of a batch is committed with its rows. A batch that comes again, because the driver died
after the commit and before Spark noted it, finds its number there and does nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from ducklake_spark.commit.stream_batches import batch_note, batch_place, load_last_batch
from ducklake_spark.connection import Connection
from ducklake_spark.errors import InvalidInput, NotSupported
from ducklake_spark.execution.overwrite import append_frame, overwrite_frame
from ducklake_spark.spark_face.asked import SINK, WRITE, Asked
from ducklake_spark.spark_face.format_writes import check_partitions, has_table, make_table
from ducklake_spark.spark_face.registry import Named

Place = tuple[str, str, str]


@dataclass(frozen=True)
class Batch:
    """A batch of a streaming query.

    Attributes:
        query: the query's id, which its checkpoint keeps.
        number: counted from 0.
    """

    query: str
    number: int


@contextmanager
def once(con: Connection, place: Place, batch: Batch) -> Iterator[bool]:
    """A transaction whose commit says that the table has the batch; False if it has it already."""
    lake = con.lake(place[0])
    with con.transaction(extra_info=batch_note(batch.query, batch.number)):
        with con.reading(lake) as tx:
            _, table = con.find_table(tx, lake, *place[1:])
        last = load_last_batch(lake.db, table.table_id, batch.query)
        if last is not None and last >= batch.number:
            yield False
            return
        yield True
        with con.writing(lake, f'write to table "{table.name}"') as tx:
            tx.options[batch_place(table.table_id, batch.query)] = str(batch.number)


def check_sink(asked: Asked, mode: str) -> None:
    """Refuse what a stream cannot do to a table."""
    asked.refuse_others("a stream that writes", WRITE, SINK)
    for name in ("replacewhere", "overwriteschema", "partitionoverwritemode"):
        if name in asked.said:
            raise InvalidInput(f'The option "{name}" means nothing to a stream that writes.')
    if mode == "Update":
        raise NotSupported(
            "Cannot write a stream in update mode: a table has no keys by which its rows could be "
            "found.",
            hint='.foreachBatch(ducklake_spark.upsert_batch("lake.main.t", ["id"])).',
        )


def write_batch(lake: Named, asked: Asked, rows: DataFrame, batch: Batch, mode: str) -> None:
    """Append a batch to a table, or in complete mode put it in the place of all rows."""
    place = (lake.name, *asked.table)
    if has_table(lake, asked):
        check_partitions(lake, asked)
    else:
        make_table(lake, asked, rows, filled=False)
    with once(lake.con, place, batch) as is_new:
        if is_new and mode == "Complete":
            overwrite_frame(lake.con, place, rows, replace_where=None, dynamic=False)
        elif is_new:
            append_frame(lake.con, place, rows, merge_schema=asked.says("mergeschema"))


def with_partitions(options: Mapping[str, str], columns: Sequence[str]) -> dict[str, Any]:
    """The options of a sink, with the columns of its partitionBy as a batch writer gives them."""
    import json

    return {**options, "__partition_columns": json.dumps(list(columns))} if columns else {**options}
