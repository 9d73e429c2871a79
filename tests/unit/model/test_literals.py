from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ducklake_spark.errors import InvalidValue
from ducklake_spark.model.bound_text import lower_bound, upper_bound
from ducklake_spark.model.intervals import normalize_interval, normalize_timetz
from ducklake_spark.model.literals import (
    format_stat,
    format_text,
    from_python,
    parse_stat,
    parse_text,
    to_ordinal,
)
from ducklake_spark.model.types import DecimalType, ScalarType, parse_sql_type


def scalar(name: str) -> ScalarType:
    return ScalarType(name)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("boolean", True, "1"),
        ("int8", -5, "-5"),
        ("uint64", Decimal(2**64 - 1), "18446744073709551615"),
        ("float64", 16777216.0, "16777216.0"),
        ("float64", 1e300, "1e+300"),
        ("float64", 1e15, "1000000000000000.0"),
        ("float64", 1e16, "1e+16"),
        ("float64", -0.0, "0.0"),
        ("float64", -math.inf, "-inf"),
        ("float32", 0.10000000149011612, "0.1"),
        ("date", dt.date(1, 1, 2), "0001-01-02"),
        ("date", -735_600, "0046-12-31 (BC)"),
        ("date", 2**31 - 1, "infinity"),
        ("time", dt.time(12, 34, 56, 789_000), "12:34:56.789"),
        ("timestamp", dt.datetime(2024, 1, 2, 3, 4, 5, 678_901), "2024-01-02 03:04:05.678901"),
        ("timestamp_ns", 1, "1970-01-01 00:00:00.000000001"),
        (
            "timestamptz",
            dt.datetime(2024, 1, 2, 3, 4, tzinfo=dt.timezone(dt.timedelta(hours=2))),
            "2024-01-02 01:04:00+00",
        ),
        ("uuid", "F79C3E09-677C-4BBD-A479-3F349CB785E7", "f79c3e09-677c-4bbd-a479-3f349cb785e7"),
        ("varchar", "x'y", "x'y"),
        ("blob", b"\x00\xffab", "00FF6162"),
    ],
)
def test_bounds_are_written_as_the_extension_writes_them_for_files(name, value, text):
    assert format_stat(value, scalar(name)) == text
    comparable = from_python(value, scalar(name)) if name != "uuid" else text
    assert parse_stat(text, scalar(name)) == comparable


@pytest.mark.parametrize("value", [math.nan, None])
def test_a_bound_without_an_order_is_unknown(value):
    assert format_stat(value, scalar("float64")) is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("float64", "nan"),
        ("interval", "1 month"),
        ("timetz", "12:34:56.789+02"),
        ("int32", "true"),
        ("int8", "300"),
        ("uint64", "9" * 400),
        ("int64", "9" * 5000),
        ("int64", "1e99999999"),
        ("date", "2024-02-30"),
        ("timestamptz", "2024-01-01 00:00:00"),  # a timestamp once: of which zone?
        ("timestamp", "2024-01-01 00:00:00.0000001"),
    ],
)
def test_text_that_says_nothing_about_the_type_is_an_unknown_bound(name, text):
    assert parse_stat(text, scalar(name)) is None


@pytest.mark.parametrize("text", ["1e99999999", "-1e400", "1e-99999999", "9" * 5000])
def test_a_number_of_endless_digits_is_refused_at_once(text):
    with pytest.raises(InvalidValue):
        parse_text(text, DecimalType(38, 2))


@pytest.mark.parametrize("text", ["0e99999999", "-0e-99999999", "0" * 5000])
def test_nothing_is_nothing_in_any_spelling(text):
    assert parse_text(text, DecimalType(4, 2)) == parse_text(text, scalar("int8")) == 0


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("boolean", "true", True),
        ("boolean", "0", False),
        ("blob", r"\x00\xFFab", b"\x00\xffab"),
        ("int64", "5", 5),
        ("timestamp", "1970-01-02", 86_400_000_000),  # a date once
        ("float64", "5", 5.0),
    ],
)
def test_bounds_of_inlined_rows_and_of_older_types_are_read(name, text, value):
    assert parse_stat(text, scalar(name)) == value


TEXTS = st.text(st.characters(codec="utf-8"), max_size=400) | st.builds(
    lambda c, n: c * n,
    st.sampled_from(["a", "é", "\U0010ffff", "\ud7ff", "\x7f"]),
    st.integers(80, 300),
)


