"""Schemas and tables that Spark asks for by name."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ducklake_spark.bridge.sessions import java_frame, lake_table
from ducklake_spark.errors import InvalidInput, NotFound
from ducklake_spark.model.names import quote_for_spark, quote_identifier
from ducklake_spark.model.schema import Column, Schema
from ducklake_spark.operations.contents import TableVersion, load_contents
from ducklake_spark.operations.read import kept_plan, read_table
from ducklake_spark.spark_face import (
    alterations,
    definitions,
    metadata_tables,
    procedures,
    schemas,
    views,
)
from ducklake_spark.spark_face.changes import CHANGES
from ducklake_spark.spark_face.columns import shown_columns
from ducklake_spark.spark_face.inserts import VIRTUAL_ALIASES, Destination
from ducklake_spark.spark_face.layouts import shown_partitions
from ducklake_spark.spark_face.places import Place, has_object, place_of, schema_of
from ducklake_spark.spark_face.properties import shown_options, shown_properties
from ducklake_spark.spark_face.read_options import read_with_options
from ducklake_spark.spark_face.registry import Named, Registry
from ducklake_spark.spark_face.totals import read_totals

Answer = Callable[..., Any]


def answers(registry: Registry) -> dict[str, Answer]:
    """Who answers which question of Spark's catalog."""

    def about(answer: Callable[..., Any]) -> Answer:
        def find(number: int, words: Sequence[Any], session: Any) -> Any:
            return answer(registry.find(number, session), *words)

        return find

    return {
        "attach": registry.attach,
        "tables": about(list_tables),
        "load": about(load_table),
        "exists": about(definitions.table_exists),
        "create": about(definitions.create_table),
        "stage_create": about(definitions.stage_create),
        "stage_replace": about(definitions.stage_replace),
        "stage_create_or_replace": about(definitions.stage_replace),
        "alter": about(alterations.alter_table),
        "drop": about(definitions.drop_table),
        "rename": about(definitions.rename_table),
        "views": about(views.list_views),
        "view_exists": about(views.view_exists),
        "create_view": about(views.create_view),
        "drop_view": about(views.drop_view),
        "rename_view": about(views.rename_view),
        "procedures": about(procedures.list_procedures),
        "procedure": about(procedures.describe_procedure),
        "call": about(java_frame(procedures.call_procedure)),
        "schemas": about(schemas.list_schemas),
        "schema_exists": about(schemas.has_schema),
        "schema": about(schemas.describe_schema),
        "create_schema": about(schemas.create_schema),
        "alter_schema": about(schemas.alter_schema),
        "drop_schema": about(schemas.drop_schema),
    }


def list_tables(lake: Named, namespace: Sequence[str]) -> str:
    """The names of the tables and views of a schema."""
    found = lake.con.lake(lake.name)
    with lake.con.reading(found) as tx:
        schema = lake.con.schema_entry(found, tx, namespace[0])
        return json.dumps([name for _, name in tx.local.table_names(schema.schema_id)])


def load_table(
    lake: Named, namespace: Sequence[str], name: str, at: tuple[str | None, Any, str]
) -> Any | None:
    """The JVM's table for a name and a snapshot; None if there is none of that name.

    `at` says how a snapshot is named, which one, and the key of the session that asks.
    """
    by, moment, session = at
    if len(namespace) == 2 or metadata_tables.is_about_lake(namespace):
        found = metadata_tables.load(lake, namespace, name, _moment(by, moment))
        if found is not None:
            return found
    if schema_of(namespace) is None:
        return None
    place = place_of(lake, namespace, name)
    try:
        version = lake.con.table_version(place, **_moment(by, moment))
    except NotFound:
        is_table, is_view = has_object(lake, namespace, name)
        if is_view:
            return _load_view(lake, place)
        if by is not None and is_table:
            raise  # the snapshot is missing, not the table
        return None
    if by is not None or lake.con.in_transaction:
        return table_of(lake, place, version, kept_plan(lake.spark, version, session=session))
    return _kept_table(lake, place, version, session)


def _kept_table(lake: Named, place: Place, version: TableVersion, session: str) -> Any:
    """One object for all queries of a session that ask for the same: it costs no further call."""
    contents = load_contents(version, lazily=True)

    def build() -> Any:
        frame = kept_plan(lake.spark, version, session=session, contents=contents)
        return table_of(lake, place, version, frame)

    key = ("table by name", session, place, version.snapshot.snapshot_id)
    return contents.plans.find(key, build)


def _moment(by: str | None, at: Any) -> dict[str, Any]:
    if by == "version":
        try:
            return {"version": int(at)}
        except ValueError:
            raise InvalidInput(
                f'Cannot read VERSION AS OF "{at}": a version is the number of a snapshot.'
            ) from None
    if by == "timestamp":
        start = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
        return {"timestamp": start + dt.timedelta(microseconds=at)}
    return {}


def table_of(lake: Named, place: Place, version: TableVersion, frame: DataFrame) -> Any:
    """The JVM's table for a version of a table, whose rows are those of the frame."""

    def answer(text: str, subject: Any) -> Any:
        what, words = json.loads(text)
        if what in CHANGES:
            return CHANGES[what](Destination(lake, place, version.snapshot), words, subject)
        return _TABLE_ANSWERS[what](lake, place, version, words)

    return lake_table(
        lake.spark,
        ".".join(place),
        answer,
        frame,
        shown_properties(version),
        columns=shown_columns(lake.spark, version.table),
        partitions=shown_partitions(version.table),
        totals=True,
    )


def _read_virtual(
    lake: Named, _place: Sequence[str], version: TableVersion, names: Sequence[str]
) -> Any:
    """The table with virtual columns under the names that were asked for."""
    known = {name: VIRTUAL_ALIASES.get(name, name) for name in names}
    wanted = tuple(dict.fromkeys(known.values()))
    own = {column.name: _aside(column, wanted) for column in version.table.schema.columns}
    apart = tuple(own.values())
    table = replace(version.table, schema=Schema(apart))
    # What is kept of the table for the next query is not for columns under other names.
    found = replace(version, table=table, is_newest=False)
    frame = read_table(lake.spark, found, virtual_columns=wanted)
    return frame.select(
        *(F.col(quote_for_spark(each.name)).alias(name) for name, each in own.items()),
        *(F.col(virtual).alias(name) for name, virtual in known.items()),
    )


def _aside(column: Column, virtual: Sequence[str]) -> Column:
    """The column, under another name if a virtual one has its own."""
    taken = column.name.lower() in virtual
    return replace(column, name=f"__ducklake_own_{column.name}") if taken else column


def _read_options(
    lake: Named, _place: Sequence[str], version: TableVersion, _words: Sequence[str]
) -> str:
    return json.dumps(shown_options(lake.con.lake(lake.name), version.table))


_TABLE_ANSWERS: Mapping[str, Answer] = {
    "virtual": _read_virtual,
    "options": _read_options,
    "totals": read_totals,
    "with_options": read_with_options,
}


def _load_view(lake: Named, place: Sequence[str]) -> Any:
    frame: Any = lake.con.sql(f"SELECT * FROM {'.'.join(map(quote_identifier, place))}")

    def answer(text: str, _subject: Any) -> Any:
        if json.loads(text)[0] == "options":
            return "{}"
        raise InvalidInput(f'"{place[2]}" is a view: it has no rows of its own.')

    return lake_table(lake.spark, ".".join(place), answer, frame, {"provider": "ducklake"})
