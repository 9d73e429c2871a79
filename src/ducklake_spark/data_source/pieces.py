"""What a task reads: files of a table with all that hides their rows, or rows of the catalog."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import InputPartition

from ducklake_spark.catalog.inlined import InlinedRow
from ducklake_spark.errors import NotSupported
from ducklake_spark.model.entities import DeleteFile
from ducklake_spark.model.literals import parse_text
from ducklake_spark.model.schema import Column, Schema
from ducklake_spark.parquet.positions import load_deletes
from ducklake_spark.parquet.read import FileRead, read_batches
from ducklake_spark.plan.scan import ScanPlan
from ducklake_spark.plan.stored import ColumnRead
from ducklake_spark.spark.internal import SNAPSHOT_FIELD
from ducklake_spark.spark.local import carrier_arrow_schema, carrier_batch

_POSITION: Final = "__ducklake_position"
_SNAPSHOT: Final = "__ducklake_snapshot"
_PIECE_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True)
class FileRows:
    """Rows of one file.

    Args:
        path: of the file.
        size: its bytes.
        begin: the snapshot that added the rows that say nothing about it.
        columns: how each column of the table is had.
        by_name: columns are found by name.
        hive: the texts of the columns whose values stand in the path, in order.
        deletes: delete files.
        deleted: positions that the catalog says are deleted, with the snapshots that did it.
        first: rows that older snapshots added are left out.
        last: rows that newer snapshots added are left out, and deletes of newer ones.
        without: rows that these snapshots added are left out.
        undone: only such deletes count as were done by the snapshot that added the row.
    """

    path: str
    size: int
    begin: int
    columns: tuple[ColumnRead, ...]
    by_name: bool
    hive: tuple[str | None, ...] = ()
    deletes: tuple[DeleteFile, ...] = ()
    deleted: tuple[tuple[int, int], ...] = ()
    first: int = 0
    last: int = 0
    without: tuple[int, ...] = ()
    undone: bool = False


@dataclass(frozen=True)
class FilesPiece(InputPartition):
    """Files that one task reads."""

    label: str
    schema: Schema
    files: tuple[FileRows, ...]


@dataclass(frozen=True)
class RowsPiece(InputPartition):
    """Rows of the catalog, as Arrow writes them."""

    stream: bytes


def plan_rows(
    plan: ScanPlan, positions: Iterable[tuple[int, int]] = (), *, last: int
) -> list[FileRows]:
    """The files of a scan with what is deleted from them: pairs of a file's id and a position."""
    deleted: dict[int, list[tuple[int, int]]] = {}
    for file_id, position in positions:
        deleted.setdefault(file_id, []).append((position, 0))
    found = []
    for branch in plan.branches:
        for read in branch.columns:
            if read.stored is not None:
                refuse_local_times(plan.table.name, read.column, read.stored)
        hive = dict(branch.hive)
        found += [
            FileRows(
                file.path,
                file.file_size_bytes,
                file.begin_snapshot,
                branch.columns,
                branch.by_name,
                hive.get(file.data_file_id, ()),
                () if file.delete_file is None else (file.delete_file,),
                tuple(deleted.get(file.data_file_id, ())),
                last=last,
            )
            for file in branch.files
        ]
    return found


def refuse_local_times(table: str, column: Column, stored: Column) -> None:
    """Refuse moments that a file keeps without a zone: a worker does not know the session's."""
    if column.type_name.lower() == "timestamptz" and stored.type_name.lower() != "timestamptz":
        raise NotSupported(
            f'Cannot read table "{table}" through the Python source of format("ducklake"): column '
            f'"{column.name}" became TIMESTAMPTZ after files with {stored.type_name.upper()} were '
            "written.",
            hint="ducklake_spark.install(spark) makes the format native, which reads them.",
        )
    inside = {child.column_id: child for child in stored.children}
    for child in column.children:
        if child.column_id in inside:
            refuse_local_times(table, child, inside[child.column_id])


def pack(label: str, schema: Schema, files: Sequence[FileRows]) -> list[InputPartition]:
    """Files as pieces of about the same size."""
    pieces: list[list[FileRows]] = []
    room = 0
    for file in files:
        if file.size > room or not pieces:
            pieces.append([])
            room = _PIECE_BYTES
        pieces[-1].append(file)
        room -= file.size
    return [FilesPiece(label, schema, tuple(piece)) for piece in pieces]


