"""A DuckDB database file, opened to be read: what is in it, and its rows. Driver."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ducklake_spark.caching import Cache, declare
from ducklake_spark.errors import CatalogError, InvalidInput, NotFound
from ducklake_spark.limits import limits
from ducklake_spark.model.names import quote_identifier

_MAGIC: Final = b"DUCK"  # from the ninth byte on
_ALIAS: Final = "__ducklake_source"


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column of a table, with its type and default as DuckDB's text."""

    name: str
    type_text: str
    nullable: bool
    default: str | None
    comment: str | None


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table of the file."""

    schema: str
    name: str
    columns: tuple[SourceColumn, ...]
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class SourceObject:
    """A view, macro, sequence, index or constraint, with the text that made it."""

    kind: str
    schema: str
    name: str
    sql: str = ""
    comment: str | None = None


def is_duckdb_file(path: str) -> bool:
    """Whether a DuckDB database is there."""
    try:
        with Path(path).open("rb") as file:
            return file.read(12)[8:] == _MAGIC
    except OSError:
        return False


_EXPORTS: Final = declare(
    "exported tables",
    key="schema, table and the expressions that are selected",
    depends_on="the rows of an attached DuckDB database, which nobody can change meanwhile",
    seen_by="connection",
    emptied="when the database is detached",
    entries=1000,
)


class DuckDBFile:
    """An attached DuckDB database; it is never written to."""

    def __init__(self, path: str, name: str) -> None:
        if not Path(path).is_file():
            raise NotFound(
                f'Cannot attach "{path}": there is no such file.',
                hint="the address of a lake begins with ducklake:; a plain DuckDB database is "
                "attached to be read, and must exist.",
            )
        if not is_duckdb_file(path):
            raise InvalidInput(
                f'Cannot attach "{path}": it is no DuckDB database.',
                hint="the address of a lake begins with ducklake:",
            )
        self.path = str(Path(path).absolute())
        self.name = name
        self._connection: Any = None
        self._exports: Cache[tuple[str, ...], str] = _EXPORTS.make()
        self._numbers = itertools.count()
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def tables(self) -> list[SourceTable]:
        """Every table with its columns, schema by schema."""
        columns: dict[tuple[str, str], list[SourceColumn]] = {}
        for schema, table, name, kind, nullable, default, comment in self._fetch(
            "SELECT schema_name, table_name, column_name, data_type, is_nullable, column_default, "
            "comment FROM duckdb_columns() WHERE database_name = ? AND NOT internal "
            "ORDER BY schema_name, table_name, column_index"
        ):
            column = SourceColumn(name, kind, nullable, default, comment)
            columns.setdefault((schema, table), []).append(column)
        return [
            SourceTable(schema, name, tuple(columns[schema, name]), comment)
            for schema, name, comment in self._fetch(
                "SELECT schema_name, table_name, comment FROM duckdb_tables() "
                "WHERE database_name = ? AND NOT internal ORDER BY schema_name, table_oid"
            )
        ]

    def schemas(self) -> list[str]:
        """The names of the schemas."""
        rows = self._fetch(
            "SELECT DISTINCT schema_name FROM duckdb_schemas() WHERE database_name = ? "
            "AND (NOT internal OR schema_name = 'main') ORDER BY schema_name"
        )
        return [row[0] for row in rows]

    def views(self) -> list[SourceObject]:
        """Every view, in the order of creation."""
        rows = self._fetch(
            "SELECT schema_name, view_name, sql, comment FROM duckdb_views() "
            "WHERE database_name = ? AND NOT internal ORDER BY view_oid"
        )
        return [SourceObject("view", *row) for row in rows]

    def macros(self) -> list[SourceObject]:
        """Every macro with its CREATE statements.

        Only an export of the schema tells the defaults of parameters. Where that is not possible
        (a table's default may name a database that is not here), they are left out.
        """
        rows = self._fetch(
            "SELECT schema_name, function_name, function_type, parameters, macro_definition "
            "FROM duckdb_functions() WHERE database_name = ? AND NOT internal "
            "AND function_type LIKE '%macro' ORDER BY function_oid"
        )
        if not rows:
            return []
        try:
            texts = [t for t in self._schema_statements() if t.upper().startswith("CREATE MACRO")]
        except CatalogError:
            texts = [_macro_text(*row) for row in rows]
        return [SourceObject("macro", "", "", text) for text in texts]

    def others(self) -> list[SourceObject]:
        """What a lake has nothing for: sequences, indexes, types and constraints."""
        found = []
        for kind, query in _OTHERS.items():
            found += [SourceObject(kind, *row) for row in self._fetch(query)]
        return found

    def batches(self, schema: str, table: str, select: Sequence[str]) -> Iterator[Any]:
        """The rows of a table as Arrow record batches, never many at a time."""
        with self._errors():
            cursor = self._open().cursor()
            reader = cursor.execute(self._select(schema, table, select)).to_arrow_reader(
                limits().duckdb_batch_rows
            )
            yield from reader

    def export(self, schema: str, table: str, select: Sequence[str]) -> str:
        """A folder of Parquet files with the rows of a table, made once; gone after `close`."""
        key = (schema, table, *select)
        return self._exports.find(key, lambda: self._export(schema, table, select))

    def _export(self, schema: str, table: str, select: Sequence[str]) -> str:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="ducklake_source_")
        target = str(Path(self._folder.name) / str(next(self._numbers)))
        with self._errors():
            self._open().execute(
                f"COPY ({self._select(schema, table, select)}) TO '{target}' "
                "(FORMAT parquet, FILE_SIZE_BYTES '128MB')"
            )
        return target

    def close(self) -> None:
        """Let go of the file and of what was exported."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._exports.clear()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _open(self) -> Any:
        if self._connection is None:
            import duckdb

            self._connection = duckdb.connect()
            quoted = self.path.replace("'", "''")
            self._connection.execute(f"ATTACH '{quoted}' AS {_ALIAS} (READ_ONLY)")
        return self._connection

    def _select(self, schema: str, table: str, select: Sequence[str]) -> str:
        place = ".".join(quote_identifier(part) for part in (_ALIAS, schema, table))
        return f"SELECT {', '.join(select)} FROM {place}"

    def _fetch(self, query: str) -> list[tuple[Any, ...]]:
        with self._errors():
            rows: list[tuple[Any, ...]] = self._open().execute(query, [_ALIAS]).fetchall()
            return rows

    def _schema_statements(self) -> list[str]:
        """The statements that make all objects anew, from a copy of the schema without rows."""
        with self._errors(), tempfile.TemporaryDirectory() as folder:
            copy = self._open().cursor()
            copy.execute("ATTACH ':memory:' AS __ducklake_copy")
            try:
                copy.execute(f"COPY FROM DATABASE {_ALIAS} TO __ducklake_copy (SCHEMA)")
                copy.execute(f"EXPORT DATABASE __ducklake_copy TO '{folder}/copy'")
            finally:
                copy.execute("DETACH __ducklake_copy")
            text = (Path(folder) / "copy" / "schema.sql").read_text(encoding="utf-8")
            return [each.query.strip() for each in copy.extract_statements(text)]

    @contextmanager
    def _errors(self) -> Iterator[None]:
        import duckdb

        try:
            yield
        except duckdb.Error as error:
            reason = str(error).partition("\n")[0]
            raise CatalogError(
                f'Cannot read the DuckDB database "{self.name}": {reason}'
            ) from error


_OTHERS: Final = {
    "sequence": "SELECT schema_name, sequence_name, sql, NULL FROM duckdb_sequences() "
    "WHERE database_name = ?",
    "index": "SELECT schema_name, index_name, sql, NULL FROM duckdb_indexes() "
    "WHERE database_name = ?",
    "type": "SELECT schema_name, type_name, logical_type, NULL FROM duckdb_types() "
    "WHERE database_name = ? AND NOT internal",
    "constraint": "SELECT schema_name, table_name, constraint_text, NULL "
    "FROM duckdb_constraints() WHERE database_name = ? AND constraint_type <> 'NOT NULL'",
}


def _macro_text(schema: str, name: str, kind: str, parameters: list[str], definition: str) -> str:
    place = f"{quote_identifier(schema)}.{quote_identifier(name)}"
    names = ", ".join(quote_identifier(parameter) for parameter in parameters)
    word = "TABLE " if kind == "table_macro" else ""
    return f"CREATE MACRO {place}({names}) AS {word}{definition}"
