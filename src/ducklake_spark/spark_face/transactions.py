"""Transactions over several statements of Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from ducklake_spark.connection import Connection
from ducklake_spark.spark_face.registry import named


@contextmanager
def transaction(
    spark: SparkSession,
    name: str,
    *,
    author: str | None = None,
    message: str | None = None,
    extra_info: str | None = None,
) -> Iterator[Connection]:
    """What Spark does to a lake inside becomes one snapshot, or nothing at all.

    That is so for `spark.sql`, for DataFrame writers, and for reads, which see the changes made so
    far. It is the transaction of this session's catalog: all threads of the session are inside,
    other sessions (`spark.newSession()`) are not.

    Args:
        spark: the session.
        name: what it calls the lake.
        author: who makes the snapshot; stored with it, as are the other two.
        message: why.
        extra_info: anything else, such as JSON.

    Yields:
        The connection that the session's catalog uses; what is done with it is inside too.

    >>> with transaction(spark, "lake", author="Ada"):  # doctest: +SKIP
    ...     spark.sql("DELETE FROM lake.main.stock WHERE day < DATE'2025-01-01'")
    ...     news.writeTo("lake.main.stock").append()
    """
    con = named(spark, name).con
    with con.transaction(author=author, message=message, extra_info=extra_info):
        yield con
