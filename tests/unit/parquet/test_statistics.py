import datetime as dt
import math
from decimal import Decimal

import pyarrow.parquet as pq
import pytest

from ducklake_spark.model.written import ColumnStats
from support.carried import a_batch, a_schema, write

UTC = dt.timezone.utc


def stats_of(tmp_path, sql_type: str, *batches: list, **options) -> ColumnStats:
    """Statistics of the last leaf of one column."""
    schema = a_schema({"c": sql_type})
    rows = [a_batch(schema, c=values) for values in batches]
    (file,) = write(tmp_path, schema, *rows, **options)
    return file.column_stats[-1]


@pytest.mark.parametrize(
    ("sql_type", "values", "least", "greatest"),
    [
        ("BOOLEAN", [True, False], "0", "1"),
        ("TINYINT", [-128, 127], "-128", "127"),
        ("BIGINT", [-(2**63), 2**63 - 1], "-9223372036854775808", "9223372036854775807"),
        ("UTINYINT", [255, 0], "0", "255"),
        ("UINTEGER", [2**31, 5, 2**32 - 1], "5", "4294967295"),
        ("UBIGINT", [Decimal(2**63), Decimal(1), Decimal(2**64 - 1)], "1", str(2**64 - 1)),
        ("HUGEINT", [Decimal(-(10**38) + 1), Decimal(7)], str(-(10**38) + 1), "7"),
        ("UHUGEINT", [Decimal(10**38 - 1), Decimal(7)], "7", str(10**38 - 1)),
        ("FLOAT", [0.5, -0.0, 16_777_216.0], "0.0", "16777216.0"),
        ("DOUBLE", [1e300, -math.inf], "-inf", "1e+300"),
        ("DECIMAL(4,2)", [Decimal("-1"), Decimal("12.5")], "-1.00", "12.50"),
        ("DECIMAL(18,2)", [Decimal("-1"), Decimal("12.5")], "-1.00", "12.50"),
        ("DECIMAL(38,10)", [Decimal("-1"), Decimal("12.5")], "-1.0000000000", "12.5000000000"),
        ("DATE", [dt.date(1, 1, 2), dt.date(9999, 12, 31)], "0001-01-02", "9999-12-31"),
        ("TIME", ["00:00:00", "12:34:56.789"], "00:00:00", "12:34:56.789"),
        (
            "TIMESTAMP",
            [dt.datetime(2024, 1, 2, 3, 4, 5, 678_901), dt.datetime(1900, 1, 1)],
            "1900-01-01 00:00:00",
            "2024-01-02 03:04:05.678901",
        ),
        ("TIMESTAMP_S", [dt.datetime(2024, 1, 2)], "2024-01-02 00:00:00", "2024-01-02 00:00:00"),
        (
            "TIMESTAMP_MS",
            [dt.datetime(1900, 1, 2, 3, 4, 5, 120_000)],
            "1900-01-02 03:04:05.12",
            "1900-01-02 03:04:05.12",
        ),
        (
            "TIMESTAMP_NS",
            ["2024-01-02 03:04:05.123456789", "2024-01-02 03:04:05.1"],
            "2024-01-02 03:04:05.1",
            "2024-01-02 03:04:05.123456789",
        ),
        (
            "TIMESTAMPTZ",
            [dt.datetime(2024, 1, 2, 3, tzinfo=UTC)],
            "2024-01-02 03:00:00+00",
            "2024-01-02 03:00:00+00",
        ),
        ("VARCHAR", ["b", "", "é"], "", "é"),
        ("BLOB", [b"\x00\xffab", b"\x01"], "00FF6162", "01"),
        (
            "UUID",
            ["F0000000-0000-0000-0000-000000000001", "10000000-0000-0000-0000-000000000000"],
            "10000000-0000-0000-0000-000000000000",
            "f0000000-0000-0000-0000-000000000001",
        ),
        ("JSON", ['{"a":1}', "[1]"], "[1]", '{"a":1}'),
        ("INTERVAL", ["1 day"], None, None),
        ("TIME WITH TIME ZONE", ["12:00:00+02"], None, None),
    ],
)
def test_bounds_are_written_as_duckdb_does(tmp_path, sql_type, values, least, greatest):
    stats = stats_of(tmp_path, sql_type, [None, *values])
    assert (stats.min_value, stats.max_value) == (least, greatest)
    assert (stats.value_count, stats.null_count) == (len(values), 1)
    assert stats.column_size_bytes > 0


def test_bounds_span_all_row_groups(tmp_path):
    stats = stats_of(tmp_path, "UBIGINT", [Decimal(5), Decimal(9)], [None], row_group_rows=1)
    assert (stats.min_value, stats.max_value, stats.null_count) == ("5", "9", 1)


