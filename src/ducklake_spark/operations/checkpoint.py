"""All maintenance of a lake in one go, in the order in which each step helps the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ducklake_spark.operations.progress import Progress

STEPS: Final = (
    "flush_inlined_data",  # makes small files
    "expire_snapshots",  # lets go of files
    "merge_adjacent_files",
    "rewrite_data_files",
    "cleanup_old_files",  # what the steps before have put on the list
    "delete_orphaned_files",
)


def checkpoint(run: Callable[[str], Any], *, progress: Progress | None = None) -> None:
    """Run every step by its name, each a transaction of its own.

    One that fails ends it; what the steps before it did is done.
    """
    for number, step in enumerate(STEPS, 1):
        run(step)
        if progress is not None:
            progress(number, len(STEPS))
