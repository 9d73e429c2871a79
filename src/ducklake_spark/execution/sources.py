"""DuckDB database files next to lakes: ATTACH 'file.duckdb' AS db, then FROM db.table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from ducklake_spark.duckdb_file import DuckDBFile, SourceTable, is_duckdb_file
from ducklake_spark.errors import AlreadyExists, NotSupported, TableNotFound
from ducklake_spark.operations.duckdb_tables import read_source_table
from ducklake_spark.sql import statements as st

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection

_ENDINGS = (".duckdb", ".db", ".ddb")


def attach_source(con: Connection, s: st.Attach) -> None:
    """Attach a DuckDB database, always to be read only."""
    path = s.uri.removeprefix("duckdb:")
    kind = str(s.options.get("TYPE", "duckdb")).lower()
    is_file = path.lower().endswith(_ENDINGS) or is_duckdb_file(path)
    if kind != "duckdb" or not is_file:
        raise NotSupported(
            f"Cannot attach {s.uri!r}: only lakes and DuckDB database files can be attached.",
            hint="the address of a lake begins with ducklake:",
        )
    name = s.alias or path.rpartition("/")[2].partition(".")[0]
    taken = name.lower() in con.sources
    if taken and s.if_not_exists:
        return
    if name.lower() in con.lakes or (taken and not s.or_replace):
        raise AlreadyExists(
            f'A database with the name "{name}" is already attached.',
            hint="choose another name with AS, or DETACH it first.",
        )
    source = DuckDBFile(path, name)
    if taken:
        con.sources.pop(name.lower()).close()
    con.sources[name.lower()] = source


def detach_source(con: Connection, name: str) -> bool:
    """Let go of a DuckDB database; whether there was one of that name."""
    source = con.sources.pop(name.lower(), None)
    if source is None:
        return False
    source.close()
    return True


def source_frame(con: Connection, parts: tuple[str, ...]) -> DataFrame | None:
    """The rows of ``db.table`` or ``db.schema.table``; None if no such database is attached."""
    source = con.sources.get(parts[0].lower()) if len(parts) in (2, 3) else None
    if source is None:
        return None
    schema = parts[1] if len(parts) == 3 else "main"
    return read_source_table(con.spark, source, find_source_table(source, schema, parts[-1]))


def find_source_table(source: DuckDBFile, schema: str, name: str) -> SourceTable:
    """The table of that name, whatever its case."""
    tables = source.tables()
    for table in tables:
        if (table.schema.lower(), table.name.lower()) == (schema.lower(), name.lower()):
            return table
    known = [table.name for table in tables if table.schema.lower() == schema.lower()]
    raise TableNotFound.named(name, where=f'"{source.name}.{schema}"', candidates=known)
