"""Run a query: every name in it becomes a relation of Spark, bound to its snapshot."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from sqlglot import exp

from ducklake_spark.errors import DuckLakeError, InvalidInput, NotFound, NotSupported
from ducklake_spark.execution.changes import call_change_function, is_change_function
from ducklake_spark.execution.compute import compute
from ducklake_spark.execution.counts import answer_counts
from ducklake_spark.execution.functions import call_function
from ducklake_spark.execution.macros import MacroFinder, expand_macros, expand_table_macro
from ducklake_spark.execution.readers import READERS, reader_of_path
from ducklake_spark.execution.settings import binding_settings
from ducklake_spark.execution.sources import source_frame
from ducklake_spark.execution.system import system_function, system_table
from ducklake_spark.lake import Lake
from ducklake_spark.model.entities import MacroEntry, SchemaEntry, ViewEntry
from ducklake_spark.model.moments import Zone, moment_of_sql
from ducklake_spark.model.names import quote_for_spark, quote_identifier
from ducklake_spark.operations.read import TableVersion, read_table
from ducklake_spark.operations.row_changes import IDENTITY, Target
from ducklake_spark.spark.failures import spark_failures
from ducklake_spark.spark.tags import type_of_field
from ducklake_spark.sql.parse import parse_query
from ducklake_spark.sql.relations import At, Relation, TableFunctionCall, TableReference
from ducklake_spark.sql.render import is_spark, render_expression, to_spark

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection

_DEEPEST_VIEW = 64
CATALOG_PLACEHOLDER = "{DUCKLAKE_CATALOG}"

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Context:
    """Where names of a query are looked up: a view's own schema, a past snapshot."""

    home: tuple[Lake, str] | None = None
    version: int | None = None
    timestamp: dt.datetime | None = None
    depth: int = 0

    @property
    def is_past(self) -> bool:
        """Whether the query is about an older snapshot."""
        return self.version is not None or self.timestamp is not None

    def inside(self, lake: Lake, schema: str) -> Context:
        """The context of a view's or macro's own text."""
        if self.depth >= _DEEPEST_VIEW:
            raise InvalidInput("A view or macro refers to itself.", hint="define it anew.")
        return replace(self, home=(lake, schema), depth=self.depth + 1)


def run_query(
    con: Connection,
    tree: exp.Expr,
    context: Context | None = None,
    *,
    target: Target | None = None,
) -> DataFrame:
    """The lazy DataFrame of a query.

    `target` is a table that the query is about to change: where it stands, its rows have their
    identities, which no star shows.
    """
    if binding_settings(con) and not is_spark(tree) and tree.find(exp.Ordered):
        raise NotSupported(
            "The order of this statement is not read by DuckDB, so it would not heed the setting "
            f"{binding_settings(con)[0][0]}.",
            hint="say ASC or DESC and NULLS FIRST or LAST, and RESET the setting.",
        )
    binder = _Binder(con, context or Context(), target)
    try:
        with con.one_snapshot():
            expanded = expand_macros(tree, binder)
            text = to_spark(answer_counts(expanded, binder.table_version), binder)
        with spark_failures("run the query"):
            return con.spark.sql(text)
    finally:
        # The DataFrame has taken the relations in; their names are not needed any more.
        binder.release()


def expression_text(con: Connection, tree: exp.Expr, home: tuple[Lake, str]) -> str:
    """The Spark SQL of an expression over columns, its macros looked up in a schema of a lake."""
    return render_expression(expand_macros(tree, _Binder(con, Context(home=home))))


