import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from ducklake_spark.errors import ColumnMismatch, InvalidValue, NotSupported
from ducklake_spark.parquet.arrow_schema import to_arrow_type
from ducklake_spark.parquet.convert import build_converter
from support.carried import a_batch, a_schema


def convert(sql_type: str, values: list) -> pa.Array:
    """The array that is written for carrier values of a type."""
    schema = a_schema({"c": sql_type})
    stored = build_converter(schema.columns[0], "c")(a_batch(schema, c=values).column(0))
    assert stored.type == to_arrow_type(schema.columns[0])
    return stored


NOON = dt.datetime(2020, 1, 1, 12)


@pytest.mark.parametrize(
    ("sql_type", "values", "stored"),
    [
        ("UTINYINT", [0, 255, None], [0, 255, None]),
        ("USMALLINT", [0, 65535], [0, 65535]),
        ("UINTEGER", [0, 2**32 - 1], [0, 2**32 - 1]),
        ("UBIGINT", [Decimal(0), Decimal(2**64 - 1), None], [0, 2**64 - 1, None]),
        ("HUGEINT", [Decimal(-(10**38) + 1)], [Decimal(-(10**38) + 1)]),
        ("UHUGEINT", [Decimal(10**38 - 1), Decimal(0)], [Decimal(10**38 - 1), Decimal(0)]),
        ("TIMESTAMP_S", [NOON, None], [NOON, None]),
        ("TIMESTAMP_MS", [NOON.replace(microsecond=7000)], [NOON.replace(microsecond=7000)]),
        ("TIME", ["12:34:56.7", None], [dt.time(12, 34, 56, 700_000), None]),
        ("TIME WITH TIME ZONE", ["12:00:00+02:00", None], ["12:00:00+02", None]),
        ("INTERVAL", ["1 year 2 days 03:04:05.6"], ["1 year 2 days 03:04:05.6"]),
        ("INTERVAL", ["-1 months", "14 months"], ["-1 month", "1 year 2 months"]),
        ("JSON", ['{"a": [1, null]}', "1", None], ['{"a": [1, null]}', "1", None]),
        ("UINTEGER[]", [[1, None], None, []], [[1, None], None, []]),
        ("STRUCT(a UTINYINT)", [{"a": 1}, None], [{"a": 1}, None]),
        ("MAP(VARCHAR, INTERVAL)", [[("k", "1 days")]], [[("k", "1 day")]]),
    ],
)
def test_a_value_is_stored_as_it_is_when_it_fits(sql_type, values, stored):
    assert convert(sql_type, values).to_pylist() == stored


def test_nanoseconds_are_kept_when_a_timestamp_is_text():
    stored = convert("TIMESTAMP_NS", ["2020-01-01 00:00:00.123456789", None, "1969-12-31"])
    assert stored.cast(pa.int64()).to_pylist() == [
        1_577_836_800_123_456_789,
        None,
        -86_400_000_000_000,
    ]


def test_infinity_is_kept_when_a_timestamp_is_text():
    stored = convert("TIMESTAMP_NS", ["infinity", "2020-01-01 00:00:00"])
    assert stored.cast(pa.int64()).to_pylist() == [2**63 - 1, 1_577_836_800_000_000_000]


def test_the_last_moment_of_a_day_is_kept():
    assert convert("TIME", ["24:00:00"]).cast(pa.int64()).to_pylist() == [86_400_000_000]


def test_uuids_become_16_bytes_whatever_their_spelling():
    plain = "0123456789abcdef0123456789abcdef"
    dashed = "01234567-89AB-CDEF-0123-456789ABCDEF"
    stored = convert("UUID", [plain, None, dashed, "{" + dashed + "}"])
    assert stored.storage.to_pylist() == [bytes.fromhex(plain), None, *[bytes.fromhex(plain)] * 2]


