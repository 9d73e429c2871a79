"""Totals of tables, row ids, inlined rows and deletes, as far as the catalog tells. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, Final

from ducklake_spark.model.findings import Finding
from ducklake_spark.operations.check.facts import Check, Facts, finding


def check_inlined_tables(facts: Facts) -> Iterator[Finding]:
    """The tables that the catalog lists for inlined rows are there, with sound rows."""
    latest = facts.latest.snapshot_id if facts.latest else -1
    for row in facts.rows["ducklake_inlined_data_tables"]:
        rows = facts.inlined[row.table_name]
        about = facts.name_of(row.table_id)
        if rows is None:
            yield finding("inlined-tables", about, f"{row.table_name} is listed, and not there.")
            continue
        for row_id, begin, end in rows:
            if begin is None or begin > latest or (end is not None and end <= begin):
                detail = f"the row {row_id} of {row.table_name} begins at {begin}, ends at {end}."
                yield finding("inlined-tables", about, detail)
                break


def check_table_stats(facts: Facts) -> Iterator[Finding]:
    """A table with rows has its totals, once, and they are not below what is there."""
    totals = {row.table_id: row for row in facts.rows["ducklake_table_stats"]}
    for table_id, count in Counter(r.table_id for r in facts.rows["ducklake_table_stats"]).items():
        if count > 1:
            yield finding("table-totals", facts.name_of(table_id), "it has several rows of totals.")
    for table_id, visible in sorted(_visible_rows(facts).items()):
        about, total = facts.name_of(table_id), totals.get(table_id)
        if total is None:
            yield finding("table-totals", about, "it has rows, and no totals: row ids start anew.")
        elif total.record_count < visible:
            detail = f"record_count is {total.record_count}, and {visible} rows are visible."
            yield finding("table-totals", about, detail)
    yield from _check_inlined_ids(facts, totals)


def _check_inlined_ids(facts: Facts, totals: dict[int, Any]) -> Iterator[Finding]:
    for table_id, rows in inlined_rows(facts).items():
        total = totals.get(table_id)
        highest = max((row[0] for row in rows), default=-1)
        if total is not None and highest >= total.next_row_id:
            detail = f"an inlined row has the id {highest}, next_row_id is {total.next_row_id}."
            yield finding("row-ids", facts.name_of(table_id), detail)


def inlined_rows(facts: Facts) -> dict[int, list[tuple[Any, ...]]]:
    """(row id, begin, end) of the inlined rows of each table."""
    found: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for row in facts.rows["ducklake_inlined_data_tables"]:
        found[row.table_id] += facts.inlined[row.table_name] or []
    return found


def live_inlined_ids(facts: Facts) -> dict[int, list[int]]:
    """The ids of the inlined rows that the newest snapshot sees."""
    at = facts.latest.snapshot_id if facts.latest else -1
    return {
        table_id: [i for i, begin, end in rows if begin <= at and (end is None or end > at)]
        for table_id, rows in inlined_rows(facts).items()
        if table_id in facts.live_tables
    }


def _visible_rows(facts: Facts) -> dict[int, int]:
    """How many rows of each table the newest snapshot sees, by the catalog's counts."""
    hidden: dict[int, int] = defaultdict(int)
    for row in facts.rows["ducklake_delete_file"]:
        if facts.visible(row):
            hidden[row.data_file_id] += row.delete_count
    for deletes in facts.inlined_deletes.values():
        for file_id, _, _ in deletes:
            hidden[file_id] += 1
    visible: dict[int, int] = defaultdict(int)
    for row in facts.rows["ducklake_data_file"]:
        if facts.visible(row) and row.table_id in facts.live_tables:
            visible[row.table_id] += max(0, row.record_count - hidden[row.data_file_id])
    for table_id, ids in live_inlined_ids(facts).items():
        visible[table_id] += len(ids)
    return {table_id: count for table_id, count in visible.items() if count}


def check_delete_counts(facts: Facts) -> Iterator[Finding]:
    """A delete file is of its data file's table, and hides no more rows than there are."""
    files = {row.data_file_id: row for row in facts.rows["ducklake_data_file"]}
    for row in facts.rows["ducklake_delete_file"]:
        file = files.get(row.data_file_id)
        if file is None:
            continue  # a finding of the references
        about = facts.name_of(row.table_id)
        if file.table_id != row.table_id:
            detail = f"delete file {row.delete_file_id} is for a file of another table."
            yield finding("delete-count", about, detail, row.path)
        if row.delete_count > file.record_count:
            detail = f"it deletes {row.delete_count} rows of a file that has {file.record_count}."
            yield finding("delete-count", about, detail, row.path)


CHECKS: Final[tuple[Check, ...]] = (check_inlined_tables, check_table_stats, check_delete_counts)
