"""Deleted rows of files, as bits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ducklake_spark.errors import CorruptDataFile
from ducklake_spark.model.entities import DataFile, DeleteFile
from ducklake_spark.parquet.hidden_rows import (
    HiddenRows,
    load_hidden_rows,
    load_visible_positions,
)
from ducklake_spark.parquet.positions import write_deletes


def a_file(file_id: int, rows: int, delete_file: DeleteFile | None = None) -> DataFile:
    return DataFile(
        file_id, f"/d/{file_id}.parquet", rows, 1, 1, 0, begin_snapshot=1, delete_file=delete_file
    )


def a_delete(tmp_path, deleted: dict[int, int], file_id: int = 7) -> DeleteFile:
    """A delete file: since which snapshot each position is deleted."""
    written = write_deletes(str(tmp_path), "/d/x.parquet", deleted, partial=True)
    size, footer = written.file_size_bytes, written.footer_size
    return DeleteFile(
        file_id, written.path, "parquet", len(deleted), size, footer, min(deleted.values())
    )


def hidden(files, inlined=(), snapshot_id=9) -> set[tuple[int, int]]:
    found: HiddenRows = load_hidden_rows(files, inlined, snapshot_id=snapshot_id, label="t")
    rows = {file.data_file_id: file.record_count for file in files}
    return {
        (file_id, position)
        for file_id, start in found.starts.items()
        for position in range(rows[file_id])
        if found.bits[(start + position) >> 3] >> ((start + position) & 7) & 1
    }


def test_delete_files_and_the_catalog_hide_rows(tmp_path):
    files = [
        a_file(1, 13, a_delete(tmp_path, {0: 2, 12: 5})),
        a_file(2, 1000),
        a_file(3, 3, a_delete(tmp_path, {0: 2, 1: 3, 2: 4})),
        a_file(4, 5),
    ]
    inlined = [(1, 6), (1, 0), (4, 4)]
    assert hidden(files, inlined) == {(1, 0), (1, 6), (1, 12), (3, 0), (3, 1), (3, 2), (4, 4)}
    assert hidden(files, inlined, snapshot_id=3) == {(1, 0), (1, 6), (3, 0), (3, 1), (4, 4)}


def test_rows_that_nothing_hides_are_visible(tmp_path):
    files = [
        a_file(1, 13, a_delete(tmp_path, {0: 2, 12: 5})),
        a_file(2, 2),
        a_file(3, 3, a_delete(tmp_path, {0: 2, 1: 3, 2: 4})),
        a_file(4, 5),
    ]
    found = load_visible_positions(files, [(1, 6), (4, 4)], snapshot_id=3, label="t")
    assert {key: value.to_pylist() for key, value in found.items()} == {
        1: [1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12],
        2: [0, 1],
        3: [2],
        4: [0, 1, 2, 3],
    }


def test_files_without_deletes_have_no_bits():
    found = load_hidden_rows([a_file(1, 13), a_file(2, 5)], [], snapshot_id=9, label="t")
    assert found == HiddenRows({}, b"", {})


def test_the_deletes_of_an_open_transaction_are_of_a_snapshot_to_come(tmp_path):
    own = a_delete(tmp_path, {1: 10}, file_id=-1)
    assert hidden([a_file(-1, 2, own)]) == {(-1, 1)}
    assert hidden([a_file(1, 2, a_delete(tmp_path, {1: 10}))]) == set()


@pytest.mark.parametrize("position", [-1, 4])
def test_a_position_outside_of_the_file_is_refused(position):
    with pytest.raises(CorruptDataFile, match=f"Row {position} of "):
        hidden([a_file(1, 4), a_file(2, 4)], [(1, position)])


@given(
    st.lists(
        st.integers(1, 40).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(0, n - 1))))
    )
)
def test_every_deleted_row_and_no_other_is_hidden(drawn):
    files = [a_file(number, rows) for number, (rows, _) in enumerate(drawn)]
    inlined = [(number, place) for number, (_, places) in enumerate(drawn) for place in places]
    assert hidden(files, inlined) == set(inlined)
