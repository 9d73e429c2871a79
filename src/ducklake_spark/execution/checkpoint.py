"""CHECKPOINT: the maintenance functions one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ducklake_spark.lake import Lake
from ducklake_spark.operations.checkpoint import checkpoint as run_steps
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.operations.progress import Progress
from ducklake_spark.sql import statements as st

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection


def checkpoint(con: Connection, s: st.Checkpoint) -> RowSet:
    """CHECKPOINT [lake]."""
    maintain(con, con.current_lake() if s.lake is None else con.lake(s.lake))
    return RowSet(())


def maintain(con: Connection, lake: Lake, progress: Progress | None = None) -> None:
    """Run all maintenance of a lake as its options say.

    It is never part of an open transaction, whose own changes it does not see.
    """
    from ducklake_spark.execution.functions import call_lake_function

    lake.check_writable("run CHECKPOINT")
    worker = con.cursor() if con.in_transaction else con

    def run(step: str) -> RowSet:
        return call_lake_function(worker, (f"ducklake_{step}",), (lake.name,), {})

    try:
        run_steps(run, progress=progress)
    finally:
        if worker is not con:
            worker.close()
