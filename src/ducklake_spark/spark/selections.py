"""Columns that one frame after the other is asked for, kept in the JVM. Driver.

A column takes several calls into the JVM to make, one to hand over and one to let go of, which is
most of what a statement over few rows costs. The columns here are expressions over names: they
belong to no frame, and the same ones serve every statement that needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession

from ducklake_spark.spark.jvm import jvm_of


def select(frame: DataFrame, key: Hashable, build: Callable[[], Iterable[Column]]) -> DataFrame:
    """`frame.select` of the columns that `build` makes; `key` says all that they depend on."""
    jvm = jvm_of(frame.sparkSession)
    columns = jvm.kept(("select", key), lambda: jvm.seq(_java(each) for each in build()))
    return DataFrame(_java_frame(frame).select(columns), frame.sparkSession)


def rename(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """`frame.toDF(*names)`."""
    jvm = jvm_of(frame.sparkSession)
    kept = jvm.kept(("names", *names), lambda: jvm.seq(names))
    return DataFrame(_java_frame(frame).toDF(kept), frame.sparkSession)


def keep_column(spark: SparkSession, key: Hashable, build: Callable[[], Column]) -> Column:
    """The column that `build` makes; `key` says all that it depends on."""
    jvm = jvm_of(spark)
    make: Any = Column
    column: Column = make(jvm.kept(("column", key), lambda: _java(build())))
    return column


def _java(column: Column) -> Any:
    column_of: Any = column
    return column_of._jc


def _java_frame(frame: DataFrame) -> Any:
    return frame._jdf