@given(TEXTS)
def test_a_short_bound_of_a_long_text_lies_on_its_side(text):
    low = format_stat(text, scalar("varchar"), bound="min")
    high = format_stat(text, scalar("varchar"), bound="max")
    assert low.encode() <= text.encode()
    assert high is None or text.encode() <= high.encode()
    for bound in (low, high or ""):
        assert len(bound.encode()) < 256
        assert "\0" not in bound
    exact = format_stat(text, scalar("varchar"))
    assert exact is None or exact == text == low == high


@given(st.binary(max_size=300))
def test_a_short_bound_of_long_bytes_lies_on_its_side(data):
    low = bytes.fromhex(format_stat(data, scalar("blob"), bound="min"))
    high = format_stat(data, scalar("blob"), bound="max")
    assert low <= data
    assert high is None or data <= bytes.fromhex(high)


def test_a_float_bound_covers_the_column_that_was_a_float32():
    assert lower_bound("0.1", scalar("float64")) <= 0.1
    assert upper_bound("0.1", scalar("float64")) >= 0.10000000149011612
    assert upper_bound("0.1", scalar("float32")) == 0.10000000149011612
    assert upper_bound("0.10000000000000002", scalar("float64")) == 0.10000000000000002


def test_a_maximum_of_256_bytes_may_have_been_cut():
    assert upper_bound("x" * 255, scalar("varchar")) == "x" * 255
    assert upper_bound("x" * 256, scalar("varchar")) is None
    assert lower_bound("x" * 256, scalar("varchar")) == "x" * 256


# Texts that the extension wrote for these values into a SQLite catalog.
@pytest.mark.parametrize(
    ("sql_type", "text", "value"),
    [
        ("STRUCT(a INT, b VARCHAR)", "{'a': 1, 'b': 'x''y'}", (1, "x'y")),
        (
            "STRUCT(j JSON, s VARCHAR)",
            """{'j': '{"a": "it''s"}', 's': 'a\\b'}""",
            ('{"a": "it\'s"}', "a\\b"),
        ),
        ("STRUCT(j JSON, s VARCHAR)", "{'j': NULL, 's': 'a\\,''b'}", (None, "a\\,'b")),
        ('STRUCT("it\'s" INT, "A b" VARCHAR)', "{'it''s': 1, 'A b': '{'}", (1, "{")),
        (
            "STRUCT(d DATE, i INTERVAL, b BLOB, f DOUBLE, t TIMESTAMPTZ, dec DECIMAL(4,2), "
            "h HUGEINT, tz TIMETZ)",
            "{'d': CAST('2020-01-01' AS DATE), "
            "'i': CAST('1 months 2 days -3 microseconds' AS INTERVAL), "
            "'b': CAST('\\x00\\x27a' AS BLOB), 'f': CAST('inf' AS VARCHAR), "
            "'t': CAST('2020-01-01 00:00:00+00' AS VARCHAR), 'dec': 1.50, 'h': 5, "
            "'tz': CAST('12:00:00+02' AS TIME WITH TIME ZONE)}",
            (
                dt.date(2020, 1, 1),
                "1 month 2 days -00:00:00.000003",
                b"\x00'a",
                math.inf,
                dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc),
                Decimal("1.50"),
                Decimal(5),
                "12:00:00+02",
            ),
        ),
        (
            "STRUCT(l VARCHAR[], s STRUCT(a VARCHAR, m MAP(VARCHAR, DATE)))",
            "{'l': [a, 'b\\'c', NULL], 's': {'a': 'x''y', 'm': {k=2020-01-01}}}",
            (["a", "b'c", None], ("x'y", {"k": dt.date(2020, 1, 1)})),
        ),
        ("STRUCT(a VARCHAR)", "{'a': CONCAT('x''', chr(0), 'y')}", ("x'\0y",)),
        ("STRUCT(a VARCHAR)[]", "[{'a': 'x\\'y'}, NULL]", [("x'y",), None]),
        (
            "JSON[]",
            """['{"a": 1}', NULL, 'null', '"x, y"']""",
            ['{"a": 1}', None, "null", '"x, y"'],
        ),
        ("MAP(VARCHAR, JSON)", """{a='{"a": "b}"}'}""", {"a": '{"a": "b}"}'}),
        # DuckDB's rendering of a struct, which newer extensions may store.
        ("STRUCT(a VARCHAR, b VARCHAR)", "{'a': x y, 'b': 'it\\'s'}", ("x y", "it's")),
        # What we write ourselves.
        ("STRUCT(a VARCHAR)", """{"a": 'x\\\\,y'}""", ("x\\,y",)),
    ],
)
def test_nested_text_of_the_extension_is_read_as_what_was_inserted(sql_type, text, value):
    assert parse_text(text, parse_sql_type(sql_type)) == value


