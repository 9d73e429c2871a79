"""Footers of files that others wrote: columns, mappings, statistics, refusals."""

import datetime as dt
import math
import uuid
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ducklake_spark.errors import CorruptDataFile, InvalidInput, NotNullViolation
from ducklake_spark.model.entities import NameMapping, PartitionField, PartitionSpec
from ducklake_spark.model.schema import Schema
from ducklake_spark.parquet.add import AddPlan, describe_file, describe_files
from ducklake_spark.parquet.foreign import file_columns
from ducklake_spark.plan.foreign import MappingRules
from support.carried import a_schema

STAMP = dt.datetime(2020, 1, 2, 3, 4, 5, 678_901)


def a_plan(columns: dict[str, str], directory="/lake/main/t/", **options) -> AddPlan:
    rules = {"allow_missing", "ignore_extra_columns"} & options.keys()
    given = MappingRules("t", **{name: options.pop(name) for name in rules})
    return AddPlan(a_schema(columns), directory, given, **options)


def described(tmp_path, columns: dict[str, str], data: dict, *, write=None, **options):
    path = tmp_path / "f.parquet"
    pq.write_table(pa.table(data), path, **(write or {}))
    return describe_file(str(path), a_plan(columns, **options))


def bounds(file, index=0):
    stats = file.column_stats[index]
    return stats.min_value, stats.max_value


@pytest.mark.parametrize(
    ("sql_type", "values", "least", "greatest"),
    [
        ("INTEGER", pa.array([5, None, -3], pa.int8()), "-3", "5"),
        ("BIGINT", pa.array([2**32 - 1, 7], pa.uint32()), "7", "4294967295"),
        ("UBIGINT", pa.array([2**64 - 1, 7], pa.uint64()), "7", str(2**64 - 1)),
        ("DOUBLE", pa.array([0.1, 2.5], pa.float32()), "0.10000000149011612", "2.5"),
        ("DECIMAL(18,3)", pa.array([Decimal("-1.5")], pa.decimal128(9, 1)), "-1.500", "-1.500"),
        (
            "DECIMAL(38,4)",
            pa.array([Decimal("1e30")], pa.decimal128(38, 2)),
            *["1" + "0" * 30 + ".0000"] * 2,
        ),
        ("TIMESTAMP", pa.array([STAMP], pa.timestamp("us")), *["2020-01-02 03:04:05.678901"] * 2),
        (
            "TIMESTAMP",
            pa.array([1_500_999], pa.timestamp("ns")),
            "1970-01-01 00:00:00.0015",
            "1970-01-01 00:00:00.001501",
        ),
        (
            "TIMESTAMP_NS",
            pa.array([STAMP], pa.timestamp("us")),
            *["2020-01-02 03:04:05.678901"] * 2,
        ),
        (
            "TIMESTAMP_MS",
            pa.array([STAMP], pa.timestamp("us")),
            "2020-01-02 03:04:05.678",
            "2020-01-02 03:04:05.679",
        ),
        (
            "TIMESTAMP_S",
            pa.array([-1], pa.timestamp("ms")),
            "1969-12-31 23:59:59",
            "1970-01-01 00:00:00",
        ),
        (
            "TIMESTAMPTZ",
            pa.array([5], pa.timestamp("ms", "UTC")),
            *["1970-01-01 00:00:00.005+00"] * 2,
        ),
        ("TIME", pa.array([5, 3_600_000_000], pa.time64("us")), "00:00:00.000005", "01:00:00"),
        ("DATE", pa.array([dt.date(1900, 1, 1)]), "1900-01-01", "1900-01-01"),
        ("VARCHAR", pa.array(["b", "é", None]), "b", "é"),
        ("BOOLEAN", pa.array([True, None]), "1", "1"),
        ("UUID", pa.array([uuid.UUID(int=5).bytes], pa.uuid()), *[str(uuid.UUID(int=5))] * 2),
    ],
    ids=lambda value: value if isinstance(value, str) else str(getattr(value, "type", "")),
)
def test_bounds_are_of_the_tables_type_and_enclose_the_values(
    tmp_path, sql_type, values, least, greatest
):
    file = described(tmp_path, {"a": sql_type}, {"a": values})
    assert bounds(file) == (least, greatest)
    stats = file.column_stats[0]
    assert (stats.value_count, stats.null_count) == (
        len(values) - values.null_count,
        values.null_count,
    )


def test_what_a_footer_does_not_tell_is_unknown(tmp_path):
    columns, data = {"a": "INTEGER", "b": "TIMESTAMP"}, {"a": [1, 2], "b": [STAMP, None]}
    data["a"] = pa.array([1, 2], pa.int32())
    bare = described(tmp_path, columns, data, write={"write_statistics": False})
    assert [bounds(bare, i) for i in (0, 1)] == [(None, None)] * 2
    assert {(s.value_count, s.null_count) for s in bare.column_stats} == {(None, None)}
    old = described(tmp_path, columns, data, write={"use_deprecated_int96_timestamps": True})
    assert bounds(old, 0) == ("1", "2")
    assert bounds(old, 1) == (None, None)


