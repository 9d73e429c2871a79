"""Counts, least and greatest values of columns, from the catalog alone where it knows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ducklake_spark.catalog.file_facts import FileFacts, load_file_facts
from ducklake_spark.catalog.plain_totals import load_plain_totals
from ducklake_spark.model.schema import Column
from ducklake_spark.operations.contents import Contents, TableVersion, has_own_files, load_contents
from ducklake_spark.plan.estimates import Estimates, estimate_column
from ducklake_spark.plan.totals import (
    ColumnTotals,
    is_bounded,
    is_counted,
    merge_totals,
    shows_all_rows,
    total_of_files,
    total_of_values,
)


@dataclass(frozen=True, slots=True)
class TableTotals:
    """How many rows a table has, and the totals of some columns by id."""

    rows: int
    columns: Mapping[int, ColumnTotals]


def find_totals(
    version: TableVersion, asked: Mapping[int, bool], contents: Contents | None = None
) -> TableTotals | None:
    """Totals of the columns of these ids; None when only the files can tell.

    Args:
        version: the table.
        asked: top-level columns by id, and whether their bounds are wanted.
        contents: what the table consists of, if that is loaded already.
    """
    if has_own_files(version) or not all(_is_known(version, i, asked[i]) for i in asked):
        return None
    contents = contents or load_contents(version, lazily=True)
    at = version.snapshot.snapshot_id
    if not all(shows_all_rows(file, at) for file in contents.files):
        return None
    parts = [
        _of_files(version, contents, asked),
        _of_large(version, contents, asked),
        _of_rows(version, contents, asked),
    ]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    columns = {i: merge_totals([part.columns[i] for part in known]) for i in asked}
    return TableTotals(sum(part.rows for part in known), columns)


def find_estimates(version: TableVersion, contents: Contents) -> dict[int, Estimates]:
    """What an optimizer may expect of the columns, by id; nothing where only the files can tell."""
    columns = {
        column.column_id: column.type
        for column in version.table.schema.columns
        if not column.children and is_counted(column.type)
    }
    by_id = version.table.schema.by_id
    asked = {i: is_bounded(kind, _types_of(version, by_id[i])) for i, kind in columns.items()}
    totals = find_totals(version, asked, contents)
    if totals is None:
        return {}
    return {i: estimate_column(columns[i], totals.rows, totals.columns[i]) for i in columns}


def _is_known(version: TableVersion, column_id: int, bounded: bool) -> bool:
    column = version.table.schema.by_id[column_id]
    if column.children or not is_counted(column.type):
        return False
    return not bounded or is_bounded(column.type, _types_of(version, column))


def _types_of(version: TableVersion, column: Column) -> frozenset[str]:
    """The names of all types that the column ever had."""
    own = column.type_name.lower()
    if version.table.table_id < 0:
        return frozenset({own})
    rows = version.state.history(version.table.table_id).rows
    return frozenset(
        {own, *(row.type_name.lower() for row in rows if row.column_id == column.column_id)}
    )


def _of_files(
    version: TableVersion, contents: Contents, asked: Mapping[int, bool]
) -> TableTotals | None:
    files, by_id = contents.files, version.table.schema.by_id

    def load(missing: Iterable[int]) -> FileFacts:
        if not files:
            return FileFacts()
        ids = [file.data_file_id for file in files] if contents.large else None
        divided = any(file.partition_id is not None for file in files)
        db, table_id = version.lake.db, version.table.table_id
        return load_file_facts(db, table_id, missing, ids, with_partitions=divided)

    facts = contents.known.find(asked, load)
    columns = {
        i: total_of_files(by_id[i], files, facts.stats, bounded=bounded)
        for i, bounded in asked.items()
    }
    return _all_known(sum(file.record_count for file in files), columns)


def _of_large(
    version: TableVersion, contents: Contents, asked: Mapping[int, bool]
) -> TableTotals | None:
    """Those of the files that are too many to be fetched."""
    large = contents.large
    if large is None:
        return TableTotals(0, {i: ColumnTotals(0) for i in asked})
    kinds = {i: version.table.schema.by_id[i].type for i in asked}
    found = load_plain_totals(large.plain, large.groups, kinds, asked)
    rows = sum(group.rows for group in large.groups.groups)
    return None if found is None else TableTotals(rows, found)


def _of_rows(
    version: TableVersion, contents: Contents, asked: Mapping[int, bool]
) -> TableTotals | None:
    """Those of the rows of the catalog itself, and of the open transaction."""
    places = {column.column_id: i for i, column in enumerate(version.table.schema.columns)}
    by_id = version.table.schema.by_id
    columns = {
        i: total_of_values(
            (row.values[places[i]] for row in contents.inlined), by_id[i].type, bounded=bounded
        )
        for i, bounded in asked.items()
    }
    return _all_known(len(contents.inlined), columns)


def _all_known(rows: int, columns: Mapping[int, ColumnTotals | None]) -> TableTotals | None:
    known = {i: found for i, found in columns.items() if found is not None}
    return TableTotals(rows, known) if len(known) == len(columns) else None
