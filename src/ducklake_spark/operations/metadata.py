"""The catalog's own tables, for reading: what the metadata database holds, row by row."""

from __future__ import annotations

import re
from typing import Final

from ducklake_spark.catalog_db.connection import Database
from ducklake_spark.catalog_db.tables import TABLES, Kind
from ducklake_spark.errors import InvalidInput, TableNotFound
from ducklake_spark.lake import Lake
from ducklake_spark.model.literals import parse_text
from ducklake_spark.model.types import DataType, ScalarType, format_sql_type, parse_sql_type
from ducklake_spark.operations.describe import RowSet

_SQL_TYPES: Final[dict[Kind, str]] = {
    "bigint": "BIGINT",
    "boolean": "BOOLEAN",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
    "uuid": "UUID",
    "varchar": "VARCHAR",
}
_PREFIX: Final = "__ducklake_metadata_"
_INLINED: Final = re.compile(r"ducklake_inlined_(data|delete)_\d+(_\d+)?", re.IGNORECASE)
_COLUMNS_SQL: Final = (
    "SELECT column_name, data_type, numeric_precision, numeric_scale "
    "FROM information_schema.columns "
    "WHERE table_schema = {schema} AND table_name = ? ORDER BY ordinal_position"
)


def metadata_name(lake: Lake) -> str:
    """The name under which the catalog's tables of a lake are read."""
    return lake.metadata_catalog or f"{_PREFIX}{lake.name}"


def table_names(lake: Lake) -> list[str]:
    """The declared tables, and those of inlined rows that the catalog lists."""
    inlined = lake.db.select(TABLES["ducklake_inlined_data_tables"], columns=("table_name",))
    return [*TABLES, *(name for (name,) in inlined)]


def read_metadata_table(lake: Lake, name: str) -> RowSet:
    """All rows of a catalog table, typed as DuckDB types them.

    Raises:
        TableNotFound: there is no such table, or it is none of the catalog.
    """
    declared = TABLES.get(name.lower())
    if declared is not None:
        columns = tuple((c.name, _SQL_TYPES[c.kind]) for c in declared.columns)
        return RowSet(columns, tuple(lake.db.select(declared)))
    if _INLINED.fullmatch(name):
        columns_found = _ask_columns(lake.db, name.lower())
        if columns_found:
            return _read_undeclared(lake.db, name.lower(), columns_found)
    raise TableNotFound.named(
        name, where=f'the catalog of lake "{lake.name}"', candidates=table_names(lake)
    )


def _read_undeclared(db: Database, name: str, columns: list[tuple[str, DataType]]) -> RowSet:
    texts = ", ".join(db.inlined_text(column, kind) for column, kind in columns)
    kinds = [kind for _, kind in columns]
    rows = (
        tuple(
            None if text is None else parse_text(str(text), kind, hex_blob=True)
            for text, kind in zip(row, kinds, strict=True)
        )
        for row in db.fetch(f"SELECT {texts} FROM {db.table(name)}")
    )
    shown = tuple((column, format_sql_type(kind)) for column, kind in columns)
    return RowSet(shown, tuple(rows))


def _ask_columns(db: Database, name: str) -> list[tuple[str, DataType]]:
    """Names and types as the database itself declares them."""
    if db.kind == "sqlite":
        found = db.fetch(f"SELECT name, type FROM pragma_table_info({_quoted(name)})")
        return [(column, _declared(kind)) for column, kind in found]
    schema = "DATABASE()" if db.kind == "mysql" else "?"
    params = (name,) if db.kind == "mysql" else (db.schema, name)
    found = db.fetch(_COLUMNS_SQL.format(schema=schema), params)
    return [
        (column, _declared(f"{kind}({precision},{scale})" if kind == "numeric" else kind))
        for column, kind, precision, scale in found
    ]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


_SPELLINGS: Final = {
    "character varying": "VARCHAR",
    "double precision": "DOUBLE",
    "bytea": "BLOB",
    "timestamp without time zone": "TIMESTAMP",
    "time without time zone": "TIME",
}


def _declared(text: str) -> DataType:
    """A type as a database spells it; one that a lake does not have is shown as text."""
    try:
        return parse_sql_type(_SPELLINGS.get(text.lower(), text))
    except InvalidInput:
        return ScalarType("varchar")
