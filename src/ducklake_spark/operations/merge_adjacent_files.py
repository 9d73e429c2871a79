"""Merge small files into large ones, which still show every snapshot what it saw."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ducklake_spark.errors import InvalidInput
from ducklake_spark.model.compaction import CompactedFile, CompactedGroup, MergeFiles
from ducklake_spark.operations.compact import (
    Compacted,
    Done,
    Plan,
    Runner,
    TableFiles,
    compact,
    plan_rewrites,
)
from ducklake_spark.operations.progress import Progress
from ducklake_spark.plan.compaction import SizeLimits, last_snapshot, plan_merge
from ducklake_spark.plan.layout import DEFAULT_TARGET_FILE_SIZE


@dataclass(frozen=True, slots=True)
class MergeLimits:
    """What a call asks for.

    Args:
        min_file_size: smaller files are left alone; bytes.
        max_file_size: files as large as this are left alone; bytes.
        max_compacted_files: how many files are made of one table at most.
    """

    min_file_size: int | None = None
    max_file_size: int | None = None
    max_compacted_files: int | None = None

    def __post_init__(self) -> None:
        if self.max_compacted_files == 0:
            raise InvalidInput("The max_compacted_files option must be greater than zero.")
        if self.max_file_size == 0:
            raise InvalidInput("The max_file_size option must be greater than zero.")
        if None not in (self.min_file_size, self.max_file_size) and (
            (self.min_file_size or 0) >= (self.max_file_size or 0)
        ):
            raise InvalidInput("The min_file_size must be less than max_file_size.")


def merge_adjacent_files(
    run: Runner,
    tables: Iterable[TableFiles],
    limits: MergeLimits,
    *,
    target_file_size: int | None = None,
    progress: Progress | None = None,
) -> Compacted:
    """Merge files of the given tables and stage that.

    Args:
        run: rewrites groups of files; `spark.rewrite.rewrite_groups` with a session.
        tables: the tables.
        limits: which files.
        target_file_size: the session's own; else the option of each table.
        progress: told how many of how many groups are done.
    """
    plans = [_plan(files, limits, target_file_size) for files in tables]
    return compact(run, plans, _stage, progress)


def _plan(files: TableFiles, limits: MergeLimits, session_target: int | None) -> Plan:
    option = files.option("target_file_size")
    stored = DEFAULT_TARGET_FILE_SIZE if option is None else int(option)
    sizes = SizeLimits(
        stored if session_target is None else session_target,
        limits.min_file_size,
        limits.max_file_size,
    )
    groups = plan_merge(files.candidates, sizes, max_groups=limits.max_compacted_files)
    is_sorted = files.table.sort is not None
    return plan_rewrites(files, groups, keep_row_ids=is_sorted, keep_snapshots=True)


def _stage(plan: Plan, done: Sequence[Done]) -> None:
    groups = []
    for group, outcome in done:
        sources = [candidate.file for candidate in group]
        start = outcome.row_id_start
        merged = []
        for written in outcome.files:
            merged.append(
                CompactedFile(
                    replace(written, partition_values=group[0].partition_values),
                    begin_snapshot=sources[0].begin_snapshot,
                    partial_max=last_snapshot(sources),
                    row_id_start=start,
                    partition_id=sources[0].partition_id,
                )
            )
            start = None if start is None else start + written.record_count
        groups.append(CompactedGroup(tuple(map(plan.files.source, sources)), tuple(merged)))
    plan.files.tx.stage(MergeFiles(plan.files.table, tuple(groups)))
