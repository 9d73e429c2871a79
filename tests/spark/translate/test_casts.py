"""Casts between all pairs of types give DuckDB's values and types."""

from __future__ import annotations

import pytest

from ducklake_spark.errors import InvalidValue
from ducklake_spark.translate.types import to_carrier
from support.bound_expressions import Binder
from support.expression_matrix import Matrix
from support.values import VALUES, value

KINDS = list(VALUES)
INFINITE = ("infinity", "-infinity")


@pytest.fixture(params=["UTC", "Europe/Berlin"])
def time_zone(request, spark):
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", request.param)
    yield request.param
    spark.conf.set("spark.sql.session.timeZone", before)


def is_answered(binder: Binder, cast: str) -> bool:
    """Whether DuckDB gives a value that Spark can show, or NULL."""
    (node,) = binder.bind(cast)
    try:
        (found,) = binder.evaluate(f"SELECT CAST({to_carrier(cast, node.type)} AS VARCHAR)")
    except InvalidValue:
        return False
    return found not in INFINITE


def table_of(kind: str, time_zone: str) -> tuple[Binder, list[str]]:
    """Columns ``v`` with all values, and for each target those that a cast takes; the casts."""
    asked = Binder({}, time_zone)
    values = [value(text, kind) for text in VALUES[kind]]
    safe = {t: [is_answered(asked, f"CAST({v} AS {t})") for v in values] for t in KINDS}
    targets = [target for target in KINDS if any(safe[target])]
    columns = {"n": "INTEGER", "v": kind, **{f"p{at}": kind for at in range(len(targets))}}
    binder = Binder(columns, time_zone)
    binder.connection.execute("INSERT INTO t (n) VALUES (0)")
    for n, text in enumerate(values):
        row = (text if safe[target][n] else "NULL" for target in targets)
        binder.connection.execute(f"INSERT INTO t VALUES ({n + 1}, {text}, {', '.join(row)})")
    casts = [f"CAST(p{at} AS {target})" for at, target in enumerate(targets)]
    for target in targets:
        tried = [f"TRY_CAST({v} AS {target})" for v in values]
        answered = [each for each in tried if is_answered(asked, each)]
        casts += [f"TRY_CAST(v AS {target})"] if answered == tried else []
        casts += answered[1::3]
    return binder, casts


@pytest.mark.parametrize("kind", KINDS)
def test_a_cast_gives_duckdbs_value_and_type(kind, time_zone, spark, tmp_path):
    binder, casts = table_of(kind, time_zone)
    report = Matrix(spark, binder, tmp_path, time_zone=time_zone).compare(casts)
    assert not report.differing, "\n".join(report.differing)
    assert not report.refused, "\n".join(report.refused)


FAILING = {
    "CAST(300 + n AS TINYINT)": "Type INT32 with value 301 can't be cast because the value is out "
    "of range for the destination type INT8",
    "CAST(n - 2 AS UINTEGER)": "Type INT32 with value -1 can't be cast because the value is out of "
    "range for the destination type UINT32",
    "CAST(v::UBIGINT + 18446744073709551610 AS BIGINT)": "Type UINT64 with value "
    "18446744073709551615 can't be cast because the value is out of range for the destination "
    "type INT64",
    "CAST(1000 * n AS DECIMAL(3, 1))": "Could not cast value 1000 to DECIMAL(3,1)",
    "CAST(123.45 * n AS DECIMAL(3, 2))": 'Casting value "123.45" to type DECIMAL(3,2) failed: '
    "value is out of range!",
    "CAST(300.5 * n AS TINYINT)": "Failed to cast decimal value 301 to type INT8",
    "CAST('x' || n AS INTEGER)": "Could not convert string 'x1' to INT32",
    "CAST('x' AS DATE)": 'invalid date field format: "x", expected format is (YYYY-MM-DD)',
}


@pytest.mark.parametrize("cast", FAILING)
def test_what_a_cast_refuses_is_told_in_duckdbs_words(cast, spark, tmp_path):
    binder = Binder({"n": "INTEGER", "v": "VARCHAR"})
    binder.connection.execute("INSERT INTO t VALUES (1, '5')")
    (told,) = Matrix(spark, binder, tmp_path).compare([cast]).differing
    assert told == f"{cast}: Conversion Error: {FAILING[cast]}"
