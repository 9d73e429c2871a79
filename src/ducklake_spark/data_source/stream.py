"""Following a table in Python workers: the rows that come, from snapshot to snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from ducklake_spark.catalog.arrivals import load_log
from ducklake_spark.data_source.opened import Opened, open_asked, shape
from ducklake_spark.data_source.pieces import (
    FileRows,
    pack,
    plan_rows,
    read_piece,
    rows_piece,
    since_snapshot,
)
from ducklake_spark.data_source.reader import pack_nothing, plan_pieces
from ducklake_spark.errors import InvalidInput, SnapshotNotFound
from ducklake_spark.operations.changes import load_feed, plan_feed_files
from ducklake_spark.operations.contents import TableVersion

_NOTHING: Final = -1
"""The snapshot of a stream that has read nothing yet and begins with the whole table."""


class LakeStreamReader(DataSourceStreamReader):
    """Reads all rows of a table, and then those that come. Offsets are numbers of snapshots."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = dict(options)
        with open_asked(options) as opened:
            version = opened.version()
            self._table = version.table
            since = opened.asked.said.get("startingsnapshot")
            newest = version.snapshot.snapshot_id
            if since is None:
                self._start = _NOTHING
            elif since.strip().lower() == "latest":
                self._start = newest
            else:
                self._start = (opened.asked.number("startingsnapshot") or 0) - 1

    def _position(self, snapshot: int) -> dict[str, int]:
        return {"table": self._table.table_id, "snapshot": snapshot}

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 (Spark's name)
        """Where a stream begins that has no checkpoint."""
        return self._position(self._start)

    def latestOffset(self, *_: Any) -> dict[str, int]:  # noqa: N802 (Spark's name)
        """The newest snapshot; newer Sparks say where they are, which nothing depends on."""
        with open_asked(self._options) as opened:
            return self._position(max(opened.lake.latest().snapshot_id, self._start))

    def partitions(
        self, start: Mapping[str, int], end: Mapping[str, int]
    ) -> Sequence[InputPartition]:
        """What the tasks read of a batch."""
        for each in (start, end):
            if each["table"] != self._table.table_id:
                raise InvalidInput(
                    f'The checkpoint is about another table than "{self._table.name}".',
                    hint="use a new checkpointLocation.",
                )
        with open_asked(self._options) as opened:
            version = self._version_at(opened, end["snapshot"])
            if start["snapshot"] == _NOTHING:
                return plan_pieces(version, self._table.schema)
            self._check_gap(opened, start["snapshot"], end["snapshot"])
            return _plan_arrivals(version, start["snapshot"] + 1)

    def _version_at(self, opened: Opened, snapshot: int) -> TableVersion:
        newest = opened.lake.latest()
        state = opened.lake.state_at(newest)
        table_id = self._table.table_id
        now = state.history(table_id).schema_at(newest.snapshot_id)
        if table_id not in state.tables or shape(now) != shape(self._table.schema):
            raise InvalidInput(
                f'Table "{self._table.name}" was dropped, or its columns were changed, since this '
                "stream was started.",
                hint="start the query again: it goes on where it stopped.",
            )
        return TableVersion(opened.lake, self._table, replace(newest, snapshot_id=snapshot), state)

    def _check_gap(self, opened: Opened, after: int, until: int) -> None:
        if len(load_log(opened.lake.db, after, until)) < until - after:
            raise SnapshotNotFound(
                f'Cannot read the changes of table "{self._table.name}" from snapshot {after} to '
                f"{until}: one of them was expired, and rows that came with it may be gone.",
                hint="begin anew with another checkpointLocation.",
            )

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Runs in tasks."""
        return read_piece(partition)


def _plan_arrivals(version: TableVersion, first: int) -> list[InputPartition]:
    """The rows that came with a range of snapshots, in pieces."""
    found, plan = load_feed(version, first)
    table, label = version.table, f'table "{version.table.name}"'
    files: list[FileRows] = []
    for group in plan.insertions:
        without = plan.rewrites if group.is_mixed else ()
        rows = plan_rows(plan_feed_files(version, group.files), last=plan.end)
        if group.undone:
            rows = _with_deletes(rows, group.files)
        else:
            rows = [replace(each, deletes=()) for each in rows]
        files += since_snapshot(rows, plan.start, without=without, undone=group.undone)
    pieces = [*pack(label, table.schema, files), *rows_piece(table.schema, found.inserted)]
    return pieces or pack_nothing(label, table.schema)


def _with_deletes(rows: Sequence[FileRows], changed: Sequence[Any]) -> list[FileRows]:
    known = {each.file.path: each for each in changed}
    return [
        replace(
            each,
            deletes=tuple(known[each.path].deletes),
            deleted=tuple(known[each.path].positions),
        )
        for each in rows
    ]