def test_whether_floats_hold_a_nan_is_never_known(tmp_path):
    file = described(tmp_path, {"a": "DOUBLE"}, {"a": [1.0, math.nan, -0.0]})
    assert file.column_stats[0].contains_nan is None
    only = described(tmp_path, {"a": "DOUBLE"}, {"a": [math.nan]})
    assert bounds(only) == (None, None)


def test_long_text_keeps_bounds_that_enclose_it(tmp_path):
    values = ["é" * 300, "z" * 300, "a\0b"]
    low, high = bounds(described(tmp_path, {"a": "VARCHAR"}, {"a": values}))
    assert low is None or low <= min(values)
    assert high is None or (high > max(values) and len(high.encode()) < 256)


def test_row_groups_are_taken_together_and_one_without_values_does_no_harm(tmp_path):
    data = {"a": pa.array([9, 4, None, None, 1, 2], pa.int64())}
    file = described(tmp_path, {"a": "BIGINT"}, data, write={"row_group_size": 2})
    assert bounds(file) == ("1", "9")
    assert (file.column_stats[0].value_count, file.column_stats[0].null_count) == (4, 2)


def test_nested_columns_are_mapped_node_by_node(tmp_path):
    data = {
        "S": pa.array([{"P": 1, "q": [{"x": 2}]}]),
        "m": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int32())),
    }
    columns = {"s": "STRUCT(p BIGINT, q STRUCT(x BIGINT)[])", "m": "MAP(VARCHAR, INTEGER)"}
    file = described(tmp_path, columns, data)
    element = NameMapping("list", 4, False, (NameMapping("x", 5, False),))
    fields = (NameMapping("P", 2, False), NameMapping("q", 3, False, (element,)))
    parts = (NameMapping("key", 7, False), NameMapping("value", 8, False))
    assert file.mapping == (NameMapping("S", 1, False, fields), NameMapping("m", 6, False, parts))
    assert [stats.column_id for stats in file.column_stats] == [2, 5, 7, 8]


@pytest.mark.parametrize(
    ("sql_type", "values", "message"),
    [
        ("TINYINT", pa.array([1], pa.int16()), "Expected TINYINT, found SMALLINT"),
        ("UINTEGER", pa.array([1], pa.int32()), "found INTEGER"),
        ("INTEGER", pa.array([1], pa.uint32()), "found UINTEGER"),
        ("FLOAT", pa.array([1.0]), "Expected FLOAT, found DOUBLE"),
        ("TIMESTAMP_MS", pa.array([1], pa.timestamp("ns")), "found TIMESTAMP_NS"),
        ("TIMESTAMP", pa.array([1], pa.timestamp("us", "UTC")), "found TIMESTAMP WITH TIME ZONE"),
        ("TIME", pa.array([1], pa.time64("ns")), "Expected TIME, found BIGINT"),
        ("VARCHAR", pa.array([b"x"]), "found BLOB"),
        ("BLOB", pa.array(["x"]), "found VARCHAR"),
        ("JSON", pa.array(["{}"]), "found VARCHAR"),
        ("UUID", pa.array(["x"]), "found VARCHAR"),
        ("HUGEINT", pa.array([Decimal(1)], pa.decimal128(38, 0)), "Expected HUGEINT"),
        ("DECIMAL(4,2)", pa.array([Decimal("1.1")], pa.decimal128(5, 2)), "Incompatible decimal"),
        ("DECIMAL(9,1)", pa.array([Decimal("1.1")], pa.decimal128(5, 2)), "Incompatible decimal"),
        ("INTEGER[]", pa.array([1], pa.int32()), "Expected LIST, found INTEGER"),
        ("STRUCT(a INTEGER)", pa.array([[1]]), "Expected STRUCT, found LIST"),
    ],
    ids=lambda value: value if isinstance(value, str) else str(getattr(value, "type", "")),
)
def test_a_type_that_does_not_fit_is_refused(tmp_path, sql_type, values, message):
    with pytest.raises(InvalidInput, match=message):
        described(tmp_path, {"a": sql_type}, {"a": values})


