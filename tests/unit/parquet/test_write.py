import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ducklake_spark.errors import InvalidValue, NotNullViolation
from ducklake_spark.parquet.write import is_of_job, write_batches
from ducklake_spark.plan.layout import WriteLayout
from support.carried import JOB, a_batch, a_schema, write


def field_ids(path: str) -> dict[str, int]:
    """Every node of a file's schema with its field id, from pyarrow's rendering."""
    found = {}
    for line in str(pq.read_metadata(path).schema).splitlines()[2:]:
        words = line.split()
        numbered = [word for word in words if word.startswith("field_id=")]
        if numbered:
            name = words[words.index(numbered[0]) + 1].rstrip(";")
            found[name] = int(numbered[0].removeprefix("field_id="))
    return found


def test_every_node_of_a_file_has_its_field_id_when_columns_are_nested(tmp_path):
    schema = a_schema({"a": "INT", "s": "STRUCT(x INT, y VARCHAR[])", "m": "MAP(VARCHAR, UUID)"})
    rows = a_batch(
        schema,
        a=[1],
        s=[{"x": 1, "y": ["p"]}],
        m=[[("k", "10000000-0000-0000-0000-000000000000")]],
    )
    (file,) = write(tmp_path, schema, rows)
    ids = field_ids(file.path)
    expected = {"a": 1, "s": 2, "x": 3, "y": 4, "element": 5, "m": 6, "key": 7, "value": 8}
    assert {name: ids[name] for name in expected} == expected
    assert ids["list"] == ids["key_value"] == -1


def test_sizes_are_those_of_the_file_when_it_is_complete(tmp_path):
    schema = a_schema({"a": "BIGINT", "b": "VARCHAR"})
    batches = [a_batch(schema, a=list(range(i, i + 900)), b=["x" * i] * 900) for i in range(9)]
    (file,) = write(tmp_path, schema, *batches, row_group_rows=1000)
    data = Path(file.path).read_bytes()
    assert file.file_size_bytes == len(data)
    assert file.footer_size == int.from_bytes(data[-8:-4], "little")
    assert file.record_count == 8100
    assert Path(file.path) == tmp_path / file.relative_path


def test_a_file_carries_no_schema_of_arrow_and_only_optional_columns(tmp_path):
    schema = a_schema({"a": "INT"}, required=("a",))
    (file,) = write(tmp_path, schema, a_batch(schema, a=[1]))
    metadata = pq.read_metadata(file.path)
    assert metadata.metadata is None
    assert metadata.schema.column(0).max_definition_level == 1


def test_row_groups_are_full_when_batches_are_of_other_sizes(tmp_path):
    schema = a_schema({"a": "INT"})
    batches = [a_batch(schema, a=list(range(n))) for n in (3, 11, 0, 1, 25, 4)]
    (file,) = write(tmp_path, schema, *batches, row_group_rows=10)
    metadata = pq.read_metadata(file.path)
    groups = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    assert groups == [10, 10, 10, 10, 4]
    rows = [value for batch in batches for value in batch.column(0).to_pylist()]
    assert pq.read_table(file.path).column("a").to_pylist() == rows


def test_row_groups_end_early_when_they_have_enough_bytes(tmp_path):
    schema = a_schema({"a": "BIGINT"})
    batches = [a_batch(schema, a=list(range(100))) for _ in range(6)]
    (file,) = write(tmp_path, schema, *batches, row_group_bytes=1500)
    assert pq.read_metadata(file.path).num_row_groups == 3


def test_files_rotate_when_the_target_size_is_reached(tmp_path):
    schema = a_schema({"a": "VARCHAR"})
    batches = [a_batch(schema, a=[f"{i}-{n}" for n in range(1000)]) for i in range(6)]
    files = write(tmp_path, schema, *batches, row_group_rows=1000, target_file_size=7000)
    assert [file.record_count for file in files] == [2000, 2000, 2000]
    assert len({file.path for file in files}) == 3
    assert [pq.read_table(file.path).column("a")[0].as_py() for file in files] == [
        "0-0",
        "2-0",
        "4-0",
    ]


def test_no_file_is_made_when_there_are_no_rows(tmp_path):
    schema = a_schema({"a": "INT"})
    assert write(tmp_path / "t", schema, a_batch(schema, a=[])) == []
    assert not (tmp_path / "t").exists()


