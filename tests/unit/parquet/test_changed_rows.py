"""Rows of a change: what is written where, and which rows they say are gone."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ducklake_spark.errors import NotNullViolation
from ducklake_spark.model.entities import PartitionField, PartitionSpec
from ducklake_spark.model.schema import Column
from ducklake_spark.parquet.changed_rows import ChangeLayout, Places, write_changed_rows
from ducklake_spark.plan.layout import WriteLayout
from support.carried import JOB, a_schema

SCHEMA = a_schema({"n": "INT", "s": "VARCHAR"}, required=("n",))
OTHER_JOB = "ba9876543210"
BY_TEXT = PartitionSpec(7, (PartitionField(2, "identity"),))


def a_layout(tmp_path, **options):
    layout = WriteLayout(SCHEMA, str(tmp_path), "t", **options)
    kept = replace(layout, extra_columns=(Column(2147483540, "id", "int64"),))
    return ChangeLayout(layout, kept, (JOB, OTHER_JOB))


def rows_of(*rows):
    """Rows of (n, s, row id, file, position, written)."""
    kinds = [pa.int32(), pa.string(), pa.int64(), pa.int64(), pa.int64(), pa.bool_()]
    columns = [
        pa.array(values, kind) for values, kind in zip(zip(*rows, strict=True), kinds, strict=True)
    ]
    return pa.RecordBatch.from_arrays(list(columns), names=list("nsifpw"))


def unpacked(places):
    return {each.data_file_id: each.unpack().to_pylist() for each in places}


def read(files):
    return [
        row
        for file in files
        for row in map(tuple, pq.ParquetFile(file.path).read().to_pydict().values())
    ]


def test_rows_with_an_id_and_new_rows_go_to_different_files(tmp_path):
    done = write_changed_rows(
        [
            rows_of((1, "a", 70, 3, 9, True), (2, "b", None, None, None, True)),
            rows_of((3, "c", 71, 3, 4, True), (4, "d", None, None, 0, True)),
        ],
        a_layout(tmp_path),
        (),
    )
    assert read(done.kept) == [(1, 3), ("a", "c"), (70, 71)]
    assert read(done.new) == [(2, 4), ("b", "d")]
    assert done.inserted == 1
    assert unpacked(done.replaced) == {3: [4, 9], None: [0]}
    assert done.deleted == ()


def test_a_row_that_is_only_deleted_is_not_written(tmp_path):
    gone = [(None, None, 5, 8, 2, False), (None, None, 5, 8, 2, False)]
    done = write_changed_rows([rows_of(*gone)], a_layout(tmp_path), ())
    assert (done.new, done.kept, done.replaced, done.inserted) == ((), (), (), 0)
    assert unpacked(done.deleted) == {8: [2, 2]}
    assert list(tmp_path.iterdir()) == []


def test_partitions_have_their_own_files(tmp_path):
    done = write_changed_rows(
        [
            rows_of(
                (1, "a", 1, 0, 0, True), (2, "b", 2, 0, 1, True), (3, "b", None, None, None, True)
            )
        ],
        a_layout(tmp_path, partition=BY_TEXT),
        (1,),
    )
    assert [(f.partition_values, f.record_count) for f in done.kept] == [(("a",), 1), (("b",), 1)]
    assert [f.partition_values for f in done.new] == [("b",)]
    assert len({f.path for f in (*done.kept, *done.new)}) == 3


def test_no_file_is_left_when_a_row_cannot_be_written(tmp_path):
    batches = [
        rows_of((1, "a", 1, 0, 0, True), (2, "b", None, None, None, True)),
        rows_of((None, "c", 2, 0, 1, True)),
    ]
    with pytest.raises(NotNullViolation):
        write_changed_rows(batches, a_layout(tmp_path, row_group_rows=1), ())
    assert list(tmp_path.iterdir()) == []


def test_no_rows_make_nothing(tmp_path):
    done = write_changed_rows([], a_layout(tmp_path), ())
    assert pickle.loads(pickle.dumps(done)) == done
    assert not any((done.new, done.kept, done.replaced, done.deleted, done.inserted))


@given(
    st.lists(
        st.tuples(st.none() | st.integers(-3, 3), st.integers(0, 2**40)), min_size=1, unique=True
    )
)
def test_positions_are_those_that_came_whatever_they_are(tmp_path_factory, identities):
    gone = [(None, None, None, file, position, False) for file, position in identities]
    layout = a_layout(tmp_path_factory.getbasetemp())
    deleted = write_changed_rows([rows_of(*gone)], layout, ()).deleted
    assert all(isinstance(each, Places) for each in deleted)
    expected = {}
    for file, position in sorted(identities, key=lambda pair: pair[1]):
        expected.setdefault(file, []).append(position)
    assert unpacked(deleted) == expected
