"""Run all checks on a lake: the catalog on the driver, the files in tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from ducklake_spark.lake import Lake
from ducklake_spark.limits import limits
from ducklake_spark.model.findings import FileClaim, FileVerdict, Finding
from ducklake_spark.model.paths import join, resolve
from ducklake_spark.operations.check import objects, snapshots, totals
from ducklake_spark.operations.check.claims import Claims
from ducklake_spark.operations.check.facts import Facts, finding, load_facts
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.operations.known_files import KnownFiles
from ducklake_spark.operations.orphans import find_orphans
from ducklake_spark.operations.progress import Progress

COLUMNS: Final = (
    ("severity", "VARCHAR"),
    ("check", "VARCHAR"),
    ("object", "VARCHAR"),
    ("path", "VARCHAR"),
    ("detail", "VARCHAR"),
)
Verify = Callable[[Sequence[FileClaim]], list[FileVerdict]]
"""Holds files against claims, somewhere."""

_Runs = dict[int, list[tuple[int, int]]]


def check_lake(
    lake: Lake,
    verify: Verify,
    *,
    others: Iterable[Lake] = (),
    progress: Progress | None = None,
) -> RowSet:
    """Everything about a lake that is not as it should be; no rows if nothing is. Driver.

    It only reads. A cleanup that runs at the same time may make it miss files.

    Args:
        lake: which.
        verify: reads the files.
        others: further lakes that may own files below the same data path.
        progress: told how many files are done, and of how many.
    """
    facts = load_facts(lake)
    found: list[Finding] = []
    for check in (*snapshots.CHECKS, *objects.CHECKS, *totals.CHECKS):
        found += check(facts)
    if facts.latest is not None:
        found += _check_files(lake, facts, verify, progress)
        found += _check_storage(lake, facts, others)
    found.sort(key=lambda each: (each.severity, each.check, each.object, each.path or ""))
    rows = ((f.severity, f.check, f.object, f.path, f.detail) for f in found)
    return RowSet(COLUMNS, tuple(rows))


def _check_files(
    lake: Lake, facts: Facts, verify: Verify, progress: Progress | None
) -> Iterator[Finding]:
    claims = Claims(lake, facts)
    waiting, done = iter(claims), 0
    runs: _Runs = defaultdict(list)
    while batch := list(islice(waiting, limits().check_files_per_job)):
        for verdict in verify(batch):
            yield from verdict.findings
            runs[verdict.table_id] += verdict.row_ids or ()
        done += len(batch)
        if progress is not None:
            progress(done, len(facts.rows["ducklake_data_file"]))
    yield from claims.findings
    for table_id, ids in totals.live_inlined_ids(facts).items():
        runs[table_id] += [(number, number + 1) for number in ids]
    for table_id, parts in runs.items():
        twice = find_overlap(parts)
        if twice is not None:
            detail = f"several rows of the newest snapshot have the id {twice}."
            yield finding("row-ids", facts.name_of(table_id), detail)


def find_overlap(runs: Iterable[tuple[int, int]]) -> int | None:
    """The first number that is in two runs.

    >>> find_overlap([(5, 9), (0, 3), (8, 10)]), find_overlap([(0, 3), (3, 4)])
    (8, None)
    """
    behind: int | None = None
    for start, end in sorted(runs):
        if behind is not None and start < behind:
            return start
        behind = end
    return None


def _check_storage(lake: Lake, facts: Facts, others: Iterable[Lake]) -> Iterator[Finding]:
    """Files that nobody knows, and files that are to go although they are needed."""
    others = list(others)
    known = KnownFiles(lake, others, scheduled=True)
    known.refresh()
    for path in find_orphans(lake, known, None):
        detail = "no snapshot knows it: it is an orphan, or of a writer that has not committed."
        yield finding("orphans", "storage", detail, path, "warning")
    needed = KnownFiles(lake, others, scheduled=False)
    scheduled = facts.rows["ducklake_files_scheduled_for_deletion"]
    if scheduled:
        needed.refresh()
    for row in scheduled:
        path = resolve(join(lake.data_path, row.path, relative=row.path_is_relative))
        if path in needed:
            yield finding("schedule", "storage", "it is to be removed, and still needed.", path)
