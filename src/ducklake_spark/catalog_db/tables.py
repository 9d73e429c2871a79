"""The tables of a DuckLake 1.0 catalog, each declared once.

The order of columns is physical and part of the format: other writers insert by position.
Statements are derived from these declarations (see `statements`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, cast

Kind = Literal["bigint", "boolean", "timestamptz", "uuid", "varchar"]


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a catalog table; its database type follows from the kind and the dialect."""

    name: str
    kind: Kind
    key: bool = False
    not_null: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A catalog table: name, what a row of it means, columns in physical order."""

    name: str
    meaning: str
    columns: tuple[TableColumn, ...]

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names, in physical order."""
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> TableColumn:
        """The column of that name."""
        return next(column for column in self.columns if column.name == name)


def _declare(name: str, meaning: str, columns: str) -> Table:
    """A table from one line per column: ``name kind [key] [not null]``."""
    return Table(name, meaning, tuple(_column(line) for line in columns.strip().split("\n")))


def _column(line: str) -> TableColumn:
    name, kind, *rest = line.split()
    return TableColumn(name, cast("Kind", kind), key="key" in rest, not_null="not" in rest)


METADATA: Final = _declare(
    "ducklake_metadata",
    "A setting of the lake (no scope), of a schema or of a table (scope and its id).",
    """
    key varchar not null
    value varchar not null
    scope varchar
    scope_id bigint
    """,
)
SNAPSHOT: Final = _declare(
    "ducklake_snapshot",
    "A committed version of the lake, with the counters that the next commit starts from.",
    """
    snapshot_id bigint key
    snapshot_time timestamptz
    schema_version bigint
    next_catalog_id bigint
    next_file_id bigint
    """,
)
SNAPSHOT_CHANGES: Final = _declare(
    "ducklake_snapshot_changes",
    "What a snapshot changed, in the words that conflict checks read, and who made it.",
    """
    snapshot_id bigint key
    changes_made varchar
    author varchar
    commit_message varchar
    commit_extra_info varchar
    """,
)
SCHEMA: Final = _declare(
    "ducklake_schema",
    "A schema and the directory below the data path that its tables use.",
    """
    schema_id bigint key
    schema_uuid uuid
    begin_snapshot bigint
    end_snapshot bigint
    schema_name varchar
    path varchar
    path_is_relative boolean
    """,
)
TABLE: Final = _declare(
    "ducklake_table",
    "A table under one name for a range of snapshots; a rename ends the row and begins another.",
    """
    table_id bigint
    table_uuid uuid
    begin_snapshot bigint
    end_snapshot bigint
    schema_id bigint
    table_name varchar
    path varchar
    path_is_relative boolean
    """,
)
VIEW: Final = _declare(
    "ducklake_view",
    "A view: a query in the words of one SQL dialect.",
    """
    view_id bigint
    view_uuid uuid
    begin_snapshot bigint
    end_snapshot bigint
    schema_id bigint
    view_name varchar
    dialect varchar
    sql varchar
    column_aliases varchar
    """,
)
TAG: Final = _declare(
    "ducklake_tag",
    "A key and value on a schema, table or view; comments are the key 'comment'.",
    """
    object_id bigint
    begin_snapshot bigint
    end_snapshot bigint
    key varchar
    value varchar
    """,
)
COLUMN_TAG: Final = _declare(
    "ducklake_column_tag",
    "A key and value on a column of a table.",
    """
    table_id bigint
    column_id bigint
    begin_snapshot bigint
    end_snapshot bigint
    key varchar
    value varchar
    """,
)
DATA_FILE: Final = _declare(
    "ducklake_data_file",
    "A Parquet file with rows of a table, visible for a range of snapshots.",
    """
    data_file_id bigint key
    table_id bigint
    begin_snapshot bigint
    end_snapshot bigint
    file_order bigint
    path varchar
    path_is_relative boolean
    file_format varchar
    record_count bigint
    file_size_bytes bigint
    footer_size bigint
    row_id_start bigint
    partition_id bigint
    encryption_key varchar
    mapping_id bigint
    partial_max bigint
    """,
)
FILE_COLUMN_STATS: Final = _declare(
    "ducklake_file_column_stats",
    "Counts and bounds of one column in one data file, from which files are skipped.",
    """
    data_file_id bigint
    table_id bigint
    column_id bigint
    column_size_bytes bigint
    value_count bigint
    null_count bigint
    min_value varchar
    max_value varchar
    contains_nan boolean
    extra_stats varchar
    """,
)
FILE_VARIANT_STATS: Final = _declare(
    "ducklake_file_variant_stats",
    "Counts and bounds of one path inside a variant column of one data file.",
    """
    data_file_id bigint
    table_id bigint
    column_id bigint
    variant_path varchar
    shredded_type varchar
    column_size_bytes bigint
    value_count bigint
    null_count bigint
    min_value varchar
    max_value varchar
    contains_nan boolean
    extra_stats varchar
    """,
)
DELETE_FILE: Final = _declare(
    "ducklake_delete_file",
    "A file that lists the positions of deleted rows of one data file.",
    """
    delete_file_id bigint key
    table_id bigint
    begin_snapshot bigint
    end_snapshot bigint
    data_file_id bigint
    path varchar
    path_is_relative boolean
    format varchar
    delete_count bigint
    file_size_bytes bigint
    footer_size bigint
    encryption_key varchar
    partial_max bigint
    """,
)
COLUMN: Final = _declare(
    "ducklake_column",
    "A column, or a part of a nested column, as it was for a range of snapshots.",
    """
    column_id bigint
    begin_snapshot bigint
    end_snapshot bigint
    table_id bigint
    column_order bigint
    column_name varchar
    column_type varchar
    initial_default varchar
    default_value varchar
    nulls_allowed boolean
    parent_column bigint
    default_value_type varchar
    default_value_dialect varchar
    """,
)
TABLE_STATS: Final = _declare(
    "ducklake_table_stats",
    "Running totals of a table and the row id that its next row gets.",
    """
    table_id bigint
    record_count bigint
    next_row_id bigint
    file_size_bytes bigint
    """,
)
TABLE_COLUMN_STATS: Final = _declare(
    "ducklake_table_column_stats",
    "Bounds of one column over the whole table, never narrower than its rows.",
    """
    table_id bigint
    column_id bigint
    contains_null boolean
    contains_nan boolean
    min_value varchar
    max_value varchar
    extra_stats varchar
    """,
)
PARTITION_INFO: Final = _declare(
    "ducklake_partition_info",
    "A way of partitioning a table, in force for a range of snapshots.",
    """
    partition_id bigint
    table_id bigint
    begin_snapshot bigint
    end_snapshot bigint
    """,
)
PARTITION_COLUMN: Final = _declare(
    "ducklake_partition_column",
    "One key of a partitioning: a column and its transform.",
    """
    partition_id bigint
    table_id bigint
    partition_key_index bigint
    column_id bigint
    transform varchar
    """,
)
FILE_PARTITION_VALUE: Final = _declare(
    "ducklake_file_partition_value",
    "The value that one partition key has in all rows of one data file.",
    """
    data_file_id bigint
    table_id bigint
    partition_key_index bigint
    partition_value varchar
    """,
)
FILES_SCHEDULED_FOR_DELETION: Final = _declare(
    "ducklake_files_scheduled_for_deletion",
    "A file that no snapshot needs any more, waiting for its removal.",
    """
    data_file_id bigint
    path varchar
    path_is_relative boolean
    schedule_start timestamptz
    """,
)
INLINED_DATA_TABLES: Final = _declare(
    "ducklake_inlined_data_tables",
    "A table of this database that holds small inserts of a lake table.",
    """
    table_id bigint
    table_name varchar
    schema_version bigint
    """,
)
COLUMN_MAPPING: Final = _declare(
    "ducklake_column_mapping",
    "How the columns of files made elsewhere are found: a set of name mappings.",
    """
    mapping_id bigint
    table_id bigint
    type varchar
    """,
)
NAME_MAPPING: Final = _declare(
    "ducklake_name_mapping",
    "One file column by name and the lake column that it fills.",
    """
    mapping_id bigint
    column_id bigint
    source_name varchar
    target_field_id bigint
    parent_column bigint
    is_partition boolean
    """,
)
SCHEMA_VERSIONS: Final = _declare(
    "ducklake_schema_versions",
    "The snapshot at which a table took on a schema version.",
    """
    begin_snapshot bigint
    schema_version bigint
    table_id bigint
    """,
)
MACRO: Final = _declare(
    "ducklake_macro",
    "A macro under one name for a range of snapshots.",
    """
    schema_id bigint
    macro_id bigint
    macro_name varchar
    begin_snapshot bigint
    end_snapshot bigint
    """,
)
MACRO_IMPL: Final = _declare(
    "ducklake_macro_impl",
    "One body of a macro, scalar or table, in the words of one SQL dialect.",
    """
    macro_id bigint
    impl_id bigint
    dialect varchar
    sql varchar
    type varchar
    """,
)
MACRO_PARAMETERS: Final = _declare(
    "ducklake_macro_parameters",
    "A parameter of a macro body, with its default.",
    """
    macro_id bigint
    impl_id bigint
    column_id bigint
    parameter_name varchar
    parameter_type varchar
    default_value varchar
    default_value_type varchar
    """,
)
SORT_INFO: Final = _declare(
    "ducklake_sort_info",
    "An order in which a table's files are written, in force for a range of snapshots.",
    """
    sort_id bigint
    table_id bigint
    begin_snapshot bigint
    end_snapshot bigint
    """,
)
SORT_EXPRESSION: Final = _declare(
    "ducklake_sort_expression",
    "One key of a sort order.",
    """
    sort_id bigint
    table_id bigint
    sort_key_index bigint
    expression varchar
    dialect varchar
    sort_direction varchar
    null_order varchar
    """,
)

_ALL: Final = (
    METADATA,
    SNAPSHOT,
    SNAPSHOT_CHANGES,
    SCHEMA,
    TABLE,
    VIEW,
    TAG,
    COLUMN_TAG,
    DATA_FILE,
    FILE_COLUMN_STATS,
    FILE_VARIANT_STATS,
    DELETE_FILE,
    COLUMN,
    TABLE_STATS,
    TABLE_COLUMN_STATS,
    PARTITION_INFO,
    PARTITION_COLUMN,
    FILE_PARTITION_VALUE,
    FILES_SCHEDULED_FOR_DELETION,
    INLINED_DATA_TABLES,
    COLUMN_MAPPING,
    NAME_MAPPING,
    SCHEMA_VERSIONS,
    MACRO,
    MACRO_IMPL,
    MACRO_PARAMETERS,
    SORT_INFO,
    SORT_EXPRESSION,
)
TABLES: Final[Mapping[str, Table]] = MappingProxyType({table.name: table for table in _ALL})
"""Every table by its name, in the order of creation."""
