"""Delete files that the driver writes itself."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ducklake_spark.errors import DataFileError
from ducklake_spark.parquet.delete_files import DeleteLayout, FileFacts, write_deletes_at_once
from support.carried import JOB


def delete(tmp_path, positions, files, **options):
    layout = DeleteLayout(str(tmp_path), "t", 5, **options)
    places = {file_id: pa.array(found, pa.int64()) for file_id, found in positions.items()}
    known = {file.data_file_id: file for file in files}
    return write_deletes_at_once(places, known, layout, JOB)


def test_each_file_gets_what_its_number_of_rows_asks_for(tmp_path):
    files = [FileFacts(number, f"/d/{number}.parquet", 10) for number in (1, 2, 3)]
    gone = {1: [0, 4, 9], 2: [3], 3: range(10), None: [0, 7]}
    found = {each.data_file_id: each for each in delete(tmp_path, gone, files, inline_limit=1)}
    assert pq.read_table(found[1].written.path).column("pos").to_pylist() == [0, 4, 9]
    assert found[2].positions == (3,)
    assert found[3].ended
    assert found[None].positions == (0, 7)
    assert [found[number].count for number in (1, 2, 3, None)] == [3, 1, 10, 2]


def test_many_files_are_written_side_by_side_under_names_of_their_own(tmp_path):
    files = [FileFacts(number, f"/d/{number}.parquet", 100) for number in range(50)]
    found = delete(tmp_path, {number: [number, 99] for number in range(50)}, files)
    assert len({each.written.path for each in found}) == 50
    for each in found:
        table = pq.read_table(each.written.path)
        assert table.column("pos").to_pylist() == [each.data_file_id, 99]
        assert set(table.column("file_path").to_pylist()) == {f"/d/{each.data_file_id}.parquet"}


def test_no_file_is_left_when_one_of_them_fails(tmp_path):
    files = [FileFacts(number, f"/d/{number}.parquet", 100) for number in range(20)]
    with pytest.raises(DataFileError, match="unknown data file 77"):
        delete(tmp_path, {**{number: [1, 2] for number in range(20)}, 77: [1]}, files)
    assert list(Path(tmp_path).rglob("*.parquet")) == []
