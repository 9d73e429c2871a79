"""DuckDB is the judge: its text is read as the value, and our text is cast to the value."""

from __future__ import annotations

import struct

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ducklake_spark.errors import InvalidValue
from ducklake_spark.model.intervals import (
    format_interval,
    format_timetz,
    normalize_timetz,
    parse_interval,
    parse_timetz,
)
from ducklake_spark.model.literals import format_stat, format_text, parse_stat, parse_text
from ducklake_spark.model.temporal import to_ordinal
from ducklake_spark.model.types import (
    DecimalType,
    ListType,
    ScalarType,
    format_sql_type,
    parse_sql_type,
)
from unit.model.value_strategies import SCALARS, decimals, plain, typed_values

# One example carries many values, so that the round trip to DuckDB is shared.
MANY = settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def con():
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection


def texts_of(con, expression: str, values: list) -> list[str]:
    """DuckDB's text of `expression` over the values, which it sees as `v`."""
    rows = con.execute(
        f"SELECT CAST({expression} AS VARCHAR) FROM (SELECT unnest(?) AS v)", [values]
    ).fetchall()
    return [text for (text,) in rows]


def casts_of(con, sql_type: str, texts: list[str]) -> list[str]:
    """What DuckDB makes of our texts, as DuckDB's text."""
    return texts_of(con, f"CAST(v AS {sql_type})", texts)


@pytest.mark.parametrize("name", sorted(set(SCALARS) - {"json"}))
def test_scalar_texts_agree_with_duckdb(con, name):
    kind = ScalarType(name)
    sql_type = format_sql_type(kind)

    @MANY
    @given(st.lists(SCALARS[name], min_size=1, max_size=60))
    def check(values):
        ours = [format_text(value, kind) for value in values]
        # DuckDB reads our text, and writes the same. Of floats its text is not always the shortest.
        theirs = texts_of(con, f"CAST(v AS {sql_type})", values) if name == "float32" else ours
        assert casts_of(con, sql_type, ours) == theirs
        assert [parse_text(text, kind) for text in ours] == values

    check()


@pytest.mark.parametrize("name", ["date", "timestamp", "timestamptz", "timestamp_ns"])
def test_temporal_texts_agree_with_duckdb_for_all_years_and_infinity(con, name):
    kind = ScalarType(name)
    if name == "date":
        made, ordinals = "DATE '1970-01-01' + v::INTEGER", st.integers(-(2 * 10**9), 2 * 10**9)
    else:
        made = {
            "timestamp": "make_timestamp(v)",
            "timestamptz": "make_timestamp(v)::TIMESTAMPTZ",
            "timestamp_ns": "make_timestamp_ns(v)",
        }[name]
        # Beyond, DuckDB itself rounds a timestamptz to milliseconds.
        top = 3 * 10**18 if name == "timestamptz" else 9_223_286_400_000_000_000
        ordinals = st.integers(-top, top)

    @MANY
    @given(st.lists(ordinals, min_size=1, max_size=60))
    def check(values):
        theirs = texts_of(con, f"({made})", values)
        assert [format_stat(value, kind) for value in values] == theirs
        assert [parse_stat(text, kind) for text in theirs] == values

    check()
    for text in ("infinity", "-infinity"):
        assert casts_of(con, format_sql_type(kind), [text]) == [text]
        assert format_stat(parse_stat(text, kind), kind) == text


def test_infinities_lie_outside_of_all_values():
    for name, low, high in [
        ("date", "5877642-06-25 (BC)", "5881580-07-10"),
        ("timestamp", "290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54.775806"),
    ]:
        kind = ScalarType(name)
        bounds = [parse_stat(text, kind) for text in ("-infinity", low, high, "infinity")]
        assert bounds == sorted(set(bounds))


@MANY
@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=200))
def test_every_float32_has_duckdbs_text(con, bits):
    numbers = [struct.unpack("<f", struct.pack("<I", b))[0] for b in bits]
    numbers = [n for n in numbers if n == n]
    if numbers:
        theirs = texts_of(con, "v::FLOAT", numbers)
        assert [format_text(n, ScalarType("float32")) for n in numbers] == theirs


