"""Reading a table in Python workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql.datasource import DataSourceReader, InputPartition

from ducklake_spark.data_source.opened import Opened, open_asked, shape
from ducklake_spark.data_source.pieces import pack, plan_rows, read_piece, rows_piece
from ducklake_spark.errors import NotSupported
from ducklake_spark.model.schema import Schema
from ducklake_spark.operations.contents import TableVersion, load_contents
from ducklake_spark.operations.read import plan_contents


class LakeReader(DataSourceReader):
    """Reads a table at the snapshot that is the newest when the query is planned."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = dict(options)
        with open_asked(options) as opened:
            self._schema = opened.version().table.schema

    def partitions(self) -> Sequence[InputPartition]:
        """What the tasks read."""
        with open_asked(self._options) as opened:
            return plan_pieces(opened.version(), self._schema)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Runs in tasks."""
        return read_piece(partition)


def plan_pieces(version: TableVersion, expected: Schema) -> list[InputPartition]:
    """The whole table in pieces."""
    table, last = version.table, version.snapshot.snapshot_id
    if shape(table.schema) != shape(expected):
        raise NotSupported(
            f'The columns of table "{table.name}" were changed while the query was planned.',
            hint="run it again.",
        )
    contents = load_contents(version)
    plan = plan_contents(version, contents)
    files = plan_rows(plan, contents.inlined_deletes, last=last)
    label = f'table "{table.name}"'
    pieces = [*pack(label, table.schema, files), *rows_piece(table.schema, contents.inlined)]
    return pieces or pack_nothing(label, table.schema)


def pack_nothing(label: str, schema: Schema) -> list[InputPartition]:
    """A piece without files: Spark wants at least one."""
    from ducklake_spark.data_source.pieces import FilesPiece

    return [FilesPiece(label, schema, ())]


def refuse_feed(opened: Opened) -> None:
    """Refuse what only the native source reads."""
    if opened.asked.says("readchangefeed"):
        raise NotSupported(
            "Cannot read the change feed in this session: its JVM knows nothing of lakes.",
            hint="ducklake_spark.install(spark), in a session that is not Spark Connect.",
        )
