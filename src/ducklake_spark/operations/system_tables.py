"""duckdb_tables() and its kin, and information_schema: what lakes hold, in DuckDB's columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ducklake_spark.catalog_db.statements import visible_at
from ducklake_spark.catalog_db.tables import TABLE_STATS
from ducklake_spark.commit.local import LocalState
from ducklake_spark.lake import Lake
from ducklake_spark.model.entities import TableEntry, ViewEntry
from ducklake_spark.model.names import quote_if_needed
from ducklake_spark.model.schema import Column
from ducklake_spark.model.types import DataType, DecimalType, ScalarType, format_sql_type
from ducklake_spark.operations.describe import RowSet

ViewColumns = Callable[[Lake, str, ViewEntry], Sequence[tuple[str, DataType]]]
"""Names and types of a view's columns; empty when the view cannot be bound."""

_TAGS: Final = "MAP(VARCHAR, VARCHAR)"
_PRECISIONS: Final = {
    "int8": (8, 2, 0),
    "int16": (16, 2, 0),
    "int32": (32, 2, 0),
    "int64": (64, 2, 0),
    "int128": (128, 2, 0),
    "float32": (24, 2, 0),
    "float64": (53, 2, 0),
}


@dataclass(frozen=True)
class SeenLake:
    """A lake as a connection sees it now."""

    number: int
    lake: Lake
    local: LocalState
    view_columns: ViewColumns

    def schema_name(self, entry: TableEntry | ViewEntry) -> str:
        """The name of the schema that holds a table or view."""
        return self.local.schema(entry.schema_id).name


def _columns(text: str) -> tuple[tuple[str, str], ...]:
    """Columns from ``name`` (VARCHAR) or ``name:TYPE`` words."""
    pairs = (word.partition(":") for word in text.split())
    return tuple((name, (kind or "VARCHAR").replace("_", " ")) for name, _, kind in pairs)


_DATABASES: Final = (
    *_columns("database_name database_oid:BIGINT path comment"),
    ("tags", _TAGS),
    *_columns("internal:BOOLEAN type readonly:BOOLEAN encrypted:BOOLEAN cipher"),
    ("options", _TAGS),
)
_SIZES: Final = (
    *_columns("database_name database_size block_size:BIGINT total_blocks:BIGINT"),
    *_columns("used_blocks:BIGINT free_blocks:BIGINT wal_size memory_usage memory_limit"),
)
_SCHEMAS: Final = (
    *_columns("oid:BIGINT database_name database_oid:BIGINT schema_name comment"),
    ("tags", _TAGS),
    *_columns("internal:BOOLEAN sql"),
)
_TABLES: Final = (
    *_columns("database_name database_oid:BIGINT schema_name schema_oid:BIGINT"),
    *_columns("table_name table_oid:BIGINT comment"),
    ("tags", _TAGS),
    *_columns("internal:BOOLEAN temporary:BOOLEAN has_primary_key:BOOLEAN estimated_size:BIGINT"),
    *_columns("column_count:BIGINT index_count:BIGINT check_constraint_count:BIGINT sql"),
)
_VIEWS: Final = (
    *_columns("database_name database_oid:BIGINT schema_name schema_oid:BIGINT"),
    *_columns("view_name view_oid:BIGINT comment"),
    ("tags", _TAGS),
    *_columns("internal:BOOLEAN temporary:BOOLEAN column_count:BIGINT sql is_bound:BOOLEAN"),
)
_COLUMNS: Final = (
    *_columns("database_name database_oid:BIGINT schema_name schema_oid:BIGINT"),
    *_columns("table_name table_oid:BIGINT column_name column_index:INTEGER comment"),
    *_columns("internal:BOOLEAN column_default is_nullable:BOOLEAN data_type data_type_id:BIGINT"),
    *_columns("character_maximum_length:INTEGER numeric_precision:INTEGER"),
    *_columns("numeric_precision_radix:INTEGER numeric_scale:INTEGER"),
)
_INFORMATION_TABLES: Final = _columns(
    "table_catalog table_schema table_name table_type self_referencing_column_name "
    "reference_generation user_defined_type_catalog user_defined_type_schema "
    "user_defined_type_name is_insertable_into is_typed commit_action TABLE_COMMENT"
)
_INFORMATION_SCHEMATA: Final = _columns(
    "catalog_name schema_name schema_owner default_character_set_catalog "
    "default_character_set_schema default_character_set_name sql_path"
)
_INFORMATION_COLUMNS: Final = _columns(
    "table_catalog table_schema table_name column_name ordinal_position:INTEGER column_default "
    "is_nullable data_type character_maximum_length:INTEGER character_octet_length:INTEGER "
    "numeric_precision:INTEGER numeric_precision_radix:INTEGER numeric_scale:INTEGER "
    "datetime_precision:INTEGER interval_type interval_precision:INTEGER character_set_catalog "
    "character_set_schema character_set_name collation_catalog collation_schema collation_name "
    "domain_catalog domain_schema domain_name udt_catalog udt_schema udt_name scope_catalog "
    "scope_schema scope_name maximum_cardinality:BIGINT dtd_identifier "
    "is_self_referencing:BOOLEAN is_identity:BOOLEAN identity_generation identity_start "
    "identity_increment identity_maximum identity_minimum identity_cycle:BOOLEAN is_generated "
    "generation_expression is_updatable:BOOLEAN COLUMN_COMMENT"
)
_SHOW_ALL: Final = (
    *_columns("database schema name"),
    ("column_names", "VARCHAR[]"),
    ("column_types", "VARCHAR[]"),
    ("temporary", "BOOLEAN"),
)


