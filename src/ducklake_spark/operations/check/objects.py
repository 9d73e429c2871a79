"""Names, references between rows, and the trees of columns. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, Final

from ducklake_spark.errors import DuckLakeError
from ducklake_spark.model.findings import Finding
from ducklake_spark.model.types import parse_type
from ducklake_spark.operations.check.facts import Check, Facts, finding

# (table, its column, the table referred to, the column there); NULL refers to nothing.
_REFERENCES: Final = (
    ("ducklake_table", "schema_id", "ducklake_schema", "schema_id"),
    ("ducklake_view", "schema_id", "ducklake_schema", "schema_id"),
    ("ducklake_macro", "schema_id", "ducklake_schema", "schema_id"),
    ("ducklake_column", "table_id", "ducklake_table", "table_id"),
    ("ducklake_column_tag", "table_id", "ducklake_table", "table_id"),
    ("ducklake_data_file", "table_id", "ducklake_table", "table_id"),
    ("ducklake_delete_file", "table_id", "ducklake_table", "table_id"),
    ("ducklake_delete_file", "data_file_id", "ducklake_data_file", "data_file_id"),
    ("ducklake_table_stats", "table_id", "ducklake_table", "table_id"),
    ("ducklake_table_column_stats", "table_id", "ducklake_table", "table_id"),
    ("ducklake_partition_info", "table_id", "ducklake_table", "table_id"),
    ("ducklake_partition_column", "partition_id", "ducklake_partition_info", "partition_id"),
    ("ducklake_sort_info", "table_id", "ducklake_table", "table_id"),
    ("ducklake_sort_expression", "sort_id", "ducklake_sort_info", "sort_id"),
    ("ducklake_inlined_data_tables", "table_id", "ducklake_table", "table_id"),
    ("ducklake_column_mapping", "table_id", "ducklake_table", "table_id"),
    ("ducklake_name_mapping", "mapping_id", "ducklake_column_mapping", "mapping_id"),
    ("ducklake_data_file", "mapping_id", "ducklake_column_mapping", "mapping_id"),
    ("ducklake_data_file", "partition_id", "ducklake_partition_info", "partition_id"),
    ("ducklake_schema_versions", "table_id", "ducklake_table", "table_id"),
    ("ducklake_macro_impl", "macro_id", "ducklake_macro", "macro_id"),
    ("ducklake_macro_parameters", "macro_id", "ducklake_macro", "macro_id"),
)
_OF_LIVE_TABLE: Final = ("ducklake_column", "ducklake_data_file", "ducklake_partition_info")
_PARTS: Final = {"list": 1, "map": 2}


def check_references(facts: Facts) -> Iterator[Finding]:
    """What a row refers to is there."""
    for table, column, target, key in _REFERENCES:
        known = {getattr(row, key) for row in facts.rows[target]}
        found = {getattr(row, column) for row in facts.rows[table]} - {None}
        for missing in sorted(found - known):
            yield finding("references", table, f"{column} {missing} is not in {target}.")
    for table in _OF_LIVE_TABLE:
        for table_id in sorted({r.table_id for r in facts.rows[table] if facts.visible(r)}):
            if table_id in facts.table_names and table_id not in facts.live_tables:
                detail = f"{table} has rows for it that have not ended, and it is dropped."
                yield finding("references", facts.name_of(table_id), detail)


def check_names(facts: Facts) -> Iterator[Finding]:
    """No two objects of the newest snapshot have one name."""
    rows = facts.rows
    schemas = [r.schema_name.lower() for r in rows["ducklake_schema"] if facts.visible(r)]
    relations = [
        (r.schema_id, r.table_name.lower()) for r in rows["ducklake_table"] if facts.visible(r)
    ]
    relations += [
        (r.schema_id, r.view_name.lower()) for r in rows["ducklake_view"] if facts.visible(r)
    ]
    for kind, names in (("schemas", schemas), ("tables and views", relations)):
        for name in _twice(names):
            yield finding("names", str(name), f"several {kind} have this name.")


def check_columns(facts: Facts) -> Iterator[Finding]:
    """Columns have known types, other names than their neighbours, and whole trees."""
    for table_id, rows in facts.of_table("ducklake_column").items():
        about = facts.name_of(table_id)
        live = [row for row in rows if facts.visible(row)]
        for row in rows:
            yield from _check_type(about, row)
        if table_id in facts.live_tables:
            yield from _check_tree(about, live)
    with_columns = {row.table_id for row in facts.rows["ducklake_column"] if facts.visible(row)}
    for table_id in sorted(set(facts.live_tables) - with_columns):
        yield finding("columns", facts.name_of(table_id), "the table has no columns.")


def _check_type(about: str, row: Any) -> Iterator[Finding]:
    if row.column_type.lower() in ("list", "struct", "map"):
        return
    try:
        parse_type(row.column_type)
    except DuckLakeError as error:
        yield finding("columns", about, f'column "{row.column_name}": {error.message}')


def _check_tree(about: str, live: list[Any]) -> Iterator[Finding]:
    by_id = {row.column_id: row for row in live}
    children: dict[int | None, list[Any]] = defaultdict(list)
    for row in live:
        children[row.parent_column].append(row)
    for parent, parts in children.items():
        for name in _twice(row.column_name.lower() for row in parts):
            yield finding("columns", about, f'two columns have the name "{name}".')
        if parent is not None and parent not in by_id:
            detail = f'the parent {parent} of column "{parts[0].column_name}" is not there.'
            yield finding("columns", about, detail)
    for row in live:
        kind, parts = row.column_type.lower(), children.get(row.column_id, [])
        nested = kind in ("list", "struct", "map")
        wanted = _PARTS.get(kind, len(parts) if nested and parts else int(nested))
        if len(parts) != wanted:
            detail = f'column "{row.column_name}" is a {kind} of {len(parts)} parts.'
            yield finding("columns", about, detail)


def check_partitions(facts: Facts) -> Iterator[Finding]:
    """Partition and sort keys are over columns that the table has or had."""
    columns = {(row.table_id, row.column_id) for row in facts.rows["ducklake_column"]}
    for row in facts.rows["ducklake_partition_column"]:
        if (row.table_id, row.column_id) not in columns:
            detail = f"partition {row.partition_id} is over column {row.column_id}: there is none."
            yield finding("partitions", facts.name_of(row.table_id), detail)


def _twice(names: Any) -> list[Any]:
    return [name for name, count in Counter(names).items() if count > 1]


CHECKS: Final[tuple[Check, ...]] = (
    check_references,
    check_names,
    check_columns,
    check_partitions,
)
