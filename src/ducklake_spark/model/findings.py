"""What a check of a lake brings to light, and what the catalog claims about a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["error", "warning"]


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
