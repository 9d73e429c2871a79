"""Make files that exist already part of a table: ducklake_add_data_files.

Only footers are read, by tasks of Spark when the files are many. From then on they are the lake's:
maintenance may remove them once no snapshot needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from ducklake_spark.catalog.files import load_file_paths, load_table_mappings
from ducklake_spark.commit.transaction import Transaction
from ducklake_spark.errors import AlreadyExists
from ducklake_spark.lake import Lake
from ducklake_spark.limits import limits
from ducklake_spark.model.changes import AppendFiles
from ducklake_spark.model.entities import NameMapping, TableEntry
from ducklake_spark.model.name_mapping import mapping_key
from ducklake_spark.model.written import WrittenFile
from ducklake_spark.operations.list_paths import find_paths
from ducklake_spark.parquet.add import AddPlan, describe_files
from ducklake_spark.plan.foreign import MappingRules
from ducklake_spark.spark.add import describe_with_spark

"""Up to so many files the driver reads the footers itself: a Spark job would take longer."""


@dataclass(frozen=True, slots=True)
class AddOptions:
    """The named arguments of ducklake_add_data_files."""

    allow_missing: bool = False
    ignore_extra_columns: bool = False
    hive_partitioning: bool | None = None


def add_files(
    lake: Lake,
    tx: Transaction,
    table: TableEntry,
    patterns: Sequence[str],
    options: AddOptions,
    *,
    spark: Callable[[], SparkSession],
) -> int:
    """Stage the files that the patterns match; returns how many have rows. Driver.

    Args:
        lake: whose table it is.
        tx: what stages them.
        table: the table.
        patterns: paths or globs.
        options: what files may lack or have too much of.
        spark: gives the session, which is asked for only when the files are many.
    """
    directory = lake.table_directory(tx.local.schema(table.schema_id), table)
    paths = find_paths(patterns)
    _refuse_known(lake, tx, table, directory, paths)
    rules = MappingRules(table.name, options.allow_missing, options.ignore_extra_columns)
    hive = options.hive_partitioning is not False
    plan = AddPlan(table.schema, directory, rules, table.partition, hive)
    if len(paths) <= limits().few_added_files:
        files = list(describe_files(paths, plan))
    else:
        files = describe_with_spark(spark(), paths, plan)
    if files:
        tx.stage(AppendFiles(table, _with_known_mappings(lake, table, files)))
    return len(files)


def _with_known_mappings(
    lake: Lake, table: TableEntry, files: Sequence[WrittenFile]
) -> tuple[WrittenFile, ...]:
    """Point files at the mappings that the catalog has already."""
    if table.table_id < 0:
        return tuple(files)
    known = {
        mapping_key(mapping): mapping_id
        for mapping_id, mapping in load_table_mappings(lake.db, table.table_id).items()
    }
    found: dict[tuple[NameMapping, ...], int | None] = {}
    for file in files:
        if file.mapping is not None and file.mapping not in found:
            found[file.mapping] = known.get(mapping_key(file.mapping))
    return tuple(
        replace(file, mapping_id=found[file.mapping])
        if file.mapping is not None and found[file.mapping] is not None
        else file
        for file in files
    )


def _refuse_known(
    lake: Lake, tx: Transaction, table: TableEntry, directory: str, paths: Sequence[str]
) -> None:
    """A file that is part of a table twice would show its rows twice, and be removed once."""
    known = {file.path for file in tx.local.local_files(table.table_id)}
    if table.table_id >= 0:
        known |= load_file_paths(
            lake.db, table.table_id, tx.snapshot.snapshot_id, directory=directory
        )
    twice = [path for path in paths if path in known]
    if twice:
        raise AlreadyExists(
            f'Cannot add "{twice[0]}" to table "{table.name}": it is part of the table already.',
            hint="leave it out; a pattern that also matches older files adds them again.",
        )