def test_all_files_are_removed_when_a_later_value_does_not_fit(tmp_path):
    schema = a_schema({"a": "UTINYINT"})
    batches = [a_batch(schema, a=list(range(100))), a_batch(schema, a=[5, -1])]
    with pytest.raises(InvalidValue, match="'-1'"):
        write(tmp_path, schema, *batches, row_group_rows=10, target_file_size=1)
    assert list(tmp_path.rglob("*.parquet")) == []


def test_all_files_are_removed_when_the_reader_stops_asking(tmp_path):
    schema = a_schema({"a": "INT"})
    layout = WriteLayout(schema, str(tmp_path), "t", row_group_rows=1, target_file_size=1)
    files = write_batches(iter([a_batch(schema, a=[1, 2, 3])]), layout, JOB)
    assert Path(next(files).path).exists()
    files.close()
    assert list(tmp_path.rglob("*.parquet")) == []


def test_a_null_is_refused_when_the_column_allows_none(tmp_path):
    schema = a_schema({"a": "INT", "b": "INT"}, required=("b",))
    with pytest.raises(NotNullViolation, match=r"NOT NULL constraint failed: t\.b"):
        write(tmp_path, schema, a_batch(schema, a=[None, 1], b=[1, None]))
    assert list(tmp_path.rglob("*.parquet")) == []


def test_names_end_with_the_job_and_sort_by_time(tmp_path):
    schema = a_schema({"a": "INT"})
    first = write(tmp_path, schema, a_batch(schema, a=[1]))[0].path
    time.sleep(0.002)  # names of one task and job differ by the millisecond
    second = write(tmp_path, schema, a_batch(schema, a=[1]))[0].path
    assert first < second
    assert is_of_job(first, JOB)
    assert not is_of_job(first, "ffffffffffff")
    assert Path(first).name.startswith("ducklake-")
    assert Path(first).name[23] == "7"


def test_extra_columns_are_written_without_statistics(tmp_path):
    schema = a_schema({"a": "INT", "r": "BIGINT"})
    table, extra = schema.columns
    layout_schema = type(schema)((table,))
    rows = a_batch(schema, a=[7], r=[42])
    (file,) = write(tmp_path, layout_schema, rows, extra_columns=(extra,))
    assert [stats.column_id for stats in file.column_stats] == [1]
    assert pq.read_table(file.path).to_pydict() == {"a": [7], "r": [42]}


@pytest.mark.parametrize("codec", ["snappy", "zstd", "gzip", "lz4", "none", "uncompressed"])
def test_the_codec_is_the_one_asked_for(tmp_path, codec):
    schema = a_schema({"a": "INT"})
    (file,) = write(tmp_path, schema, a_batch(schema, a=[1] * 100), compression=codec)
    used = pq.read_metadata(file.path).row_group(0).column(0).compression
    assert used.lower() == {"none": "uncompressed"}.get(codec, codec)


def test_pages_are_of_version_two_when_the_layout_says_so(tmp_path):
    schema = a_schema({"a": "INT"})
    rows = a_batch(schema, a=list(range(100)))
    (file,) = write(tmp_path, schema, rows, parquet_version="V2")
    assert pq.read_table(file.path).column("a").to_pylist() == list(range(100))


def test_sliced_batches_are_written_as_they_are_seen(tmp_path):
    schema = a_schema({"u": "UUID", "l": "STRUCT(x VARCHAR)[]", "m": "MAP(VARCHAR, INT)"})
    uuids = [f"{i}0000000-0000-0000-0000-000000000000" for i in range(5)]
    lists = [[{"x": str(i)}] * i for i in range(5)]
    maps = [[(f"k{i}", i)] for i in range(5)]
    rows = a_batch(schema, u=[None, *uuids[1:]], l=lists, m=maps)
    (file,) = write(tmp_path, schema, rows.slice(2, 2))
    assert pa.table(pq.read_table(file.path)).column("l").to_pylist() == lists[2:4]
    assert [str(u) for u in pq.read_table(file.path).column("u").to_pylist()] == uuids[2:4]
    assert pq.read_table(file.path).column("m").to_pylist() == maps[2:4]
