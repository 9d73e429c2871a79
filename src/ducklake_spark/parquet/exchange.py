"""Rows that tasks of one machine hand to each other through local files, by partition. Task.

The tasks that read deal their rows out: each writes one Arrow file of pieces, in which all rows
are of one partition. The tasks that write gather the pieces of their partitions from all files.
Rows stay columns on the way, which Spark's own shuffle would take apart and put together again.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import ipc

from ducklake_spark.errors import DataFileError
from ducklake_spark.parquet.partitioned import find_runs
from ducklake_spark.parquet.storage import storage_error

Values = tuple[str | None, ...]
"""The partition values that rows have in common, as texts."""


def deal_out(
    batches: Iterable[Any],
    keys: Sequence[int],
    values_of: Callable[[Sequence[Any]], Values],
    path: str,
    *,
    chunk_bytes: int,
) -> dict[Values, int]:
    """Write rows as pieces to a new file. Returns how many rows of each partition it holds.

    Args:
        batches: Arrow record batches.
        keys: the position in a batch of each key that rows are divided by.
        values_of: the partition values of the keys of a row.
        path: of the file; nothing is made when there are no rows.
        chunk_bytes: how many bytes of rows are divided at a time.
    """
    rows: dict[Values, int] = defaultdict(int)
    pieces: list[Values] = []
    writer = None
    with _disk_errors(path):
        for chunk in _chunks(batches, chunk_bytes):
            if writer is None:
                # Not compressed: that would take longer than the disk does.
                writer = ipc.new_file(path, chunk.schema)
            for piece in _split(chunk, keys):
                values = values_of([piece.column(key)[0] for key in keys])
                writer.write_batch(piece)
                pieces.append(values)
                rows[values] += piece.num_rows
        if writer is not None:
            writer.close()
            _list_of(path).write_bytes(pickle.dumps(pieces))
    return dict(rows)


def gather(paths: Sequence[str], wanted: Sequence[Values]) -> Iterator[Any]:
    """The pieces of the wanted partitions, one partition after the other."""
    places: dict[Values, list[tuple[Any, int]]] = {values: [] for values in wanted}
    for path in paths:
        with _disk_errors(path):
            reader = ipc.open_file(pa.memory_map(path))
            listed = pickle.loads(_list_of(path).read_bytes())  # noqa: S301 - by `deal_out`
        for index, values in enumerate(listed):
            if values in places:
                places[values].append((reader, index))
    for found in places.values():
        yield from (reader.get_batch(index) for reader, index in found)


def _list_of(path: str) -> Path:
    return Path(f"{path}.pieces")


def _chunks(batches: Iterable[Any], least: int) -> Iterator[Any]:
    """The rows in batches that are large enough to be divided well."""
    pending: list[Any] = []
    size = 0
    for batch in batches:
        pending.append(batch)
        size += batch.nbytes
        if size >= least:
            yield pa.concat_batches(pending)
            pending, size = [], 0
    if size or any(batch.num_rows for batch in pending):
        yield pa.concat_batches(pending)


def _split(chunk: Any, keys: Sequence[int]) -> Iterator[Any]:
    """The rows of each partition; those of one keep their order."""
    codes = _codes([chunk.column(key) for key in keys])
    order = pc.array_sort_indices(codes)
    rows = chunk.take(order)
    for start, end in find_runs([codes.take(order)]):
        yield rows.slice(start, end - start)


def _codes(columns: Sequence[Any]) -> Any:
    """A number for each row; rows have the same one if all their columns have the same values."""
    codes = None
    for column in columns:
        encoded = _encodable(column).dictionary_encode(null_encoding="encode")
        digits = encoded.indices.cast(pa.int64())
        if codes is not None:
            digits = pc.add(pc.multiply(codes, len(encoded.dictionary)), digits)
            # Close together again, or the numbers of many columns leave the range.
            digits = digits.dictionary_encode().indices.cast(pa.int64())
        codes = digits
    return codes


def _encodable(column: Any) -> Any:
    """Arrow has no hash table for its short decimals."""
    kind = column.type
    if pa.types.is_decimal(kind) and kind.bit_width < 128:
        return column.cast(pa.decimal128(kind.precision, kind.scale))
    return column


@contextmanager
def _disk_errors(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        known = storage_error("hand over rows through", path, error)
        raise DataFileError(
            known.message,
            hint="it is in spark.local.dir, which needs room for the rows that are written.",
        ) from error
