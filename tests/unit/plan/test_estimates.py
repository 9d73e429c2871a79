"""What an optimizer is told of a column."""

from __future__ import annotations

import pytest

from ducklake_spark.model.literals import parse_stat
from ducklake_spark.model.types import parse_sql_type
from ducklake_spark.plan.estimates import estimate_column
from ducklake_spark.plan.totals import ColumnTotals


@pytest.mark.parametrize(
    ("kind", "low", "high", "distinct"),
    [
        ("INTEGER", "1", "10", 10),
        ("BIGINT", "-5000000000", "5000000000", 90),
        ("BOOLEAN", "0", "1", 2),
        ("DATE", "2026-01-01", "2026-01-31", 31),
        ("DECIMAL(10,2)", "0.00", "0.49", 50),
        ("DECIMAL(38,10)", "0", "9999999999999999999999999999", 90),
    ],
)
def test_a_range_has_no_more_values_than_fit_and_than_there_are(kind, low, high, distinct):
    type_ = parse_sql_type(kind)
    totals = ColumnTotals(90, parse_stat(low, type_), parse_stat(high, type_))

    found = estimate_column(type_, 100, totals)

    assert found["nulls"] == 10
    assert found["distinct"] == distinct


@pytest.mark.parametrize("kind", ["VARCHAR", "DOUBLE", "TIMESTAMP"])
def test_bounds_that_spark_does_not_read_are_not_told(kind):
    found = estimate_column(parse_sql_type(kind), 5, ColumnTotals(3))

    assert found["nulls"] == 2
    assert "min" not in found


@pytest.mark.parametrize("far", ["infinity", "10000-01-01"])
def test_dates_that_spark_does_not_read_are_not_told(far):
    kind = parse_sql_type("DATE")
    totals = ColumnTotals(2, parse_stat("2026-01-01", kind), parse_stat(far, kind))

    assert estimate_column(kind, 3, totals) == {"nulls": 1, "width": 4}