def test_bounds_are_unknown_when_all_values_are_null(tmp_path):
    stats = stats_of(tmp_path, "DOUBLE", [None, None])
    assert (stats.min_value, stats.max_value, stats.value_count) == (None, None, 0)
    assert stats.contains_nan is False


@pytest.mark.parametrize(
    ("sql_type", "values"),
    [
        ("DOUBLE", [1.0, math.nan, None]),
        ("FLOAT[]", [[1.0], [], None, [math.nan]]),
        ("STRUCT(a DOUBLE)", [None, {"a": math.nan}]),
        ("MAP(VARCHAR, DOUBLE)", [[("k", math.nan)]]),
    ],
)
def test_bounds_are_unknown_when_a_value_is_nan(tmp_path, sql_type, values):
    stats = stats_of(tmp_path, sql_type, values)
    assert (stats.min_value, stats.max_value, stats.contains_nan) == (None, None, True)


def test_nan_is_told_for_floating_point_only(tmp_path):
    assert stats_of(tmp_path, "INTEGER", [1]).contains_nan is None
    assert stats_of(tmp_path, "DOUBLE[]", [[1.0, None]]).contains_nan is False


@pytest.mark.parametrize("length", [300, 5000])
def test_bounds_hold_when_texts_are_long(tmp_path, length):
    values = ["m" * length, "z" * length]
    stats = stats_of(tmp_path, "VARCHAR", values)
    assert stats.min_value is None or stats.min_value <= values[0]
    assert stats.max_value is None or stats.max_value >= values[1]
    assert len(stats.min_value or "") <= 256


@pytest.mark.parametrize(
    ("sql_type", "values", "value_count", "null_count"),
    [
        ("INTEGER[]", [[1, 2], None, [], [None, 3]], 3, 3),
        ("INTEGER[][]", [[[1], [], None, [None]], None, []], 1, 5),
        ("STRUCT(a INTEGER)", [{"a": 1}, None, {"a": None}], 1, 2),
        ("MAP(VARCHAR, INTEGER)", [[("a", 1), ("b", None)], None, []], 1, 3),
    ],
)
def test_leaves_count_one_null_for_an_empty_or_missing_list(
    tmp_path, sql_type, values, value_count, null_count
):
    stats = stats_of(tmp_path, sql_type, values)
    assert (stats.value_count, stats.null_count) == (value_count, null_count)


def test_each_leaf_has_statistics_and_no_other_node(tmp_path):
    schema = a_schema({"s": "STRUCT(a INT, l VARCHAR[])", "m": "MAP(INT, DOUBLE)"})
    rows = a_batch(schema, s=[{"a": 1, "l": ["x"]}], m=[[(1, 2.0)]])
    (file,) = write(tmp_path, schema, rows)
    assert [stats.column_id for stats in file.column_stats] == [2, 4, 6, 7]


def test_a_footer_tells_no_bounds_of_a_column_with_nan(tmp_path):
    schema = a_schema({"a": "DOUBLE", "b": "DOUBLE", "l": "DOUBLE[]"})
    rows = a_batch(schema, a=[1.0, math.nan], b=[1.0, 2.0], l=[[math.nan, None], None])
    (file,) = write(tmp_path, schema, rows)
    group = pq.read_metadata(file.path).row_group(0)
    assert group.column(0).statistics is None
    assert group.column(1).statistics.max == 2.0
    assert group.column(2).statistics is None
    counts = [(stats.value_count, stats.null_count) for stats in file.column_stats]
    assert counts == [(2, 0), (2, 0), (1, 2)]


def test_a_new_file_begins_when_nan_comes_late(tmp_path):
    schema = a_schema({"a": "DOUBLE"})
    batches = [a_batch(schema, a=[1.0]), a_batch(schema, a=[math.nan]), a_batch(schema, a=[2.0])]
    first, second = write(tmp_path, schema, *batches, row_group_rows=1)
    assert (first.record_count, first.column_stats[0].max_value) == (1, "1.0")
    assert (second.record_count, second.column_stats[0].contains_nan) == (2, True)


@pytest.mark.parametrize("sliced", [False, True])
def test_values_are_counted_at_every_depth_when_there_is_nan(tmp_path, sliced):
    schema = a_schema({"c": "MAP(VARCHAR, STRUCT(x DOUBLE)[])"})
    lists = [[{"x": math.nan}, None, {"x": None}], None, [], [{"x": 1.0}]]
    maps = [[("skipped", [{"x": 1.0}])], [(str(i), part) for i, part in enumerate(lists)], None, []]
    rows = a_batch(schema, c=maps)
    (file,) = write(tmp_path, schema, rows.slice(1) if sliced else rows)
    stats = file.column_stats[-1]
    expected = (2, 6) if sliced else (3, 6)
    assert (stats.value_count, stats.null_count, stats.contains_nan) == (*expected, True)
