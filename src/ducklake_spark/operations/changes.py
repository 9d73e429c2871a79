"""The change feed: which rows a range of snapshots added to a table and removed from it."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from pyspark.sql import DataFrame, SparkSession

from ducklake_spark.catalog.changes import TableChanges, load_changes
from ducklake_spark.catalog.files import load_name_mappings
from ducklake_spark.catalog.inlined import InlinedRow
from ducklake_spark.commit.change_log import Kind, parse_changes
from ducklake_spark.model.schema import Column
from ducklake_spark.operations.choose_files import FileChoice
from ducklake_spark.operations.contents import TableVersion
from ducklake_spark.parquet.foreign import load_found_columns
from ducklake_spark.parquet.read import load_stored_types
from ducklake_spark.plan.changes import (
    ChangedFile,
    ChangePlan,
    DeletedFiles,
    InsertedFiles,
    check_deletes,
    plan_changes,
)
from ducklake_spark.plan.scan import ScanPlan, only_since, plan_scan
from ducklake_spark.spark.changes import (
    CHANGE_TYPE,
    CHANGED_AT,
    Positions,
    added,
    deleted_positions,
    only_deleted,
    only_ended,
    quoted,
    with_change_type,
    without_rewritten,
    without_undone,
)
from ducklake_spark.spark.internal import (
    ADDED_AT,
    IDENTITY_TYPES,
    KEPT_ROW_ID,
    VIRTUAL_TYPES,
)
from ducklake_spark.spark.local import local_frame
from ducklake_spark.spark.scan import scan
from ducklake_spark.spark.tags import tag_types

Half = Literal["insertions", "deletions"]

_REWRITES: Final = frozenset({Kind.REWRITE_DELETE, Kind.COMPACTED_TABLE})
_LEADING: Final = ("snapshot_id", "rowid", "change_type")
_INTERNAL: Final = {"snapshot_id": CHANGED_AT, "rowid": KEPT_ROW_ID, "change_type": CHANGE_TYPE}


def read_changes(spark: SparkSession, version: TableVersion, start: int) -> DataFrame:
    """Every change from snapshot `start` to the version's, with the version's columns.

    First come ``snapshot_id``, ``rowid`` and ``change_type``: insert, delete, update_preimage or
    update_postimage, the last two with the same snapshot and row id.
    """
    feed = _open_feed(spark, version, start)
    inserted, deleted = feed.insertions(paired=True), feed.deletions(paired=True)
    frames = [
        with_change_type(frame, other, alone=alone, paired=paired)
        for frame, other, alone, paired in (
            (feed.insertions(paired=False), None, "insert", ""),
            (inserted, deleted, "insert", "update_postimage"),
            (feed.deletions(paired=False), None, "delete", ""),
            (deleted, inserted, "delete", "update_preimage"),
        )
        if frame is not None
    ]
    empty = with_change_type(feed.empty(), None, alone="insert", paired="")
    return _shown(_union(frames) or empty, version, _LEADING)


def read_half(
    spark: SparkSession,
    version: TableVersion,
    start: int,
    half: Half,
    *,
    leading: Sequence[str] = (),
    virtual_columns: Sequence[str] = (),
) -> DataFrame:
    """Only the rows added, or only those removed, halves of updates included.

    Args:
        spark: the session.
        version: the table at the last snapshot.
        start: the first snapshot.
        half: which of the two.
        leading: of ``snapshot_id`` and ``rowid``, to stand before the table's columns.
        virtual_columns: the same and facts of files, to stand behind them.
    """
    facts = [name for name in virtual_columns if name not in _INTERNAL]
    feed = _open_feed(spark, version, start, facts)
    read = feed.insertions if half == "insertions" else feed.deletions
    frames = [frame for frame in (read(paired=False), read(paired=True)) if frame is not None]
    return _shown(_union(frames) or feed.empty(), version, leading, virtual_columns)


@dataclass(frozen=True)
class _Feed:
    """The two halves of a feed as frames: table columns, facts of files, row id, snapshot."""

    spark: SparkSession
    version: TableVersion
    found: TableChanges
    plan: ChangePlan
    facts: tuple[str, ...] = ()

    def insertions(self, *, paired: bool) -> DataFrame | None:
        """Rows that were added: those that may be halves of updates, or those that are not."""
        plan = self.plan
        groups = (group for group in plan.insertions if group.paired == paired)
        rows = [
            row
            for row in self.found.inserted
            if plan.deleted_at.touches(row.snapshot_id or 0, row.snapshot_id or 0) == paired
        ]
        return _union([*map(self._inserted, groups), *self._inlined(rows)])

    def deletions(self, *, paired: bool) -> DataFrame | None:
        """Rows that were removed: those that may be halves of updates, or those that are not."""
        plan = self.plan
        groups = (group for group in plan.deletions if group.paired == paired)
        rows = [
            row
            for row in self.found.deleted
            if plan.inserted_at.touches(row.snapshot_id or 0, row.snapshot_id or 0) == paired
        ]
        return _union([*map(self._deleted, groups), *self._inlined(rows)])

    def empty(self) -> DataFrame:
        """No rows at all."""
        return local_frame(self.spark, self._columns(), [])

    def _inserted(self, group: InsertedFiles) -> DataFrame:
        frame = self._scan(group.files, since=self.plan.start)
        if group.is_mixed and self.plan.rewrites:
            frame = without_rewritten(frame, self.plan.rewrites)
        if group.undone:
            frame = without_undone(frame, self._positions(group.files))
        return self._plain(added(frame))

    def _deleted(self, group: DeletedFiles) -> DataFrame:
        start, end = self.plan.start, self.plan.end
        frame, positions = self._scan(group.files), self._positions(group.files)
        if not group.ended:
            return self._plain(only_deleted(frame, positions, start, end))
        ends = {c.file.data_file_id: c.end_snapshot or 0 for c in group.files}
        return self._plain(only_ended(frame, positions, ends, start, end))

    def _positions(self, files: Sequence[ChangedFile]) -> Positions | None:
        return deleted_positions(self.spark, self.version.table.name, files)

    def _scan(self, changed: Sequence[ChangedFile], since: int | None = None) -> DataFrame:
        version, files = self.version, [c.file for c in changed]
        plan = plan_feed_files(version, changed)
        if since is not None:
            plan = only_since(plan, since)
        choose = FileChoice(version.lake, version.table, files, is_part=True)
        virtual = (*self.facts, *IDENTITY_TYPES, ADDED_AT)
        return scan(self.spark, plan, choose, virtual_columns=virtual)

    def _plain(self, frame: DataFrame) -> DataFrame:
        return frame.select(*(quoted(column.name) for column in self._columns()))

    def _inlined(self, rows: Sequence[InlinedRow]) -> list[DataFrame]:
        if not rows:
            return []
        nothing = (None,) * len(self.facts)
        values = [(*row.values, *nothing, row.row_id, row.snapshot_id) for row in rows]
        return [local_frame(self.spark, self._columns(), values)]

    def _columns(self) -> list[Column]:
        own = list(self.version.table.schema.columns)
        facts = [Column(-1, name, VIRTUAL_TYPES[name]) for name in self.facts]
        return [*own, *facts, *(Column(-1, name, "int64") for name in (KEPT_ROW_ID, CHANGED_AT))]


def plan_feed_files(version: TableVersion, changed: Sequence[ChangedFile]) -> ScanPlan:
    """How files with changes are read, with the version's columns."""
    history = version.state.history(version.table.table_id)
    files = [c.file for c in changed]
    mapping_ids = [file.mapping_id for file in files if file.mapping_id is not None]
    return plan_scan(
        version.table,
        version.snapshot.snapshot_id,
        files,
        schema_at=history.schema_at,
        mappings=load_name_mappings(version.lake.db, mapping_ids),
        changed_at=history.changes,
        stored_types=load_stored_types,
        found_columns=functools.partial(load_found_columns, kept=version.lake.contents.columns),
    )


