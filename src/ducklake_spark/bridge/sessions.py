"""Sessions that know lakes by name. Driver."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from ducklake_spark.bridge.half import (
    bridge_of,
    is_classic,
    java_session,
    known_bridge,
    session_of,
)


def install_rules(spark: SparkSession) -> None:
    """Let the analyzer of a session, and of those made beside it, know tables of lakes."""
    bridge_of(spark).java.install(java_session(spark))


def set_everywhere(spark: SparkSession, settings: Mapping[str, str]) -> None:
    """Set something for a session, and for those that `newSession` makes."""
    shared: Any = spark.sparkContext._jsc
    for key, value in settings.items():
        spark.conf.set(key, value)
        shared.sc().conf().set(key, value)


def set_where_different(spark: SparkSession, settings: Mapping[str, str]) -> None:
    """Set what has another value in a session."""
    bridge = known_bridge() if is_classic(spark) else None
    if bridge is not None:
        bridge.java.set(java_session(spark), json.dumps(dict(settings)))
        return
    for key, value in settings.items():
        if spark.conf.get(key, None) != value:
            spark.conf.set(key, value)


def catalog_number(spark: SparkSession, name: str) -> int | None:
    """The number of the lake that a session calls by that name, or None."""
    found = bridge_of(spark).java.catalog(java_session(spark), name)
    return None if found is None else int(found)


def lake_table(
    spark: SparkSession,
    name: str,
    answer: Callable[[str, Any], Any],
    frame: DataFrame,
    properties: Mapping[str, str],
    *,
    columns: StructType | None = None,
    partitions: Sequence[Mapping[str, Any]] = (),
    totals: bool = False,
) -> Any:
    """The JVM's table that stands for `frame` in a query, until the rule puts the plan there.

    Args:
        spark: the session that asks.
        name: the table's, in plans and messages.
        answer: answers what the JVM asks about this very table; frames come out as the JVM's.
        frame: its rows.
        properties: what DESCRIBE EXTENDED shows.
        columns: the columns with comments, defaults and NOT NULL, if there are any of these.
        partitions: name, column (as Spark quotes it) and number of each key.
        totals: whether `answer` knows counts and bounds of the whole table.
    """
    bridge = bridge_of(spark)
    source = bridge.callback(_java_answers(answer))
    facts = {
        "properties": dict(properties),
        "columns": None if columns is None else columns.json(),
        "partitions": list(partitions),
        "totals": totals,
    }
    return bridge.java.table(name, source, frame._jdf, json.dumps(facts))


def stream_source(spark: SparkSession, answer: Callable[[str, Any], Any], frame: DataFrame) -> Any:
    """The JVM's source of a stream, whose batches have the columns of `frame`."""
    bridge = bridge_of(spark)
    source = bridge.callback(_java_answers(answer))
    return bridge.java.streamSource(source, frame._jdf.schema())


def frame_from(java: Any) -> DataFrame:
    """The DataFrame for one of the JVM, on its own session."""
    return DataFrame(java, session_of(java.sparkSession()))


def session_id(spark: SparkSession) -> str:
    """What tells a session from others."""
    return str(bridge_of(spark).java.sessionId(java_session(spark)))


def _java_answers(answer: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    def answer_java(text: str, subject: Any) -> Any:
        found = answer(text, subject)
        return found._jdf if isinstance(found, DataFrame) else found

    return answer_java


def builder_that(
    builder: SparkSession.Builder, then: Callable[[SparkSession], Any]
) -> SparkSession.Builder:
    """A builder with the same settings that does something with each session it gives."""
    made = _Builder()
    made.then = then
    made._options = dict(builder._options)
    return made


class _Builder(SparkSession.Builder):
    then: Callable[[SparkSession], Any]

    def getOrCreate(self) -> SparkSession:  # noqa: N802 - as PySpark calls it
        """The session, after what was to be done with it."""
        spark = super().getOrCreate()
        self.then(spark)
        return spark


def java_frame(answer: Callable[..., DataFrame]) -> Callable[..., Any]:
    """The same answer with a frame of the JVM."""

    def answer_java(*words: Any) -> Any:
        return answer(*words)._jdf

    return answer_java
