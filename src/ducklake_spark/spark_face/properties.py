"""TBLPROPERTIES: the comment, the layout and the options of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ducklake_spark.errors import NotSupported
from ducklake_spark.lake import Lake
from ducklake_spark.model.entities import TableEntry
from ducklake_spark.operations.contents import TableVersion
from ducklake_spark.operations.layouts import Key
from ducklake_spark.options import OPTIONS, find_option
from ducklake_spark.spark_face.layouts import (
    all_partitions,
    read_partition_keys,
    read_sort_order,
    shown_sort_order,
)
from ducklake_spark.sql import statements as st

COMMENT: Final = "comment"
SORTED_BY: Final = "sorted_by"
PARTITIONED_BY: Final = "partitioned_by"
_OF_SPARK: Final = ("provider", "owner", "snapshot", "is_managed_location", "external")
"""What Spark gives without being asked to, and what only we tell."""


@dataclass(frozen=True)
class Properties:
    """What the properties of a table to be made mean."""

    comment: str | None
    sort: Sequence[st.SortKey]
    partitions: Sequence[Key]
    options: Mapping[str, str]


def read_properties(given: Mapping[str, str], name: str) -> Properties:
    """What TBLPROPERTIES, COMMENT, USING and OPTIONS of a CREATE TABLE say.

    Raises:
        NotSupported, UnknownOption: for what a lake does not have.
    """
    check_place(given, f'create table "{name}"')
    provider = given.get("provider", "ducklake")
    if provider.lower() not in ("ducklake", "parquet"):
        raise NotSupported(
            f'Cannot create table "{name}" USING {provider}: tables of a lake are its own.',
            hint="leave USING out, or write USING ducklake.",
        )
    options = {
        _plain_name(key): value
        for key, value in given.items()
        if key not in (*_OF_SPARK, COMMENT, SORTED_BY, PARTITIONED_BY)
    }
    for key in options:
        find_option(key)
    sort = read_sort_order(given[SORTED_BY]) if SORTED_BY in given else []
    partitions = read_partition_keys(given[PARTITIONED_BY]) if PARTITIONED_BY in given else []
    return Properties(given.get(COMMENT), sort, partitions, options)


def _plain_name(key: str) -> str:
    """OPTIONS come as ``option.key``."""
    return key.removeprefix("option.")


def is_own(key: str) -> bool:
    """Whether a property is one that cannot be set."""
    return key in _OF_SPARK


def check_place(given: Mapping[str, str], action: str) -> None:
    """Refuse a LOCATION: a lake decides where its files are."""
    if "location" in given and given.get("is_managed_location", "false") != "true":
        raise NotSupported(
            f"Cannot {action} with a LOCATION: files of a lake are below its data path.",
            hint="leave LOCATION out; CALL lake.system.add_data_files takes files from elsewhere.",
        )


def shown_properties(version: TableVersion) -> dict[str, str]:
    """What DESCRIBE EXTENDED and SHOW TBLPROPERTIES show, but for the options."""
    table = version.table
    shown = {
        "provider": "ducklake",
        "snapshot": str(version.snapshot.snapshot_id),
        "location": version.directory,
        "is_managed_location": "true",
    }
    if table.comment is not None:
        shown[COMMENT] = table.comment
    if (order := shown_sort_order(table)) is not None:
        shown[SORTED_BY] = order
    if (keys := all_partitions(table)) is not None:
        shown[PARTITIONED_BY] = keys
    return shown


def shown_options(lake: Lake, table: TableEntry) -> dict[str, str]:
    """The options that were set for this very table, and not what streams note beside them."""
    place = ("table", table.table_id)
    values = lake.settings().values
    return {
        key: value
        for (*scope, key), value in values.items()
        if tuple(scope) == place and key in OPTIONS
    }