def test_columns_that_are_missing_or_left_over_need_permission(tmp_path):
    data = {"a": pa.array([1], pa.int32()), "x": ["?"]}
    columns = {"a": "INTEGER", "b": "INTEGER"}
    with pytest.raises(InvalidInput, match='"x" exists in file'):
        described(tmp_path, columns, data, allow_missing=True)
    with pytest.raises(InvalidInput, match='"b" exists in table "t"'):
        described(tmp_path, columns, data, ignore_extra_columns=True)
    file = described(tmp_path, columns, data, allow_missing=True, ignore_extra_columns=True)
    assert file.mapping == (NameMapping("a", 1, False),)
    nested = {"s": pa.array([{"p": 1}])}
    with pytest.raises(InvalidInput, match=r'"s\.q" exists in table'):
        described(tmp_path, {"s": "STRUCT(p BIGINT, q BIGINT)"}, nested)


def test_values_of_the_path_are_constants_with_exact_bounds(tmp_path):
    folder = tmp_path / "year=02024" / "r=a%2Fb"
    folder.mkdir(parents=True)
    path = folder / "f.parquet"
    pq.write_table(pa.table({"v": pa.array([1, 2], pa.int32()), "year": [7, 8]}), path)
    columns = {"v": "INTEGER", "year": "INTEGER", "r": "VARCHAR"}
    file = describe_file(str(path), a_plan(columns))
    assert [bounds(file, i) for i in (1, 2)] == [("2024", "2024"), ("a/b", "a/b")]
    assert [entry.is_partition for entry in file.mapping] == [False, True, True]
    with pytest.raises(InvalidInput, match="found BIGINT"):
        describe_file(str(path), a_plan(columns, hive=False, allow_missing=True))
    with pytest.raises(InvalidInput, match="cannot be cast"):
        describe_file(str(path), a_plan({"v": "INTEGER", "year": "BIGINT", "r": "DATE"}))


def test_a_partitioned_table_wants_its_keys_in_the_path(tmp_path):
    folder = tmp_path / "p=3" / "year=2024"
    folder.mkdir(parents=True)
    path = folder / "f.parquet"
    pq.write_table(pa.table({"d": [dt.date(2024, 5, 6)]}), path)
    columns = {"p": "INTEGER", "d": "DATE"}
    spec = PartitionSpec(9, (PartitionField(1, "identity"), PartitionField(2, "year")))
    assert describe_file(str(path), a_plan(columns, partition=spec)).partition_values == (
        "3",
        "2024",
    )
    other = PartitionSpec(9, (PartitionField(2, "month"),))
    with pytest.raises(InvalidInput, match="invalid partition value"):
        describe_file(str(path), a_plan(columns, partition=other))


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("kind", ["INTEGER", "INTEGER[]"])
def test_null_is_refused_for_a_column_that_must_have_a_value(tmp_path, statistics, kind):
    (column,) = a_schema({"a": kind}).columns
    values = [1, None] if kind == "INTEGER" else [[1], None]
    type_ = pa.int32() if kind == "INTEGER" else pa.list_(pa.int32())
    path = tmp_path / "f.parquet"
    pq.write_table(pa.table({"a": pa.array(values, type_)}), path, write_statistics=statistics)
    plan = a_plan({"a": kind})
    strict = replace(plan, schema=Schema((replace(column, nulls_allowed=False),)))
    assert describe_file(str(path), plan).record_count == 2
    with pytest.raises(NotNullViolation, match=r"t\.a"):
        describe_file(str(path), strict)


def test_a_file_below_the_tables_directory_has_a_relative_path_and_one_without_rows_is_left_out(
    tmp_path,
):
    for name, values in (("a", [1]), ("b", [])):
        pq.write_table(pa.table({"a": pa.array(values, pa.int32())}), tmp_path / f"{name}.parquet")
    plan = a_plan({"a": "INTEGER"}, f"{tmp_path}/")
    paths = [str(tmp_path / f"{name}.parquet") for name in ("a", "b")]
    (file,) = describe_files(paths, plan)
    assert (file.relative_path, file.record_count) == ("a.parquet", 1)
    elsewhere = describe_file(paths[0], a_plan({"a": "INTEGER"}))
    assert elsewhere.relative_path == ""
    assert not elsewhere.is_ours
    data = (tmp_path / "a.parquet").read_bytes()
    assert file.footer_size == int.from_bytes(data[-8:-4], "little")


def test_something_else_is_no_parquet_file(tmp_path):
    path = tmp_path / "f.parquet"
    path.write_text("certainly not")
    with pytest.raises(CorruptDataFile, match="no Parquet file"):
        describe_file(str(path), a_plan({"a": "INTEGER"}))


def test_an_unusual_way_to_store_a_moment_is_noticed(tmp_path):
    path = tmp_path / "f.parquet"
    data = pa.table({"a": pa.array([STAMP], pa.timestamp("us"))})
    pq.write_table(data, path, use_deprecated_int96_timestamps=True)
    (column,) = file_columns(pq.read_metadata(path))
    assert (column.type_name, column.layout) == ("timestamp", "int96")
