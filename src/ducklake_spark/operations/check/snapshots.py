"""Snapshots, counters, and the ranges of snapshots that rows are visible for. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

from ducklake_spark.commit.change_log import parse_changes
from ducklake_spark.errors import DuckLakeError
from ducklake_spark.model.findings import Finding
from ducklake_spark.operations.check.facts import Check, Facts, finding

# Tables whose rows have a range, and what makes two of them versions of the same thing.
_RANGED: Final[dict[str, tuple[str, ...]]] = {
    "ducklake_schema": ("schema_id",),
    "ducklake_table": ("table_id",),
    "ducklake_view": ("view_id",),
    "ducklake_macro": ("macro_id",),
    "ducklake_tag": ("object_id", "key"),
    "ducklake_column_tag": ("table_id", "column_id", "key"),
    "ducklake_column": ("table_id", "column_id"),
    "ducklake_data_file": ("data_file_id",),
    "ducklake_delete_file": ("table_id", "data_file_id"),
    "ducklake_partition_info": ("table_id",),
    "ducklake_sort_info": ("table_id",),
}
_CATALOG_IDS: Final = (
    ("ducklake_schema", "schema_id"),
    ("ducklake_table", "table_id"),
    ("ducklake_view", "view_id"),
    ("ducklake_macro", "macro_id"),
    ("ducklake_partition_info", "partition_id"),
    ("ducklake_sort_info", "sort_id"),
)
_FILE_IDS: Final = (
    ("ducklake_data_file", "data_file_id"),
    ("ducklake_delete_file", "delete_file_id"),
    ("ducklake_column_mapping", "mapping_id"),
)


def check_snapshots(facts: Facts) -> Iterator[Finding]:
    """Every snapshot has a readable change log; counters and versions only grow."""
    snapshots = sorted(facts.rows["ducklake_snapshot"], key=lambda row: row.snapshot_id)
    if not snapshots:
        yield finding("snapshots", "lake", "there is no snapshot.")
    for before, after in pairwise(snapshots):
        about = f"snapshot {after.snapshot_id}"
        for counter in ("schema_version", "next_catalog_id", "next_file_id"):
            old, new = getattr(before, counter), getattr(after, counter)
            if new < old:
                yield finding("snapshots", about, f"{counter} falls from {old} to {new}.")
        if after.snapshot_time < before.snapshot_time:
            detail = "its time is before that of the snapshot before it."
            yield finding("snapshot-times", about, detail, severity="warning")
    ids = {row.snapshot_id for row in snapshots}
    logs = {row.snapshot_id: row for row in facts.rows["ducklake_snapshot_changes"]}
    for number in sorted(ids - set(logs)):
        yield finding("change-log", f"snapshot {number}", "it has no change log.")
    for number in sorted(set(logs) - ids):
        yield finding("change-log", f"snapshot {number}", "it has a change log, and is not there.")
    yield from _check_logs(logs)


def _check_logs(logs: dict[int, Any]) -> Iterator[Finding]:
    for number, row in sorted(logs.items()):
        try:
            parse_changes(row.changes_made or "")
        except DuckLakeError as error:  # noqa: PERF203 - each of them is told
            yield finding("change-log", f"snapshot {number}", error.message)


def check_counters(facts: Facts) -> Iterator[Finding]:
    """What the next commit will number is not there yet."""
    if facts.latest is None:
        return
    for counter, places in (("next_catalog_id", _CATALOG_IDS), ("next_file_id", _FILE_IDS)):
        following = getattr(facts.latest, counter)
        for table, column in places:
            highest = max((getattr(row, column) for row in facts.rows[table]), default=-1)
            if highest >= following:
                detail = f"{column} {highest} is there, and {counter} is {following}."
                yield finding("counters", table, detail)
    version = facts.latest.schema_version
    for table in ("ducklake_schema_versions", "ducklake_inlined_data_tables"):
        highest = max((row.schema_version for row in facts.rows[table]), default=-1)
        if highest > version:
            detail = f"schema_version {highest} is there, and the newest snapshot has {version}."
            yield finding("counters", table, detail)


# A spec that one transaction set and replaced, with files in between, is one that nobody sees.
_MOMENTARY: Final = frozenset({"ducklake_partition_info"})


def check_ranges(facts: Facts) -> Iterator[Finding]:
    """A row begins before it ends, and not after the newest snapshot."""
    latest = facts.latest.snapshot_id if facts.latest else -1
    for table, keys in _RANGED.items():
        for row in facts.rows[table]:
            about = f"{table} {_key(row, keys)}"
            begin, end = row.begin_snapshot, row.end_snapshot
            if begin is None:
                yield finding("ranges", about, "it has no begin_snapshot.")
            elif end is not None and end < begin + (table not in _MOMENTARY):
                yield finding("ranges", about, f"it begins at {begin} and ends at {end}.")
            elif max(begin, end or 0) > latest:
                detail = f"it is of snapshot {max(begin, end or 0)}, the newest is {latest}."
                yield finding("ranges", about, detail)


def check_versions(facts: Facts) -> Iterator[Finding]:
    """No snapshot sees two versions of one thing, or two delete files of one data file."""
    for table, keys in _RANGED.items():
        grouped: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
        for row in facts.rows[table]:
            grouped[_key(row, keys)].append(row)
        for key, rows in grouped.items():
            if len(rows) > 1 and _overlap(rows):
                check = "one-delete-file" if table == "ducklake_delete_file" else "versions"
                detail = f"a snapshot sees several rows of {', '.join(keys)} {key}."
                yield finding(check, table, detail)


def _key(row: Any, keys: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(getattr(row, key) for key in keys)


def _overlap(rows: list[Any]) -> bool:
    ordered = sorted(
        rows, key=lambda row: (row.begin_snapshot or 0, row.end_snapshot is None, row.end_snapshot)
    )
    return any(
        before.end_snapshot is None or before.end_snapshot > after.begin_snapshot
        for before, after in pairwise(ordered)
    )


CHECKS: Final[tuple[Check, ...]] = (check_snapshots, check_counters, check_ranges, check_versions)
