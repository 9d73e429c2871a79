"""Rows of a change -> data files, and the places of the rows that they replace. Task.

One pass over the rows gives both, so that what is deleted and what is written in its place fit
together, also when an expression gives something else each time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from ducklake_spark.model.written import WrittenFile
from ducklake_spark.parquet.partitioned import open_rows
from ducklake_spark.parquet.write import RowSink
from ducklake_spark.plan.layout import WriteLayout

_CODEC: Final = "zstd"


@dataclass(frozen=True, slots=True)
class ChangeLayout:
    """How the rows of a change are written.

    A batch has the table's columns, then the row id to keep, the file id and the position of the
    row that goes, and whether a row is written.

    Attributes:
        new: files of rows that get new ids.
        kept: files of rows that replace others, with their ids behind the table's columns.
        jobs: 12 hex digits for the files of `new`, and others for those of `kept`.
    """

    new: WriteLayout
    kept: WriteLayout
    jobs: tuple[str, str]

    @property
    def row_id(self) -> int:
        """Where in a batch the id is that a row keeps; file id, position, written are next."""
        return len(self.new.columns)


@dataclass(frozen=True, slots=True)
class Places:
    """Rows of one data file, or inlined ones (id None): their positions, packed."""

    data_file_id: int | None
    count: int
    packed: bytes

    def unpack(self) -> Any:
        """The positions, in order."""
        size = self.count * 8
        steps = pa.decompress(self.packed, decompressed_size=size, codec=_CODEC)
        return pc.cumulative_sum(pa.Array.from_buffers(pa.int64(), self.count, [None, steps]))


@dataclass(frozen=True, slots=True)
class ChangedRows:
    """What one task has made of its rows.

    Attributes:
        new, kept: the files, as in `ChangeLayout`.
        replaced: the rows that written ones take the place of.
        deleted: the rows that are only deleted; one may be there more than once.
        inserted: how many written rows replace none.
    """

    new: tuple[WrittenFile, ...]
    kept: tuple[WrittenFile, ...]
    replaced: tuple[Places, ...]
    deleted: tuple[Places, ...]
    inserted: int


def write_changed_rows(
    batches: Iterable[Any], layout: ChangeLayout, keys: Sequence[int], *, task_id: int = 0
) -> ChangedRows:
    """Write the rows in their order; when it fails, no file is left.

    Args:
        batches: as the layout says, of a partitioned table partition by partition.
        layout: where and how to write.
        keys: where in a batch the keys of the table's partitions are.
        task_id: tells apart the tasks of a job that run at the same time.
    """
    new, kept = (
        _Files(open_rows(each, keys, job_id, task_id=task_id))
        for each, job_id in zip((layout.new, layout.kept), layout.jobs, strict=True)
    )
    gone = _Gone(layout.row_id + 1)
    try:
        for batch in batches:
            gone.add(batch)
            written = batch.filter(batch.column(layout.row_id + 3))
            has_id = written.column(layout.row_id).is_valid()
            kept.add(written.filter(has_id))
            new.add(written.filter(pc.invert(has_id)))
        for each in (new, kept):
            each.finish()
    except BaseException:
        for each in (new, kept):
            each.sink.discard()
        raise
    replaced, deleted = gone.places()
    return ChangedRows(tuple(new.done), tuple(kept.done), replaced, deleted, gone.inserted)


@dataclass
class _Files:
    """Files that are written, and those that are done."""

    sink: RowSink
    done: list[WrittenFile] = field(default_factory=list)

    def add(self, rows: Any) -> None:
        if rows.num_rows:
            self.done.extend(self.sink.add(rows))

    def finish(self) -> None:
        self.done.extend(self.sink.finish())


@dataclass
class _Gone:
    """Identities of rows that go, as they come by; `first` is where a batch has the file id."""

    first: int
    inserted: int = 0
    parts: list[Any] = field(default_factory=list)

    def add(self, batch: Any) -> None:
        file_id, position, written = (batch.column(self.first + i) for i in range(3))
        rows = pa.table({"file": file_id, "position": position, "written": written})
        if position.null_count:
            is_old = position.is_valid()
            self.inserted += pc.sum(pc.and_(written, pc.invert(is_old))).as_py() or 0
            rows = rows.filter(is_old)
        self.parts.append(rows)

    def places(self) -> tuple[tuple[Places, ...], tuple[Places, ...]]:
        """The rows that are replaced, and those that are only deleted."""
        if not self.parts:
            return (), ()
        rows = pa.concat_tables(self.parts)
        is_written = rows.column("written")
        replaced, deleted = rows.filter(is_written), rows.filter(pc.invert(is_written))
        return tuple(_pack(replaced)), tuple(_pack(deleted))


def _pack(rows: Any) -> Iterator[Places]:
    """The positions of each file as the compressed steps from one to the next."""
    rows = rows.sort_by([("file", "ascending"), ("position", "ascending")]).combine_chunks()
    if not rows.num_rows:
        return
    positions = rows.column("position").chunk(0)
    runs = pc.run_end_encode(rows.column("file").chunk(0))
    start = 0
    for file_id, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        run = positions.slice(start, end - start)
        further = pc.subtract(run.slice(1), run.slice(0, len(run) - 1))
        steps = pa.concat_arrays([run.slice(0, 1), further])
        packed = pa.compress(steps.buffers()[1], codec=_CODEC, asbytes=True)
        yield Places(file_id, len(run), packed)
        start = end