def databases(lakes: Sequence[SeenLake]) -> RowSet:
    """duckdb_databases(): every attached lake."""
    rows = tuple(
        (
            *(seen.lake.name, seen.number, str(seen.lake.db.url).removeprefix("ducklake:"), None),
            {"data_path": seen.lake.data_path},
            *(False, "ducklake", seen.lake.read_only or seen.lake.pinned is not None, False, None),
            {"data_path": seen.lake.data_path},
        )
        for seen in lakes
    )
    return RowSet(_DATABASES, rows)


def database_sizes(lakes: Sequence[SeenLake]) -> RowSet:
    """PRAGMA database_size: the bytes of the files that each lake shows now."""
    rows = tuple(
        (seen.lake.name, _size_text(_file_bytes(seen)), 0, 0, 0, 0, "0 bytes", None, None)
        for seen in lakes
    )
    return RowSet(_SIZES, rows)


def _file_bytes(seen: SeenLake) -> int:
    """Files of the newest snapshot; the lake's, for changes not committed have no size yet."""
    db, total = seen.lake.db, 0
    snapshot = seen.lake.latest().snapshot_id
    for name in ("ducklake_data_file", "ducklake_delete_file"):
        rows = db.fetch(
            f"SELECT sum(file_size_bytes) FROM {db.table(name)} WHERE {visible_at()}",
            (snapshot, snapshot),
        )
        total += int(rows[0][0] or 0)
    return total


def _size_text(size: int) -> str:
    """DuckDB's text of a number of bytes.

    >>> _size_text(12), _size_text(12376)
    ('12 bytes', '12.0 KiB')
    """
    if size < 1024:
        return f"{size} bytes"
    amount, unit = size, 0
    while amount >= 1024 * 1024:
        amount, unit = amount // 1024, unit + 1
    # Tenths are cut, not rounded, as DuckDB does.
    return f"{amount // 1024}.{amount % 1024 * 10 // 1024} {('KiB', 'MiB', 'GiB', 'TiB')[unit]}"


def schemas(lakes: Sequence[SeenLake]) -> RowSet:
    """duckdb_schemas(): every schema."""
    rows: tuple[tuple[Any, ...], ...] = tuple(
        (schema.schema_id, seen.lake.name, seen.number, schema.name, None, {}, False, None)
        for seen in lakes
        for schema in seen.local.schemas()
    )
    return RowSet(_SCHEMAS, rows)


def tables(lakes: Sequence[SeenLake]) -> RowSet:
    """duckdb_tables(): every table, with the statement that would make it."""
    rows: list[tuple[Any, ...]] = []
    for seen in lakes:
        counts = _record_counts(seen.lake)
        for table in seen.local.tables():
            schema = seen.schema_name(table)
            rows.append(
                (
                    *(seen.lake.name, seen.number, schema, table.schema_id),
                    *(table.name, table.table_id, table.comment, {}, False, False, False),
                    counts.get(table.table_id, 0),
                    *(len(table.schema.columns), 0, 0),
                    f"CREATE TABLE {_in_schema(schema, table.name)}({_definitions(table)});",
                )
            )
    return RowSet(_TABLES, tuple(rows))


def views(lakes: Sequence[SeenLake]) -> RowSet:
    """duckdb_views(): every view, with the statement that would make it."""
    rows: list[tuple[Any, ...]] = []
    for seen in lakes:
        for view in seen.local.views():
            schema = seen.schema_name(view)
            aliases = ", ".join(quote_if_needed(alias) for alias in view.column_aliases)
            name = _in_schema(schema, view.name) + (f" ({aliases})" if aliases else "")
            text = view.sql.replace("{DUCKLAKE_CATALOG}", quote_if_needed(seen.lake.name))
            rows.append(
                (
                    *(seen.lake.name, seen.number, schema, view.schema_id),
                    *(view.name, view.view_id, view.comment, {}, False, False, None),
                    *(f"CREATE VIEW {name} AS {text.rstrip(';')};", False),
                )
            )
    return RowSet(_VIEWS, tuple(rows))


@dataclass(frozen=True)
class _ColumnFacts:
    """A column of a table or view, with where it is."""

    seen: SeenLake
    schema: str
    owner: TableEntry | ViewEntry
    index: int
    name: str
    type: DataType
    comment: str | None = None
    default: str | None = None
    nullable: bool = True

    @property
    def numeric(self) -> tuple[int | None, int | None, int | None]:
        """Precision, radix and scale, where DuckDB states them."""
        if isinstance(self.type, DecimalType):
            return self.type.precision, 10, self.type.scale
        name = self.type.name if isinstance(self.type, ScalarType) else ""
        return _PRECISIONS.get(name, (None, None, None))


