"""Tables of so many files that a query should not fetch the list of all of them. Driver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ducklake_spark.catalog.places import Places, load_with_places
from ducklake_spark.catalog.plain_files import (
    GROUP_COLUMNS,
    PlainFiles,
    PlainGroups,
    read_groups,
)
from ducklake_spark.model.entities import DataFile, TableEntry
from ducklake_spark.model.predicate import Constant
from ducklake_spark.plan.history import SchemaHistory
from ducklake_spark.plan.listing import Listing
from ducklake_spark.plan.scan import Branch, ScanPlan


@dataclass(frozen=True)
class LargeTable:
    """The plain files of a large table, which are fetched when a filter is known."""

    plain: PlainFiles
    groups: PlainGroups
    history: SchemaHistory

    def at(self, snapshot_id: int) -> LargeTable:
        """The same files at the newest snapshot, up to which none has changed them."""
        return replace(
            self,
            plain=replace(self.plain, snapshot_id=snapshot_id),
            groups=replace(self.groups, latest=snapshot_id),
        )

    def samples(self) -> list[DataFile]:
        """A file for each group, to be planned in the place of all of it."""
        return [
            DataFile(group.data_file_id, "", group.rows, group.size, None, 0, group.begin_snapshot)
            for group in self.groups.groups
        ]


def load_large_table(
    plain: PlainFiles, history: SchemaHistory, table: TableEntry
) -> tuple[LargeTable, Places]:
    """Count the plain files of a table by the columns that it had when they were written.

    With where the metadata database keeps rows and deletes of it, mostly by one statement.
    """
    doubtful = (
        ()
        if history.is_plain
        else tuple(point for point in history.points if not history.is_exact_at(point))
    )
    plain = replace(plain, doubtful=doubtful)
    rows, places = _load_groups(plain, history, table)
    if places.has_deletes:
        plain = replace(plain, has_inlined_deletes=True)
        rows, places = _load_groups(plain, history, table)
    return LargeTable(plain, read_groups(rows, places.latest), history), places


def _load_groups(
    plain: PlainFiles, history: SchemaHistory, table: TableEntry
) -> tuple[list[tuple[Any, ...]], Places]:
    query = plain.groups_query(history.points)
    return load_with_places(plain.db, table, query, GROUP_COLUMNS)


def with_listings(
    plan: ScanPlan,
    large: LargeTable,
    others: Sequence[DataFile],
    load: Callable[[Constant], Sequence[DataFile]],
) -> ScanPlan:
    """The plan with all files of a group in place of its sample."""
    ids = frozenset(file.data_file_id for file in others)
    branches = []
    for branch in plan.branches:
        if all(file.data_file_id in ids for file in branch.files):
            branches.append(branch)
        else:
            files = _listing(branch, large, ids, lambda: load(Constant(True)))
            branches.append(replace(branch, files=files))
    return replace(plan, branches=tuple(branches))


def _listing(
    branch: Branch,
    large: LargeTable,
    others: frozenset[int],
    load: Callable[[], Sequence[DataFile]],
) -> Listing:
    own = {file.data_file_id for file in branch.files} & others
    samples = {file.data_file_id for file in branch.files} - others
    groups = [group for group in large.groups.groups if group.data_file_id in samples]
    version_of = large.history.version_of
    ages = {version_of(group.begin_snapshot) for group in groups}

    def holds(file: DataFile) -> bool:
        if file.data_file_id in others:
            return file.data_file_id in own
        return version_of(file.begin_snapshot) in ages

    fixed = [file for file in branch.files if file.data_file_id in own]
    return Listing(
        sum(group.files for group in groups) + len(fixed),
        sum(group.size for group in groups) + sum(file.file_size_bytes for file in fixed),
        holds=holds,
        load=load,
    )
