"""What a check of a lake brings to light, and what the catalog claims about a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

Severity = Literal["error", "warning"]

CHECKS: Final[Mapping[str, str]] = MappingProxyType(
    {
        # the catalog
        "snapshots": "There is a snapshot; schema versions and counters never fall.",
        "snapshot-times": "A snapshot is not older than the one before it (a warning).",
        "change-log": "Each snapshot has a change log that can be read, and no log is left over.",
        "counters": "The ids that the next commit will give are above all ids that are there.",
        "ranges": "Every row begins before it ends, at snapshots that there are or were.",
        "versions": "No snapshot sees two versions of one object, column, tag or file.",
        "one-delete-file": "No snapshot sees two delete files of one data file.",
        "names": "Schemas, and tables and views of a schema, have names of their own.",
        "references": "What a row refers to is there; nothing of a dropped table goes on.",
        "columns": "Columns have known types, names of their own, and whole trees.",
        "partitions": "Partition keys are over columns that the table has or had.",
        "inlined-tables": "The tables listed for inlined rows are there, with sound rows.",
        "table-totals": "A table with rows has totals, which are not below what is visible.",
        "schedule": "Files that wait for their removal are needed by no snapshot.",
        # the files
        "file-missing": "Every data and delete file is in the storage.",
        "file-unreadable": "Every file can be read to its end.",
        "file-size": "It has the size that the catalog says.",
        "footer-size": "Its footer has the size that the catalog says.",
        "record-count": "It has as many rows as the catalog says.",
        "field-ids": "Each column and part of one has a field id, once, that the table has.",
        "name-mapping": "A file without ids has the columns that its name mapping names.",
        "statistics": "Values, NULLs and NaN of each column are as its statistics say.",
        "table-statistics": "The statistics of the table bound the values of its live files.",
        "partition-values": "Each row has the partition values of its file; none is missing.",
        "row-ids": "Each row has an id below the table's next; no snapshot has one twice.",
        "snapshot-ids": "Rows of merged and flushed files are of the snapshots of the file.",
        "delete-columns": "A delete file has the columns of one.",
        "delete-order": "Its positions only grow.",
        "delete-positions": "Each of them, and each that is inlined, is one of the data file.",
        "delete-count": "There are as many as the catalog says, and not more than rows.",
        "delete-twice": "No position is deleted both in a file and in the catalog.",
        "orphans": "Every Parquet file below the data path is known (a warning).",
    }
)
"""Every check by its name, with what is true when it finds nothing."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be.

    Attributes:
        severity: "error" if queries can fail or be wrong, "warning" for what wants a look.
        check: the name of the check, as in docs/reference/check.md.
        object: the table, snapshot or other object that is concerned.
        path: the file, if it is about one.
        detail: what is wrong.
    """

    severity: Severity
    check: str
    object: str
    path: str | None
    detail: str

    def __post_init__(self) -> None:
        if self.check not in CHECKS:
            raise ValueError(f"There is no check {self.check!r}.")


@dataclass(frozen=True, slots=True)
class LeafClaim:
    """What the catalog claims about the values of one leaf in one file; None is no claim.

    Attributes:
        column_id: which.
        name: for messages.
        type_name: the type it had when the file was written.
        low: the least bound of the file as text, `high` the greatest.
        table_low: the least bound of the whole table, `table_high` the greatest.
        current_type: the type that the bounds of the table are of.
        source: the path of names that leads to it in a file without ids.
    """

    column_id: int
    name: str
    type_name: str
    nested: bool = False
    value_count: int | None = None
    null_count: int | None = None
    low: str | None = None
    high: str | None = None
    contains_nan: bool | None = None
    table_low: str | None = None
    table_high: str | None = None
    table_contains_null: bool | None = None
    table_contains_nan: bool | None = None
    current_type: str = ""
    source: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PartitionClaim:
    """All rows of a file have this partition value."""

    column_id: int
    name: str
    type_name: str
    transform: str
    value: str | None


@dataclass(frozen=True, slots=True)
class DeleteClaim:
    """What the catalog claims about a delete file."""

    path: str
    format: str
    delete_count: int
    file_size_bytes: int
    footer_size: int | None
    begin_snapshot: int
    partial_max: int | None
    live: bool  # the newest snapshot sees it


@dataclass(frozen=True, slots=True)
class FileClaim:
    """What the catalog claims about a data file and what hides rows of it. Goes to tasks."""

    table: str
    path: str
    record_count: int
    file_size_bytes: int
    footer_size: int | None
    begin_snapshot: int
    partial_max: int | None
    row_id_start: int | None
    next_row_id: int | None
    latest: int  # the newest snapshot
    live: bool  # the newest snapshot sees it
    mapped: bool  # columns are found by name
    column_ids: frozenset[int]  # all that the table ever had
    leaves: tuple[LeafClaim, ...] = ()
    partitions: tuple[PartitionClaim, ...] = ()
    deletes: tuple[DeleteClaim, ...] = ()
    inlined_deletes: tuple[int, ...] = ()
    table_id: int = -1
    batch_rows: int = 65_536  # that are read at a time


@dataclass(frozen=True)
class FileVerdict:
    """What a task found in a file.

    Attributes:
        findings: what is wrong.
        table_id: whose file it is.
        row_ids: runs (first, behind the last) of the ids of its rows that the newest snapshot
            sees; None when they could not be told.
        path: the file.
    """

    findings: tuple[Finding, ...]
    table_id: int
    path: str
    row_ids: tuple[tuple[int, int], ...] | None = field(default=())
