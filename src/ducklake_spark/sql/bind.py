"""Run a query: every name in it becomes a relation of Spark, bound to its snapshot."""

from __future__ import annotations

import datetime as dt
import itertools
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from sqlglot import exp

from ducklake_spark.errors import DuckLakeError, InvalidInput, NotFound, NotSupported
from ducklake_spark.operations.read import read_table
from ducklake_spark.spark.failures import spark_failures
from ducklake_spark.sql.counts import answer_counts
from ducklake_spark.sql.functions import call_function
from ducklake_spark.sql.literals import literal_value
from ducklake_spark.sql.relations import At, Relation, TableFunctionCall, TableReference
from ducklake_spark.sql.render import to_spark

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection

_numbers = itertools.count(1)


def run_query(con: Connection, tree: exp.Expr) -> DataFrame:
    """The lazy DataFrame of a query."""
    binder = _Binder(con)
    try:
        text = to_spark(answer_counts(con, tree), binder)
        with spark_failures("run the query"):
            return con.spark.sql(text)
    finally:
        # The DataFrame has taken the relations in; their names are not needed any more.
        binder.release()


class _Binder:
    """Answers the renderer's questions what a name means, with temporary views."""

    def __init__(self, con: Connection) -> None:
        self.con = con
        self._views: list[str] = []

    def table(self, reference: TableReference) -> Relation:
        """A table of a lake, else one that Spark knows itself."""
        try:
            frame = self._lake_table(reference)
        except (NotFound, InvalidInput) as error:
            return self._spark_table(reference, error)
        hidden = reference.virtual_columns
        columns = tuple(name for name in frame.columns if name not in hidden)
        return Relation(self._register(frame), hidden, columns)

    def table_function(self, call: TableFunctionCall) -> Relation:
        """The rows of a table function."""
        frame = call_function(self.con, call)
        return Relation(self._register(frame), columns=tuple(frame.columns))

    def release(self) -> None:
        """Drop the temporary views."""
        for name in self._views:
            self.con.spark.catalog.dropTempView(name)

    def _lake_table(self, reference: TableReference) -> DataFrame:
        con = self.con
        self._refuse_view(reference)
        version, moment = _time_travel(reference.at)
        found = con.table_version(reference.parts, version=version, timestamp=moment)
        own = {name.lower() for name in found.table.schema.names}
        # A real column of that name wins over the virtual one.
        virtual = [name for name in sorted(reference.virtual_columns) if name not in own]
        return read_table(con.spark, found, virtual_columns=virtual)

    def _refuse_view(self, reference: TableReference) -> None:
        lake, schema_name, name = self.con.place(reference.parts)
        with self.con.reading(lake) as tx:
            schema = tx.local.find_schema(schema_name)
            if schema is not None and tx.local.find_view(schema.schema_id, name) is not None:
                raise NotSupported(
                    f'Cannot read "{reference.text}": views are not supported yet.',
                    hint="query the tables behind it.",
                )

    def _spark_table(self, reference: TableReference, error: DuckLakeError) -> Relation:
        name = ".".join("`" + part.replace("`", "``") + "`" for part in reference.parts)
        if reference.at is not None or not self.con.spark.catalog.tableExists(name):
            raise error
        frame = self.con.spark.table(name)
        return Relation(self._register(frame), columns=tuple(frame.columns))

    def _register(self, frame: DataFrame) -> str:
        name = f"_ducklake_{next(_numbers)}"
        frame.createOrReplaceTempView(name)
        self._views.append(name)
        return name


def _time_travel(at: At | None) -> tuple[int | None, dt.datetime | None]:
    if at is None:
        return None, None
    value: Any = literal_value(at.value)
    if at.kind == "version":
        return int(value), None
    if isinstance(value, str):
        value = dt.datetime.fromisoformat(value)
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day, tzinfo=dt.timezone.utc)
    return None, value
