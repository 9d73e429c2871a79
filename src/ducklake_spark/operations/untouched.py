"""Whether commits have left a table as it was, by what they say they have changed. Driver."""

from __future__ import annotations

from collections.abc import Mapping

from ducklake_spark.catalog.snapshots import SnapshotRecord
from ducklake_spark.commit.change_log import parse_changes
from ducklake_spark.errors import NotSupported
from ducklake_spark.model.entities import Snapshot


def is_untouched(
    log: Mapping[int, SnapshotRecord], table_id: int, before: Snapshot, now: Snapshot
) -> bool:
    """Whether no snapshot after `before` up to `now` has changed the table.

    Flushes and compaction count: they change what older snapshots consist of, and say so. A
    snapshot that has expired says nothing any more, so all of them have to be in the log.
    """
    ends = (log.get(before.snapshot_id), log.get(now.snapshot_id))
    if [each.snapshot for each in ends if each is not None] != [before, now]:
        return False
    passed = range(before.snapshot_id + 1, now.snapshot_id + 1)
    return all(i in log and _leaves_alone(log[i].changes_made, table_id) for i in passed)


def _leaves_alone(changes_made: str | None, table_id: int) -> bool:
    try:
        changes = parse_changes(changes_made)
    except NotSupported:
        return False
    return bool(changes) and all(change.target != table_id for change in changes)
