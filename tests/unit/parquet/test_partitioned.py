"""Rows that come sorted by partition become files in the folders of their partitions."""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ducklake_spark.errors import NotNullViolation
from ducklake_spark.model.entities import PartitionField, PartitionSpec
from ducklake_spark.parquet.partitioned import find_runs, write_partitions
from ducklake_spark.plan.layout import WriteLayout
from support.carried import JOB, a_batch, a_schema

SCHEMA = a_schema({"s": "VARCHAR", "d": "DATE", "n": "INT"}, required=("n",))
SPEC = PartitionSpec(7, (PartitionField(1, "identity"), PartitionField(2, "year")))


def write(tmp_path, *batches, spec=SPEC, keys=(0, 3), **options):
    layout = WriteLayout(SCHEMA, str(tmp_path), "t", partition=spec, **options)
    return list(write_partitions(iter(batches), layout, keys, JOB))


def a_sorted_batch(texts, years, numbers):
    batch = a_batch(SCHEMA, s=texts, d=[0] * len(texts), n=numbers)
    return pa.RecordBatch.from_arrays(
        [*batch.columns, pa.array(years, pa.int32())], names=["s", "d", "n", "key"]
    )


def test_runs_end_where_a_value_changes_and_null_and_nan_equal_themselves():
    texts = pa.array(["a", "a", None, None, "b", "b"])
    numbers = pa.array([1.0, 1.0, 1.0, math.nan, math.nan, None])
    assert find_runs([texts]) == [(0, 2), (2, 4), (4, 6)]
    assert find_runs([numbers]) == [(0, 3), (3, 5), (5, 6)]
    assert find_runs([texts, numbers]) == [(0, 2), (2, 3), (3, 4), (4, 5), (5, 6)]
    assert find_runs([pa.array([], pa.int32())]) == []
    assert find_runs([pa.array([0.0, -0.0])]) == [(0, 2)]


def test_each_partition_has_a_folder_and_a_file_when_it_goes_over_batches(tmp_path):
    files = write(
        tmp_path,
        a_sorted_batch(["a/b", "a/b", "x"], [2024, 2024, -43], [1, 2, 3]),
        a_sorted_batch(["x", None], [-43, None], [4, 5]),
    )
    assert [(f.partition_values, f.record_count) for f in files] == [
        (("a/b", "2024"), 2),
        (("x", "-43"), 2),
        ((None, None), 1),
    ]
    assert [str(Path(f.relative_path).parent) for f in files] == [
        "s=a%2Fb/year=2024",
        "s=x/year=-43",
        "s=__HIVE_DEFAULT_PARTITION__/year=__HIVE_DEFAULT_PARTITION__",
    ]
    assert pq.read_schema(files[0].path).names == ["s", "d", "n"]
    assert pq.ParquetFile(files[1].path).read().column("n").to_pylist() == [3, 4]


def test_values_are_kept_when_folders_are_not_wanted(tmp_path):
    (file,) = write(tmp_path, a_sorted_batch(["a"], [2024], [1]), hive=False)
    assert "/" not in file.relative_path
    assert file.partition_values == ("a", "2024")


def test_a_partition_rotates_when_the_target_size_is_reached(tmp_path):
    batches = [a_sorted_batch(["a"] * 1000, [2024] * 1000, range(i, i + 1000)) for i in range(4)]
    files = write(tmp_path, *batches, row_group_rows=1000, target_file_size=3000)
    assert len(files) > 1
    assert sum(file.record_count for file in files) == 4000
    assert {file.partition_values for file in files} == {("a", "2024")}


def test_no_file_is_left_when_a_later_partition_fails(tmp_path):
    with pytest.raises(NotNullViolation):
        write(tmp_path, a_sorted_batch(["a", "b"], [1, 1], [1, None]))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