def _open_feed(
    spark: SparkSession, version: TableVersion, start: int, facts: Iterable[str] = ()
) -> _Feed:
    return _Feed(spark, version, *load_feed(version, start), tuple(facts))


def load_feed(version: TableVersion, start: int) -> tuple[TableChanges, ChangePlan]:
    """Load and plan. The end is the version's snapshot; a start behind it gives no change."""
    table, end = version.table, version.snapshot.snapshot_id
    found = TableChanges((), (), (), {}, 0)
    if start <= end:
        history = version.state.history(table.table_id)
        found = load_changes(
            version.lake.db, table, history, start, end, directory=version.directory
        )
    check_deletes(table.name, found.files)
    plan = plan_changes(
        found.files,
        start=start,
        end=end,
        logged={s: _is_rewrite(text, table.table_id) for s, text in found.log.items()},
        first_file_id=found.first_file_id,
        inserted_rows=[row.snapshot_id for row in found.inserted if row.snapshot_id is not None],
        deleted_rows=[row.snapshot_id for row in found.deleted if row.snapshot_id is not None],
    )
    return found, plan


def _is_rewrite(text: str | None, table_id: int) -> bool:
    # Only such a log is read: one with changes that we do not know may be about something else.
    if text is None or not any(kind.value in text for kind in _REWRITES):
        return False
    return any(c.kind in _REWRITES and c.target == table_id for c in parse_changes(text))


def _union(frames: Sequence[DataFrame]) -> DataFrame | None:
    return functools.reduce(DataFrame.union, frames) if frames else None


def _shown(
    frame: DataFrame,
    version: TableVersion,
    leading: Sequence[str],
    trailing: Sequence[str] = (),
) -> DataFrame:
    """The columns under the names that users see; of two with one name the second gets a number."""
    schema = version.table.schema
    taken = {name.lower() for name in leading}
    columns = [quoted(_INTERNAL[name]).alias(name) for name in leading]
    renamed = []
    for column in schema.columns:
        name = f"{column.name}_1" if column.name.lower() in taken else column.name
        columns.append(quoted(column.name).alias(name))
        renamed.append(replace(column, name=name))
    columns += [quoted(_INTERNAL.get(name, name)).alias(name) for name in trailing]
    return tag_types(frame.select(*columns), replace(schema, columns=tuple(renamed)))