class _Binder(MacroFinder):
    """Answers the renderer's questions what a name means, with temporary views."""

    def __init__(self, con: Connection, context: Context, target: Target | None = None) -> None:
        self.con = con
        self.context = context
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
        """The rows of a table macro or of a table function."""
        found = self.find_macro(call.parts, is_table=True)
        if found is not None:
            lake, schema, macro = found
            tree = expand_table_macro(macro, call)
            frame = run_query(self.con, tree, self.context.inside(lake, schema.name))
        elif is_change_function(call.parts):
            changed, hidden = call_change_function(self.con, call, self.context.home)
            return self._relation(changed, hidden=hidden)
        else:
            frame = call_function(self.con, call)
        return self._relation(frame)

    def table_version(self, parts: tuple[str, ...]) -> TableVersion:
        """The table that a name means here."""
        lake, schema, name = self.con.place(parts, self.context.home)
        return self.con.table_version(
            (lake.name, schema, name),
            version=self.context.version,
            timestamp=self.context.timestamp,
        )

    def find_macro(
        self, parts: tuple[str, ...], *, is_table: bool
    ) -> tuple[Lake, SchemaEntry, MacroEntry] | None:
        """The macro that a name means here; None for functions that are none."""
        if not self.con.lakes or (len(parts) == 1 and not self._has_home()):
            return None
        try:
            lake, schema_name, name = self.con.place(parts, self.context.home)
        except DuckLakeError:
            return None
        schema, _, macro = find_objects(
            self.con, lake, schema_name, name, self.context, is_table=is_table
        )
        return (lake, schema, macro) if schema and macro else None

    def release(self) -> None:
        """Drop the temporary views."""
        for name in self._views:
            self.con.spark.catalog.dropTempView(name)

    def _has_home(self) -> bool:
        return self.context.home is not None or self.con.current is not None

    def _context_at(self, at: At | None) -> Context:
        if at is None:
            return self.context
        version, moment = time_travel(at.kind, compute(self.con, at.value), self.con.time_zone)
        return replace(self.context, version=version, timestamp=moment)

    def _lake_relation(self, reference: TableReference, context: Context) -> Relation:
        con = self.con
        lake, schema_name, name = con.place(reference.parts, context.home)
        schema, view, _ = find_objects(con, lake, schema_name, name, context)
        if schema is not None and view is not None:
            return self._relation(self._view(lake, schema, view, context))
        if self.target is not None and not context.is_past:
            version = self.target.version
            wanted = (schema.schema_id if schema else None, name.lower())
            if version.lake is lake and wanted == (version.table.schema_id, _folded(version)):
                return self._target_relation(self.target, reference)
        found = con.table_version(
            (lake.name, schema_name, name), version=context.version, timestamp=context.timestamp
        )
        own = {column.lower() for column in found.table.schema.names}
        # A real column of that name wins over the virtual one.
        virtual = frozenset(reference.virtual_columns - own)
        frame = read_table(con.spark, found, virtual_columns=sorted(virtual))
        columns = found.table.schema.columns  # as the frame has them, and it need not be asked
        names, types = tuple(c.name for c in columns), tuple(c.type for c in columns)
        return Relation(self._name(frame), virtual, names, types)

    def _target_relation(self, target: Target, reference: TableReference) -> Relation:
        own = {column.lower() for column in target.table.schema.names}
        virtual = sorted(reference.virtual_columns - own)
        return self._relation(target.frame(virtual), hidden=frozenset((*IDENTITY, *virtual)))

    def _view(
        self, lake: Lake, schema: SchemaEntry, view: ViewEntry, context: Context
    ) -> DataFrame:
        """The rows of a view: its text is DuckDB's, its names are those of its own schema."""
        if view.dialect.lower() != "duckdb":
            raise NotSupported(
                f'The view "{view.name}" is written in the dialect "{view.dialect}".',
                hint="only views in DuckDB's dialect can be read.",
            )
        text = view.sql.replace(CATALOG_PLACEHOLDER, quote_identifier(lake.name))
        frame = run_query(self.con, parse_query(text), context.inside(lake, schema.name))
        aliases = view.column_aliases
        return frame.toDF(*aliases, *frame.columns[len(aliases) :]) if aliases else frame

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
        name = self._name(frame)
        shown = [field for field in frame.schema.fields if field.name not in hidden]
        names = tuple(field.name for field in shown)
        try:
            types = tuple(type_of_field(field) for field in shown)
        except NotSupported:  # a table of Spark's own may have types that a lake has not
            return Relation(name, hidden, names)
        return Relation(name, hidden, names, types)


def _folded(version: TableVersion) -> str:
    return version.table.name.lower()


def find_objects(
    con: Connection,
    lake: Lake,
    schema_name: str,
    name: str,
    context: Context,
    *,
    is_table: bool = False,
) -> tuple[SchemaEntry | None, ViewEntry | None, MacroEntry | None]:
    """Schema, view and macro of that name, as the context's snapshot shows them."""
    if context.is_past:
        snapshot = lake.snapshot_at(version=context.version, timestamp=context.timestamp)
        state = lake.state_at(snapshot)
        schema = state.find_schema(schema_name)
        if schema is None:
            return None, None, None
        macro = state.find_macro(schema.schema_id, name, is_table=is_table)
        return schema, state.find_view(schema.schema_id, name), macro
    with con.reading(lake) as tx:
        schema = tx.local.find_schema(schema_name)
        if schema is None:
            return None, None, None
        macro = tx.local.find_macro(schema.schema_id, name, is_table=is_table)
        return schema, tx.local.find_view(schema.schema_id, name), macro


def time_travel(
    kind: str, value: Any, zone: Callable[[], Zone]
) -> tuple[int | None, dt.datetime | None]:
    """The number or the moment that an AT clause names."""
    if value is None:
        raise InvalidInput(f"AT ({kind.upper()} => NULL) names no snapshot.")
    if kind == "version":
        try:
            return int(value), None
        except ValueError:
            raise InvalidInput(f"AT (VERSION => {value!r}): a version is a number.") from None
    return None, moment_of_sql(value, zone)
