"""Options of `spark.read.option(…).table(…)` and `FROM t WITH (…)`: which rows are meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pyspark.sql import DataFrame

from ducklake_spark.errors import InvalidInput, NotSupported
from ducklake_spark.operations.contents import TableVersion
from ducklake_spark.spark_face.asked import FEED, TIME_TRAVEL, Asked
from ducklake_spark.spark_face.formats import read_asked
from ducklake_spark.spark_face.registry import Named

_OF_SPARK: Final = ("versionasof", "timestampasof")
"""Spark has done already what these say when it asks for the rows."""

_OF_OTHERS: Final = {
    "snapshot-id": "snapshot",
    "as-of-timestamp": "timestamp",
    "start-snapshot-id": "readChangeFeed with startingSnapshot",
    "end-snapshot-id": "readChangeFeed with endingSnapshot",
    "branch": "snapshot",
    "tag": "snapshot",
}
"""What users of another format write, and what says it here."""

_KNOWN: Final = {
    name: meaning for name, meaning in {**TIME_TRAVEL, **FEED}.items() if name not in _OF_SPARK
}


def read_with_options(
    lake: Named,
    place: Sequence[str],
    _version: TableVersion,
    words: tuple[Mapping[str, str], bool],
) -> DataFrame | None:
    """The rows that the options ask for; None if they ask for no others than the table's.

    Args:
        lake: where the table is.
        place: lake, schema and name.
        words: the options, and whether nothing else is in the query: then the rows may have other
            columns than the table, as those of its past or its change feed do.

    Raises:
        NotSupported: rows that are not the table's are asked for inside of a query.
        InvalidInput: an option of another format, which would be passed over in silence.
    """
    options, alone = words
    given = {name.lower(): value for name, value in options.items()}
    for name in given:
        if name in _OF_OTHERS:
            raise InvalidInput(
                f'The option "{name}" means nothing to table "{place[2]}" of a lake.',
                hint=f"use {_OF_OTHERS[name]}.",
            )
    said = {_KNOWN[name]: value for name, value in given.items() if name in _KNOWN}
    if not any(value.lower() != "false" for value in said.values()):
        return None
    if not alone:
        option = next(iter(said))
        raise NotSupported(
            f'Cannot read table "{place[2]}" with the option "{option}" inside of a query.',
            hint="VERSION AS OF and TIMESTAMP AS OF name a snapshot, and "
            f"CALL {lake.name}.system.table_changes(…) gives changes; or read it by itself with "
            "spark.read.option(…).table(…) and go on from there.",
        )
    asked = Asked(None, lake.name, (place[1], place[2]), {}, said)
    if not asked.says("readchangefeed"):
        asked.refuse_others("a table that is read as it was", TIME_TRAVEL)
    return read_asked(lake, asked)
