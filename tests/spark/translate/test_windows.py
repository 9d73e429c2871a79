"""Window functions of Spark beside DuckDB's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.both_engines import BothEngines, both_engines
from support.window_matrix import bind_window, window_answers, window_differences

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

COLUMNS = {
    "g": "INTEGER",
    "n": "INTEGER",  # different in each row
    "i": "INTEGER",
    "k": "INTEGER",  # small and never negative
    "d": "DOUBLE",
    "dec": "DECIMAL(9,2)",
    "s": "VARCHAR",
    "bo": "BOOLEAN",
    "dt": "DATE",
    "ts": "TIMESTAMP",
    "iv": "INTERVAL",
    "l": "INTEGER[]",
}
ROWS = [
    ["1", "1", "10", "0", "1.5", "1.25", "'a'", "true", "'2024-01-31'", "'2024-01-31 10:00:00'",
     "INTERVAL 1 MONTH", "[1]"],
    ["1", "2", "10", "1", "2.5", "-1.25", "'b'", "false", "'2024-02-29'", "'2024-02-29 10:00:00'",
     "INTERVAL 30 DAY", "[1, NULL]"],
    ["1", "3", "NULL", "2", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL"],
    ["1", "4", "12", "0", "'nan'", "2.00", "'ä'", "true", "'2024-03-01'", "'2024-02-29 23:59:59'",
     "INTERVAL 29 DAY", "[]"],
    ["1", "5", "-3", "3", "'inf'", "2.25", "''", "true", "'2024-03-02'", "'2024-03-31 00:00:00'",
     "INTERVAL 24 HOUR", "[2]"],
    ["2", "6", "7", "1", "-0.0", "0.00", "'日'", "false", "'1969-12-31'", "'1969-12-31 00:00:00'",
     "INTERVAL 1 DAY", "[1]"],
    ["2", "7", "8", "1", "0.0", "0.01", "'b'", "true", "'1970-01-01'", "'1970-01-01 00:00:00'",
     "INTERVAL 0 DAY", "NULL"],
    ["2", "8", "7", "5", "'-inf'", "-0.01", "NULL", "true", "'1970-01-02'", "'1970-01-31 00:00:00'",
     "NULL", "[NULL]"],
    ["NULL", "9", "1", "1", "1", "1.00", "'z'", "NULL", "'2024-01-01'", "NULL", "NULL", "[9]"],
    ["NULL", "10", "1", "1", "1", "1.00", "'y'", "true", "'2024-01-01'", "NULL", "NULL", "[9]"],
    ["3", "11", "NULL", "1", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL"],
]  # fmt: skip

PARTITIONS = ["", "PARTITION BY g ", "PARTITION BY iv, g ", "PARTITION BY d "]
SORTED = ["ORDER BY n", "ORDER BY n DESC"]


@pytest.fixture(scope="module")
def both(spark: SparkSession) -> BothEngines:
    return both_engines(spark, COLUMNS, ROWS)


def check(both: BothEngines, calls: list[str], *, native: bool | None = None) -> None:
    """Native ones must be so, and the others must not."""
    bound = [bind_window(both, call) for call in calls]
    if native is not None:
        others = [each.call for each in bound if (each.text is not None) != native]
        assert not others
    told = [each for rows in ("", "WHERE n < 0") for each in window_differences(both, bound, rows)]
    assert not told, "\n".join(told)


def test_ranks(both: BothEngines) -> None:
    ranks = ["rank()", "dense_rank()", "percent_rank()", "cume_dist()"]
    orders = ["ORDER BY i", "ORDER BY i DESC NULLS FIRST, s", "ORDER BY d", "ORDER BY iv",
              "ORDER BY l DESC", "ORDER BY bo NULLS FIRST, d DESC", ""]  # fmt: skip
    calls = [f"{r} OVER ({p}{o})" for r in ranks for p in PARTITIONS[:2] for o in orders]
    numbers = ["row_number()", "ntile(3)", "ntile(100)", "ntile(1)"]
    calls += [f"{r} OVER ({p}{o})" for r in numbers for p in PARTITIONS[:2] for o in SORTED]
    check(both, calls, native=True)


def test_neighbours(both: BothEngines) -> None:
    calls = [f"{f}({c}{x}) OVER ({p}{o})" for f in ("lag", "lead") for c in ("i", "s", "l")
             for x in ("", ", 2", ", 0", ", -1", " IGNORE NULLS", ", 2 IGNORE NULLS")
             for p in PARTITIONS[:2] for o in SORTED]  # fmt: skip
    calls += [f"{f}(i, 2, {default}) OVER (PARTITION BY g ORDER BY n)" for f in ("lag", "lead")
              for default in ("7", "n", "NULL")]  # fmt: skip
    check(both, calls, native=True)


FRAMES = [
    "",
    "ROWS UNBOUNDED PRECEDING",
    "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
    "ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING",
    "ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING",
    "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING",
    "ROWS BETWEEN 0 PRECEDING AND 0 FOLLOWING",
    "RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
]


def test_values_of_frames(both: BothEngines) -> None:
    functions = ["first_value({})", "last_value({})", "nth_value({}, 2)"]
    functions += [f.replace(")", " IGNORE NULLS)") for f in functions]
    calls = [f"{f.format(c)} OVER (PARTITION BY g {o} {w})" for f in functions for c in ("i", "l")
             for o in SORTED for w in FRAMES]  # fmt: skip
    check(both, calls, native=True)


def test_aggregates_of_frames(both: BothEngines) -> None:
    functions = ["count(*)", "count(i)", "sum(i)", "sum(dec)", "avg(i)", "avg(dec)", "min(s)",
                 "max(i)", "bool_and(bo)", "bit_or(i)", "string_agg(s, '-')", "list(s)",
                 "arg_max(s, n)", "any_value(s)", "first(i)", "count_if(bo)", "regr_count(i, dec)",
                 "product(k)", "max(DISTINCT i)", "stddev(i)", "var_pop(i)"]  # fmt: skip
    calls = [f"{f}{x} OVER (PARTITION BY g ORDER BY n {w})" for f in functions
             for w in (FRAMES[0], *FRAMES[2:5]) for x in ("", " FILTER (WHERE bo)")
             if not (x and f == "first(i)")]  # fmt: skip
    check(both, calls, native=True)


def test_frames_without_order(both: BothEngines) -> None:
    calls = [f"sum(i) OVER ({p}{w})" for p in PARTITIONS[:2] for w in
             ("", "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
              "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
              "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING")]  # fmt: skip
    check(both, calls, native=True)


def test_ranges(both: BothEngines) -> None:
    bounds = ["{} PRECEDING AND CURRENT ROW", "{} PRECEDING AND {} FOLLOWING",
              "CURRENT ROW AND {} FOLLOWING", "UNBOUNDED PRECEDING AND {} FOLLOWING"]  # fmt: skip
    keys = {"i": ["1", "0", "5"], "d": ["1", "0.5"], "dec": ["1", "0.25", "1.5"],
            "dt": ["INTERVAL 1 DAY", "INTERVAL 1 MONTH", "INTERVAL 36 HOUR"],
            "ts": ["INTERVAL 1 DAY", "INTERVAL 1 MONTH", "INTERVAL 90 MINUTE"]}  # fmt: skip
    calls = [f"sum(n) OVER (ORDER BY {key} {way} RANGE BETWEEN {b.format(x, x)})"
             for key, distances in keys.items() for x in distances for b in bounds
             for way in ("", "DESC", "NULLS FIRST")]  # fmt: skip
    check(both, calls, native=True)
    first = (f"{key} RANGE BETWEEN {distances[0]} PRECEDING" for key, distances in keys.items())
    calls = [f"list(n ORDER BY n) OVER (ORDER BY {each} AND CURRENT ROW)" for each in first]
    check(both, calls, native=False)


def test_windows_that_duckdb_computes(both: BothEngines) -> None:
    frames = ["GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING", "GROUPS CURRENT ROW",
              "ROWS BETWEEN k PRECEDING AND k FOLLOWING",
              "ROWS BETWEEN 2 FOLLOWING AND 1 FOLLOWING",
              "RANGE BETWEEN k PRECEDING AND CURRENT ROW"]  # fmt: skip
    excluded = ["CURRENT ROW", "GROUP", "TIES"]
    frames += [f"ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING EXCLUDE {each}" for each in excluded]
    frames += [f"GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE {each}" for each in excluded]
    functions = ["sum(n)", "first_value(n ORDER BY n)", "count(*) FILTER (WHERE bo)"]
    calls = [f"{f} OVER (PARTITION BY g ORDER BY i {w})" for f in functions for w in frames
             if "ORDER" in f or "ROWS" not in w]  # fmt: skip
    calls += [f"{f} OVER (PARTITION BY g ORDER BY n)" for f in (
        "sum(DISTINCT i)", "list(DISTINCT k)[:0]", "string_agg(s, '-' ORDER BY s DESC)", "mode(k)",
        "quantile_cont(i, 0.3)", "median(i)", "lag(i, k)", "lead(s, k, 'none')", "ntile(k + 1)",
        "nth_value(i, k)", "fill(dec)", "rank(ORDER BY s, n)", "lag(i, 1, 0 ORDER BY i, n)",
        "max(i, 2)", "histogram(k)", "min(l)", "first_value(s ORDER BY n DESC)",
        "count(DISTINCT s) FILTER (WHERE bo)", "last_value(s ORDER BY n IGNORE NULLS)",
        "covar_pop(i, dec)") if "[:0]" not in f]  # fmt: skip
    calls += [f"sum(i) OVER (PARTITION BY {p} ORDER BY n)" for p in ("iv", "iv, g", "MAP {'a': k}")]
    check(both, calls, native=False)


def test_errors_of_windows(both: BothEngines) -> None:
    calls = ["ntile(k) OVER (ORDER BY n)", "ntile(0) OVER (ORDER BY n)"]
    calls += ["sum(n) OVER (ORDER BY k RANGE BETWEEN -1 PRECEDING AND CURRENT ROW)"]
    check(both, calls)


def test_a_bound_that_is_null_is_an_error(both: BothEngines) -> None:
    bound = bind_window(both, "sum(n) OVER (ORDER BY n ROWS BETWEEN i PRECEDING AND CURRENT ROW)")
    told = [str(each) for each in window_answers(both, [bound], "")]
    assert ["must not be NULL" in each for each in told] == [True]
