"""Scanning a table of a lake that DuckDB wrote, without the operations above the scan."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from ducklake_spark.catalog.files import load_file_stats, load_files, load_name_mappings
from ducklake_spark.catalog.snapshots import load_latest_snapshot, load_snapshot_at_version
from ducklake_spark.catalog.state import load_state
from ducklake_spark.model.predicate import Predicate, columns_of
from ducklake_spark.parquet.read import load_stored_types
from ducklake_spark.plan.prune import prune
from ducklake_spark.plan.scan import ScanPlan, plan_scan
from ducklake_spark.spark.scan import scan
from support.lakes import LakeLocation


class Scanned:
    """A scan with a memory of the predicates that Spark asked about and the files they left."""

    def __init__(self, frame: DataFrame, plan: ScanPlan, asked: list[tuple[Predicate, int]]):
        self.frame = frame
        self.plan = plan
        self.asked = asked


def scan_table(
    spark: SparkSession,
    location: LakeLocation,
    name: str,
    *,
    version: int | None = None,
    virtual: tuple[str, ...] = (),
) -> Scanned:
    """Plan and scan a table of schema main."""
    with location.database(create=False) as db:
        if version is None:
            snapshot = load_latest_snapshot(db)
        else:
            snapshot = load_snapshot_at_version(db, version)
        state = load_state(db, snapshot)
        table = state.find_table(0, name)
        assert table is not None
        files, deletes = load_files(
            db,
            table.table_id,
            snapshot.snapshot_id,
            directory=f"{location.data_path}main/{table.path}",
        )
        mapped = [file.mapping_id for file in files if file.mapping_id is not None]
        leaves = [leaf.column_id for leaf in table.schema.leaves()]
        stats = load_file_stats(db, table.table_id, leaves)
        plan = plan_scan(
            table,
            snapshot.snapshot_id,
            files,
            schema_at=state.history(table.table_id).schema_at,
            mappings=load_name_mappings(db, mapped),
            stored_types=load_stored_types,
        )
    asked: list[tuple[Predicate, int]] = []

    def choose(predicate: Predicate) -> Any:
        kinds = {i: table.schema.by_id[i].type for i in columns_of(predicate)}
        kept = prune(files, predicate, kinds, stats).kept
        asked.append((predicate, len(kept)))
        return kept

    frame = scan(spark, plan, choose, inlined_deletes=deletes, virtual_columns=virtual)
    return Scanned(frame, plan, asked)
