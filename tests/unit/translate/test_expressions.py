"""Where an expression is computed: by Spark, when the query is planned, or by DuckDB in tasks."""

from __future__ import annotations

import re

import pytest

from ducklake_spark.errors import NotSupported
from ducklake_spark.translate.expressions import Expressions
from ducklake_spark.translate.fragments import column
from support.bound_expressions import Binder

COLUMNS = {
    "i": "INTEGER",
    "d": "DOUBLE",
    "s": "VARCHAR",
    "l": "INTEGER[]",
    "e": "ENUM('b', 'a')",
    "iv": "INTERVAL",
    "dec": "DECIMAL(10, 2)",
    "tz": "TIMESTAMPTZ",
}


@pytest.fixture(scope="module")
def binder():
    return Binder(COLUMNS)


def translated(binder, text, **settings):
    expressions = Expressions(binder.evaluate, **settings)
    (node,) = binder.bind(text)
    return expressions, str(expressions.scalar(node, [column("t", name) for name in COLUMNS]))


@pytest.mark.parametrize(
    ("text", "spark"),
    [
        ("i = 3", "(t.`i` = 3)"),
        ("i IS NOT DISTINCT FROM 3", "(t.`i` <=> 3)"),
        ("i::BIGINT", "CAST(t.`i` AS BIGINT)"),
        ("e::VARCHAR", "t.`e`"),
        ("i::DOUBLE > 2", "(CAST(t.`i` AS DOUBLE) > 2.0D)"),
        ("d IN (0.0, 1.5)", "((t.`d` + 0D) IN (0.0D, 1.5D))"),
        (
            "CASE WHEN i > 1 THEN s END",
            "CASE WHEN (t.`i` > 1) THEN t.`s` ELSE CAST(NULL AS STRING) END",
        ),
    ],
)
def test_spark_computes_what_it_answers_alike(binder, text, spark):
    expressions, found = translated(binder, text)
    assert found == spark
    assert not expressions.engine.calls


@pytest.mark.parametrize(
    ("text", "spark"),
    [
        ("DATE '2024-02-29' + 1", "DATE'2024-03-01'"),
        ("upper('ß' || 'x')", "'ẞX'"),
        ("[1, NULL]", "array(1, CAST(NULL AS INT))"),
        (
            "{'a': 0.1::DOUBLE, 'b': DATE '2024-01-01'}",
            "named_struct('a', 0.1D, 'b', DATE'2024-01-01')",
        ),
        ("MAP {'a': 1::UTINYINT}", "map('a', 1S)"),
        ("-0.0::DOUBLE", "(-0.0D)"),
        ("'nan'::FLOAT", "CAST('NaN' AS FLOAT)"),
        ("340282366920938463463374607431768211455::HUGEINT IS NULL", None),
        ("TIMESTAMPTZ '1700-01-01 00:00:00+00'", "timestamp_micros(-8520336000000000L)"),
        ("'\\xAA'::BLOB", "X'aa'"),
        ("INTERVAL 3 MONTH", "'3 months'"),
        ("TIME '12:00:00'", "'12:00:00'"),
        ("'${spark.app.name}'", "'\\u0024{spark.app.name}'"),
        ("DATE '12345-01-01'::VARCHAR", "'12345-01-01'"),
        ("list_filter(NULL, lambda x: x > 1)", "CAST(NULL AS INT)"),
        ("list_reduce(NULL, lambda x, y: x + y, 1)", "CAST(NULL AS INT)"),
        ("md5_number('hello')::VARCHAR", "'195090637673866227529774941829999903069'"),
    ],
)
def test_what_reads_no_row_is_evaluated_when_the_query_is_planned(binder, text, spark):
    expressions, found = translated(binder, text)
    assert "raise_error" in found if spark is None else found == spark
    assert not expressions.engine.calls


def test_an_error_of_a_constant_is_raised_when_a_row_reaches_it(binder):
    _, found = translated(binder, "CASE WHEN i > 1 THEN 'x'::INTEGER ELSE 3 END")
    assert "Could not convert string \\'x\\' to INT32" in found
    assert found.startswith("CASE WHEN (t.`i` > 1) THEN CAST(raise_error(")


@pytest.mark.parametrize("text", ["'infinity'::TIMESTAMPTZ", "'-infinity'::TIMESTAMP::TIMESTAMPTZ"])
def test_an_infinite_time_is_refused_and_never_null(binder, text):
    with pytest.raises(NotSupported, match="infinite"):
        translated(binder, text)


