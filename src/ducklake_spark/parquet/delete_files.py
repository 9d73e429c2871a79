"""Delete files: positions of rows of one data file that are gone. Task and driver."""

from __future__ import annotations

import pickle
import secrets
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ducklake_spark.errors import DataFileError, InvalidInput
from ducklake_spark.model.entities import DeleteFile
from ducklake_spark.model.names import make_uuid7
from ducklake_spark.model.written import WrittenDeletes
from ducklake_spark.parquet.read import open_parquet
from ducklake_spark.parquet.storage import create_file, remove_file, storage_error
from ducklake_spark.parquet.write import footer_size

SNAPSHOT_COLUMN: Final = "_ducklake_internal_snapshot_id"
_ROW_GROUP_ROWS: Final = 122_880
_THREADS: Final = 8
_FIELD_IDS: Final = {"file_path": 2147483646, "pos": 2147483645, SNAPSHOT_COLUMN: 2147483539}


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What a task has to know of a data file to delete rows of it.

    A file of the open transaction has an id below zero.
    """

    data_file_id: int
    path: str
    record_count: int
    deletes: DeleteFile | None = None


@dataclass(frozen=True, slots=True)
class DeleteLayout:
    """How the deletes of one statement are stored.

    Args:
        directory: the table's own, absolute or a URL.
        table_name: for messages.
        snapshot_id: of the commit to be.
        inline_limit: so many rows of one committed file are not worth a delete file.
        unique: a row must not be there twice, which is an error then.
    """

    directory: str
    table_name: str
    snapshot_id: int
    inline_limit: int = 0
    unique: bool = False


@dataclass(frozen=True, slots=True)
class DeletedRows:
    """What became of the deletes of one data file, or of the inlined rows (id None).

    Exactly one of: `positions` to be noted in the catalog, a file `written`, all rows `ended`.
    """

    data_file_id: int | None
    count: int
    positions: tuple[int, ...] = ()
    written: WrittenDeletes | None = None
    ended: bool = False


def write_deletes(
    batches: Iterator[Any], layout: DeleteLayout, job_id: str, *, task_id: int = 0
) -> Iterator[DeletedRows]:
    """Write one delete file for each data file, giving what was done for each.

    When it fails, and when the caller stops asking, every file of this call is removed.

    Args:
        batches: record batches of file id, position and pickled `FileFacts`; sorted by file id and
            position, the facts of a file in a row before those of its positions. The file id of
            inlined rows is NULL, and they have no facts.
        layout: where and how to write.
        job_id: 12 hex digits that stand in the name of each file of the job.
        task_id: tells apart the tasks of a job that run at the same time.
    """
    series = _Series(layout, bytes.fromhex(job_id), task_id)
    with series.removed_on_failure():
        for group in _groups(batches):
            yield from series.delete(group)


def write_deletes_at_once(
    positions: Mapping[int | None, Any],
    files: Mapping[int, FileFacts],
    layout: DeleteLayout,
    job_id: str,
) -> list[DeletedRows]:
    """The same for positions that are at hand, several files at a time. Driver.

    Args:
        positions: of the rows that go, in order, by data file id; None for inlined rows.
        files: all data files that they may be of.
        layout: where and how to write.
        job_id: as for `write_deletes`.
    """
    groups = [
        _Group(file_id, None if file_id is None else files.get(file_id), [places])
        for file_id, places in positions.items()
    ]
    series = _Series(layout, bytes.fromhex(job_id), 0)

    def delete(group: _Group) -> list[DeletedRows]:
        return list(series.delete(group))

    with series.removed_on_failure(), ThreadPoolExecutor(_THREADS) as pool:
        return [each for found in pool.map(delete, groups) for each in found]


def restamp(written: WrittenDeletes, snapshot_id: int) -> WrittenDeletes:
    """Copy a delete file that was written for another snapshot than the one that commits it.

    Runs on the driver, when others committed meanwhile.
    """
    with open_parquet(written.path, written.file_size_bytes, "the deletes of a commit") as file:
        table = file.read()
    since = table.column(SNAPSHOT_COLUMN)
    stamped = pc.if_else(pc.equal(since, written.partial_max), snapshot_id, since)
    path = table.column("file_path")[0].as_py()
    directory = written.path.removesuffix(written.relative_path)
    target = f"ducklake-{make_uuid7(secrets.token_bytes(6))}-delete.parquet"
    made = _write(directory, target, path, table.column("pos"), stamped)
    return replace(made, begin_snapshot=written.begin_snapshot)


@dataclass
class _Group:
    """The positions to delete of one file, in order."""

    file_id: int | None
    facts: FileFacts | None
    parts: list[Any] = field(default_factory=list)


def _groups(batches: Iterator[Any]) -> Iterator[_Group]:
    current: _Group | None = None
    for batch in batches:
        runs = pc.run_end_encode(batch.column(0))
        start = 0
        for file_id, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
            rows = batch.slice(start, end - start)
            start = end
            if current is None or current.file_id != file_id:
                if current is not None:
                    yield current
                facts = rows.column(2)[0].as_py() if file_id is not None else None
                current = _Group(file_id, None if facts is None else pickle.loads(facts))  # noqa: S301 - made by our own driver
                rows = rows.slice(0 if facts is None else 1)
            current.parts.append(rows.column(1))
    if current is not None:
        yield current


class _Series:
    """The delete files of one task."""

    def __init__(self, layout: DeleteLayout, job: bytes, task_id: int) -> None:
        self._layout = layout
        self._job = job
        self._task = task_id
        self._sequence = count()
        self.begun: list[str] = []

    @contextmanager
    def removed_on_failure(self) -> Iterator[None]:
        """Remove all files of the series if anything goes wrong, or nobody wants more of them."""
        try:
            yield
        except BaseException:
            for path in self.begun:
                remove_file(path)
            raise

    def delete(self, group: _Group) -> Iterator[DeletedRows]:
        """Nothing for a file of which no row goes."""
        given = pa.chunked_array(group.parts, pa.int64())
        positions = pc.unique(given)
        number = len(positions)
        if self._layout.unique and number != len(given):
            raise InvalidInput(
                f'A row of table "{self._layout.table_name}" is changed more than once by one '
                "statement.",
                hint="make sure that each row is matched by one row of the source at most.",
            )
        if not number:
            return
        if group.file_id is None:
            yield DeletedRows(None, number, tuple(positions.to_pylist()))
            return
        if group.facts is None:
            raise DataFileError(f"A row is of the unknown data file {group.file_id}.")
        yield self._delete_from(group.facts, positions)

    def _delete_from(self, facts: FileFacts, positions: Any) -> DeletedRows:
        file_id, number = facts.data_file_id, len(positions)
        if file_id >= 0 and number <= self._layout.inline_limit:
            return DeletedRows(file_id, number, tuple(positions.to_pylist()))
        before = facts.deletes.delete_count if facts.deletes else 0
        # Rows that the catalog itself hides do not count: the reference would take the end of
        # the file for theirs.
        if number + before >= facts.record_count:
            return DeletedRows(file_id, number, ended=True)
        return DeletedRows(file_id, number, written=self._write(facts, positions))

    def _write(self, facts: FileFacts, positions: Any) -> WrittenDeletes:
        middle = (self._task << 10) | (next(self._sequence) & 0x3FF)
        name = f"ducklake-{make_uuid7(self._job, middle=middle)}-delete.parquet"
        directory = f"{self._layout.directory.rstrip('/')}/"
        self.begun.append(directory + name)
        positions, snapshots = _with_earlier(facts, positions, self._layout)
        return _write(directory, name, facts.path, positions, snapshots)


def _with_earlier(facts: FileFacts, positions: Any, layout: DeleteLayout) -> tuple[Any, Any]:
    """The positions together with those deleted before, and since when each is, if they differ."""
    known = facts.deletes
    if known is None:
        return positions, None
    label = f'table "{layout.table_name}"'
    with open_parquet(known.path, known.file_size_bytes, label) as file:
        table = file.read()
    earlier = table.column("pos").cast(pa.int64())
    stamped = SNAPSHOT_COLUMN in table.column_names
    if not stamped and known.delete_file_id < 0:
        everything = pa.chunked_array([*earlier.chunks, positions], pa.int64())
        return everything.take(pc.sort_indices(everything)), None
    since = (
        table.column(SNAPSHOT_COLUMN).cast(pa.int64())
        if stamped
        else pa.chunked_array([pa.repeat(pa.scalar(known.begin_snapshot, pa.int64()), len(table))])
    )
    positions = positions.filter(pc.invert(pc.is_in(positions, earlier)))
    now = pa.repeat(pa.scalar(layout.snapshot_id, pa.int64()), len(positions))
    both = pa.table(
        {
            "pos": pa.chunked_array([*earlier.chunks, positions], pa.int64()),
            "since": pa.chunked_array([*since.chunks, now], pa.int64()),
        }
    ).sort_by("pos")
    return both.column("pos"), both.column("since")


def _write(
    directory: str, name: str, data_path: str, positions: Any, snapshots: Any | None
) -> WrittenDeletes:
    columns = {"pos": positions} if snapshots is None else {
        "pos": positions, SNAPSHOT_COLUMN: snapshots
    }  # fmt: skip
    table = pa.table(columns)
    schema = pa.schema([_arrow_field(name) for name in ("file_path", *columns)])
    path, footers = directory + name, list[Any]()
    sink = create_file(path)
    try:
        with pq.ParquetWriter(
            sink, schema, compression="snappy", store_schema=False, metadata_collector=footers
        ) as writer:
            for start in range(0, len(table), _ROW_GROUP_ROWS):
                rows = table.slice(start, _ROW_GROUP_ROWS)
                named = rows.add_column(0, "file_path", pa.repeat(pa.scalar(data_path), len(rows)))
                writer.write_table(named.cast(schema))
        size = int(sink.tell())
        sink.close()
    except OSError as error:
        raise storage_error("write", path, error) from error
    since = None if snapshots is None else pc.min_max(snapshots).as_py()
    return WrittenDeletes(
        path=path,
        relative_path=name,
        delete_count=len(table),
        file_size_bytes=size,
        footer_size=footer_size(footers[0], size),
        begin_snapshot=since["min"] if since else None,
        partial_max=since["max"] if since else None,
    )


def _arrow_field(name: str) -> Any:
    kind = pa.string() if name == "file_path" else pa.int64()
    return pa.field(name, kind, metadata={"PARQUET:field_id": str(_FIELD_IDS[name])})
