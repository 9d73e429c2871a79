from __future__ import annotations

import datetime as dt
from decimal import Decimal

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ducklake_spark.errors import InvalidInput, InvalidValue
from ducklake_spark.model.literals import format_text
from ducklake_spark.model.murmur import murmur3
from ducklake_spark.model.names import is_plain_name, make_uuid4, quote_identifier
from ducklake_spark.model.partition import (
    Transform,
    encode_hive,
    folder_names,
    hash_input,
    hive_path,
    parse_transform,
    partition_value,
)
from ducklake_spark.model.types import DecimalType, ScalarType, format_sql_type
from unit.model.value_strategies import SCALARS

MOMENT = dt.datetime(2017, 11, 16, 22, 31, 8)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (ScalarType("int8"), 34, 2017239379),
        (ScalarType("int64"), 34, 2017239379),
        (ScalarType("uint64"), Decimal(34), -427558391),
        (ScalarType("int128"), Decimal(34), -427558391),
        (DecimalType(9, 2), Decimal("14.20"), -622427183),
        (DecimalType(38, 2), Decimal("14.20"), -1660625346),
        (ScalarType("date"), MOMENT.date(), -653330422),
        (ScalarType("time"), MOMENT.time(), -662762989),
        (ScalarType("timestamp"), MOMENT, -2047944441),
        (ScalarType("varchar"), "iceberg", 1210000089),
        (ScalarType("uuid"), "f79c3e09-677c-4bbd-a479-3f349cb785e7", 980414783),
        (ScalarType("blob"), b"\0\1\2\3", -188683207),
        (ScalarType("boolean"), True, 1392991556),
        (ScalarType("float64"), 1.0, -142385009),
        (ScalarType("float64"), -0.0, murmur3(bytes(8))),
    ],
)
def test_hashes_are_those_of_the_extension(kind, value, expected):
    assert murmur3(hash_input(value, kind)) == expected


@pytest.fixture(scope="module")
def con():
    pytest.importorskip("duckdb_extensions").import_extension("ducklake")
    with duckdb.connect() as connection:
        connection.execute("LOAD ducklake; SET TimeZone = 'UTC'")
        yield connection


@pytest.mark.interop
@pytest.mark.parametrize(
    "name",
    [*sorted(SCALARS), "timestamp_s", "timestamp_ms", "timestamp_ns", "timetz", "interval"],
)
def test_hashes_agree_with_the_extension_for_all_values(con, name):
    kind = ScalarType(name)
    texts = {
        "timetz": st.sampled_from(["12:00:00+02", "00:00:00-15:30"]),
        "interval": st.just("1 month"),
    }
    moments = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)).map(
        lambda m: m.replace(microsecond=0)
    )
    values = SCALARS[name] if name in SCALARS else texts.get(name, moments)

    @settings(max_examples=15, deadline=None)
    @given(st.lists(values, min_size=1, max_size=30))
    def check(many):
        rows = con.execute(
            f"SELECT murmur3_32(CAST(v AS {format_sql_type(kind)})) FROM (SELECT unnest(?) AS v)",
            [[format_text(value, kind) for value in many]],
        ).fetchall()
        assert [murmur3(hash_input(value, kind)) for value in many] == [found for (found,) in rows]

    check()


@pytest.mark.parametrize(
    ("transform", "name", "value", "text"),
    [
        ("identity", "date", MOMENT.date(), "2017-11-16"),
        ("identity", "boolean", True, "true"),
        ("identity", "varchar", "", ""),
        (
            "identity",
            "timestamptz",
            MOMENT.replace(tzinfo=dt.timezone.utc),
            "2017-11-16 22:31:08+00",
        ),
        ("year", "timestamp", MOMENT, "2017"),
        ("month", "date", MOMENT.date(), "11"),
        ("day", "timestamp_ns", "2017-11-16 22:31:08", "16"),
        ("hour", "timestamp", MOMENT, "22"),
        ("hour", "date", MOMENT.date(), "0"),
        ("year", "date", "infinity", None),
        ("bucket(16)", "varchar", "iceberg", "9"),
        ("bucket(16)", "varchar", None, None),
    ],
)
def test_partition_values_are_calendar_fields_buckets_and_texts(transform, name, value, text):
    assert partition_value(value, ScalarType(name), transform) == text


def test_a_calendar_field_of_text_is_refused():
    with pytest.raises(InvalidValue, match="year"):
        partition_value("2024", ScalarType("varchar"), "year")


@pytest.mark.parametrize("text", ["bucket(0)", "bucket", "week", "epoch_year"])
def test_unknown_transforms_are_refused(text):
    with pytest.raises(InvalidInput, match="partition transform"):
        parse_transform(text)


def test_folders_are_named_as_the_extension_names_them():
    year = Transform("year")
    keys = [("a", year), ("b", year), ("year", Transform("identity"))]
    assert folder_names(keys) == ["year", "year_b", "year_year"]
    assert hive_path(["s", "t"], ["", None]) == "s=/t=__HIVE_DEFAULT_PARTITION__/"
    assert encode_hive("a/b:c+d=é ~..") == "a%2Fb%3Ac%2Bd%3D%C3%A9%20~.."


def test_names_are_quoted_and_plain_ones_become_directories():
    assert quote_identifier('a"b') == '"a""b"'
    assert is_plain_name("a-B_1")
    assert not is_plain_name("")
    assert not is_plain_name("a b")
    assert make_uuid4()[14] == "4"
