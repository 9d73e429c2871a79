"""The things a snapshot shows: schemas, tables, views, macros, files."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field

from ducklake_spark.model.schema import Schema


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One row of ducklake_snapshot: a version of the whole lake, and the counters after it."""

    snapshot_id: int
    snapshot_time: dt.datetime
    schema_version: int
    next_catalog_id: int
    next_file_id: int


@dataclass(frozen=True, slots=True)
class SchemaEntry:
    """A schema (namespace) of the lake."""

    schema_id: int
    schema_uuid: str
    name: str
    path: str  # below the data path; empty when the lake has none for it
    path_is_relative: bool = True


@dataclass(frozen=True, slots=True)
class PartitionField:
    """One key of a partition spec."""

    column_id: int
    transform: str  # identity | year | month | day | hour | bucket(N)


@dataclass(frozen=True, slots=True)
class PartitionSpec:
    """How the files of a table are divided."""

    partition_id: int
    fields: tuple[PartitionField, ...]


@dataclass(frozen=True, slots=True)
class SortKey:
    """One key of a sort order: an expression in `dialect`."""

    expression: str
    direction: str = "ASC"
    null_order: str = "NULLS_LAST"
    dialect: str = "duckdb"


@dataclass(frozen=True, slots=True)
class SortSpec:
    """The order in which rows are written."""

    sort_id: int
    keys: tuple[SortKey, ...]


@dataclass(frozen=True)
class TableEntry:
    """A table as one snapshot shows it. An id below zero is of a transaction not yet committed."""

    table_id: int
    table_uuid: str
    schema_id: int
    name: str
    path: str  # below the schema's path
    path_is_relative: bool
    schema: Schema
    begin_snapshot: int
    partition: PartitionSpec | None = None
    sort: SortSpec | None = None
    comment: str | None = None
    column_comments: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ViewEntry:
    """A view: a query in some dialect."""

    view_id: int
    view_uuid: str
    schema_id: int
    name: str
    dialect: str
    sql: str
    column_aliases: tuple[str, ...] = ()
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class MacroParameter:
    """A parameter of a macro; `default` is text, None when it must be given."""

    name: str
    type_name: str = "unknown"
    default: str | None = None
    default_type: str = "unknown"


@dataclass(frozen=True, slots=True)
class MacroImplementation:
    """One overload of a macro."""

    dialect: str
    sql: str
    type: str  # scalar | table
    parameters: tuple[MacroParameter, ...] = ()


@dataclass(frozen=True, slots=True)
class MacroEntry:
    """A macro with its overloads."""

    macro_id: int
    schema_id: int
    name: str
    implementations: tuple[MacroImplementation, ...]

    @property
    def is_table(self) -> bool:
        """Whether it stands in FROM. All overloads are of one kind."""
        return self.implementations[0].type == "table"


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """The positions of a data file that are deleted, as a file."""

    delete_file_id: int
    path: str  # resolved: ready to open
    format: str  # parquet | puffin
    delete_count: int
    file_size_bytes: int
    footer_size: int | None
    begin_snapshot: int
    partial_max: int | None = None
    encryption_key: str | None = None
    stored_path: str | None = None  # below the data path; None when it is somewhere else


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file of a table, with what hides some of its rows at the snapshot asked for."""

    data_file_id: int
    path: str  # resolved: ready to open
    record_count: int
    file_size_bytes: int
    footer_size: int | None
    row_id_start: int | None
    begin_snapshot: int
    partition_id: int | None = None
    mapping_id: int | None = None
    partial_max: int | None = None
    encryption_key: str | None = None
    delete_file: DeleteFile | None = None
    inlined_deletes: int = 0  # rows of it that ducklake_inlined_delete_<table> hides


@dataclass(frozen=True, slots=True)
class InlinedTable:
    """A table of the metadata database that holds rows of a table of the lake."""

    table_id: int
    table_name: str
    schema_version: int


@dataclass(frozen=True, slots=True)
class NameMapping:
    """One node of a name mapping: how a foreign file calls a column."""

    source_name: str
    target_field_id: int
    is_partition: bool
    children: tuple[NameMapping, ...] = ()
