"""A lake that is open in a Python worker. Worker beside the driver."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql.types import StructField, StructType

from ducklake_spark.errors import InvalidInput, NotSupported
from ducklake_spark.lake import Lake
from ducklake_spark.model.schema import Schema
from ducklake_spark.model.temporal import parse_moment
from ducklake_spark.operations.contents import TableVersion
from ducklake_spark.session import Session
from ducklake_spark.spark.carriers import carrier_type
from ducklake_spark.spark_face.asked import Asked, parse_options

_ZONED: Final = re.compile(r":\d{2}(\.\d+)?\s*(Z|UTC|[+-]\d{2}(:?\d{2})?)$")


@dataclass(frozen=True)
class Opened:
    """A session without Spark, its one lake, and what was asked for."""

    session: Session
    lake: Lake
    asked: Asked

    @property
    def place(self) -> tuple[str, str, str]:
        """The table's whole name."""
        return (self.lake.name, *self.asked.table)

    def version(self) -> TableVersion:
        """The table that was asked for, at the snapshot that was."""
        return self.session.table_version(self.place, **_moment(self.asked))


@contextmanager
def open_asked(options: Mapping[str, str]) -> Iterator[Opened]:
    """Open the lake that the options name, for as long as it takes."""
    asked = parse_options(options)
    if asked.lake is None:
        raise NotSupported(
            f'Cannot find the lake "{asked.catalog}": this session knows no lakes by name.',
            hint='.option("lake", "ducklake:…") says where it is.',
        )
    session = Session()
    try:
        given: dict[str, Any] = dict(asked.attach)
        name = session.attach(asked.lake, **given)
        session.use(name)
        yield Opened(session, session.lake(name), asked)
    finally:
        session.close_lakes()


def _moment(asked: Asked) -> dict[str, Any]:
    if (number := asked.number("snapshot")) is not None:
        return {"version": number}
    text = asked.said.get("timestamp")
    if text is None:
        return {}
    if _ZONED.search(text.strip()) is None:
        raise InvalidInput(
            f'The timestamp "{text}" has no time zone, and that of the session is not known here.',
            hint=f'"{text}+00" for UTC.',
        )
    return {"timestamp": parse_moment(text)}


def spark_schema(schema: Schema) -> StructType:
    """The columns as Spark shows them."""
    return StructType([StructField(c.name, carrier_type(c.type)) for c in schema.columns])


def shape(schema: Schema) -> list[tuple[int, str, str]]:
    """What must not change while a job or a stream runs."""
    return [(column.column_id, column.name, str(column.type)) for column in schema.columns]
