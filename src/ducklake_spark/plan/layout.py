"""How the rows of one write are laid out as files. Pure; made by the driver, used in tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ducklake_spark.model.entities import PartitionSpec
from ducklake_spark.model.schema import Column, Schema

DEFAULT_TARGET_FILE_SIZE = 536_870_912
DEFAULT_ROW_GROUP_ROWS = 122_880


@dataclass(frozen=True, slots=True)
class SortOrder:
    """One key that rows are sorted by: Spark SQL over the names of the table's columns."""

    expression: str
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True)
class WriteLayout:
    """Everything a task has to know to write data files of one table.

    `directory` is the table's own, absolute or a URL. `extra_columns` are columns that the format
    adds behind the table's (row ids, snapshot ids): they are written and have no statistics.
    `sort` orders the rows; `cluster` names columns whose values shall lie together, in place of it.
    `one_file_per_task` lets a small write be as many files as it has tasks.
    `with_nan` are leaves that may hold a NaN; one that is met unexpectedly begins a new file.
    """

    schema: Schema
    directory: str
    table_name: str
    compression: str = "snappy"
    compression_level: int | None = None
    row_group_rows: int = DEFAULT_ROW_GROUP_ROWS
    row_group_bytes: int | None = None
    parquet_version: Literal["V1", "V2"] = "V1"
    target_file_size: int = DEFAULT_TARGET_FILE_SIZE
    partition: PartitionSpec | None = None
    hive: bool = True  # whether the folders of a partition are called key=value
    sort: tuple[SortOrder, ...] = ()
    cluster: tuple[str, ...] = ()
    one_file_per_task: bool = False
    extra_columns: tuple[Column, ...] = ()
    with_nan: frozenset[int] = frozenset()

    @property
    def is_ordered(self) -> bool:
        """Whether rows are to be brought into an order."""
        return bool(self.sort or self.cluster)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of a file, in order."""
        return self.schema.columns + self.extra_columns
