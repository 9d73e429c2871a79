"""Write files again of which a large part is deleted, without the deleted rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from ducklake_spark.errors import InvalidInput
from ducklake_spark.model.compaction import CompactedFile, CompactedGroup, RewriteFiles
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
from ducklake_spark.plan.compaction import plan_rewrite

DEFAULT_THRESHOLD: Final = 0.95


def rewrite_data_files(
    run: Runner,
    tables: Iterable[TableFiles],
    delete_threshold: float | None = None,
    *,
    progress: Progress | None = None,
) -> Compacted:
    """Rewrite files of the given tables and stage that.

    Args:
        run: rewrites groups of files; `spark.rewrite.rewrite_groups` with a session.
        tables: the tables.
        delete_threshold: the part of a file that must be deleted; else the option of each table.
        progress: told how many of how many groups are done.
    """
    plans = [_plan(files, delete_threshold) for files in tables]
    return compact(run, plans, _stage, progress)


def _plan(files: TableFiles, given: float | None) -> Plan:
    stored = files.option("rewrite_delete_threshold")
    default = DEFAULT_THRESHOLD if stored is None else float(stored)
    threshold = default if given is None else given
    if not 0 <= threshold <= 1:
        raise InvalidInput("The delete_threshold option must be between 0 and 1.")
    groups = plan_rewrite(files.candidates, threshold)
    return plan_rewrites(files, groups, keep_row_ids=True, keep_snapshots=False)


def _stage(plan: Plan, done: Sequence[Done]) -> None:
    groups = []
    for group, outcome in done:
        sources = [candidate.file for candidate in group]
        rewritten = tuple(
            CompactedFile(
                replace(written, partition_values=group[0].partition_values),
                partition_id=sources[0].partition_id,
            )
            for written in outcome.files
        )
        groups.append(CompactedGroup(tuple(map(plan.files.source, sources)), rewritten))
    plan.files.tx.stage(RewriteFiles(plan.files.table, tuple(groups)))
