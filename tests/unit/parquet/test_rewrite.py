"""Several files become one: rows in order, with their ids and snapshots, less the deleted ones."""

from __future__ import annotations

import tracemalloc

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ducklake_spark.errors import CorruptDataFile
from ducklake_spark.model.entities import DataFile, DeleteFile
from ducklake_spark.model.schema import Column, Schema
from ducklake_spark.parquet.positions import load_deleted_positions, load_deletes, write_deletes
from ducklake_spark.parquet.rewrite import (
    ROW_ID,
    SNAPSHOT_ID,
    GroupRewrite,
    SourceRead,
    rewrite_group,
)
from ducklake_spark.parquet.write import write_batches
from ducklake_spark.plan.layout import WriteLayout
from ducklake_spark.plan.stored import ColumnRead

COLUMNS = (Column(1, "id", "int64"), Column(2, "name", "varchar"), Column(3, "x", "float64"))
CARRIERS = pa.schema([("id", pa.int64()), ("name", pa.string()), ("x", pa.float64())])
JOB = "0123456789ab"


@pytest.fixture
def layout(tmp_path) -> WriteLayout:
    return WriteLayout(Schema(COLUMNS), f"{tmp_path}/", "t")


def write_source(
    layout: WriteLayout, number: int, ids: range, *, row_ids=None, snapshots=None, **facts
) -> SourceRead:
    """A data file with those ids, and perhaps with embedded row ids and snapshots."""
    arrays = [pa.array(ids), pa.array([f"n{i}" for i in ids]), pa.array([float(i) for i in ids])]
    extra = []
    for column, values in ((ROW_ID, row_ids), (SNAPSHOT_ID, snapshots)):
        if values is not None:
            extra.append(column)
            arrays.append(pa.array(values, pa.int64()))
    used = WriteLayout(layout.schema, layout.directory, "t", extra_columns=tuple(extra))
    batch = pa.RecordBatch.from_arrays(arrays, names=[str(i) for i in range(len(arrays))])
    (file,) = write_batches(iter([batch]), used, JOB, task_id=number)
    given = {"row_id_start": ids.start, "begin_snapshot": number, **facts}
    data = DataFile(number, file.path, len(ids), file.file_size_bytes, None, **given)
    return SourceRead(data, tuple(ColumnRead(column, column) for column in COLUMNS))


def rewrite(layout: WriteLayout, *sources: SourceRead, keep_row_ids=False, keep_snapshots=True):
    group = GroupRewrite(
        sources,
        layout,
        CARRIERS,
        snapshot_id=100,
        keep_row_ids=keep_row_ids,
        keep_snapshots=keep_snapshots,
    )
    return rewrite_group(group, "ba9876543210", task_id=0)


def rows_of(outcome) -> dict[str, list]:
    (file,) = outcome.files
    return pq.read_table(file.path).to_pydict()


def test_rows_keep_their_order_and_tell_their_snapshot(layout):
    outcome = rewrite(
        layout, write_source(layout, 1, range(3)), write_source(layout, 2, range(3, 5))
    )
    assert outcome.row_id_start == 0
    assert rows_of(outcome) == {
        "id": [0, 1, 2, 3, 4],
        "name": ["n0", "n1", "n2", "n3", "n4"],
        "x": [0.0, 1.0, 2.0, 3.0, 4.0],
        "_ducklake_internal_snapshot_id": [1, 1, 1, 2, 2],
    }


def test_row_ids_are_written_when_they_do_not_count_on(layout):
    outcome = rewrite(
        layout, write_source(layout, 1, range(2)), write_source(layout, 2, range(9, 11))
    )
    assert outcome.row_id_start is None
    assert rows_of(outcome)["_ducklake_internal_row_id"] == [0, 1, 9, 10]


def test_row_ids_in_a_file_win_over_counted_ones(layout):
    updated = write_source(layout, 2, range(2, 4), row_ids=[0, 1])
    outcome = rewrite(layout, write_source(layout, 1, range(2)), updated)
    assert rows_of(outcome)["_ducklake_internal_row_id"] == [0, 1, 0, 1]


def test_row_ids_in_a_file_that_only_count_on_are_left_out(layout):
    flushed = write_source(layout, 1, range(2), row_ids=[0, 1], snapshots=[1, 2], partial_max=2)
    outcome = rewrite(layout, flushed, write_source(layout, 3, range(2, 4)))
    assert outcome.row_id_start == 0
    assert rows_of(outcome)["_ducklake_internal_snapshot_id"] == [1, 2, 3, 3]


