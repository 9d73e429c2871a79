"""What a task makes of the positions that are to go."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ducklake_spark.commit.local import as_delete_file
from ducklake_spark.errors import InvalidInput
from ducklake_spark.parquet.delete_files import (
    SNAPSHOT_COLUMN,
    DeleteLayout,
    FileFacts,
    restamp,
    write_deletes,
)

JOB = "0123456789ab"


def batch(*groups: tuple[FileFacts | None, list[int]]) -> pa.RecordBatch:
    """The rows of a sorted partition: the facts of each file before its positions."""
    ids, places, facts = [], [], []
    for file, positions in groups:
        first = [] if file is None else [(-1, pickle.dumps(file))]
        for position, fact in [*first, *((each, None) for each in positions)]:
            ids.append(None if file is None else file.data_file_id)
            places.append(position)
            facts.append(fact)
    return pa.record_batch(
        [pa.array(ids, pa.int64()), pa.array(places, pa.int64()), pa.array(facts, pa.binary())],
        names=["file", "position", "facts"],
    )


def deleted(tmp_path, *groups, **layout):
    return list(write_deletes(iter([batch(*groups)]), make_layout(tmp_path, **layout), JOB))


def make_layout(tmp_path, snapshot_id: int = 9, **layout) -> DeleteLayout:
    return DeleteLayout(f"{tmp_path}/", "t", snapshot_id, **layout)


def positions_in(written) -> list[tuple]:
    table = pq.read_table(written.path)
    names = [name for name in table.column_names if name != "file_path"]
    return list(zip(*(table.column(name).to_pylist() for name in names), strict=True))


def test_positions_come_in_order_and_once(tmp_path):
    (outcome,) = deleted(tmp_path, (FileFacts(3, "/d/a.parquet", 100), [1, 5, 5, 70]))
    assert (outcome.data_file_id, outcome.count, outcome.ended) == (3, 3, False)
    assert positions_in(outcome.written) == [(1,), (5,), (70,)]
    assert outcome.written.delete_count == 3
    assert outcome.written.begin_snapshot is None


def test_the_file_is_laid_out_as_readers_expect(tmp_path):
    (outcome,) = deleted(tmp_path, (FileFacts(3, "/d/a.parquet", 100), [1, 5]))
    file = pq.ParquetFile(outcome.written.path)
    ids = {f.name: f.metadata[b"PARQUET:field_id"] for f in file.schema_arrow}
    assert ids == {"file_path": b"2147483646", "pos": b"2147483645"}
    assert set(file.read().column("file_path").to_pylist()) == {"/d/a.parquet"}
    assert (
        outcome.written.file_size_bytes == (tmp_path / outcome.written.relative_path).stat().st_size
    )
    assert outcome.written.footer_size == file.metadata.serialized_size
    assert outcome.written.relative_path.endswith(f"-{JOB}-delete.parquet")


def test_few_positions_stay_in_the_catalog(tmp_path):
    facts = FileFacts(3, "/d/a.parquet", 100)
    (outcome,) = deleted(tmp_path, (facts, [1, 2]), inline_limit=2)
    assert (outcome.positions, outcome.written) == ((1, 2), None)
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_the_transaction_gets_a_delete_file_however_few_go(tmp_path):
    (outcome,) = deleted(tmp_path, (FileFacts(-1, "/d/a.parquet", 100), [1]), inline_limit=5)
    assert positions_in(outcome.written) == [(1,)]


def test_a_file_without_rows_left_is_ended(tmp_path):
    facts = FileFacts(3, "/d/a.parquet", 2)
    (outcome,) = deleted(tmp_path, (facts, [0, 1]))
    assert (outcome.ended, outcome.written, outcome.positions) == (True, None, ())


def test_groups_may_reach_over_batches(tmp_path):
    one, other = FileFacts(1, "/d/a.parquet", 100), FileFacts(2, "/d/b.parquet", 100)
    whole = batch((None, [0, 4]), (one, [1, 2, 3]), (other, []), (FileFacts(5, "/c", 9), [8]))
    batches = [whole.slice(i, 1) for i in range(whole.num_rows)]
    outcomes = list(write_deletes(iter(batches), make_layout(tmp_path), JOB))
    assert [(each.data_file_id, each.count) for each in outcomes] == [(None, 2), (1, 3), (5, 1)]
    assert outcomes[0].positions == (0, 4)


def test_earlier_deletes_keep_their_snapshots(tmp_path):
    (first,) = deleted(tmp_path, (FileFacts(3, "/d/a.parquet", 100), [10, 20]))
    known = as_delete_file(first.written)
    known = type(known)(**{**{f: getattr(known, f) for f in known.__slots__}, "delete_file_id": 7,
                           "begin_snapshot": 4})  # fmt: skip
    facts = FileFacts(3, "/d/a.parquet", 100, known)
    (second,) = deleted(tmp_path, (facts, [5, 15]))
    assert positions_in(second.written) == [(5, 9), (10, 4), (15, 9), (20, 4)]
    assert (second.written.begin_snapshot, second.written.partial_max) == (4, 9)
    again = FileFacts(3, "/d/a.parquet", 100, as_delete_file(second.written))
    (third,) = deleted(tmp_path, (again, [6]))
    assert positions_in(third.written) == [(5, 9), (6, 9), (10, 4), (15, 9), (20, 4)]


def test_deletes_of_one_transaction_have_no_snapshots(tmp_path):
    (first,) = deleted(tmp_path, (FileFacts(3, "/d/a.parquet", 100), [10]))
    facts = FileFacts(3, "/d/a.parquet", 100, as_delete_file(first.written))
    (second,) = deleted(tmp_path, (facts, [5]))
    assert positions_in(second.written) == [(5,), (10,)]


def test_a_file_can_be_stamped_with_another_snapshot(tmp_path):
    test_earlier_deletes_keep_their_snapshots(tmp_path)
    files = [p for p in tmp_path.iterdir() if SNAPSHOT_COLUMN in pq.read_schema(p).names]
    written = next(w for w in map(_as_written, files) if w.delete_count == 4)
    stamped = restamp(written, 12)
    assert positions_in(stamped) == [(5, 12), (10, 4), (15, 12), (20, 4)]
    assert (stamped.begin_snapshot, stamped.partial_max) == (4, 12)
    assert stamped.path != written.path


def _as_written(path):
    from ducklake_spark.model.written import WrittenDeletes

    rows = pq.read_metadata(path).num_rows
    return WrittenDeletes(str(path), path.name, rows, path.stat().st_size, 1, 4, 9)


def test_a_row_that_comes_twice_is_an_error_where_each_has_one_outcome(tmp_path):
    one, other = FileFacts(1, "/d/a.parquet", 100), FileFacts(2, "/d/b.parquet", 100)
    with pytest.raises(InvalidInput, match="more than once"):
        deleted(tmp_path, (one, [1, 2]), (other, [3, 3]), unique=True)
    assert list(tmp_path.iterdir()) == []
