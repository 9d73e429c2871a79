"""Bring the rows of a write into the order of its layout: by partition, then sorted. Driver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ducklake_spark.bridge.frames import rename
from ducklake_spark.limits import limits
from ducklake_spark.model.names import quote_for_spark
from ducklake_spark.plan.layout import SortOrder, WriteLayout
from ducklake_spark.spark.cluster import z_order
from ducklake_spark.spark.partitioning import partition_columns

WriteSize = Literal["small", "large", "unknown"]
_ADAPTIVE = "spark.sql.adaptive.enabled"


@dataclass(frozen=True)
class Arranged:
    """Rows in order: columns c0, c1, … of the layout, then keys; and where the keys are."""

    rows: DataFrame
    keys: tuple[int, ...] = ()


def arrange(df: DataFrame, layout: WriteLayout, *, size: WriteSize) -> Arranged:
    """The rows as tasks shall write them.

    All rows of a partition come to one task, one partition after the other: Spark sorts, and
    spills what does not fit into memory. Sorted rows that are not partitioned are divided into
    ranges, so that the bounds of files do not overlap. A small write is one task, no shuffle; of
    one that nobody knows the size of, Spark puts small pieces together while it runs.
    """
    small = size == "small"
    keyed, orders = _with_keys(df, layout)
    rows, keys = keyed.rows, keyed.keys
    names = [f"c{i}" for i in range(len(df.columns))]
    key_names = [f"k{i}" for i in range(len(keys))]
    if not keys and not orders:
        if size == "unknown" and rows.sparkSession.conf.get(_ADAPTIVE) == "true":
            return Arranged(_put_together(rows))
        return Arranged(rows.coalesce(1) if small else rows)
    by = [_ordered(F.col(f"s{i}"), order) for i, order in enumerate(orders)]
    if small:
        rows = rows.coalesce(1).sortWithinPartitions(*key_names, *by)
    elif keys:
        divided = rows.repartition(*key_names) if size == "unknown" else _divided(rows, key_names)
        rows = divided.sortWithinPartitions(_together(key_names), *by)
    else:
        rows = rows.orderBy(*by)
    return Arranged(rows.select(*names, *key_names), keys)


def with_keys(df: DataFrame, layout: WriteLayout) -> Arranged:
    """The rows as they come, with their keys: for whoever brings them into order itself."""
    keyed, orders = _with_keys(df, layout)
    if orders:
        message = "rows that are sorted have to be arranged"
        raise ValueError(message)
    return keyed


def _with_keys(df: DataFrame, layout: WriteLayout) -> tuple[Arranged, list[SortOrder]]:
    """The rows with their keys, between them what they are sorted by; and that order."""
    width = len(df.columns)
    rows, orders = _with_sort_values(df, layout, [f"c{i}" for i in range(width)])
    keys = [key.alias(f"k{i}") for i, key in enumerate(partition_columns(rows, layout))]
    keyed = rows.select("*", *keys) if keys else rows
    return Arranged(keyed, tuple(range(width, width + len(keys)))), orders


def _divided(rows: DataFrame, keys: list[str]) -> DataFrame:
    """All rows of a partition in one task, and several tasks for a core: large sorts are slow.

    Where Spark would make many tasks itself, it is left to put small ones together.
    """
    spark = rows.sparkSession
    wanted = limits().tasks_per_core * spark.sparkContext.defaultParallelism
    if int(spark.conf.get("spark.sql.shuffle.partitions") or wanted) >= wanted:
        return rows.repartition(*keys)
    return rows.repartition(wanted, *keys)


def _together(keys: list[str]) -> Column:
    """A number that brings equal keys together: Spark sorts by one number without comparing rows.

    The hash skips NULL, hence the further arguments. Two partitions with one number would get
    more files than they need.
    """
    return F.xxhash64(*keys, *(F.col(key).isNull() for key in keys))


def _put_together(rows: DataFrame) -> DataFrame:
    """Rows in tasks that have enough to do, in the order in which they came.

    They are divided by their numbers: in turns, Spark would sort them first, to do the same again.
    """
    numbered = rows.withColumn("place", F.monotonically_increasing_id())
    together = numbered.hint("rebalance", "place").sortWithinPartitions("place")
    return together.drop("place")


def _with_sort_values(
    df: DataFrame, layout: WriteLayout, names: list[str]
) -> tuple[DataFrame, list[SortOrder]]:
    """The rows with columns called c0, c1, … and s0, s1, … with what they are sorted by."""
    if layout.cluster:
        rows = df.toDF(*names)
        places = {column.name.lower(): i for i, column in enumerate(layout.columns)}
        columns = [rows[f"c{places[name.lower()]}"] for name in layout.cluster]
        values = [z_order(rows, columns), *columns]
        made = rows.select("*", *(value.alias(f"s{i}") for i, value in enumerate(values)))
        return made, [SortOrder("") for _ in values]
    if not layout.sort:
        # Names of columns may hold dots and quotes, which Spark would take for its own syntax.
        return rename(df, names), []
    own = [column.name for column in layout.columns]
    rows = df.toDF(*own).select(
        *(F.col(quote_for_spark(name)).alias(new) for name, new in zip(own, names, strict=True)),
        *(F.expr(order.expression).alias(f"s{i}") for i, order in enumerate(layout.sort)),
    )
    return rows, list(layout.sort)


def _ordered(column: Column, order: SortOrder) -> Column:
    if order.descending:
        return column.desc_nulls_first() if order.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if order.nulls_first else column.asc_nulls_last()