@pytest.mark.parametrize(
    ("sql_type", "values", "culprit"),
    [
        ("UTINYINT", [1, 256], "256"),
        ("USMALLINT", [-1], "-1"),
        ("UINTEGER", [2**32], str(2**32)),
        ("UBIGINT", [Decimal(5), Decimal(2**64)], str(2**64)),
        ("UBIGINT", [Decimal(-1)], "-1"),
        ("UHUGEINT", [Decimal(3), Decimal(-4)], "-4"),
        ("TIMESTAMP_S", [NOON, NOON.replace(microsecond=1)], "2020-01-01 12:00:00.000001"),
        ("TIMESTAMP_MS", [NOON.replace(microsecond=1)], "2020-01-01 12:00:00.000001"),
        ("TIMESTAMP_NS", ["2020-01-01 00:00:00.1234567891"], "2020-01-01 00:00:00.1234567891"),
        ("TIMESTAMP_NS", ["9999-01-01 00:00:00"], "9999-01-01 00:00:00"),
        ("TIME", ["12:00:00", "25:00:00"], "25:00:00"),
        ("TIME", ["12:00:00.1234567"], "12:00:00.1234567"),
        ("TIME WITH TIME ZONE", ["noon"], "noon"),
        ("INTERVAL", ["1 day", "soon"], "soon"),
        ("UUID", ["10000000-0000-0000-0000-00000000000g"], "10000000-0000-0000-0000-00000000000g"),
        ("UUID", [None, ""], ""),
        ("JSON", ["{}", "{a: 1}"], "{a: 1}"),
        ("JSON", ["NaN"], "NaN"),
        ("JSON", [""], ""),
    ],
)
def test_a_value_is_named_when_it_does_not_fit(sql_type, values, culprit):
    with pytest.raises(InvalidValue) as caught:
        convert(sql_type, values)
    assert f"Cannot write {culprit!r} to column" in str(caught.value)
    assert f"of type {sql_type}." in str(caught.value)


def test_the_place_is_named_when_a_nested_value_does_not_fit():
    with pytest.raises(InvalidValue, match=r'column "c\[\]\.a"'):
        convert("STRUCT(a UTINYINT)[]", [[{"a": 1}, {"a": 300}]])


def test_text_is_refused_when_it_is_not_utf8():
    schema = a_schema({"c": "VARCHAR"})
    broken = pa.array([b"ok", b"\xff"], pa.binary()).view(pa.string())
    with pytest.raises(InvalidValue, match='column "c"'):
        build_converter(schema.columns[0], "c")(broken)


@pytest.mark.parametrize(
    ("sql_type", "array"),
    [
        ("TIMESTAMP", pa.array([NOON], pa.timestamp("us", "UTC"))),
        ("TIMESTAMPTZ", pa.array([NOON], pa.timestamp("us"))),
        ("INTEGER[]", pa.array([1])),
        ("STRUCT(a INTEGER)", pa.array([{"a": 1, "b": 2}])),
        ("MAP(VARCHAR, INTEGER)", pa.array([[1]])),
        ("DATE", pa.array([True])),
    ],
)
def test_an_array_of_another_kind_is_refused(sql_type, array):
    with pytest.raises(ColumnMismatch, match='column "c"'):
        build_converter(a_schema({"c": sql_type}).columns[0], "c")(array)


@pytest.mark.parametrize("sql_type", ["INTEGER", "UUID", "JSON", "INTEGER[]", "STRUCT(a UUID)"])
def test_nulls_of_no_type_become_nulls_of_the_column(sql_type):
    column = a_schema({"c": sql_type}).columns[0]
    stored = build_converter(column, "c")(pa.nulls(3))
    assert stored.type == to_arrow_type(column)
    assert stored.null_count == 3


def test_types_without_a_layout_are_refused():
    with pytest.raises(NotSupported, match='column "c"'):
        to_arrow_type(a_schema({"c": "VARIANT"}).columns[0])