def rows_piece(schema: Schema, rows: Sequence[InlinedRow]) -> list[InputPartition]:
    """A piece for rows of the catalog; none if there are no rows."""
    if not rows:
        return []
    batch = carrier_batch(schema.columns, [row.values for row in rows])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return [RowsPiece(sink.getvalue().to_pybytes())]


def read_piece(piece: InputPartition) -> Iterator[Any]:
    """The record batches of a piece. Task."""
    if isinstance(piece, RowsPiece):
        yield from pa.ipc.open_stream(piece.stream)
    elif isinstance(piece, FilesPiece):
        for file in piece.files:
            yield from _read_file(piece, file)


def _read_file(piece: FilesPiece, file: FileRows) -> Iterator[Any]:
    carriers = carrier_arrow_schema(piece.schema.columns)
    own = [pa.field(_POSITION, pa.int64()), pa.field(_SNAPSHOT, pa.int64())]
    read = FileRead(
        columns=file.columns,
        schema=pa.schema([*carriers, *own]),
        constants=(),
        embedded=(None if file.by_name else SNAPSHOT_FIELD,),
        by_name=file.by_name,
        time_zone="UTC",
        label=piece.label,
    )
    gone = _gone(file, piece.label)
    listed = pa.record_batch({"path": [file.path], "length": [file.size]})
    for batch in read_batches(iter([listed]), read):
        added = batch.column(_SNAPSHOT).fill_null(file.begin)
        kept = batch.filter(_keep(file, batch.column(_POSITION), added, gone))
        if kept.num_rows:
            columns = _filled(file, kept, carriers)
            yield pa.RecordBatch.from_arrays(columns, schema=carriers)


def _gone(file: FileRows, label: str) -> Any:
    """Positions and the first snapshots that deleted them, as a table."""
    found = [pa.table({"at": pa.array([], pa.int64()), "since": pa.array([], pa.int64())})]
    if file.deleted:
        at, since = zip(*file.deleted, strict=True)
        found.append(
            pa.table({"at": pa.array(at, pa.int64()), "since": pa.array(since, pa.int64())})
        )
    for delete in file.deletes:
        positions, snapshots = load_deletes(delete, label)
        found.append(pa.table({"at": positions.cast(pa.int64()), "since": snapshots}))
    whole = pa.concat_tables(found)
    return whole.filter(pc.less_equal(whole["since"], file.last))


def _keep(file: FileRows, positions: Any, added: Any, gone: Any) -> Any:
    kept = pc.and_(pc.greater_equal(added, file.first), pc.less_equal(added, file.last))
    if file.without:
        kept = pc.and_(kept, pc.invert(pc.is_in(added, pa.array(file.without, pa.int64()))))
    if not gone.num_rows:
        return kept
    if not file.undone:
        return pc.and_(kept, pc.invert(pc.is_in(positions, gone["at"].combine_chunks())))
    since: dict[int, int] = {}
    for at, snapshot in zip(gone["at"].to_pylist(), gone["since"].to_pylist(), strict=True):
        since[at] = min(snapshot, since.get(at, snapshot))
    pairs = zip(positions.to_pylist(), added.to_pylist(), strict=True)
    return pc.and_(kept, pa.array([since.get(at) != came for at, came in pairs], pa.bool_()))


def _filled(file: FileRows, batch: Any, carriers: Any) -> list[Any]:
    """The columns of the table, those among them whose values stand in the path too."""
    texts = iter(file.hive)
    arrays = []
    for index, read in enumerate(file.columns):
        if read.hive is None:
            arrays.append(batch.column(index))
            continue
        text = next(texts)
        value = None if text is None else parse_text(text, read.column.type)
        one = pa.array([value], carriers.field(index).type)
        arrays.append(one.take(pa.array([0] * batch.num_rows, pa.int64())))
    return arrays


def since_snapshot(
    files: Sequence[FileRows], first: int, *, without: Iterable[int] = (), undone: bool = False
) -> list[FileRows]:
    """The same files, but only the rows that came with this snapshot or a later one."""
    left_out = tuple(sorted(without))
    return [replace(file, first=first, without=left_out, undone=undone) for file in files]
