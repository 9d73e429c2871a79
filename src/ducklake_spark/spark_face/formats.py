"""The format ``ducklake``: reading and writing a lake that nobody has registered. Driver."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from ducklake_spark.bridge.half import session_of
from ducklake_spark.bridge.sessions import lake_table
from ducklake_spark.errors import InvalidInput, NotFound, NotSupported
from ducklake_spark.execution.changes import read_feed
from ducklake_spark.operations.read import read_table
from ducklake_spark.spark_face.asked import FEED, TIME_TRAVEL, Asked, parse_options
from ducklake_spark.spark_face.format_writes import write_table
from ducklake_spark.spark_face.opened import moment_micros, open_shared
from ducklake_spark.spark_face.registry import Named

_START: Final = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


def answers() -> dict[str, Callable[..., Any]]:
    """Who answers which question of the format."""
    return {
        "format_table": load_table,
        "format_missing": explain_missing,
        "format_write": write_table,
    }


def load_table(options: Mapping[str, str], ready: bool, java_session: Any) -> Any | None:
    """The JVM's table for the options of a reader; None if there is none of that name."""
    spark = session_of(java_session)
    if not ready:
        raise InvalidInput(
            "This Spark session was made before this application used a lake, so its analyzer "
            "knows none.",
            hint="ducklake_spark.install(spark)",
        )
    asked = parse_options(options)
    lake = open_shared(spark, asked)
    try:
        return _table(lake, asked, read_asked(lake, asked))
    except (NotFound, InvalidInput):
        # A write may make the table, and a stream may begin with what is still to come: neither
        # is told from a read here. What is only read is asked for again, by `explain_missing`.
        return None


def read_asked(lake: Named, asked: Asked) -> DataFrame:
    """The rows that the options of a reader ask for."""
    if asked.says("readchangefeed"):
        return _feed(lake, asked)
    version = lake.con.table_version(_place(lake, asked), **_moment(lake.spark, asked))
    return read_table(lake.spark, version)


def _table(lake: Named, asked: Asked, frame: DataFrame) -> Any:
    def answer(text: str, _subject: Any) -> Any:
        what, _ = json.loads(text)
        raise NotSupported(
            f'Cannot {what} table "{asked.table[1]}" through what was read by format.',
            hint='write it with .write.format("ducklake"), or register the lake.',
        )

    name = ".".join((lake.name, *asked.table))
    return lake_table(lake.spark, name, answer, frame, {"provider": "ducklake", "by_format": ""})


def _place(lake: Named, asked: Asked) -> tuple[str, str, str]:
    return (lake.name, *asked.table)


def _moment(spark: SparkSession, asked: Asked) -> dict[str, Any]:
    if len(set(asked.said) & set(TIME_TRAVEL.values())) == 2:
        raise InvalidInput("Two versions were asked for.", hint="give snapshot or timestamp.")
    if (number := asked.number("snapshot")) is not None:
        return {"version": number}
    if (text := asked.said.get("timestamp")) is not None:
        return {"timestamp": _time(spark, text)}
    return {}


def _time(spark: SparkSession, text: str) -> dt.datetime:
    return _START + dt.timedelta(microseconds=moment_micros(spark, text))


def _feed(lake: Named, asked: Asked) -> DataFrame:
    asked.refuse_others("the change feed", FEED)
    bounds = [_bound(lake.spark, asked, end) for end in ("starting", "ending")]
    if bounds[0] is None:
        raise InvalidInput(
            "The change feed has no beginning.", hint="give startingSnapshot or startingTimestamp."
        )
    return read_feed(lake.con, _place(lake, asked), bounds[0], bounds[1], "changes")


def _bound(spark: SparkSession, asked: Asked, end: str) -> int | dt.datetime | None:
    number, text = asked.number(f"{end}snapshot"), asked.said.get(f"{end}timestamp")
    if number is not None and text is not None:
        raise InvalidInput(f"Two bounds were given: {end}Snapshot and {end}Timestamp.")
    return _time(spark, text) if text is not None else number


def explain_missing(options: Mapping[str, str], java_session: Any) -> None:
    """Say why something cannot be read as a table of a lake."""
    asked = parse_options(options)
    read_asked(open_shared(session_of(java_session), asked), asked)