def test_all_times_of_a_statement_are_one(binder):
    expressions, found = translated(binder, "now() = current_timestamp")
    assert found == "true"
    assert not expressions.folding.is_repeatable


@pytest.mark.parametrize(
    "text", ["random()", "random() + i", "uuid()", "(random() * 300)::TINYINT"]
)
def test_a_volatile_call_is_never_a_constant(binder, text):
    expressions, found = translated(binder, text)
    (call,) = expressions.engine.calls
    assert call.is_volatile
    assert found.startswith(call.name)


@pytest.mark.parametrize(
    "text",
    [
        "s::INTEGER",
        "l < [1]",
        "e < 'a'::ENUM('b', 'a')",
        "iv = INTERVAL 1 MONTH",
        "TRY(s::INTEGER)",
        "d::VARCHAR",
    ],
)
def test_duckdb_computes_what_spark_would_answer_otherwise(binder, text):
    expressions, found = translated(binder, text)
    assert len(expressions.engine.calls) == 1
    assert re.match(r"duck_[a-z0-9_]+_[0-9a-f]{12}\(", found)


@pytest.mark.parametrize(
    "text",
    [
        "CASE WHEN i > 0 THEN s::INTEGER END",
        "coalesce(i, s::INTEGER)",
        "i = 3 OR s::INTEGER = 1",
        "s::INTEGER > 1 AND s::DOUBLE > 2",
    ],
)
def test_what_some_rows_do_not_reach_is_computed_by_duckdb_as_a_whole(binder, text):
    expressions, found = translated(binder, text)
    assert found.count("duck_") == 1
    used = [call for call in expressions.engine.calls if call.name in found]
    assert "CAST(a" in used[0].query
    assert re.search(r"CASE|COALESCE|OR|AND", used[0].query)


def test_spark_asks_its_own_conditions_before_duckdb(binder):
    _, found = translated(binder, "s::INTEGER = 1 AND i > 0")
    assert found.startswith("((t.`i` > 0) AND (duck_")


def test_the_time_zone_is_part_of_a_call(binder):
    names = [
        translated(binder, "tz::VARCHAR", time_zone=zone)[0].engine.calls[0].name
        for zone in ("UTC", "Europe/Berlin")
    ]
    assert names[0] != names[1]


@pytest.mark.parametrize("text", ["current_query() || s", "union_value(a := i)", "i::VARIANT"])
def test_what_nobody_can_compute_is_refused(binder, text):
    with pytest.raises(NotSupported):
        translated(binder, text)


def test_what_is_random_is_computed_once_for_both_bounds(binder):
    expressions, _ = translated(binder, "random() BETWEEN i AND d")
    assert expressions.engine.calls[0].query.count("random") == 1


@pytest.mark.parametrize("text", ["170141183460469231731687303715884105727", "md5_number('hello')"])
def test_an_integer_that_no_number_of_spark_holds_is_refused(binder, text):
    with pytest.raises(NotSupported, match="has more than 38 digits"):
        translated(binder, text)


def test_duckdb_compares_with_an_integer_that_no_number_of_spark_holds(binder):
    expressions, found = translated(binder, "i::HUGEINT < 170141183460469231731687303715884105727")
    (call,) = expressions.engine.calls
    assert found.startswith(call.name)


@pytest.mark.parametrize(
    ("name", "item"),
    [("i", "{}"), ("s", "'x{}'"), ("d", "{}.5"), ("dec", "{}.25")],
)
def test_ten_thousand_constants_ask_duckdb_nothing(binder, name, item):
    choices = ", ".join(item.format(number) for number in range(10_000))
    (node,) = binder.bind(f"{name} IN ({choices})")

    def evaluate(query):
        raise AssertionError(query)

    found = str(Expressions(evaluate).scalar(node, [column("t", each) for each in COLUMNS]))
    assert found.count(", ") >= 9_999


def test_constants_that_only_duckdb_knows_are_asked_for_together(binder):
    asked = []

    def evaluate(query):
        asked.append(query)
        return binder.evaluate(query)

    choices = ", ".join(f"'{number} hours'::INTERVAL::VARCHAR" for number in range(1_000))
    (node,) = binder.bind(f"s IN ({choices})")
    found = str(Expressions(evaluate).scalar(node, [column("t", each) for each in COLUMNS]))
    assert "'999:00:00'" in found
    assert len(asked) == 2
