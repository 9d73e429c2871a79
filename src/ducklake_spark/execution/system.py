"""Names that are no tables of a lake: the catalog's own tables, information_schema, duckdb_…()."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from ducklake_spark.errors import DuckLakeError, SchemaNotFound, TableNotFound
from ducklake_spark.execution.secrets import list_secrets
from ducklake_spark.execution.settings import list_settings
from ducklake_spark.lake import Lake
from ducklake_spark.model.entities import ViewEntry
from ducklake_spark.model.types import DataType
from ducklake_spark.operations import system_tables
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.operations.metadata import read_metadata_table
from ducklake_spark.operations.query_log import list_entries
from ducklake_spark.operations.system_tables import SYSTEM_FUNCTIONS, SeenLake
from ducklake_spark.spark.tags import type_of_field

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection


_SESSION_TABLES: Final[Mapping[str, Callable[[Connection], RowSet]]] = {
    "duckdb_secrets": list_secrets,
    "duckdb_settings": list_settings,
    "duckdb_logs": lambda con: list_entries(con.log),
}


def system_function(con: Connection, name: str) -> Callable[[], RowSet] | None:
    """What answers ``duckdb_tables()`` and its kin; None for other functions."""
    if name in _SESSION_TABLES:
        return partial(_SESSION_TABLES[name], con)
    found = SYSTEM_FUNCTIONS.get(name)
    return None if found is None else lambda: found(seen_lakes(con))


def system_table(con: Connection, parts: Sequence[str]) -> RowSet | None:
    """The rows of a catalog table or of information_schema; None when the name is neither."""
    lowered = [part.lower() for part in parts]
    if len(parts) in (2, 3):
        owner = con.owner_of_metadata(parts[0])
        if owner is not None:
            return _metadata(owner, parts)
    if len(parts) >= 2 and lowered[-2] == "information_schema":
        found = system_tables.INFORMATION_SCHEMA.get(lowered[-1])
        if found is None:
            raise TableNotFound.named(
                parts[-1],
                where="information_schema",
                candidates=list(system_tables.INFORMATION_SCHEMA),
            )
        return found(seen_lakes(con))
    return None


def _metadata(lake: Lake, parts: Sequence[str]) -> RowSet:
    schema = lake.db.schema or "main"
    if len(parts) == 3 and parts[1].lower() not in (schema.lower(), "main"):
        raise SchemaNotFound.named(
            parts[1], where=f'the catalog of lake "{lake.name}"', candidates=[schema]
        )
    return read_metadata_table(lake, parts[-1])


def seen_lakes(con: Connection) -> list[SeenLake]:
    """Every attached lake, as the connection sees it now."""
    seen = []
    for number, lake in enumerate(con.lakes.values(), 1):
        with con.reading(lake) as tx:
            seen.append(SeenLake(number, lake, tx.local, partial(_view_columns, con)))
    return seen


def _view_columns(
    con: Connection, lake: Lake, schema: str, view: ViewEntry
) -> list[tuple[str, DataType]]:
    from ducklake_spark.execution.bound_queries import view_frame

    try:
        frame = view_frame(con, (lake.name, schema, view.name))
        return [(field.name, type_of_field(field)) for field in frame.schema.fields]
    except DuckLakeError:  # a view whose tables are gone has no columns to show
        return []