def _all_columns(lakes: Sequence[SeenLake]) -> Iterator[_ColumnFacts]:
    for seen in lakes:
        for table in seen.local.tables():
            schema = seen.schema_name(table)
            for index, column in enumerate(table.schema.columns, 1):
                comment = table.column_comments.get(column.column_id)
                yield _ColumnFacts(
                    *(seen, schema, table, index, column.name, column.type, comment),
                    default_text(column),
                    column.nulls_allowed,
                )
        for view in seen.local.views():
            schema = seen.schema_name(view)
            shown = seen.view_columns(seen.lake, schema, view)
            for index, (name, kind) in enumerate(shown, 1):
                yield _ColumnFacts(seen, schema, view, index, name, kind)


def columns(lakes: Sequence[SeenLake]) -> RowSet:
    """duckdb_columns(): every column of every table and view."""
    rows = tuple(
        (
            *(c.seen.lake.name, c.seen.number, c.schema, c.owner.schema_id, c.owner.name),
            c.owner.table_id if isinstance(c.owner, TableEntry) else c.owner.view_id,
            *(c.name, c.index, c.comment, False, c.default, c.nullable),
            *(format_sql_type(c.type), None, None, *c.numeric),
        )
        for c in _all_columns(lakes)
    )
    return RowSet(_COLUMNS, rows)


def information_tables(lakes: Sequence[SeenLake]) -> RowSet:
    """information_schema.tables."""
    rows: list[tuple[Any, ...]] = []
    for seen in lakes:
        for table in seen.local.tables():
            place = (seen.lake.name, seen.schema_name(table), table.name, "BASE TABLE")
            rows.append((*place, *(None,) * 5, "YES", "NO", None, table.comment))
        for view in seen.local.views():
            place = (seen.lake.name, seen.schema_name(view), view.name, "VIEW")
            rows.append((*place, *(None,) * 5, "NO", "NO", None, view.comment))
    return RowSet(_INFORMATION_TABLES, tuple(rows))


def information_schemata(lakes: Sequence[SeenLake]) -> RowSet:
    """information_schema.schemata."""
    rows = tuple(
        (seen.lake.name, schema.name, "duckdb", None, None, None, None)
        for seen in lakes
        for schema in seen.local.schemas()
    )
    return RowSet(_INFORMATION_SCHEMATA, rows)


def information_columns(lakes: Sequence[SeenLake]) -> RowSet:
    """information_schema.columns."""
    rows = tuple(
        (
            *(c.seen.lake.name, c.schema, c.owner.name, c.name, c.index, c.default),
            *("YES" if c.nullable else "NO", format_sql_type(c.type), None, None, *c.numeric),
            *(None,) * (len(_INFORMATION_COLUMNS) - 14),
            c.comment,
        )
        for c in _all_columns(lakes)
    )
    return RowSet(_INFORMATION_COLUMNS, rows)


def show_all_tables(lakes: Sequence[SeenLake]) -> RowSet:
    """SHOW ALL TABLES: every table and view with its columns, sorted."""
    found: dict[tuple[str, str, str], list[_ColumnFacts]] = {}
    for c in _all_columns(lakes):
        found.setdefault((c.seen.lake.name, c.schema, c.owner.name), []).append(c)
    rows = tuple(
        (*place, [c.name for c in own], [format_sql_type(c.type) for c in own], False)
        for place, own in sorted(found.items(), key=lambda item: item[0])
    )
    return RowSet(_SHOW_ALL, rows)


SYSTEM_FUNCTIONS: Final[Mapping[str, Callable[[Sequence[SeenLake]], RowSet]]] = {
    "duckdb_databases": databases,
    "duckdb_schemas": schemas,
    "duckdb_tables": tables,
    "duckdb_views": views,
    "duckdb_columns": columns,
}
INFORMATION_SCHEMA: Final[Mapping[str, Callable[[Sequence[SeenLake]], RowSet]]] = {
    "tables": information_tables,
    "schemata": information_schemata,
    "columns": information_columns,
}


def default_text(column: Column) -> str | None:
    """A column's default as SQL, None when it has none."""
    default = column.default
    if default is None:
        return None
    if default.kind == "expression":
        return default.text
    return "'" + default.text.replace("'", "''") + "'"


def _definitions(table: TableEntry) -> str:
    parts = []
    for column in table.schema.columns:
        default = default_text(column)
        parts.append(
            f"{quote_if_needed(column.name)} {format_sql_type(column.type)}"
            + (f" DEFAULT({default})" if default is not None else "")
            + ("" if column.nulls_allowed else " NOT NULL")
        )
    return ", ".join(parts)


def _in_schema(schema: str, name: str) -> str:
    own = quote_if_needed(name)
    return own if schema == "main" else f"{quote_if_needed(schema)}.{own}"


def _record_counts(lake: Lake) -> dict[int, int]:
    rows = lake.db.select(TABLE_STATS, columns=("table_id", "record_count"))
    return {table_id: count or 0 for table_id, count in rows}