@pytest.mark.parametrize(
    ("sql_type", "text"),
    [
        ("INTEGER[]", "[1, x]"),
        ("INTEGER[]", "[1"),
        ("INTEGER[]", "[1] 2"),
        ("STRUCT(a INT)", "{'b': 1}"),
        ("MAP(INT, INT)", "{1}"),
        ("TINYINT", "300"),
        ("DECIMAL(3,1)", "1.25"),
        ("INTERVAL", "3 fortnights"),
        ("TIMETZ", "12:00:00+99"),
        ("UUID", "x"),
        ("BOOLEAN", "maybe"),
    ],
)
def test_text_that_is_no_value_of_the_type_is_an_error(sql_type, text):
    with pytest.raises(InvalidValue):
        parse_text(text, parse_sql_type(sql_type))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("date", "infinity"),
        ("date", "0044-03-15 (BC)"),
        ("timestamp", "10000-01-01 00:00:00"),
        ("timestamptz", "-infinity"),
    ],
)
def test_a_moment_that_python_cannot_hold_is_refused_not_changed(name, text):
    with pytest.raises(InvalidValue, match="Python and Spark"):
        parse_text(text, scalar(name))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (scalar("int8"), 300),
        (scalar("int32"), True),
        (scalar("int32"), 1.5),
        (scalar("varchar"), 5),
        (scalar("float32"), 0.1),
        (DecimalType(3, 1), Decimal("1.25")),
        (DecimalType(3, 1), Decimal("NaN")),
        (scalar("timestamp"), dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)),
        (parse_sql_type("STRUCT(a INT)"), (1, 2)),
        (parse_sql_type("STRUCT(a INT)"), {"b": 1}),
        (parse_sql_type("MAP(INT, INT)"), {None: 1}),
        (parse_sql_type("INTEGER[]"), "12"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_not_changed(kind, value):
    with pytest.raises(InvalidValue):
        format_text(value, kind)


def test_a_decimal_is_never_rounded_by_pythons_context():
    kind = DecimalType(38, 10)
    number = Decimal("1234567890123456789012345678.0123456789")
    assert format_text(number, kind) == str(number)
    assert parse_text(str(number), kind) == number


def test_text_for_a_temporal_column_is_compared_only_in_duckdbs_spelling():
    kind = scalar("timestamp_ns")
    assert from_python("1970-01-01 00:00:00.5", kind) == 500_000_000
    for odd in ("1970-01-01", "1970-01-01 00:00:00.50", "1970-01-01T00:00:00"):
        with pytest.raises(InvalidValue):
            from_python(odd, kind)


def test_blob_text_is_read_with_escapes_or_as_hex():
    assert parse_text(r"\x00ab", scalar("blob")) == b"\x00ab"
    assert parse_text("00AB", scalar("blob"), hex_blob=True) == b"\x00\xab"


def test_ordinals_come_from_every_form_of_a_moment():
    assert to_ordinal(dt.date(1970, 1, 2), scalar("date")) == 1
    assert to_ordinal(dt.date(1970, 1, 2), scalar("timestamp")) == 86_400_000_000
    assert to_ordinal("1970-01-01 00:00:01", scalar("timestamp_ns")) == 10**9
    with pytest.raises(InvalidValue):
        to_ordinal(5, scalar("varchar"))


def test_intervals_and_timetz_are_normalised_to_duckdbs_form():
    assert normalize_interval("14 months -3 DAYS 90 minutes") == "1 year 2 months -3 days 01:30:00"
    assert normalize_timetz("01:02:03.500 +02:00") == "01:02:03.5+02"
    assert normalize_timetz("01:02:03") == "01:02:03+00"


@given(st.integers(1, 38), st.data())
def test_a_decimal_is_the_same_number_whatever_scale_it_is_written_at(precision, data):
    scale = data.draw(st.integers(0, precision))
    kind = DecimalType(precision, scale)
    number = data.draw(st.integers(1 - 10**precision, 10**precision - 1))
    sized = Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale))
    longer = Decimal((*sized.as_tuple()[:1], (*sized.as_tuple().digits, 0), -scale - 1))
    assert format_text(sized, kind) == format_text(longer, kind)
    assert parse_text(format_text(sized, kind), kind).as_tuple().exponent == -scale
    with pytest.raises(InvalidValue):
        format_text(Decimal((0, (1,) + (0,) * precision, -scale)), kind)
