"""What a Spark task brings back to the driver: small, frozen and picklable."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ColumnStats:
    """Statistics of one leaf column in one file, bounds in the catalog's text encoding.

    `value_count` counts values that are not NULL. A bound of None is unknown.
    """

    column_id: int
    column_size_bytes: int | None
    value_count: int | None
    null_count: int | None
    min_value: str | None
    max_value: str | None
    contains_nan: bool | None = None
    extra_stats: str | None = None


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A data file that a task wrote and nobody has committed yet."""

    path: str  # absolute, ready to open
    relative_path: str  # below the table's directory, with hive folders if any
    record_count: int
    file_size_bytes: int
    footer_size: int
    column_stats: tuple[ColumnStats, ...]
    partition_values: tuple[str | None, ...] = ()  # one per key of the table's partition spec
