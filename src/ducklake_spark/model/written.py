"""What a Spark task brings back to the driver: small, frozen and picklable."""

from __future__ import annotations

from dataclasses import dataclass

from ducklake_spark.model.entities import NameMapping


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
class WrittenDeletes:
    """A delete file that a task wrote and nobody has committed yet.

    One that also holds what earlier snapshots deleted says of each position since when:
    `begin_snapshot` is the first of them, `partial_max` the last, that of the commit to be.
    """

    path: str  # absolute, ready to open
    relative_path: str  # below the table's directory
    delete_count: int
    file_size_bytes: int
    footer_size: int
    begin_snapshot: int | None = None
    partial_max: int | None = None


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A data file that a task wrote, or found, and nobody has committed yet."""

    path: str  # absolute, ready to open
    relative_path: str  # below the table's directory, with hive folders; empty if it is elsewhere
    record_count: int
    file_size_bytes: int
    footer_size: int
    column_stats: tuple[ColumnStats, ...]
    partition_values: tuple[str | None, ...] = ()  # one per key of the table's partition spec
    mapping: tuple[NameMapping, ...] | None = None  # what its columns mean, if others wrote it
    mapping_id: int | None = None  # of an equal mapping that the catalog has already
    deletes: WrittenDeletes | None = None  # rows of it that the same transaction deleted again

    @property
    def is_ours(self) -> bool:
        """Whether the transaction made it, and removes it when it fails."""
        return self.mapping is None