@pytest.mark.parametrize(
    ("precision", "scale"), [(1, 0), (4, 2), (2, 2), (18, 6), (38, 10), (38, 38)]
)
def test_decimal_texts_agree_with_duckdb(con, precision, scale):
    kind = DecimalType(precision, scale)

    @MANY
    @given(st.lists(decimals(precision, scale), min_size=1, max_size=40))
    def check(values):
        ours = [format_text(value, kind) for value in values]
        assert casts_of(con, format_sql_type(kind), ours) == ours
        assert [parse_text(text, kind) for text in ours] == values

    check()


PARTS = st.tuples(
    st.integers(-(2**31) + 1, 2**31 - 1),
    st.integers(-(2**31) + 1, 2**31 - 1),
    st.integers(-(2**63) + 1, 2**63 - 1),
)


@MANY
@given(st.lists(PARTS, min_size=1, max_size=60))
def test_interval_texts_agree_with_duckdb(con, parts):
    made = "to_months(v[1]::INTEGER) + to_days(v[2]::INTEGER) + to_microseconds(v[3])"
    theirs = texts_of(con, made, [list(part) for part in parts])
    assert [parse_interval(text) for text in theirs] == parts
    assert [format_interval(*part) for part in parts] == theirs


@MANY
@given(st.lists(st.tuples(st.times(), st.integers(-959, 959)), min_size=1, max_size=60))
def test_timetz_texts_agree_with_duckdb(con, parts):
    parts = [(to_ordinal(time, "time"), minutes * 60) for time, minutes in parts]
    ours = [format_timetz(*part) for part in parts]
    assert casts_of(con, "TIMETZ", ours) == ours
    assert [parse_timetz(text) for text in ours] == parts
    assert [normalize_timetz(text) for text in ours] == ours


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(typed_values())
def test_nested_text_agrees_with_duckdb(con, typed):
    kind, value = typed
    if value is None:
        return
    ours = format_text(value, kind)
    assert parse_text(ours, kind) == value
    given_back, theirs = con.execute(
        f"SELECT x, CAST([x] AS VARCHAR) FROM (SELECT CAST(? AS {format_sql_type(kind)}) AS x)",
        [ours],
    ).fetchone()
    assert plain(given_back, kind) == value
    assert parse_text(theirs, ListType(kind)) == [value]


def test_names_of_fields_are_quoted_as_by_duckdb(con):
    words = [
        word for (word,) in con.execute("SELECT keyword_name FROM duckdb_keywords()").fetchall()
    ]
    for name in (*words, "For", "plain", "Mixed", "with space", "_x1", "1x"):
        (theirs,) = con.execute(f"SELECT typeof({{'{name}': 1}})").fetchone()
        assert format_sql_type(parse_sql_type(theirs)) == theirs


@pytest.mark.parametrize(
    ("sql_type", "value"),
    [
        ("STRUCT(s STRUCT(f VARCHAR, j VARCHAR))", (("\\", "}"),)),
        ("VARCHAR[][]", [["]", "a"], ["'", "\\]"]]),
        ("MAP(VARCHAR, VARCHAR)[]", [{"}": "}"}]),
        ("STRUCT(a STRUCT(b STRUCT(c VARCHAR)[])[])", ([([("}]'\\",), None],)],)),
        ("STRUCT(j JSON[])[]", [(['"]}"', "{}"],)]),
    ],
)
def test_a_bracket_in_a_string_deep_inside_does_not_end_the_value(con, sql_type, value):
    kind = parse_sql_type(sql_type)
    text = format_text(value, kind)
    given_back = con.execute(f"SELECT CAST(? AS {sql_type})", [text]).fetchone()[0]
    assert plain(given_back, kind) == value
    assert parse_text(text, kind) == value


def test_a_null_inside_a_list_of_json_is_refused_because_duckdb_would_read_json_null():
    with pytest.raises(InvalidValue, match="holds a NULL"):
        format_text(["1", None], ListType(ScalarType("json")))
