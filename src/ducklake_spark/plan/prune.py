"""Which files of a table a predicate can match: an ordered tuple of rules over what is known.

A file is excluded only when no row of it can make the predicate true. Everything that is not known
or not understood keeps the file. Pure; runs on the driver, inside Spark's planner.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ducklake_spark.errors import InvalidInput
from ducklake_spark.model.entities import DataFile, PartitionSpec
from ducklake_spark.model.partition import Transform, parse_transform
from ducklake_spark.model.predicate import (
    And,
    Comparison,
    Constant,
    In,
    IsNull,
    Or,
    Predicate,
    StartsWith,
    Unknown,
)
from ducklake_spark.model.types import DataType
from ducklake_spark.plan.bounds import (
    Condition,
    FileStats,
    may_match,
    prepare,
    read_bounds,
)
from ducklake_spark.plan.partitions import PartitionKey, may_have_key, partition_bounds

__all__ = ["RULES", "FileFacts", "FileStats", "PruneResult", "Verdict", "prune"]


class Verdict(enum.Enum):
    """What a rule says about a file."""

    SKIP = "no row can match"
    MAYBE = "a row may match"


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What is known about one file."""

    record_count: int
    stats: Mapping[int, FileStats]  # by column id
    keys: Mapping[int, Sequence[PartitionKey]]  # by column id
    same_types: bool = False  # the table's columns have always had the types that they have now


@dataclass(frozen=True, slots=True)
class PruneResult:
    """The files that are left, in their order, and how many each reason excluded."""

    kept: tuple[DataFile, ...]
    excluded: Mapping[str, int] = field(default_factory=dict)


Rule = Callable[[Condition, FileFacts], Verdict]


def by_partition(condition: Condition, facts: FileFacts) -> Verdict:
    """Exclude by the partition that the file belongs to."""
    keys = facts.keys.get(condition.leaf.column_id)
    if not keys:
        return Verdict.MAYBE
    ruled_out = any(
        not may_match(condition, bounds) for bounds in partition_bounds(keys, condition.kind)
    ) or any(not may_have_key(condition, key, same_type=facts.same_types) for key in keys)
    return Verdict.SKIP if ruled_out else Verdict.MAYBE


def by_statistics(condition: Condition, facts: FileFacts) -> Verdict:
    """Exclude by the least and greatest value and by the number of NULLs."""
    stats = facts.stats.get(condition.leaf.column_id)
    if stats is None:
        return Verdict.MAYBE
    bounds = read_bounds(stats, facts.record_count, condition.kind)
    return Verdict.MAYBE if may_match(condition, bounds) else Verdict.SKIP


RULES: Final[tuple[tuple[str, Rule], ...]] = (
    ("partition", by_partition),
    ("statistics", by_statistics),
)


def prune(
    files: Sequence[DataFile],
    predicate: Predicate,
    columns: Mapping[int, DataType],
    stats: Mapping[int, Mapping[int, FileStats]],
    *,
    specs: Mapping[int, PartitionSpec] | None = None,
    partition_values: Mapping[int, Sequence[str | None]] | None = None,
    same_types: bool = False,
) -> PruneResult:
    """Keep the files that may hold a row for which the predicate is true.

    Args:
        files: the files of the table at a snapshot.
        predicate: over top-level columns.
        columns: types of the columns it names; leaves over others exclude nothing.
        stats: statistics by file id and column id, as far as known.
        specs: partition specs of the table, old ones too, by id: a file has the one it was
            written under.
        partition_values: per file id, one text per key of the spec that the file has.
        same_types: whether the table's columns have always had the types that they have now.
    """
    why_not = _compile(predicate, columns)
    fields = {partition_id: _fields(spec) for partition_id, spec in (specs or {}).items()}
    known_values = partition_values or {}
    kept: list[DataFile] = []
    excluded: Counter[str] = Counter()
    for file in files:
        file_id = file.data_file_id
        keys = _keys(file, fields, known_values.get(file_id, ())) if fields else _NOTHING
        facts = FileFacts(file.record_count, stats.get(file_id, _NOTHING), keys, same_types)
        reason = why_not(facts)
        if reason is None:
            kept.append(file)
        else:
            excluded[reason] += 1
    return PruneResult(tuple(kept), dict(excluded))


_NOTHING: Final[Mapping[int, Any]] = {}
_Check = Callable[[FileFacts], "str | None"]
"""The reason why no row of a file can match, or None."""


def _compile(predicate: Predicate, columns: Mapping[int, DataType]) -> _Check:
    match predicate:
        case Comparison() | In() | StartsWith() | IsNull() as leaf:
            if leaf.column_id not in columns:
                return _keep
            return _leaf_check(prepare(leaf, columns[leaf.column_id]))
        case And(parts):
            checks = [_compile(part, columns) for part in parts]
            return lambda facts: next(_reasons(checks, facts), None)
        case Or(parts):
            checks = [_compile(part, columns) for part in parts]
            return lambda facts: _all_excluded(checks, facts)
        case Constant(value):
            return _keep if value else lambda facts: "constant"
        case Unknown():
            return _keep


def _leaf_check(condition: Condition) -> _Check:
    def check(facts: FileFacts) -> str | None:
        for reason, rule in RULES:
            if rule(condition, facts) is Verdict.SKIP:
                return reason
        return None

    return check


def _keep(_: FileFacts) -> None:
    return None


def _reasons(checks: Sequence[_Check], facts: FileFacts) -> Iterator[str]:
    return (reason for check in checks if (reason := check(facts)) is not None)


def _all_excluded(checks: Sequence[_Check], facts: FileFacts) -> str | None:
    """An OR excludes a file only if each of its parts does; the last reason is told."""
    reason: str | None = "constant"
    for check in checks:
        reason = check(facts)
        if reason is None:
            return None
    return reason


def _fields(spec: PartitionSpec) -> list[tuple[int, Transform]]:
    try:
        return [(key.column_id, parse_transform(key.transform)) for key in spec.fields]
    except InvalidInput:
        return []  # a transform of a newer format


def _keys(
    file: DataFile,
    known: Mapping[int, Sequence[tuple[int, Transform]]],
    values: Sequence[str | None],
) -> dict[int, list[PartitionKey]]:
    # The path of a registered file was believed without a look at its rows.
    if file.mapping_id is not None or file.partition_id is None:
        return {}
    fields = known.get(file.partition_id, ())
    if len(values) != len(fields):
        return {}
    keys: dict[int, list[PartitionKey]] = {}
    for (column_id, transform), value in zip(fields, values, strict=True):
        keys.setdefault(column_id, []).append(PartitionKey(transform, value))
    return keys
