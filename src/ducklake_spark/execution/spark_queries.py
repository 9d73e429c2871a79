"""Queries in Spark's dialect, which mean what Spark means; relations stand for tables."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from sqlglot import exp

from ducklake_spark.errors import DuckLakeError, InvalidInput, NotFound
from ducklake_spark.execution.bound_queries import view_frame
from ducklake_spark.execution.changes import call_change_function, is_change_function
from ducklake_spark.execution.compute import compute
from ducklake_spark.execution.contexts import Context, find_objects, time_travel
from ducklake_spark.execution.functions import call_function
from ducklake_spark.execution.readers import READERS, reader_of_path
from ducklake_spark.execution.sources import source_frame
from ducklake_spark.execution.spark_counts import answer_counts
from ducklake_spark.execution.system import system_function, system_table
from ducklake_spark.model.names import quote_for_spark
from ducklake_spark.operations.contents import TableVersion
from ducklake_spark.operations.read import read_table
from ducklake_spark.operations.row_changes import IDENTITY, Target
from ducklake_spark.spark.failures import spark_failures
from ducklake_spark.sql.relations import At, Relation, TableFunctionCall, TableReference
from ducklake_spark.sql.sources import spark_text

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection

_numbers = itertools.count(1)


def run_query(con: Connection, tree: exp.Expr, *, target: Target | None = None) -> DataFrame:
    """The lazy DataFrame of a query.

    `target` is a table that the query is about to change: where it stands, its rows have their
    identities, which no star shows.
    """
    tables = _Tables(con, target)
    try:
        with con.one_snapshot():
            text = spark_text(answer_counts(tree, tables.version), tables)
        with spark_failures("run the query"):
            return con.spark.sql(text)
    finally:
        # The DataFrame has taken the relations in; their names are not needed any more.
        tables.release()


class _Tables:
    """Answers what a name in FROM means, with temporary views."""

    def __init__(self, con: Connection, target: Target | None) -> None:
        self.con = con
        self.target = target
        self._views: list[str] = []

    def table(self, reference: TableReference) -> Relation:
        """A table or view of a lake, else one that Spark knows itself."""
        system = system_table(self.con, reference.parts)
        if system is not None:
            return self._relation(self.con.result(system).frame)
        context = self._context_at(reference.at)
        try:
            return self._lake_relation(reference, context)
        except (NotFound, InvalidInput) as error:
            return self._spark_relation(reference, error)

    def table_function(self, call: TableFunctionCall) -> Relation:
        """The rows of a table function."""
        if is_change_function(call.parts):
            changed, hidden = call_change_function(self.con, call, None)
            return self._relation(changed, hidden=hidden)
        return self._relation(call_function(self.con, call))

    def version(self, parts: tuple[str, ...]) -> TableVersion:
        """The table of a lake that a name means."""
        lake, schema, name = self.con.place(parts)
        return self.con.table_version((lake.name, schema, name))

    def release(self) -> None:
        """Drop the temporary views."""
        for name in self._views:
            self.con.spark.catalog.dropTempView(name)

    def _context_at(self, at: At | None) -> Context:
        if at is None:
            return Context()
        value = compute(self.con, at.value)
        version, moment = time_travel(at.kind, value, self.con.time_zone)
        return replace(Context(), version=version, timestamp=moment)

    def _lake_relation(self, reference: TableReference, context: Context) -> Relation:
        con = self.con
        lake, schema_name, name = con.place(reference.parts)
        schema, view, _ = find_objects(con, lake, schema_name, name, context)
        if schema is not None and view is not None:
            return self._relation(view_frame(con, (lake.name, schema.name, view.name), context))
        found = con.table_version(
            (lake.name, schema_name, name), version=context.version, timestamp=context.timestamp
        )
        own = {column.lower() for column in found.table.schema.names}
        # A real column of that name wins over the virtual one.
        virtual = frozenset(reference.virtual_columns - own)
        if self._is_target(found, context):
            return self._target_relation(virtual)
        frame = read_table(con.spark, found, virtual_columns=sorted(virtual))
        return Relation(self._name(frame), virtual)

    def _is_target(self, found: TableVersion, context: Context) -> bool:
        target = self.target
        if target is None or context.is_past or found.lake is not target.version.lake:
            return False
        return found.table.table_id == target.table.table_id

    def _target_relation(self, virtual: frozenset[str]) -> Relation:
        assert self.target is not None  # noqa: S101 - the caller has asked
        frame = self.target.frame(sorted(virtual))
        return self._relation(frame, hidden=frozenset((*IDENTITY, *virtual)))

    def _spark_relation(self, reference: TableReference, error: DuckLakeError) -> Relation:
        if reference.at is not None:
            raise error
        source = source_frame(self.con, reference.parts)
        if source is not None:
            return self._relation(source)
        reader = reader_of_path(reference.parts[0]) if len(reference.parts) == 1 else None
        if reader is not None:
            return self._relation(READERS[reader](self.con, reference.parts, {}))
        system = system_function(self.con, reference.parts[0].lower())
        if len(reference.parts) == 1 and system is not None:
            return self._relation(self.con.result(system()).frame)
        name = ".".join(quote_for_spark(part) for part in reference.parts)
        if not self._spark_has(name):
            raise error
        return self._relation(self.con.spark.table(name))

    def _spark_has(self, name: str) -> bool:
        try:
            return self.con.spark.catalog.tableExists(name)
        except AnalysisException:  # a name of more parts than Spark's catalog has levels
            return False

    def _name(self, frame: DataFrame) -> str:
        """Give a frame a name that the query can use."""
        name = f"_ducklake_{next(_numbers)}"
        frame.createOrReplaceTempView(name)
        self._views.append(name)
        return name

    def _relation(self, frame: DataFrame, *, hidden: frozenset[str] = frozenset()) -> Relation:
        return Relation(self._name(frame), hidden)
