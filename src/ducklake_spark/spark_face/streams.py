"""What Spark asks about streams that read and write lakes. Driver."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ducklake_spark.bridge.half import session_of
from ducklake_spark.bridge.sessions import frame_from, stream_source
from ducklake_spark.spark_face.asked import FEED, STREAM, parse_options
from ducklake_spark.spark_face.offsets import format_position, parse_position
from ducklake_spark.spark_face.opened import open_own
from ducklake_spark.spark_face.stream_reads import TableStream
from ducklake_spark.spark_face.stream_writes import (
    Batch,
    check_sink,
    with_partitions,
    write_batch,
)


def answers() -> dict[str, Callable[..., Any]]:
    """Who answers which question about streams."""
    return {
        "stream_source": open_source,
        "stream_sink": check_options,
        "stream_batch": add_batch,
    }


def open_source(options: Mapping[str, str], runs: bool, java_session: Any) -> Any:
    """The JVM's source; one that does not run is only asked for its columns.

    Its connection is its own: a stream runs in a thread of its own beside all else.
    """
    asked = parse_options(options)
    begins = {name: said for name, said in FEED.items() if not said.startswith("ending")}
    asked.refuse_others("a stream that reads", begins, STREAM)  # it has no end
    lake = open_own(session_of(java_session), asked)
    try:
        stream = TableStream(lake, asked)
        columns = stream.columns()
    except BaseException:
        lake.con.close()
        raise
    source = stream_source(lake.spark, _answer_for(stream), columns)
    if not runs:
        stream.close()
    return source


def _answer_for(stream: TableStream) -> Callable[[str, Any], Any]:
    def latest(start: str | None, everything: bool) -> str | None:
        position = None if start is None else parse_position(start)
        found = stream.latest(position, everything=everything)
        if found is None:
            return None
        return start if found is position else format_position(found)

    def batch(start: str | None, end: str) -> Any:
        return stream.batch(None if start is None else parse_position(start), parse_position(end))

    known: dict[str, Callable[..., Any]] = {
        "latest": latest,
        "batch": batch,
        "available_now": stream.stop_at_newest,
        "stop": stream.close,
    }

    def answer(text: str, _subject: Any) -> Any:
        name, *words = json.loads(text)
        return known[name](*words)

    return answer


def check_options(options: Mapping[str, str], mode: str, _java_session: Any) -> None:
    """Refuse a sink that cannot work, before its query starts."""
    check_sink(parse_options(options), mode)


def add_batch(options: Mapping[str, str], facts: Mapping[str, Any], java_frame: Any) -> None:
    """Write a batch, by a connection that lives as long as this takes."""
    rows = frame_from(java_frame)
    asked = parse_options(with_partitions(options, facts["partitions"]))
    lake = open_own(rows.sparkSession, asked)
    try:
        write_batch(lake, asked, rows, Batch(facts["query"], facts["batch"]), facts["mode"])
    finally:
        lake.con.close()
