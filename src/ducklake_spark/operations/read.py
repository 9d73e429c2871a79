"""Read a table: load what the catalog says, plan, and hand Spark the files it may need."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, cast

from pyspark.sql import DataFrame, SparkSession

from ducklake_spark.bridge.frames import fresh
from ducklake_spark.bridge.half import session_key
from ducklake_spark.catalog.files import (
    load_name_mappings,
)
from ducklake_spark.catalog.inlined import InlinedRow
from ducklake_spark.commit.local import (
    local_mappings,
)
from ducklake_spark.model.entities import (
    DataFile,
    NameMapping,
    TableEntry,
)
from ducklake_spark.model.schema import Column
from ducklake_spark.operations.choose_files import FileChoice, LargeChoice
from ducklake_spark.operations.column_totals import find_estimates
from ducklake_spark.operations.contents import (
    Contents,
    TableVersion,
    changed_at,
    load_contents,
    schema_at,
)
from ducklake_spark.operations.large_tables import (
    with_listings,
)
from ducklake_spark.parquet.foreign import load_found_columns
from ducklake_spark.parquet.read import load_stored_types
from ducklake_spark.plan.scan import ScanPlan, plan_scan
from ducklake_spark.spark.internal import KEPT_ROW_ID, POSITION
from ducklake_spark.spark.local import local_frame
from ducklake_spark.spark.relation import FileChooser
from ducklake_spark.spark.scan import scan
from ducklake_spark.spark.tags import tag_types

_COSTS: Final = "spark.sql.cbo.enabled"  # statistics of columns are asked for only then


def read_table(
    spark: SparkSession, version: TableVersion, *, virtual_columns: Sequence[str] = ()
) -> DataFrame:
    """The table's rows as a DataFrame that stays at this snapshot for ever."""
    return fresh(kept_plan(spark, version, virtual_columns=virtual_columns))


def kept_plan(
    spark: SparkSession,
    version: TableVersion,
    *,
    virtual_columns: Sequence[str] = (),
    session: str | None = None,
    contents: Contents | None = None,
) -> DataFrame:
    """`read_table` as one frame for all who ask the same: its columns have the same ids each time.

    Making a plan costs more than the rest of a small query does. Who knows the key of the session
    already, or has loaded the contents, says so.
    """
    # The name and the number of a file are joined to its rows: all files have to be known.
    lists_all = bool({"filename", "file_index"} & set(virtual_columns))
    if contents is None or lists_all:
        contents = load_contents(version, lazily=not lists_all)
    key = (session or session_key(spark), tuple(virtual_columns))
    return cast(
        "DataFrame",
        contents.plans.find(
            key, lambda: read_contents(spark, version, contents, virtual_columns=virtual_columns)
        ),
    )


def read_contents(
    spark: SparkSession,
    version: TableVersion,
    contents: Contents,
    *,
    virtual_columns: Sequence[str] = (),
) -> DataFrame:
    """`read_table` of what `load_contents` has loaded."""
    plan, choose = _plan(version, contents)
    inlined = contents.inlined
    frames = [_inlined_frame(spark, version.table, inlined, virtual_columns)] if inlined else []
    uses_costs = str(spark.conf.get(_COSTS, "false")).lower() == "true"
    rows = scan(
        spark,
        plan,
        choose,
        inlined=frames,
        inlined_deletes=contents.inlined_deletes,
        virtual_columns=virtual_columns,
        estimates=find_estimates(version, contents) if uses_costs else {},
    )
    return tag_types(rows, version.table.schema)


def plan_contents(version: TableVersion, contents: Contents) -> ScanPlan:
    """How what `load_contents` has loaded is read, without Spark."""
    return _plan(version, contents)[0]


def _plan(version: TableVersion, contents: Contents) -> tuple[ScanPlan, FileChooser]:
    files, large = contents.files, contents.large
    plan = plan_scan(
        version.table,
        version.snapshot.snapshot_id,
        [*files, *large.samples()] if large else files,
        schema_at=lambda snapshot: schema_at(version, snapshot),
        mappings=_mappings(version, files),
        changed_at=changed_at(version),
        stored_types=load_stored_types,
        found_columns=partial(load_found_columns, kept=version.lake.contents.columns),
    )
    lake, table, same = version.lake, version.table, _has_same_types(version)
    if large is None:
        return plan, FileChoice(lake, table, files, same_types=same, known=contents.known)
    choose = LargeChoice(
        lake,
        table,
        large.plain,
        large.groups,
        files,
        same_types=same,
        known=contents.known,
    )
    return with_listings(plan, large, files, choose), choose


def _mappings(
    version: TableVersion, files: Sequence[DataFile]
) -> dict[int, tuple[NameMapping, ...]]:
    """The name mappings that files refer to; those of the open transaction are below zero."""
    used = {file.mapping_id for file in files if file.mapping_id is not None}
    known = load_name_mappings(version.lake.db, [number for number in used if number >= 0])
    if version.local is not None:
        known |= local_mappings(version.local.local_files(version.table.table_id))
    return known


def _has_same_types(version: TableVersion) -> bool:
    """Whether no column of the table has ever had another type than now."""
    table = version.table
    if table.table_id < 0:
        return False
    rows = version.state.history(table.table_id).rows
    types = {(row.column_id, row.type_name.lower()) for row in rows}
    own = {(column.column_id, column.type_name.lower()) for column in table.schema.by_id.values()}
    return len(types | own) == len({column_id for column_id, _ in types | own})


def _inlined_frame(
    spark: SparkSession,
    table: TableEntry,
    rows: Sequence[InlinedRow],
    virtual_columns: Sequence[str],
) -> DataFrame:
    columns = list(table.schema.columns)
    extra = [Column(-1 - i, name, _virtual_type(name)) for i, name in enumerate(virtual_columns)]
    values = [
        (*row.values, *(_virtual_value(row, place, name) for name in virtual_columns))
        for place, row in enumerate(rows)
    ]
    return local_frame(spark, [*columns, *extra], values)


def _virtual_type(name: str) -> str:
    return "varchar" if name == "filename" else "int64"


def _virtual_value(row: InlinedRow, place: int, name: str) -> int | str | None:
    match name:
        case _ if name in ("rowid", KEPT_ROW_ID):
            return row.row_id
        case _ if name == POSITION:
            return place
        case "snapshot_id":
            return row.snapshot_id
        case _:
            return None  # facts of a file; `scan` refuses names that it does not know
