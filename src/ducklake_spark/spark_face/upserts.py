"""Batches of a stream that are merged into a table by keys. Driver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from ducklake_spark.errors import InvalidInput
from ducklake_spark.model.names import quote_identifier
from ducklake_spark.spark_face.asked import parse_options
from ducklake_spark.spark_face.opened import open_own
from ducklake_spark.spark_face.stream_writes import Batch, once

_QUERY_ID: Final = "sql.streaming.queryId"
_PLACE: Final = "__ducklake_place"


def upsert_batch(
    table: str,
    keys: Sequence[str],
    *,
    lake: str | None = None,
    newest_by: str | None = None,
    **attach_options: Any,
) -> Callable[[DataFrame, int], None]:
    """What `foreachBatch` needs to merge each batch into a table exactly once.

    A row whose keys the table has takes the place of that row; others are inserted.

    >>> writer = stream.writeStream.option("checkpointLocation", path)  # doctest: +SKIP
    >>> writer.foreachBatch(upsert_batch("lake.main.users", ["id"])).start()  # doctest: +SKIP

    Args:
        table: ``lake.schema.table``, the lake by its name in Spark; with `lake`, ``schema.table``.
        keys: the columns by which a row is found.
        lake: where the lake is, such as ``ducklake:shop.ducklake``, if Spark has no name for it.
        newest_by: a column: of several rows of a batch with the same keys the one that has the
            greatest value of it counts. Without it such rows are an error.
        **attach_options: the options of ATTACH in lower case.
    """
    if not keys:
        raise InvalidInput("No keys were given.", hint="name the columns that tell rows apart.")
    options = {"table": table, **{k: str(v) for k, v in attach_options.items()}}
    asked = parse_options(options if lake is None else {**options, "lake": lake})

    def upsert(rows: DataFrame, number: int) -> None:
        spark = rows.sparkSession
        query = spark.sparkContext.getLocalProperty(_QUERY_ID)
        if query is None:
            raise InvalidInput(
                "A batch can be merged exactly once only inside of a streaming query.",
                hint="give upsert_batch(…) to writeStream.foreachBatch.",
            )
        found = open_own(spark, asked)
        try:
            place = (found.name, *asked.table)
            with once(found.con, place, Batch(query, number)) as is_new:
                if is_new:
                    source = rows if newest_by is None else _newest(rows, keys, newest_by)
                    merge = found.con.merge(".".join(map(quote_identifier, place)), source, keys)
                    merge.when_matched_update().when_not_matched_insert().execute()
        finally:
            found.con.close()

    return upsert


def _newest(rows: DataFrame, keys: Sequence[str], by: str) -> DataFrame:
    window = Window.partitionBy(*keys).orderBy(F.col(by).desc_nulls_last())
    return rows.withColumn(_PLACE, F.row_number().over(window)).where(f"{_PLACE} = 1").drop(_PLACE)
