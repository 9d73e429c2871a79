"""Deleted rows of many files as one row of bits. Driver."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from ducklake_spark.errors import CorruptDataFile
from ducklake_spark.model.entities import DataFile
from ducklake_spark.parquet.positions import load_deletes

_THREADS: Final = 16


@dataclass(frozen=True)
class HiddenRows:
    """Which rows of some files are deleted.

    Attributes:
        starts: the bit of the first row of each file that has deleted rows, by its id.
        bits: a bit for each row of these files, the lowest of a byte first; set if it is deleted.
        newest: the newest snapshot that each delete file has deletes of, by its path.
    """

    starts: dict[int, int]
    bits: bytes
    newest: dict[str, int]


def load_hidden_rows(
    files: Sequence[DataFile],
    inlined: Iterable[tuple[int, int]],
    *,
    snapshot_id: int,
    label: str,
) -> HiddenRows:
    """Read delete files, several at a time.

    Args:
        files: data files, of which some have a delete file.
        inlined: data file and position of rows that the catalog says are deleted.
        snapshot_id: what is deleted later is left out.
        label: names what is read in errors.
    """
    by_catalog: dict[int, list[int]] = defaultdict(list)
    for file_id, position in inlined:
        by_catalog[file_id].append(position)
    changed = [file for file in files if file.delete_file or file.data_file_id in by_catalog]

    newest: dict[str, int] = {}

    def load(file: DataFile) -> Any:
        known = pa.array(by_catalog[file.data_file_id], pa.int64())
        delete = file.delete_file
        if delete is None:
            return _checked(file, known, label)
        positions, since = load_deletes(delete, label)
        newest[delete.path] = pc.max(since).as_py() or 0
        if delete.delete_file_id >= 0:  # else of a snapshot that is still to come
            positions = positions.filter(pc.less_equal(since, snapshot_id))
        return _checked(file, pa.concat_arrays([known, positions.cast(pa.int64())]), label)

    starts, first = {}, 0
    for file in changed:
        starts[file.data_file_id] = first
        first += file.record_count
    with ThreadPoolExecutor(_THREADS) as pool:
        found = list(pool.map(load, changed)) if len(changed) > 1 else [*map(load, changed)]
    places = [pc.add(part, start) for part, start in zip(found, starts.values(), strict=True)]
    bits = _to_bits(pa.concat_arrays(places), first) if first else b""
    return HiddenRows(starts, bits, newest)


def load_visible_positions(
    files: Sequence[DataFile],
    inlined: Iterable[tuple[int, int]],
    *,
    snapshot_id: int,
    label: str,
) -> dict[int | None, Any]:
    """The positions of the rows that are not deleted, in order, by data file id.

    The arguments are those of `load_hidden_rows`.
    """
    hidden = load_hidden_rows(files, inlined, snapshot_id=snapshot_id, label=label)
    gone = pa.Array.from_buffers(
        pa.bool_(), len(hidden.bits) * 8, [None, pa.py_buffer(hidden.bits)]
    )
    found: dict[int | None, Any] = {}
    for file in files:
        start, rows = hidden.starts.get(file.data_file_id), file.record_count
        of_file = pa.repeat(pa.scalar(False), rows) if start is None else gone.slice(start, rows)
        found[file.data_file_id] = pc.indices_nonzero(pc.invert(of_file)).cast(pa.int64())
    return found


def _checked(file: DataFile, positions: Any, label: str) -> Any:
    """A position outside of its file would hide a row of another one."""
    bounds = pc.min_max(positions)
    lowest, highest = bounds["min"].as_py(), bounds["max"].as_py()
    if lowest is not None and (lowest < 0 or highest >= file.record_count):
        wrong = lowest if lowest < 0 else highest
        raise CorruptDataFile(
            f'Row {wrong} of "{file.path}" of {label} is said to be deleted, '
            f"but the file has {file.record_count} rows.",
            hint="look at what con.check() says about the lake.",
        )
    return positions


def _to_bits(places: Any, length: int) -> bytes:
    if not len(places):
        return bytes((length + 7) // 8)
    # What nothing was put to is NULL: the bits wanted are those that say what is not.
    marked = pc.scatter(pa.repeat(pa.scalar(True), len(places)), places, max_index=length - 1)
    valid = marked.buffers()[0]
    if valid is None:  # all of them
        return b"\xff" * (length // 8) + bytes([(1 << length % 8) - 1] if length % 8 else [])
    return bytes(valid.to_pybytes()[: (length + 7) // 8])
