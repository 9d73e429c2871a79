"""CREATE TABLE, DROP TABLE and their kin, as Spark's catalog asks for them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ducklake_spark.bridge.sessions import lake_table
from ducklake_spark.connection import Connection
from ducklake_spark.errors import InvalidInput, NotSupported
from ducklake_spark.execution.alter import altering, apply_step
from ducklake_spark.execution.sorting import sort_keys
from ducklake_spark.model.entities import TableEntry
from ducklake_spark.operations import objects, views
from ducklake_spark.operations.contents import TableVersion
from ducklake_spark.operations.options import set_option
from ducklake_spark.spark.local import local_frame
from ducklake_spark.spark_face.columns import new_columns, shown_columns, wanted_columns
from ducklake_spark.spark_face.inserts import Destination, append_rows, overwrite_rows
from ducklake_spark.spark_face.layouts import (
    cluster_columns,
    cluster_keys,
    partition_keys,
    shown_partitions,
)
from ducklake_spark.spark_face.places import Place, has_object, place_of
from ducklake_spark.spark_face.properties import read_properties, shown_properties
from ducklake_spark.spark_face.registry import Named
from ducklake_spark.sql import statements as st

Told = Mapping[str, Any]


def table_exists(lake: Named, namespace: Sequence[str], name: str, _more: None) -> bool:
    """Whether a table or view of that name is there."""
    return any(has_object(lake, namespace, name))


def create_table(lake: Named, namespace: Sequence[str], name: str, told: Told) -> None:
    """CREATE TABLE without rows."""
    _create(lake, lake.con, place_of(lake, namespace, name), told, or_replace=False)


def _create(
    lake: Named, con: Connection, place: Place, told: Told, *, or_replace: bool
) -> TableEntry:
    """Make a table, empty, with all that its definition says."""
    found, schema_name, name = con.place(place)
    given = read_properties(told["properties"], name)
    wanted = wanted_columns(lake.spark, told["columns"])
    columns, partitions = new_columns(wanted), told["partitions"]
    sort = [*cluster_keys(cluster_columns(partitions)), *given.sort]
    with con.writing(found, f'create table "{name}"') as tx:
        schema = con.schema_entry(found, tx, schema_name)
        shape = objects.build_schema(columns)
        table = objects.create_table(
            found,
            tx,
            schema,
            name,
            columns,
            or_replace=or_replace,
            partitioned_by=given.partitions or partition_keys(partitions),
            sorted_by=sort_keys(con, found, name, shape, schema.name, sort),
        )
        for key, value in given.options.items():
            set_option(found, tx, key, value, table, is_new=True)
        if given.comment is not None:
            views.comment_on(tx, table, given.comment, column=None)
        for each in wanted:
            if each.comment is not None:
                now = tx.local.table(table.table_id)
                views.comment_on(tx, now, each.comment, column=each.column.name)
        return tx.local.table(table.table_id)


@dataclass(frozen=True)
class Staged:
    """A table that is being made with its rows: all of it becomes one snapshot, or nothing.

    Attributes:
        lake: where.
        con: a connection whose transaction it is made in.
        is_own: whether that is a transaction just for this, other than the session's.
        place: the table.
    """

    lake: Named
    con: Connection
    is_own: bool
    place: Place

    def append(self, words: Any, java: Any) -> str:
        """Add the rows of the query."""
        self._forget_defaults()
        return append_rows(self._destination, words, java)

    def overwrite(self, words: Any, java: Any) -> str:
        """Put the rows of the query in place of all."""
        self._forget_defaults()
        return overwrite_rows(self._destination, words, java)

    @property
    def _destination(self) -> Destination:
        return Destination(replace(self.lake, con=self.con), self.place, None)

    def _forget_defaults(self) -> None:
        """A table made of a query has no defaults: Spark hands on those of the tables it reads."""
        with altering(self.con, self.place, if_exists=False) as found:
            for column in found[3].schema.columns if found else ():
                if found and column.default is not None:
                    apply_step(self.con, found, st.SetDefault(self.place, (column.name,), None))

    def commit(self, *_: Any) -> None:
        """All went well."""
        if self.is_own:
            try:
                self.con.commit()
            finally:
                self.con.close()

    def abort(self, *_: Any) -> None:
        """The query has failed."""
        if not self.is_own:
            self.con.abort()
            return
        try:
            if self.con.in_transaction:
                self.con.rollback()
        finally:
            self.con.close()


def stage_create(lake: Named, namespace: Sequence[str], name: str, told: Told) -> Any:
    """CREATE TABLE AS: the JVM's table, which takes the rows and then commits."""
    return _stage(lake, namespace, name, told, or_replace=False)


def stage_replace(lake: Named, namespace: Sequence[str], name: str, told: Told) -> Any:
    """CREATE OR REPLACE TABLE and REPLACE TABLE, with or without rows."""
    return _stage(lake, namespace, name, told, or_replace=True)


def _stage(
    lake: Named, namespace: Sequence[str], name: str, told: Told, *, or_replace: bool
) -> Any:
    place = place_of(lake, namespace, name)
    is_own = not lake.con.in_transaction
    con = lake.con.cursor() if is_own else lake.con
    staged = Staged(lake, con, is_own, place)
    if is_own:
        con.begin()
    try:
        table = _create(lake, con, place, told, or_replace=or_replace)
        version = con.table_version(place)
    except BaseException:
        if is_own:
            staged.abort()
        raise
    return _staged_table(lake, staged, table, version)


def _staged_table(lake: Named, staged: Staged, table: TableEntry, version: TableVersion) -> Any:
    steps: dict[str, Callable[..., str | None]] = {
        "append": staged.append,
        "overwrite": staged.overwrite,
        "commit": staged.commit,
        "abort": staged.abort,
    }

    def answer(text: str, subject: Any) -> Any:
        what, words = json.loads(text)
        if what == "options":
            return "{}"
        if what not in steps:
            raise InvalidInput(f'Table "{table.name}" is still being made: it cannot be read.')
        return steps[what](words, subject)

    return lake_table(
        lake.spark,
        ".".join(staged.place),
        answer,
        local_frame(lake.spark, table.schema.columns, []),
        shown_properties(version),
        columns=shown_columns(lake.spark, table),
        partitions=shown_partitions(table),
    )


def drop_table(lake: Named, namespace: Sequence[str], name: str, _more: None) -> bool:
    """DROP TABLE; false if there is none."""
    if not any(has_object(lake, namespace, name)):
        return False
    con = lake.con
    found, schema_name, table = con.place(place_of(lake, namespace, name))
    with con.writing(found, f'drop table "{table}"') as tx:
        schema = con.schema_entry(found, tx, schema_name)
        missing = con.missing_table(tx, found, schema, table)
        objects.drop_table(tx, schema, table, if_exists=False, missing=missing)
    return True


def rename_table(
    lake: Named, namespace: Sequence[str], name: str, to: tuple[Sequence[str], str]
) -> None:
    """ALTER TABLE … RENAME TO, within its schema."""
    place = place_of(lake, namespace, name)
    wanted = [part.lower() for part in to[0]]
    if wanted not in ([], [place[1].lower()], [lake.name.lower(), place[1].lower()]):
        raise NotSupported(
            f'Cannot rename table "{name}" to {".".join((*to[0], to[1]))}: a table stays in its '
            "schema.",
            hint="make a table there with CREATE TABLE … AS SELECT, and drop this one.",
        )
    with altering(lake.con, place, if_exists=False) as found:
        if found is not None:
            apply_step(lake.con, found, st.RenameTable(place, to[1]))
