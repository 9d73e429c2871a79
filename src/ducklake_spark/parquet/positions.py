"""Delete files: positions of a data file, and since which snapshot each of them is deleted."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ducklake_spark.errors import CorruptDataFile, DataFileError
from ducklake_spark.model.entities import DeleteFile
from ducklake_spark.model.names import make_uuid7
from ducklake_spark.model.written import WrittenDeletes
from ducklake_spark.parquet.read import open_parquet
from ducklake_spark.parquet.storage import create_file, remove_file

SNAPSHOT_COLUMN: Final = "_ducklake_internal_snapshot_id"


def _field(name: str, kind: Any, field_id: int) -> Any:
    return pa.field(name, kind, True, {b"PARQUET:field_id": str(field_id).encode()})


_SCHEMA: Final = pa.schema(
    [
        _field("file_path", pa.string(), 2147483646),
        _field("pos", pa.int64(), 2147483645),
        _field(SNAPSHOT_COLUMN, pa.int64(), 2147483539),
    ]
)


def load_deletes(delete: DeleteFile, label: str) -> tuple[Any, Any]:
    """Positions and snapshots of a delete file, as Arrow arrays. Driver and task.

    A file that says nothing about snapshots is of the one with which it begins.
    """
    with open_parquet(delete.path, delete.file_size_bytes, label) as file:
        names = [name for name in ("pos", SNAPSHOT_COLUMN) if name in file.schema_arrow.names]
        table = file.read(columns=names)
    if "pos" not in names or table.column("pos").null_count:
        raise CorruptDataFile(f'The delete file "{delete.path}" of {label} lacks a position.')
    positions = table.column("pos").combine_chunks()
    if len(names) == 1:
        return positions, pa.repeat(pa.scalar(delete.begin_snapshot, pa.int64()), len(positions))
    since = table.column(SNAPSHOT_COLUMN).combine_chunks()
    return positions, since.fill_null(delete.begin_snapshot)


def load_deleted_positions(
    delete: DeleteFile | None, inlined: list[int], *, snapshot_id: int, label: str
) -> array[int]:
    """The positions that a snapshot does not see, each once, in order. Driver and task."""
    found = pa.array(inlined, pa.int64())
    if delete is not None:
        positions, since = load_deletes(delete, label)
        seen = positions.filter(pc.less_equal(since, snapshot_id))
        found = pa.concat_arrays([found, seen.cast(pa.int64())])
    ordered = pc.unique(found.sort())
    numbers = array("q")
    if len(ordered):
        numbers.frombytes(ordered.buffers()[1].to_pybytes()[: 8 * len(ordered)])
    return numbers


def write_deletes(
    directory: str, data_path: str, deleted: Mapping[int, int], *, partial: bool
) -> WrittenDeletes:
    """Write a delete file. Driver.

    Args:
        directory: the table's.
        data_path: the data file.
        deleted: since which snapshot each position is deleted.
        partial: whether the catalog is to be told the last of these snapshots.
    """
    positions = sorted(deleted)
    since = [deleted[position] for position in positions]
    paths = pa.repeat(pa.scalar(data_path, pa.string()), len(positions))
    table = pa.table([paths, pa.array(positions), pa.array(since)], schema=_SCHEMA)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="snappy", store_schema=False)
    data = sink.getvalue().to_pybytes()
    name = f"ducklake-{make_uuid7()}-delete.parquet"
    path = f"{directory.rstrip('/')}/{name}"
    _store(path, data)
    return WrittenDeletes(
        path=path,
        relative_path=name,
        delete_count=len(positions),
        file_size_bytes=len(data),
        footer_size=int.from_bytes(data[-8:-4], "little"),
        begin_snapshot=min(since),
        partial_max=max(since) if partial else None,
    )


def _store(path: str, data: bytes) -> None:
    try:
        with create_file(path) as sink:
            sink.write(data)
    except (OSError, pa.ArrowException) as error:
        remove_file(path)
        raise DataFileError(f'Cannot write "{path}": {error}') from error
