"""COPY FROM DATABASE: all of a DuckDB database, or of a lake, into a lake, as one snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ducklake_spark.binder.formatting import columns_of, format_query
from ducklake_spark.binder.trees import Tree
from ducklake_spark.commit.transaction import Transaction
from ducklake_spark.duckdb_file import DuckDBFile, SourceColumn, SourceObject, SourceTable
from ducklake_spark.errors import (
    AlreadyExists,
    DuckLakeError,
    InvalidInput,
    NotSupported,
)
from ducklake_spark.execution.copy_lake import copy_lake
from ducklake_spark.execution.insert import defined_columns
from ducklake_spark.execution.views import create_macro_in, stored_text
from ducklake_spark.lake import Lake
from ducklake_spark.model.entities import SchemaEntry, TableEntry
from ducklake_spark.model.names import quote_identifier
from ducklake_spark.model.types import format_sql_type
from ducklake_spark.operations import objects, views
from ducklake_spark.operations.append import append_batches
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.operations.duckdb_tables import LakeColumn, lake_columns
from ducklake_spark.operations.objects import NewColumn
from ducklake_spark.sql import statements as st
from ducklake_spark.sql.parse import parse

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection

REPORT = (
    ("kind", "VARCHAR"),
    ("schema_name", "VARCHAR"),
    ("name", "VARCHAR"),
    ("status", "VARCHAR"),
    ("row_count", "BIGINT"),
    ("note", "VARCHAR"),
)
Report = list[tuple[Any, ...]]


def copy_database(con: Connection, s: st.CopyDatabase) -> RowSet:
    """Copy everything, or nothing when a part of it fails; returns what was copied and what not."""
    if s.part == "data":
        raise NotSupported("COPY FROM DATABASE … (DATA) is not supported.", hint="leave it out.")
    target = con.lake(s.target)
    source = con.sources.get(s.source.lower())
    with con.writing(target, f'copy the database "{s.source}"') as tx:
        if source is None:
            rows = copy_lake(con, tx, con.lake(s.source), target, with_rows=s.part is None)
        else:
            rows = _Copy(tx, source, target, with_rows=s.part is None).run()
    return RowSet(REPORT, tuple(rows))


class _Copy:
    """One copy of a DuckDB file, with the report that grows meanwhile."""

    def __init__(self, tx: Transaction, source: DuckDBFile, lake: Lake, *, with_rows: bool) -> None:
        self.tx = tx
        self.source = source
        self.lake = lake
        self.with_rows = with_rows
        self.report: Report = []

    def run(self) -> Report:
        """Schemas, tables with rows, macros, views; then what a lake has nothing for."""
        for name in self.source.schemas():
            if self.tx.local.find_schema(name) is None:
                objects.create_schema(self.tx, name)
                self._note("schema", name, name)
        for table in self.source.tables():
            self._table(table)
        for macro in self.source.macros():
            self._object(macro)
        for view in self.source.views():
            self._object(view)
        for other in self.source.others():
            reason = f"a lake has no {_PLURALS[other.kind]}"
            self._note(other.kind, other.schema, other.name, "skipped", note=reason)
        return self.report

    def _note(
        self,
        kind: str,
        schema: str,
        name: str,
        status: str = "copied",
        *,
        rows: int | None = None,
        note: str | None = None,
    ) -> None:
        self.report.append((kind, schema, name, status, rows, note))

    def _schema(self, name: str) -> SchemaEntry:
        schema = self.tx.local.find_schema(name)
        if schema is None:
            raise InvalidInput(f'The schema "{name}" was not copied.')
        return schema

    def _table(self, table: SourceTable) -> None:
        try:
            columns = lake_columns(table)
            made = list(zip(columns, self._columns(table, columns), strict=True))
            schema = self._schema(table.schema)
            entry = objects.create_table(
                self.lake, self.tx, schema, table.name, [new for _, (new, _) in made]
            )
        except AlreadyExists:
            raise
        except (InvalidInput, NotSupported) as error:
            self._note("table", table.schema, table.name, "skipped", note=error.message)
            return
        rows = None
        if self.with_rows:
            selects = [column.select for column in columns]
            batches = self.source.batches(table.schema, table.name, selects)
            rows = append_batches(self.lake, self.tx, entry, batches)
        notes = [note for column, (_, dropped) in made for note in (column.note, dropped) if note]
        self._comment(table, entry)
        text = "; ".join(notes) or None
        self._note("table", table.schema, table.name, rows=rows, note=text)

    def _columns(
        self, table: SourceTable, columns: list[LakeColumn]
    ) -> Iterator[tuple[NewColumn, str | None]]:
        """The columns to make, each with what could not be kept of it."""
        for column, known in zip(table.columns, columns, strict=True):
            if column.default is None:
                yield NewColumn(column.name, known.type, not column.nullable), None
                continue
            kept = _with_default(column, known)
            if kept is None:
                reason = f"{column.name}: the default {column.default} is not kept"
                yield NewColumn(column.name, known.type, not column.nullable), reason
            else:
                yield kept, None

    def _comment(self, table: SourceTable, entry: TableEntry) -> None:
        for column in table.columns:
            if column.comment is not None:
                current = self.tx.local.find_table(entry.schema_id, entry.name) or entry
                views.comment_on(self.tx, current, column.comment, column=column.name)
        if table.comment is not None:
            current = self.tx.local.find_table(entry.schema_id, entry.name) or entry
            views.comment_on(self.tx, current, table.comment, column=None)

    def _object(self, made: SourceObject) -> None:
        """Copy a view or macro by its CREATE statement."""
        try:
            statement = parse(made.sql)[0]
        except DuckLakeError as error:
            self._note(made.kind, made.schema, made.name, "skipped", note=error.message)
            return
        if not isinstance(statement, st.CreateView | st.CreateMacro):
            self._note(made.kind, made.schema, made.name, "skipped", note="it is none")
            return
        name = statement.parts[-1]
        schema_name = made.schema or (statement.parts[-2] if len(statement.parts) > 1 else "main")
        schema = self._schema(schema_name)
        if isinstance(statement, st.CreateMacro):
            bodies = tuple(_without_database(body) for body in statement.overloads)
            create_macro_in(self.tx, schema, name, replace(statement, overloads=bodies))
        else:
            text = stored_text(statement.query, self.lake, has_schema=False, is_only_catalog=True)
            views.create_view(self.tx, schema, name, text, statement.column_aliases)
            view = self.tx.local.find_view(schema.schema_id, name)
            if made.comment is not None and view is not None:
                views.comment_on(self.tx, view, made.comment, column=None)
        self._note(made.kind, schema_name, name)


def _without_database(body: st.MacroBody) -> st.MacroBody:
    """The macro with names that hold in any database: those of a schema and its table."""
    text = body.text if body.is_table else f"SELECT {body.text}"
    try:
        made = format_query(text, _drop_catalogs)
    except DuckLakeError:
        return body  # kept as it is: DuckDB may know more than we do
    return replace(body, text=made if body.is_table else made.removeprefix("SELECT "))


def _drop_catalogs(tables: Iterable[Tree]) -> None:
    for table in tables:
        table["catalog_name"] = ""


def _with_default(column: SourceColumn, known: LakeColumn) -> NewColumn | None:
    """The column with its default; None if the default is no literal or call that a lake keeps."""
    name, kind = quote_identifier(column.name), format_sql_type(known.type)
    null = "" if column.nullable else " NOT NULL"
    try:
        parsed = parse(f"CREATE TABLE t({name} {kind} DEFAULT {column.default}{null})")[0]
    except DuckLakeError:
        return None
    if not isinstance(parsed, st.CreateTable):
        return None
    default = parsed.columns[0].default
    if default is not None and default.kind == "expression" and _depends(default.text):
        return None
    try:
        return defined_columns(parsed)[0]
    except DuckLakeError:
        return None


def _depends(text: str) -> bool:
    """Whether an expression needs other columns, as generated ones do, or a sequence."""
    return bool(columns_of(text)) or "nextval" in text.lower()


_PLURALS = {
    "sequence": "sequences",
    "index": "indexes",
    "type": "named types: their columns have the types themselves",
    "constraint": "constraints but NOT NULL",
}