def test_deleted_rows_are_left_out_and_ids_stay(layout):
    source = write_source(layout, 1, range(100_000))
    gone = dict.fromkeys(range(0, 100000, 2), 5)
    written = write_deletes(layout.directory, source.file.path, gone, partial=True)
    delete = DeleteFile(9, written.path, "parquet", len(gone), written.file_size_bytes, None, 5)
    hidden = SourceRead(
        DataFile(
            1,
            source.file.path,
            100_000,
            source.file.file_size_bytes,
            None,
            0,
            1,
            delete_file=delete,
        ),
        source.columns,
        deleted=(1, 99_999),
    )
    outcome = rewrite(layout, hidden, keep_row_ids=True, keep_snapshots=False)
    kept = list(range(3, 99_999, 2))
    assert rows_of(outcome)["_ducklake_internal_row_id"] == kept
    assert rows_of(outcome)["id"] == kept


def test_a_group_without_a_row_left_makes_no_file(layout):
    source = write_source(layout, 1, range(3))
    gone = SourceRead(source.file, source.columns, deleted=(0, 1, 2))
    assert rewrite(layout, gone, keep_row_ids=True).files == ()


def test_a_column_that_a_file_lacks_shows_its_initial_default(layout):
    source = write_source(layout, 1, range(2))
    added = Column(4, "added", "varchar", initial_default="dflt")
    wide = WriteLayout(Schema((*COLUMNS, added)), layout.directory, "t")
    carriers = CARRIERS.append(pa.field("added", pa.string()))
    group = GroupRewrite(
        (SourceRead(source.file, (*source.columns, ColumnRead(added, added))),),
        wide,
        carriers,
        snapshot_id=9,
        keep_row_ids=False,
        keep_snapshots=True,
    )
    assert rows_of(rewrite_group(group, "ba9876543210", task_id=0))["added"] == ["dflt", "dflt"]


def test_one_file_comes_of_rows_with_and_without_nan(layout):
    plain = write_source(layout, 1, range(3))
    arrays = [pa.array([3]), pa.array(["n3"]), pa.array([float("nan")])]
    batch = pa.RecordBatch.from_arrays(arrays, names=["a", "b", "c"])
    (file,) = write_batches(iter([batch]), layout, JOB, task_id=7)
    odd = DataFile(2, file.path, 1, file.file_size_bytes, None, 3, 2)
    small = WriteLayout(
        layout.schema, layout.directory, "t", row_group_rows=2, with_nan=frozenset({3})
    )
    outcome = rewrite(small, plain, SourceRead(odd, plain.columns))
    (written,) = outcome.files
    assert written.record_count == 4
    assert written.column_stats[2].contains_nan


def test_a_file_with_fewer_rows_than_the_catalog_says_is_refused_and_nothing_is_left(
    layout, tmp_path
):
    source = write_source(layout, 1, range(3))
    file = DataFile(1, source.file.path, 4, source.file.file_size_bytes, None, 0, 1)
    with pytest.raises(CorruptDataFile, match="has 3 rows, but the catalog says 4"):
        rewrite(layout, SourceRead(file, source.columns))
    assert [path.name for path in tmp_path.glob("*.parquet")] == [source.file.path.split("/")[-1]]


def test_memory_does_not_grow_with_the_number_of_files(layout):
    def peak(count: int) -> int:
        sources = [write_source(layout, n, range(n * 5000, n * 5000 + 5000)) for n in range(count)]
        tracemalloc.start()
        before = pa.total_allocated_bytes()
        outcome = rewrite(layout, *sources)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert pa.total_allocated_bytes() <= before + 2**20
        assert sum(file.record_count for file in outcome.files) == count * 5000
        return most

    assert peak(60) < 3 * peak(6)


def test_deletes_are_read_as_they_were_written(layout):
    written = write_deletes(layout.directory, "/t/x.parquet", {7: 3, 1: 5}, partial=False)
    assert (written.begin_snapshot, written.partial_max, written.delete_count) == (3, None, 2)
    delete = DeleteFile(1, written.path, "parquet", 2, written.file_size_bytes, None, 3)
    positions, since = load_deletes(delete, "table t")
    assert (positions.to_pylist(), since.to_pylist()) == ([1, 7], [5, 3])
    seen = load_deleted_positions(delete, [4, 1], snapshot_id=4, label="table t")
    assert list(seen) == [1, 4, 7]
    footer = pq.ParquetFile(written.path).metadata
    assert written.footer_size == footer.serialized_size
