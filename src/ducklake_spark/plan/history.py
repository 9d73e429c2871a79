"""What a table's columns were when its files were written. Pure."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from ducklake_spark.model.entities import TableEntry
from ducklake_spark.model.schema import Column, Schema
from ducklake_spark.plan.stored import needs_absence


@dataclass(frozen=True)
class SchemaHistory:
    """The versions of a table's schema that matter to a scan, oldest first.

    Args:
        table: the table as of the snapshot asked for.
        points: the snapshots with which the versions begin.
        versions: the versions.
    """

    table: TableEntry
    points: tuple[int, ...]
    versions: tuple[Schema, ...]

    def version_of(self, snapshot_id: int) -> int:
        """The index of the version that a snapshot saw."""
        return max(bisect.bisect_right(self.points, snapshot_id) - 1, 0)

    @cached_property
    def retyped(self) -> frozenset[int]:
        """Columns of the table whose type is not the same in all versions."""
        now = self.table.schema.by_id
        return frozenset(
            column_id for version in self.versions for column_id in type_changes(version, now)
        )

    @cached_property
    def ambiguous(self) -> frozenset[int]:
        """Columns of the table whose name was another column's at some time."""
        owners: dict[tuple[int, str], set[int]] = defaultdict(set)
        for schema in (*self.versions, self.table.schema):
            for parent, node in _with_parents(schema.columns, 0):
                owners[parent, node.name.lower()].add(node.column_id)
        shared = {key for key, ids in owners.items() if len(ids) > 1}
        return frozenset(
            node.column_id
            for parent, node in _with_parents(self.table.schema.columns, 0)
            if (parent, node.name.lower()) in shared
        )

    @cached_property
    def late(self) -> frozenset[int]:
        """Columns and fields added later of which it must be known whether a file has them."""
        return frozenset(
            node.column_id
            for parent, node in _with_parents(self.table.schema.columns, 0)
            if (parent or needs_absence(node)) and self._is_late(parent, node.column_id)
        )

    def _is_late(self, parent: int, column_id: int) -> bool:
        return any(
            column_id not in version.by_id and (parent == 0 or parent in version.by_id)
            for version in self.versions
        )

    @cached_property
    def is_plain(self) -> bool:
        """Whether any file of any age can be read without knowing its exact columns."""
        return not self.retyped and not self.late

    def is_exact_at(self, snapshot_id: int) -> bool:
        """Whether files that begin with the snapshot surely have the columns that it shows.

        A commit may have written a file first and changed a column then.
        """
        version = self.version_of(snapshot_id)
        if version == 0 or self.points[version] != snapshot_id:
            return True
        before, after = self.versions[version - 1], self.versions[version]
        added = self.late & (after.by_id.keys() - before.by_id.keys())
        return not added and not type_changes(before, after.by_id)


def load_history(
    table: TableEntry,
    schema_at: Callable[[int], Schema],
    begins: Iterable[int],
    changed_at: Iterable[int] | None,
) -> SchemaHistory:
    """Ask for the versions of a table's schema.

    Args:
        table: the table as of the snapshot asked for.
        schema_at: the table's schema at an earlier snapshot.
        begins: the snapshots with which the table's files began.
        changed_at: the snapshots that changed columns of the table. Without it every snapshot
            that added a file, and the one before, is asked for its schema. The snapshot before
            the table's first stands for the columns that it was made with, in case the same
            commit has changed them.
    """
    first = table.begin_snapshot
    if changed_at is None:
        ages = set(begins)
        wanted = {first} | {age for age in ages | {age - 1 for age in ages} if age >= first}
    else:
        wanted = {first} | set(changed_at)
    points: list[int] = []
    versions: list[Schema] = []
    for point in sorted(wanted):
        schema = schema_at(point)
        if not versions or schema != versions[-1]:
            points.append(point)
            versions.append(schema)
    return SchemaHistory(table, tuple(points), tuple(versions))


def type_changes(old: Schema, new: dict[int, Column]) -> set[int]:
    """Columns that both have, with different types."""
    return {
        column_id
        for column_id, node in old.by_id.items()
        if column_id in new and new[column_id].type_name.lower() != node.type_name.lower()
    }


def _with_parents(columns: tuple[Column, ...], parent: int) -> Iterable[tuple[int, Column]]:
    for column in columns:
        yield parent, column
        yield from _with_parents(column.children, column.column_id)
