"""What DuckDB computes inside Spark's tasks."""

from __future__ import annotations

import pytest

from ducklake_spark.binder.types import BoundType, list_of
from ducklake_spark.errors import InvalidValue, NotSupported
from ducklake_spark.spark.engine import register_engine_calls
from ducklake_spark.spark.failures import spark_failures
from ducklake_spark.translate.engine_calls import EngineCalls
from ducklake_spark.translate.fragments import Fragment
from support.bound_expressions import Binder
from support.expression_matrix import Matrix

COLUMNS = {
    "n": "INTEGER",
    "st": "STRUCT(a INTEGER, b STRUCT(c UUID, d TIME[]))",
    "m": "MAP(VARCHAR, UBIGINT[])",
    "l": "INTERVAL[]",
    "rows": "STRUCT(k HUGEINT, e ENUM('b', 'a'))[]",
    "arr": "UTINYINT[2]",
    "bl": "BLOB",
    "tz": "TIMESTAMPTZ",
    "s": "VARCHAR",
}
VALUES = [
    "(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    """(1, {'a': 1, 'b': {'c': '5b8b2c4e-0f3a-4b7c-9d1e-2f3a4b5c6d7e', 'd': ['12:00:00', NULL]}},
      MAP {'x': [1, 18446744073709551615], 'y': NULL}, ['1 month', NULL],
      [{'k': 5, 'e': 'a'}, NULL],
      [1, 255], '\\x00\\xFF', '2024-03-31 01:30:00+00', 'ä😀')""",
    "(2, {'a': NULL, 'b': NULL}, MAP {}, [], [], [NULL, 0], '', '1969-12-31 23:59:59+00', '')",
]
CALLS = [
    *COLUMNS,
    "CASE WHEN n >= 0 THEN st END", "CASE WHEN TRY(n > 0) THEN m END", "list_reverse(l)",
    "list_sort(rows)", "list_transform(rows, lambda r: r.k + n)", "map_entries(m)", "arr[1]",
    "array_value(n, n + 1)", "list_filter(l, lambda x: x > INTERVAL 1 DAY)", "to_json(st)",
    "struct_insert(st, z := tz)", "row(n, s, bl)", "[row(n, s)]", "strftime(tz, '%c')", "bl || bl",
    "map_from_entries([(n, s)])", "list_value(tz, tz + INTERVAL 1 DAY)", "repeat(s, 3)",
    "date_part(['year', 'hour'], tz)", "md5(s)", "list_zip([n], [s])", "len(s) + n",
    "CAST(l AS VARCHAR)",
]  # fmt: skip


def test_values_of_every_shape_go_there_and_back(spark, tmp_path):
    binder = Binder(COLUMNS)
    for row in VALUES:
        binder.connection.execute(f"INSERT INTO t VALUES {row}")
    report = Matrix(spark, binder, tmp_path).compare(CALLS)
    assert not report.differing, "\n".join(report.differing)
    assert not report.refused, "\n".join(report.refused)


@pytest.fixture
def calls():
    return EngineCalls(Binder({}).evaluate)


def computed(spark, calls, text, kind, rows=3, argument="CAST(id AS INT)"):
    """DuckDB's answers for a column of numbers."""
    arguments = [(Fragment((argument,)), BoundType("INTEGER"))]
    call = calls.call("test", text, arguments, kind)
    register_engine_calls(spark, calls.calls)
    with spark_failures("compute"):
        return [row[0] for row in spark.sql(f"SELECT {call} FROM range({rows})").collect()]


def test_large_batches_keep_their_order(spark, calls):
    found = computed(spark, calls, "a0 * 2", BoundType("INTEGER"), rows=50_000)
    assert sorted(found) == [2 * number for number in range(50_000)]
    same = "CASE WHEN (SELECT max(x) FROM (SELECT unnest([a0, a0 - 1]) AS x)) = a0 THEN a0 END"
    assert sorted(computed(spark, calls, same, BoundType("INTEGER"), rows=50_000)) == [
        *range(50_000)
    ]


def test_no_rows_are_no_error(spark, calls):
    assert computed(spark, calls, "error('reached')::INTEGER", BoundType("INTEGER"), rows=0) == []


def test_an_error_is_told_in_duckdbs_words_alone(spark, calls):
    with pytest.raises(InvalidValue) as told:
        computed(spark, calls, "CAST('x' || a0 AS INTEGER)", BoundType("INTEGER"), rows=1)
    assert str(told.value) == "Conversion Error: Could not convert string 'x0' to INT32"


@pytest.mark.parametrize("text", ["DATE 'infinity'", "CASE WHEN a0 > 1 THEN DATE '-infinity' END"])
def test_an_infinite_date_is_no_ordinary_date(spark, calls, text):
    with pytest.raises(InvalidValue, match="infinite"):
        computed(spark, calls, text, BoundType("DATE"))
    with pytest.raises(InvalidValue, match="infinite"):
        computed(spark, calls, f"[{text}]", list_of(BoundType("DATE")))


def test_a_task_opens_no_file(spark, tmp_path, calls):
    path = tmp_path / "secret.csv"
    path.write_text("x\n1\n")
    text = f"(SELECT max(x) FROM read_csv('{path}')) + a0"
    with pytest.raises(InvalidValue, match="disabled by configuration"):
        computed(spark, calls, text, BoundType("BIGINT"))


def test_a_text_that_has_another_type_is_refused_at_once(calls):
    with pytest.raises(NotSupported, match="it would be INTEGER, not VARCHAR"):
        calls.call("test", "a0", [(Fragment(("1",)), BoundType("INTEGER"))], BoundType("VARCHAR"))


def test_a_volatile_call_answers_for_every_row(spark):
    calls = EngineCalls(Binder({}).evaluate)
    call = calls.call("uuid", "uuid()", [], BoundType("UUID"), is_volatile=True)
    register_engine_calls(spark, calls.calls)
    frame = spark.sql(f"SELECT a, a AS b FROM (SELECT {call} AS a FROM range(100))")
    rows = frame.collect()
    assert len({row.a for row in rows}) == 100
    assert all(row.a == row.b for row in rows)


def test_the_plan_names_the_function(spark, calls):
    call = calls.call(
        "levenshtein", "levenshtein(a0, 'x')", [(Fragment(("'y'",)), BoundType("VARCHAR"))],
        BoundType("BIGINT"),
    )  # fmt: skip
    register_engine_calls(spark, calls.calls)
    (row,) = spark.sql(f"EXPLAIN SELECT {call} FROM range(1)").collect()
    assert "duck_levenshtein_" in row[0]
