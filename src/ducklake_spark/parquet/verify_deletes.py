"""Hold a delete file against what the catalog claims. Task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ducklake_spark.model.findings import DeleteClaim, FileClaim

Report = Callable[[str, str], None]
"""Takes the name of a check and what is wrong."""

_SNAPSHOTS: Final = "_ducklake_internal_snapshot_id"


def read_delete_file(
    file: Any, delete: DeleteClaim, claim: FileClaim, report: Report
) -> set[int] | None:
    """The positions that the newest snapshot does not see; None when they cannot be told.

    Positions are held against the order and the range that readers demand.
    """
    names = file.schema_arrow.names
    if "pos" not in names or len(names) not in (2, 3):
        report("delete-columns", f"it has the columns {', '.join(names)}.")
        return None
    seen: set[int] = set()
    previous, count = -1, 0
    for batch in file.iter_batches():
        positions = batch.column(names.index("pos")).to_pylist()
        snapshots = _snapshots(batch, names)
        count += len(positions)
        for index, position in enumerate(positions):
            if position is None:
                report("delete-positions", "a position is NULL.")
                return None
            if position <= previous:
                report(
                    "delete-order",
                    f"position {position} follows {previous}; they must only grow.",
                )
                return None
            previous = position
            snapshot = snapshots[index] if snapshots else None
            if snapshot is None or snapshot <= claim.latest:
                seen.add(position)
    if previous >= claim.record_count:
        report(
            "delete-positions",
            f"it deletes position {previous}, the data file has {claim.record_count} rows.",
        )
    if count != delete.delete_count:
        report("delete-count", f"it has {count} rows, the catalog says {delete.delete_count}.")
    return seen


def _snapshots(batch: Any, names: list[str]) -> list[int | None] | None:
    return batch.column(names.index(_SNAPSHOTS)).to_pylist() if _SNAPSHOTS in names else None
