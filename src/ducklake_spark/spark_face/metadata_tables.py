"""Tables about tables: ``lake.schema.table.snapshots`` and its kin, and those of a whole lake."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pyspark.sql import DataFrame

from ducklake_spark.bridge.sessions import lake_table
from ducklake_spark.catalog.files import load_files, load_partition_values
from ducklake_spark.catalog.snapshots import SnapshotRecord, load_snapshots
from ducklake_spark.commit.change_log import parse_changes
from ducklake_spark.errors import InvalidInput, NotFound
from ducklake_spark.execution.functions import call_lake_function
from ducklake_spark.model.entities import DataFile, TableEntry
from ducklake_spark.model.names import quote_identifier
from ducklake_spark.model.partition import folder_names, parse_transform
from ducklake_spark.operations import describe
from ducklake_spark.operations.contents import TableVersion
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.spark_face.registry import Named

NAMESPACE: Final = "system"
Moment = Mapping[str, Any]


def is_about_lake(namespace: Sequence[str]) -> bool:
    """Whether a namespace is where tables about a whole lake are."""
    return [part.lower() for part in namespace] == [NAMESPACE]


def load(lake: Named, namespace: Sequence[str], name: str, moment: Moment) -> Any | None:
    """The JVM's table for a table about tables; None if there is no such."""
    if len(namespace) == 1:
        return _load_of_lake(lake, name, moment)
    build = _OF_TABLES.get(name.lower())
    if build is None:
        return None
    place = (lake.name, namespace[0], namespace[1])
    try:
        version = lake.con.table_version(place, **moment)
    except NotFound:
        if moment:
            raise
        return None
    return _table(lake, (*place, name), build(lake, place, version))


def _load_of_lake(lake: Named, name: str, moment: Moment) -> Any | None:
    with lake.con.reading(lake.con.lake(lake.name)) as tx:
        if tx.local.find_schema(NAMESPACE) is not None:
            return None  # the lake has a schema of that name itself
    if name.lower() not in _OF_LAKES:
        return None
    if moment:
        raise InvalidInput(
            f"Cannot read {NAMESPACE}.{name} of the past: it is about all snapshots, or about now."
        )
    rows = call_lake_function(lake.con, (f"ducklake_{name.lower()}",), (lake.name,), {})
    return _table(lake, (lake.name, NAMESPACE, name), lake.con.result(rows).frame)


def _table(lake: Named, place: Sequence[str], frame: DataFrame) -> Any:
    def answer(text: str, _subject: Any) -> Any:
        if json.loads(text)[0] == "options":
            return "{}"
        raise InvalidInput(f'"{".".join(place)}" tells about a lake: it can only be read.')

    return lake_table(lake.spark, ".".join(place), answer, frame, {"provider": "ducklake"})


def _snapshots(lake: Named, _place: Sequence[str], version: TableVersion) -> DataFrame:
    """The snapshots that have changed the table, up to that of the version."""
    records = [
        record
        for record in load_snapshots(version.lake.db)
        if record.snapshot.snapshot_id <= version.snapshot.snapshot_id
        and _is_about(record, version.table)
    ]
    return lake.con.result(describe.snapshot_rows(records)).frame


def _is_about(record: SnapshotRecord, table: TableEntry) -> bool:
    """Whether a snapshot made the table or did something to it; objects share one row of ids."""
    if record.snapshot.snapshot_id == table.begin_snapshot:
        return True
    return any(each.target == table.table_id for each in parse_changes(record.changes_made))


def _files(lake: Named, _place: Sequence[str], version: TableVersion) -> DataFrame:
    return lake.con.result(describe.list_files(version)).frame


def _changes(lake: Named, place: Sequence[str], version: TableVersion) -> DataFrame:
    """All that was ever done to the rows, as far as snapshots go back."""
    oldest = min(r.snapshot.snapshot_id for r in load_snapshots(version.lake.db))
    start = max(oldest, version.table.begin_snapshot)
    name = ".".join(map(quote_identifier, place))
    return lake.con.changes(name, start, version.snapshot.snapshot_id)


_PARTITION_COLUMNS: Final = (
    ("partition", "MAP(VARCHAR, VARCHAR)"),
    ("file_count", "BIGINT"),
    ("record_count", "BIGINT"),
    ("file_size_bytes", "BIGINT"),
)


def _partitions(lake: Named, _place: Sequence[str], version: TableVersion) -> DataFrame:
    """What is in the files of each partition; files of no or an older division are one row."""
    table, db = version.table, version.lake.db
    totals: dict[tuple[tuple[str, str | None], ...] | None, list[int]] = {}
    if table.table_id >= 0:
        files, _ = load_files(
            db, table.table_id, version.snapshot.snapshot_id, directory=version.directory
        )
        values = load_partition_values(db, table.table_id)
        for file in files:
            key = _partition_of(table, file, values.get(file.data_file_id, ()))
            counted = totals.setdefault(key, [0, 0, 0])
            for place, number in enumerate((1, file.record_count, file.file_size_bytes)):
                counted[place] += number
    rows = tuple((None if key is None else dict(key), *sums) for key, sums in totals.items())
    return lake.con.result(RowSet(_PARTITION_COLUMNS, rows)).frame


def _partition_of(
    table: TableEntry, file: DataFile, values: Sequence[str | None]
) -> tuple[tuple[str, str | None], ...] | None:
    spec = table.partition
    if spec is None or file.partition_id != spec.partition_id:
        return None
    columns = table.schema.by_id
    keys = [(columns[f.column_id].name, parse_transform(f.transform)) for f in spec.fields]
    return tuple(zip(folder_names(keys), values, strict=True))


_OF_TABLES: Final[Mapping[str, Callable[[Named, Sequence[str], TableVersion], DataFrame]]] = {
    "snapshots": _snapshots,
    "history": _snapshots,
    "files": _files,
    "changes": _changes,
    "partitions": _partitions,
}
_OF_LAKES: Final = ("snapshots", "table_info", "options", "settings")
