"""DataFrames become files, in the order of their rows, or leave nothing behind."""

from __future__ import annotations

import itertools

import pyarrow.parquet as pq
import pytest

from ducklake_spark.errors import InvalidValue, NotNullViolation, SparkFailure
from ducklake_spark.model.schema import Schema, build_column
from ducklake_spark.plan.layout import WriteLayout
from ducklake_spark.spark.carriers import carrier_schema, from_spark_type
from ducklake_spark.spark.write import write_files
from support.carried import a_schema

pytestmark = pytest.mark.spark


def layout_of(df, directory, **options) -> WriteLayout:
    ids = itertools.count(1)
    columns = (build_column(f.name, from_spark_type(f.dataType), ids) for f in df.schema)
    return WriteLayout(Schema(tuple(columns)), str(directory), "t", **options)


def test_a_small_dataframe_makes_one_file(spark, tmp_path):
    df = spark.range(0, 1000, 1, 4).selectExpr("id", "cast(id as string) AS `a.b`")
    (file,) = write_files(df, layout_of(df, tmp_path))
    assert file.record_count == 1000
    assert pq.read_table(file.path).column("a.b").to_pylist() == [str(i) for i in range(1000)]
    assert [path.name for path in tmp_path.iterdir()] == [file.relative_path]


def test_files_come_in_the_order_of_the_rows_when_there_are_many(spark, tmp_path):
    rows = 6_000_000
    df = spark.range(0, rows, 1, 3)
    layout = layout_of(df, tmp_path, row_group_rows=500_000, target_file_size=3_000_000)
    files = write_files(df, layout)
    assert len(files) > 3
    assert sum(file.record_count for file in files) == rows
    bounds = [(int(f.column_stats[0].min_value), int(f.column_stats[0].max_value)) for f in files]
    assert bounds == sorted(bounds)
    assert all(
        high - low + 1 == f.record_count for (low, high), f in zip(bounds, files, strict=True)
    )


def test_no_rows_make_no_file(spark, tmp_path):
    df = spark.range(0)
    assert write_files(df, layout_of(df, tmp_path)) == []


def test_every_carrier_of_a_table_can_be_written(spark, tmp_path):
    schema = a_schema(
        {
            "u8": "UTINYINT",
            "u64": "UBIGINT",
            "i128": "HUGEINT",
            "d": "DECIMAL(10,2)",
            "tm": "TIME",
            "ts": "TIMESTAMP",
            "tns": "TIMESTAMP_NS",
            "tz": "TIMESTAMPTZ",
            "iv": "INTERVAL",
            "id": "UUID",
            "j": "JSON",
            "s": "STRUCT(a INTEGER, l DATE[])",
            "m": "MAP(VARCHAR, UTINYINT)",
        }
    )
    values = spark.sql(
        "SELECT 255, 18446744073709551615, -1, 1.5, '12:00:00.5',"
        " timestamp_ntz'2024-01-02 03:04:05', '2024-01-02 03:04:05.123456789',"
        " timestamp'2024-01-02 03:04:05', '14 months',"
        " '10000000-0000-0000-0000-00000000000A', '{}', struct(1, array(date'2024-01-02')),"
        " map('k', 200) UNION ALL SELECT " + ", ".join(["NULL"] * 13)
    )
    fields = carrier_schema(schema).fields
    casts = [
        f"cast(`{a}` AS {f.dataType.simpleString()})"
        for a, f in zip(values.columns, fields, strict=True)
    ]
    (file,) = write_files(values.selectExpr(*casts), WriteLayout(schema, str(tmp_path), "t"))
    bounds = {schema.by_id[s.column_id].name: s.min_value for s in file.column_stats}
    assert bounds["u64"] == "18446744073709551615"
    assert bounds["tz"] == "2024-01-02 03:04:05+00"
    assert bounds["tns"] == "2024-01-02 03:04:05.123456789"
    assert bounds["id"] == "10000000-0000-0000-0000-00000000000a"
    assert {(s.value_count, s.null_count) for s in file.column_stats} == {(1, 1)}
    stored = pq.read_table(file.path).to_pylist()[0]
    assert (stored["iv"], stored["m"]) == ("1 year 2 months", [("k", 200)])


def test_a_value_that_does_not_fit_is_named_and_nothing_is_left(spark, tmp_path):
    schema = a_schema({"c": "UTINYINT"})
    df = spark.range(0, 400, 1, 2).selectExpr("cast(id AS smallint)")
    layout = WriteLayout(schema, str(tmp_path), "t", row_group_rows=10, target_file_size=1)
    with pytest.raises(InvalidValue, match="Cannot write '256' to column \"c\""):
        write_files(df, layout)
    assert list(tmp_path.rglob("*")) == []


def test_a_null_is_refused_when_the_column_allows_none(spark, tmp_path):
    schema = a_schema({"c": "BIGINT"}, required=("c",))
    df = spark.range(3).selectExpr("nullif(id, 1)")
    with pytest.raises(NotNullViolation, match=r"NOT NULL constraint failed: t\.c"):
        write_files(df, WriteLayout(schema, str(tmp_path), "t"))
    assert list(tmp_path.rglob("*")) == []


def test_a_cast_that_spark_refuses_is_an_invalid_value(spark, tmp_path):
    df = spark.range(3).selectExpr("cast(concat('x', id) AS INT) c")
    with pytest.raises(InvalidValue, match=r"'x[0-2]' of the type .STRING. cannot be cast"):
        write_files(df, layout_of(df, tmp_path))
    assert list(tmp_path.rglob("*")) == []


def test_any_other_failure_of_spark_is_told_without_its_stack(spark, tmp_path):
    df = spark.range(3).selectExpr("cast(raise_error('boo') AS INT) c")
    with pytest.raises(SparkFailure, match=r'Cannot write to table "t": .*boo') as caught:
        write_files(df, layout_of(df, tmp_path))
    assert "\n" not in caught.value.message
