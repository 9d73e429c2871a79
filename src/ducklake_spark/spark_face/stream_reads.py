"""A table as a stream: how far it goes, and what a batch consists of. Driver.

A batch is a range of snapshots, so it has the same rows whenever it is read: a query that is
restarted from its checkpoint goes on to the row. Rows that maintenance moves keep the snapshots
that brought them, and are not new.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ducklake_spark.catalog.arrivals import Logged, load_arrivals, load_log
from ducklake_spark.commit.change_log import Kind, parse_changes
from ducklake_spark.errors import (
    InvalidInput,
    NotSupported,
    SnapshotNotFound,
    TableNotFound,
)
from ducklake_spark.model.schema import Schema
from ducklake_spark.operations.changes import read_changes, read_half
from ducklake_spark.operations.contents import TableVersion
from ducklake_spark.operations.read import read_table
from ducklake_spark.spark_face.asked import Asked
from ducklake_spark.spark_face.offsets import Position
from ducklake_spark.spark_face.opened import moment_micros
from ducklake_spark.spark_face.registry import Named

_INSERTS: Final = frozenset({Kind.INSERTED_INTO_TABLE, Kind.INLINED_INSERT})
_DELETES: Final = frozenset({Kind.DELETED_FROM_TABLE, Kind.INLINED_DELETE})
_STEP: Final = 100
"""So many snapshots without a change of the table are passed in a batch without rows."""
_LEADING: Final = ("snapshot_id", "rowid", "change_type")
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


@dataclass(frozen=True)
class Wanted:
    """What the options of a stream ask for.

    Attributes:
        feed: all changes, with the columns of the change feed; otherwise the rows that came.
        since: the first snapshot; None for the whole table first.
        most_files: that a batch is to have, or None.
        most_rows: that a batch is to have, or None.
        complains: whether snapshots that are gone are an error.
    """

    feed: bool = False
    since: int | None = None
    most_files: int | None = None
    most_rows: int | None = None
    complains: bool = True


def wanted_of(lake: Named, asked: Asked) -> Wanted:
    """Read the options of a stream."""
    return Wanted(
        asked.says("readchangefeed"),
        _first_snapshot(lake, asked),
        asked.number("maxfilespertrigger", least=1),
        asked.number("maxrowspertrigger", least=1),
        asked.said.get("failondataloss") is None or asked.says("failondataloss"),
    )


def _first_snapshot(lake: Named, asked: Asked) -> int | None:
    text, moment = asked.said.get("startingsnapshot"), asked.said.get("startingtimestamp")
    found = lake.con.lake(lake.name)
    if text is not None and moment is not None:
        raise InvalidInput("Two beginnings: startingSnapshot and startingTimestamp.")
    if moment is not None:
        since = _EPOCH + dt.timedelta(microseconds=moment_micros(lake.spark, moment))
        try:
            return found.snapshot_since(since).snapshot_id
        except SnapshotNotFound:
            return found.latest().snapshot_id + 1
    if text is not None and text.strip().lower() == "latest":
        return found.latest().snapshot_id + 1
    return asked.number("startingsnapshot")


class TableStream:
    """A table that is followed from snapshot to snapshot, with the columns that it has now."""

    def __init__(self, lake: Named, asked: Asked) -> None:
        self.lake = lake
        self.wanted = wanted_of(lake, asked)
        self._last: int | None = None  # the end of Trigger.AvailableNow
        version = lake.con.table_version((lake.name, *asked.table))
        self._table, self._seen = version.table, version.snapshot.snapshot_id

    # --- how far it goes

    def stop_at_newest(self) -> None:
        """Let what comes from now on be."""
        self._last = self._newest()

    def _newest(self) -> int:
        return self.lake.con.lake(self.lake.name).latest().snapshot_id

    def latest(self, start: Position | None, *, everything: bool = False) -> Position | None:
        """The end of the next batch: `start` itself if there is nothing new."""
        newest = self._newest() if self._last is None else self._last
        if start is None:
            return self._first_end(newest, everything=everything)
        self._check_table(start)
        end = self._end(start.snapshot, newest, everything=everything)
        return start if end is None else Position(self._table.table_id, end)

    def _first_end(self, newest: int, *, everything: bool) -> Position | None:
        table_id, since = self._table.table_id, self.wanted.since
        if since is None:
            return Position(table_id, newest, whole=True)
        if since > newest:
            return None
        end = self._end(since - 1, newest, everything=everything)
        return None if end is None else Position(table_id, end, since=since)

    def _end(self, start: int, newest: int, *, everything: bool) -> int | None:
        if start >= newest:
            return None
        log = load_log(self._db, start, newest)
        self._check_gap(log, start, newest)
        touched = [each.snapshot_id for each in log if self._touches(each)]
        if not touched:
            return newest if newest - start >= _STEP else None
        if everything or (self.wanted.most_files is None and self.wanted.most_rows is None):
            return newest
        return self._within_limits(touched, start, newest)

    def _within_limits(self, touched: Sequence[int], start: int, newest: int) -> int:
        """The last snapshot of a batch: whole snapshots that stay within the limits, or one."""
        files, rows = load_arrivals(self._db, self._table.table_id, start, newest)
        some_files = some_rows = 0
        for place, snapshot in enumerate(touched):
            some_files += files[snapshot]
            some_rows += rows[snapshot]
            over = (self.wanted.most_files or some_files) < some_files or (
                self.wanted.most_rows or some_rows
            ) < some_rows
            if over:
                return touched[max(place - 1, 0)]
        return newest

    def _touches(self, each: Logged) -> bool:
        """Whether a snapshot has changed rows; one whose log is not understood may have."""
        kinds = (_INSERTS | _DELETES if self.wanted.feed else _INSERTS) | {Kind.DROPPED_TABLE}
        try:
            made = parse_changes(each.changes or "")
        except NotSupported:
            return True
        table_id = self._table.table_id
        return each.changes is None or any(
            change.kind in kinds and change.target == table_id for change in made
        )

    @property
    def _db(self) -> Any:
        return self.lake.con.lake(self.lake.name).db

    # --- what a batch consists of

    def batch(self, start: Position | None, end: Position) -> DataFrame:
        """The rows behind one position up to another."""
        self._check_table(end)
        if start is None and end.whole:
            return self._whole(end.snapshot)
        after = start.snapshot if start is not None else (end.since or 0) - 1
        self._check_gap(load_log(self._db, after, end.snapshot), after, end.snapshot)
        version = self._version_at(end.snapshot)
        if self.wanted.feed:
            return read_changes(self.lake.spark, version, after + 1)
        return read_half(self.lake.spark, version, after + 1, "insertions")

    def columns(self) -> DataFrame:
        """No rows, with the columns that batches have."""
        version = self._version_at(self._seen)
        if self.wanted.feed:
            return read_changes(self.lake.spark, version, self._seen + 1)
        return read_half(self.lake.spark, version, self._seen + 1, "insertions")

    def _whole(self, snapshot: int) -> DataFrame:
        try:
            self.lake.con.lake(self.lake.name).snapshot_at(version=snapshot)
        except SnapshotNotFound as error:
            raise SnapshotNotFound(
                f'Cannot go on with the stream of table "{self._table.name}": it has not finished '
                f"reading the table at snapshot {snapshot}, which was expired.",
                hint="begin anew with another checkpointLocation.",
            ) from error
        version = self._version_at(snapshot)
        if not self.wanted.feed:
            return read_table(self.lake.spark, version)
        names = self._table.schema.names
        if {name.lower() for name in names} & set(_LEADING):
            raise NotSupported(
                f'Cannot begin the change feed of table "{self._table.name}" with its rows: a '
                "column of it is named as one of the feed.",
                hint="give startingSnapshot.",
            )
        rows = read_table(self.lake.spark, version, virtual_columns=("snapshot_id", "rowid"))
        kind = F.lit("insert").alias("change_type")
        return rows.select("snapshot_id", "rowid", kind, *(rows[_quoted(name)] for name in names))

    def _version_at(self, snapshot: int) -> TableVersion:
        """The table at a snapshot, with the columns that the stream has."""
        lake = self.lake.con.lake(self.lake.name)
        newest = lake.latest()
        state = lake.state_at(newest)
        if self._table.table_id not in state.tables:
            raise TableNotFound(
                f'Cannot go on with the stream of table "{self._table.name}": it was dropped.'
            )
        if snapshot > self._seen:
            now = state.history(self._table.table_id).schema_at(snapshot)
            if _shape(now) != _shape(self._table.schema):
                raise InvalidInput(
                    f'The columns of table "{self._table.name}" have been changed since this '
                    "stream was started.",
                    hint="start the query again: it goes on where it stopped, with the new "
                    "columns.",
                )
        return TableVersion(lake, self._table, replace(newest, snapshot_id=snapshot), state)

    # --- what stands in the way

    def _check_table(self, position: Position) -> None:
        if position.table_id != self._table.table_id:
            raise InvalidInput(
                f'The checkpoint is about another table than "{self._table.name}": one that was '
                "dropped or replaced, or of another lake.",
                hint="use a new checkpointLocation.",
            )

    def _check_gap(self, log: Sequence[Logged], after: int, until: int) -> None:
        if len(log) == until - after or not self.wanted.complains:
            return
        there = {each.snapshot_id for each in log}
        gone = next(number for number in range(after + 1, until + 1) if number not in there)
        raise SnapshotNotFound(
            f'Cannot read the changes of table "{self._table.name}" behind snapshot {after}: '
            f"snapshot {gone} was expired, and rows that came with it may be gone.",
            hint="begin anew with another checkpointLocation, or go on without them with the "
            "option failOnDataLoss=false.",
        )

    def close(self) -> None:
        """Let go of the connection."""
        self.lake.con.close()


def _shape(schema: Schema) -> list[tuple[int, str, str]]:
    return [(column.column_id, column.name, str(column.type)) for column in schema.columns]


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
