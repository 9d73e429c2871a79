"""Catalyst's filters in the language of pruning."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import pytest

from ducklake_spark.model.predicate import (
    And,
    Comparison,
    Constant,
    In,
    IsNull,
    Or,
    StartsWith,
    Unknown,
)
from ducklake_spark.spark.filters import FilterColumn, find_sets, parse_filters, parse_null_checks

CATALYST = "org.apache.spark.sql.catalyst.expressions."
UTC = dt.timezone.utc

TYPES = {
    "bo": ("boolean", "boolean"),
    "i8": ("int8", "byte"),
    "i": ("int32", "integer"),
    "l": ("int64", "long"),
    "u64": ("uint64", "decimal(20,0)"),
    "f": ("float32", "float"),
    "d": ("float64", "double"),
    "dc": ("decimal(10,2)", "decimal(10,2)"),
    "dt": ("date", "date"),
    "ts": ("timestamp", "timestamp_ntz"),
    "tz": ("timestamptz", "timestamp"),
    "s": ("varchar", "string"),
    "bi": ("blob", "binary"),
    "uu": ("uuid", "binary"),
    "st": ("struct", None),
}
IDS = {name: number for number, name in enumerate(TYPES, start=1)}
INNER = FilterColumn(99, "int32")
COLUMNS = {
    name: FilterColumn(
        IDS[name], kind, comparable=name != "uu", fields={"x": INNER} if name == "st" else {}
    )
    for name, (kind, _) in TYPES.items()
}
STRUCT = {"type": "struct", "fields": [{"name": "x", "type": "integer", "nullable": True}]}


def node(catalyst, /, *children, **fields):
    return [{"class": CATALYST + catalyst, "num-children": len(children), **fields}] + [
        part for child in children for part in child
    ]


def col(name):
    kind = STRUCT if name == "st" else TYPES[name][1]
    return node("AttributeReference", name=name, dataType=kind)


def lit(value, kind):
    return node("Literal", value=value, dataType=kind)


def cast(child, kind):
    return node("Cast", child, dataType=kind)


def parse(expression, **more):
    (predicate,) = parse_filters(json.dumps(node("Coalesce", expression)), COLUMNS, **more)
    return predicate


@pytest.mark.parametrize(
    ("name", "text", "kind", "value"),
    [
        ("i8", "-3", "byte", -3),
        ("i", "5", "integer", 5),
        ("l", "-9223372036854775808", "long", -9223372036854775808),
        ("u64", "18446744073709551615", "decimal(20,0)", 18446744073709551615),
        ("d", "1.0E300", "double", 1e300),
        ("dc", "1.50", "decimal(10,2)", Decimal("1.50")),
        ("dt", "2020-01-31", "date", dt.date(2020, 1, 31)),
        ("ts", "1577840523500000", "timestamp_ntz", dt.datetime(2020, 1, 1, 1, 2, 3, 500000)),
        ("ts", "-1", "timestamp_ntz", dt.datetime(1969, 12, 31, 23, 59, 59, 999999)),
        ("s", "it's \n é", "string", "it's \n é"),
    ],
)
@pytest.mark.parametrize(
    ("catalyst", "operator", "flipped"),
    [
        ("EqualTo", "=", "="),
        ("LessThan", "<", ">"),
        ("LessThanOrEqual", "<=", ">="),
        ("GreaterThan", ">", "<"),
        ("GreaterThanOrEqual", ">=", "<="),
    ],
)
def test_comparisons_are_translated_both_ways_round(
    name, text, kind, value, catalyst, operator, flipped
):
    literal = lit(text, kind)
    assert parse(node(catalyst, col(name), literal)) == Comparison(IDS[name], operator, value)
    assert parse(node(catalyst, literal, col(name))) == Comparison(IDS[name], flipped, value)


def test_a_moment_is_read_in_the_sessions_zone():
    expression = node("GreaterThan", col("tz"), lit("2020-07-01 01:02:03.5", "timestamp"))
    moment = dt.datetime(2020, 7, 1, 5, 2, 3, 500000, UTC)
    assert parse(expression, time_zone="America/New_York") == Comparison(IDS["tz"], ">", moment)


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("2020-11-01 01:30:00", "America/New_York"),  # there are two of them
        ("1850-01-01 00:00:00", "America/New_York"),
        ("2020-01-01 00:00:00", "Nowhere/Land"),
        ("+12020-01-01 00:00:00", "UTC"),
    ],
)
def test_a_moment_that_is_not_sure_excludes_nothing(text, zone):
    expression = node("EqualTo", col("tz"), lit(text, "timestamp"))
    assert isinstance(parse(expression, time_zone=zone), Unknown)


def test_booleans_stand_for_themselves():
    assert parse(col("bo")) == Comparison(IDS["bo"], "=", True)
    assert parse(node("Not", col("bo"))) == Comparison(IDS["bo"], "=", False)
    assert parse(lit("true", "boolean")) == Constant(True)
    assert parse(lit(None, "boolean")) == Constant(False)
    assert parse(node("Not", lit(None, "boolean"))) == Constant(False)


def test_not_is_pushed_inwards():
    above = node("GreaterThan", col("i"), lit("3", "integer"))
    same = node("EqualTo", col("s"), lit("x", "string"))
    assert parse(node("Not", node("And", above, same))) == Or(
        (Comparison(IDS["i"], "<=", 3), Comparison(IDS["s"], "<>", "x"))
    )
    assert parse(node("Not", node("Or", above, node("Not", same)))) == And(
        (Comparison(IDS["i"], "<=", 3), Comparison(IDS["s"], "=", "x"))
    )
    assert parse(node("Not", node("IsNull", col("i")))) == IsNull(IDS["i"], negated=True)


def test_a_comparison_with_null_is_never_true():
    equal = node("EqualTo", col("i"), lit(None, "integer"))
    assert parse(equal) == Constant(False)
    assert parse(node("Not", equal)) == Constant(False)
    listed = node("In", col("i"), lit("1", "integer"), lit(None, "integer"))
    assert parse(listed) == In(IDS["i"], (1,))
    assert parse(node("Not", listed)) == Constant(False)


def test_null_safe_equality_knows_null():
    assert parse(node("EqualNullSafe", col("s"), lit(None, "string"))) == IsNull(IDS["s"])
    same = node("EqualNullSafe", col("s"), lit("x", "string"))
    assert parse(same) == Comparison(IDS["s"], "=", "x")
    assert parse(node("Not", same)) == Or((Comparison(IDS["s"], "<>", "x"), IsNull(IDS["s"])))


def test_lists_and_sets_are_the_same():
    listed = node("In", col("dt"), lit("2020-01-01", "date"), lit("2020-01-02", "date"))
    values = (dt.date(2020, 1, 1), dt.date(2020, 1, 2))
    assert parse(listed) == In(IDS["dt"], values)
    chosen = node("InSet", col("dt"))
    assert parse(chosen, sets=["[18262, 18263, null]"]) == In(IDS["dt"], values)
    assert isinstance(parse(chosen), Unknown)
    assert parse(node("InSet", col("s")), sets=['["a", "1"]']) == In(IDS["s"], ("a", "1"))
    decimals = parse(node("InSet", col("dc")), sets=['["1.50", "2"]'])
    assert decimals == In(IDS["dc"], (Decimal("1.50"), Decimal(2)))
    both = node("And", chosen, node("Not", node("InSet", col("i"))))
    assert find_sets(json.dumps(both)) == [(0,), (1, 0)]
    assert parse(both, sets=["[18262]", "[7]"]) == And(
        (In(IDS["dt"], values[:1]), And((Comparison(IDS["i"], "<>", 7),)))
    )


def test_prefixes_are_translated():
    assert parse(node("StartsWith", col("s"), lit("ab", "string"))) == StartsWith(IDS["s"], "ab")
    negated = node("Not", node("StartsWith", col("s"), lit("ab", "string")))
    assert isinstance(parse(negated), Unknown)


def test_casts_are_looked_through_when_they_lose_nothing():
    wide = node("GreaterThan", cast(col("i"), "long"), lit("5000000000", "long"))
    assert parse(wide) == Comparison(IDS["i"], ">", 5000000000)
    exact = node("EqualTo", cast(col("dc"), "decimal(12,3)"), lit("1.500", "decimal(12,3)"))
    assert parse(exact) == Comparison(IDS["dc"], "=", Decimal("1.500"))


@pytest.mark.parametrize(
    ("catalyst", "expected"),
    [
        ("EqualTo", Constant(False)),
        ("GreaterThan", Comparison(IDS["i"], ">", 1)),
        ("GreaterThanOrEqual", Comparison(IDS["i"], ">", 1)),
        ("LessThan", Comparison(IDS["i"], "<=", 1)),
        ("LessThanOrEqual", Comparison(IDS["i"], "<=", 1)),
    ],
)
def test_a_fraction_is_rounded_for_an_integer_column(catalyst, expected):
    assert parse(node(catalyst, cast(col("i"), "double"), lit("1.5", "double"))) == expected
    decimal = lit("1.5", "decimal(12,1)")
    assert parse(node(catalyst, cast(col("i"), "decimal(12,1)"), decimal)) == expected


def test_a_timestamp_is_cut_to_a_day_for_a_date_column():
    def compared(catalyst):
        return parse(
            node(
                catalyst, cast(col("dt"), "timestamp_ntz"), lit("1577840523500000", "timestamp_ntz")
            )
        )

    day = dt.date(2020, 1, 1)
    assert compared("GreaterThan") == Comparison(IDS["dt"], ">=", day)
    assert compared("LessThan") == Comparison(IDS["dt"], "<=", day)


def test_a_float32_allows_for_the_two_texts_of_its_bounds():
    predicate = parse(node("EqualTo", col("f"), lit("0.1", "float")))
    low, high = (part.value for part in predicate.parts)
    for bound in (0.1, 0.10000000149011612):
        assert low <= bound <= high
    assert high - low < 1e-7
    widened = node("LessThan", cast(col("f"), "double"), lit("-0.1", "double"))
    assert parse(widened).value >= -0.1


def test_a_field_of_a_struct_is_compared_but_not_counted():
    field = node("GetStructField", col("st"), ordinal=0)
    assert parse(node("LessThan", field, lit("3", "integer"))) == Comparison(99, "<", 3)
    assert isinstance(parse(node("IsNotNull", field)), Unknown)
    assert isinstance(parse(node("IsNull", col("st"))), Unknown)


@pytest.mark.parametrize(
    "expression",
    [
        node("EqualTo", node("Add", col("i"), lit("1", "integer")), lit("5", "integer")),
        node("EqualTo", col("i"), col("i8")),
        node("EqualTo", cast(col("l"), "double"), lit("1.0", "double")),
        node("EqualTo", cast(col("i"), "string"), lit("4", "string")),
        node("EqualTo", col("d"), lit("NaN", "double")),
        node("GreaterThan", col("d"), lit("Infinity", "double")),
        node("EqualTo", col("bi"), lit("[B@41f9d828", "binary")),
        node("EqualTo", col("uu"), lit("[B@41f9d828", "binary")),
        node("StartsWith", node("Lower", col("s")), lit("a", "string")),
        node("EqualTo", cast(col("dt"), "timestamp"), lit("2020-01-01 00:00:00", "timestamp")),
        node("Rand", seed=1),
        node("EqualTo", node("AttributeReference", name="z", dataType="long"), lit("1", "long")),
        node("IsNull", node("ScalarSubquery")),
    ],
)
def test_what_is_not_understood_excludes_nothing(expression):
    assert isinstance(parse(expression), Unknown)
    assert isinstance(parse(node("Not", expression)), Unknown)
    kept = node("And", expression, node("IsNotNull", col("i")))
    assert parse(kept).parts[1] == IsNull(IDS["i"], negated=True)


def test_a_raw_column_can_still_be_asked_for_nulls():
    assert parse(node("IsNull", col("uu"))) == IsNull(IDS["uu"])


def test_only_a_plain_null_check_is_one():
    checks = [
        node("IsNotNull", col("i")),
        node("IsNull", col("i")),
        node("IsNotNull", cast(col("i"), "long")),
    ]
    assert parse_null_checks(json.dumps(node("Coalesce", *checks))) == ["i", None, None]


def test_filters_are_translated_one_by_one():
    text = json.dumps(node("Coalesce", node("IsNull", col("i")), node("IsNull", col("l"))))
    assert parse_filters(text, COLUMNS) == (IsNull(IDS["i"]), IsNull(IDS["l"]))
    assert parse_filters(json.dumps(node("Coalesce")), COLUMNS) == ()
