"""DataFrames of logical plans, and what a plan says about itself. Driver."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession

from ducklake_spark.bridge.half import bridge_of, java_session


def frame_of(spark: SparkSession, logical_plan: Any) -> DataFrame:
    """The DataFrame of a logical plan."""
    return DataFrame(bridge_of(spark).java.frame(java_session(spark), logical_plan), spark)


def fresh(frame: DataFrame) -> DataFrame:
    """The same rows under ids of their own, so that two frames of one table can be joined."""
    spark: SparkSession = frame.sparkSession
    return DataFrame(bridge_of(spark).java.fresh(frame._jdf), spark)


def with_settings(frame: DataFrame, settings: Mapping[str, str]) -> DataFrame:
    """The same frame, which runs with settings of its own; the session's stay as they are."""
    spark: SparkSession = frame.sparkSession
    return DataFrame(
        bridge_of(spark).java.withSettings(frame._jdf, json.dumps(dict(settings))), spark
    )


def expected_size(frame: DataFrame) -> int | None:
    """The bytes that the optimizer expects; None if it cannot tell."""
    try:
        plan = frame._jdf.queryExecution().optimizedPlan()
        return int(str(plan.stats().sizeInBytes()))
    except (PySparkException, Py4JError):  # no JVM gateway, or a plan that fails when it is run
        return None


def plan_text(frame: DataFrame) -> str:
    """The physical plan as Spark shows it."""
    return str(frame._jdf.queryExecution().simpleString())


# Columns that one frame after the other is asked for are kept in the JVM. A column takes several
# calls into the JVM to make, one to hand over and one to let go of, which is most of what a
# statement over few rows costs. They are expressions over names: they belong to no frame.


def select(frame: DataFrame, key: Hashable, build: Callable[[], Iterable[Column]]) -> DataFrame:
    """`frame.select` of the columns that `build` makes; `key` says all that they depend on."""
    bridge = bridge_of(frame.sparkSession)
    columns = bridge.kept(("select", key), lambda: bridge.seq(_java(each) for each in build()))
    return DataFrame(frame._jdf.select(columns), frame.sparkSession)


def rename(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """`frame.toDF(*names)`."""
    bridge = bridge_of(frame.sparkSession)
    kept = bridge.kept(("names", *names), lambda: bridge.seq(names))
    return DataFrame(frame._jdf.toDF(kept), frame.sparkSession)


def keep_column(spark: SparkSession, key: Hashable, build: Callable[[], Column]) -> Column:
    """The column that `build` makes; `key` says all that it depends on."""
    make: Any = Column
    column: Column = make(bridge_of(spark).kept(("column", key), lambda: _java(build())))
    return column


def _java(column: Column) -> Any:
    column_of: Any = column
    return column_of._jc
