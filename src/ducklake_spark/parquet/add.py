"""Look at files that are to be added to a table: what they are, and whether they fit. Task, driver.

What comes back is a `WrittenFile` with a name mapping; nothing is written and no row is read, but
for NOT NULL columns of which a footer does not count the NULLs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ducklake_spark.errors import InvalidInput, InvalidValue, NotNullViolation
from ducklake_spark.model.entities import NameMapping, PartitionSpec
from ducklake_spark.model.partition import folder_names, parse_transform
from ducklake_spark.model.schema import Column, Schema
from ducklake_spark.model.types import format_sql_type
from ducklake_spark.model.written import ColumnStats, WrittenFile
from ducklake_spark.parquet.foreign import OpenedFile, file_columns, open_parquet
from ducklake_spark.parquet.foreign_stats import constant_stats, constant_text, leaf_stats
from ducklake_spark.plan.foreign import FileMapping, MappingRules, map_file
from ducklake_spark.plan.hive import hive_folders


@dataclass(frozen=True)
class AddPlan:
    """What the files have to fit, the same for all of them.

    Args:
        schema: the columns of the table.
        directory: where the table keeps its own files.
        rules: what a file may lack or have too much of.
        partition: the table's partition spec.
        hive: take values from the path where it has some.
    """

    schema: Schema
    directory: str
    rules: MappingRules
    partition: PartitionSpec | None = None
    hive: bool = True


def describe_files(paths: Iterable[str], plan: AddPlan) -> Iterator[WrittenFile]:
    """The files that have rows, with equal mappings shared: a plan has few of them."""
    known: dict[tuple[NameMapping, ...], tuple[NameMapping, ...]] = {}
    for path in paths:
        file = describe_file(path, plan, known)
        if file.record_count:
            yield file


def describe_file(
    path: str,
    plan: AddPlan,
    known: dict[tuple[NameMapping, ...], tuple[NameMapping, ...]] | None = None,
) -> WrittenFile:
    """What one file is, read from its footer.

    Raises:
        InvalidInput: its columns, types or folders do not fit the table.
        NotNullViolation: it has a NULL where the table allows none.
    """
    with open_parquet(path) as file:
        metadata = file.metadata
        folders = hive_folders(path) if plan.hive else {}
        columns = file_columns(metadata)
        mapping = map_file(path, columns, plan.schema.columns, plan.rules, folders)
        stats = _stats(path, metadata, mapping, folders)
        _check_nulls(file, plan, mapping, stats)
    entries = (
        mapping.entries if known is None else known.setdefault(mapping.entries, mapping.entries)
    )
    inside = path.startswith(plan.directory)
    return WrittenFile(
        path=path,
        relative_path=path.removeprefix(plan.directory) if inside else "",
        record_count=metadata.num_rows,
        file_size_bytes=file.size,
        footer_size=file.footer_size,
        column_stats=tuple(stats),
        partition_values=_partition_values(path, plan, mapping, folders),
        mapping=entries,
    )


def _stats(
    path: str, metadata: Any, mapping: FileMapping, folders: Mapping[str, str | None]
) -> list[ColumnStats]:
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    stats = [
        leaf_stats(leaf, [group.column(leaf.source.leaf) for group in groups])
        for leaf in mapping.leaves
    ]
    for column in mapping.hive:
        text = folders[_folder(column, folders)]
        try:
            stats.append(constant_stats(column, text, metadata.num_rows))
        except InvalidValue as error:
            raise _misfit(path, column, text) from error
    return sorted(stats, key=lambda each: each.column_id)


def _folder(column: Column, folders: Mapping[str, str | None]) -> str:
    """The name of a column's folder; the file may spell the column with other cases."""
    if column.name in folders:
        return column.name
    return next(name for name in folders if name.lower() == column.name.lower())


def _misfit(path: str, column: Column, text: str | None) -> InvalidInput:
    kind = format_sql_type(column.type)
    return InvalidInput(
        f'Cannot add "{path}": its path says {column.name}={text}, which cannot be cast to the '
        f"column's type {kind}.",
        hint="say hive_partitioning => false if the folder is no value of the column.",
    )


def _partition_values(
    path: str, plan: AddPlan, mapping: FileMapping, folders: Mapping[str, str | None]
) -> tuple[str | None, ...]:
    """The values of the table's partition keys, all of which must stand in the path."""
    if plan.partition is None or not plan.partition.fields:
        return ()
    columns = [plan.schema.by_id[field.column_id] for field in plan.partition.fields]
    transforms = [parse_transform(field.transform) for field in plan.partition.fields]
    names = folder_names([(c.name, t) for c, t in zip(columns, transforms, strict=True)])
    partitioned = {column.column_id for column in columns}
    complete = all(name in folders for name in names)
    if not complete or any(column.column_id not in partitioned for column in mapping.hive):
        raise InvalidInput(
            f'"{path}" contains an invalid partition value for the table configuration: its '
            f"folders must give {', '.join(names)}, and no other column.",
            hint="name the folders like the partitions of the table, or INSERT the rows instead.",
        )
    return tuple(
        constant_text(column, folders[name]) if transform.name == "identity" else folders[name]
        for name, column, transform in zip(names, columns, transforms, strict=True)
    )


def _check_nulls(
    file: OpenedFile, plan: AddPlan, mapping: FileMapping, stats: list[ColumnStats]
) -> None:
    required = [column for column in plan.schema.columns if not column.nulls_allowed]
    counts = {each.column_id: each.null_count for each in stats}
    found = {entry.target_field_id: entry for entry in mapping.entries}
    for column in required:
        entry = found.get(column.column_id)
        nulls: int | None = file.metadata.num_rows
        if entry is not None and (entry.is_partition or not column.children):
            nulls = counts.get(column.column_id)
        elif entry is None and column.initial_default is not None:
            nulls = 0
        if entry is not None and (nulls is None or column.children):
            nulls = _count_nulls(file, entry.source_name)
        if nulls:
            raise NotNullViolation(
                f'Cannot add "{file.path}": NOT NULL constraint failed: '
                f"{plan.rules.table}.{column.name}."
            )


def _count_nulls(file: OpenedFile, name: str) -> int:
    """How many values are NULL, counted in the file."""
    batches = file.reader.iter_batches(columns=[name])
    return sum(batch.column(0).null_count for batch in batches)
