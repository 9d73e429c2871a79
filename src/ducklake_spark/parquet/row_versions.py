"""Which row versions stand in a file that tells their ids and snapshots. Driver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ducklake_spark.model.written import WrittenFile
from ducklake_spark.parquet.read import open_parquet

_NAMES: Final = ("_ducklake_internal_row_id", "_ducklake_internal_snapshot_id")


@dataclass(frozen=True, slots=True)
class RowVersions:
    """The least row id, the first and the last snapshot; and (id, snapshot) of rows in order."""

    first_row_id: int
    first_snapshot: int
    last_snapshot: int
    rows: tuple[tuple[int, int], ...] = ()


def load_row_versions(file: WrittenFile, label: str, *, with_rows: bool) -> RowVersions:
    """Read it from a file that has just been written, from its footer alone when that will do."""
    with open_parquet(file.path, file.file_size_bytes, label) as opened:
        footer = opened.metadata
        groups = [footer.row_group(i) for i in range(footer.num_row_groups)]
        # The two columns are the last ones.
        ids = [group.column(group.num_columns - 2).statistics for group in groups]
        snapshots = [group.column(group.num_columns - 1).statistics for group in groups]
        rows: tuple[tuple[int, int], ...] = ()
        if with_rows:
            table = opened.read(columns=list(_NAMES))
            parts = (table.column(name).to_pylist() for name in _NAMES)
            rows = tuple(zip(*parts, strict=True))
    return RowVersions(
        min(s.min_raw for s in ids),
        min(s.min_raw for s in snapshots),
        max(s.max_raw for s in snapshots),
        rows,
    )
