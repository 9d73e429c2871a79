"""Aggregates that keep rows, statistics, and those that DuckDB computes, beside DuckDB's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.aggregate_matrix import ALL, NOTHING, bind_call, check, spark_answers
from support.aggregate_rows import COLUMNS, NAMES, ROWS
from support.both_engines import BothEngines, both_engines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FINITE = "FROM t WHERE g < 4 GROUP BY g ORDER BY g"
SOME = ["bo", "i32", "i64", "h", "d", "dec", "s", "dt", "tz", "iv", "u", "l", "st", "m"]
SORTED = ["n", "n DESC", "n DESC NULLS FIRST"]


@pytest.fixture(scope="module")
def both(spark: SparkSession) -> BothEngines:
    return both_engines(spark, COLUMNS, ROWS)


def test_first_and_last_rows(both: BothEngines) -> None:
    calls = [f"{f}({name} ORDER BY {o}){w}" for name in SOME for o in SORTED
             for f in ("first", "last", "any_value", "arbitrary")
             for w in ("", " FILTER (WHERE n <> 4)")]  # fmt: skip
    calls += [f"{f}(n ORDER BY {o})" for f in ("first", "last", "any_value")
              for o in ("s NULLS FIRST, n", "s, n", "d DESC NULLS LAST, n DESC", "bo, n DESC",
                        "iv, n", "l, n", "e DESC, n")]  # fmt: skip
    check(both, calls)


def test_rows_of_bounds(both: BothEngines) -> None:
    calls = [f"{f}({name}, n){w}" for name in SOME
             for f in ("arg_min", "arg_max", "min_by", "arg_min_null", "arg_max_null")
             for w in ("", " FILTER (WHERE n <> 4)")]  # fmt: skip
    # Of rows with the same bound any is right, in both.
    calls += [f"{f}({name}, {name}) FILTER (WHERE n <> 4)" for name in NAMES
              for f in ("argmin", "argmax")]  # fmt: skip
    calls += ["arg_max(s, n, 2)", "arg_min(n, d, 3)", "max(i32, 2)", "min(s, 3)"]
    calls += ["arg_max_nulls_last(s, n)", "arg_min_nulls_last(n, d)"]
    check(both, calls)


def test_lists(both: BothEngines) -> None:
    calls = [f"list({name} ORDER BY {o}){w}" for name in NAMES for o in SORTED[:2]
             for w in ("", " FILTER (WHERE n <> 4)")]  # fmt: skip
    calls += [f"array_agg(n ORDER BY {name} {way}, n)" for name in NAMES
              for way in ("", "DESC", "NULLS FIRST", "DESC NULLS LAST")]  # fmt: skip
    calls += ["list(n ORDER BY bo, s DESC, d NULLS FIRST, n)", "list(DISTINCT g)"]
    check(both, calls)


def test_joined_texts(both: BothEngines) -> None:
    separators = ["", ", '-'", ", ''", ", '\\ ''\"{}日'"]
    calls = [f"string_agg(s{x} ORDER BY {o}){w}" for x in separators for o in SORTED
             for w in ("", " FILTER (WHERE n <> 4)")]  # fmt: skip
    calls += [f"{f}(n, ';' ORDER BY n)" for f in ("group_concat", "listagg")]
    calls += [f"string_agg(DISTINCT s, '-' ORDER BY s{way})" for way in ("", " DESC")]
    calls += ["string_agg(s, '/' ORDER BY l, n)", "string_agg(d, '/' ORDER BY n)"]
    check(both, calls)


def test_statistics(both: BothEngines) -> None:
    one = ("stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop", "sem",
           "skewness", "kurtosis", "kurtosis_pop", "product", "fsum", "favg", "kahan_sum",
           "sumkahan", "mad", "entropy")  # fmt: skip
    calls = [f"{f}({name}){w}" for f in one for name in ("i32", "d", "dec", "n")
             for w in ("", " FILTER (WHERE n < 9)")]  # fmt: skip
    two = ("covar_pop", "covar_samp", "corr", "regr_avgx", "regr_avgy", "regr_count", "regr_r2",
           "regr_intercept", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy")  # fmt: skip
    calls += [f"{f}({pair}){w}" for f in two for pair in ("d, n", "n, dec", "i32, i32")
              for w in ("", " FILTER (WHERE n < 9)")]  # fmt: skip
    check(both, calls, (FINITE, NOTHING))


def test_results_that_are_out_of_range_are_errors(both: BothEngines) -> None:
    calls = [f"{f}(d)" for f in ("stddev", "stddev_pop", "var_samp", "var_pop")]
    told = [
        answer for call in calls for answer in spark_answers(both, [bind_call(both, call)], ALL)
    ]
    assert [str(each).count("is out of range!") > 0 for each in told] == [True] * len(calls)


def test_what_duckdb_computes_in_tasks(both: BothEngines) -> None:
    calls = [f"{f}({name})" for name in ("i32", "d", "dec", "s", "dt", "ts", "tz", "ti", "iv")
             for f in ("mode", "approx_count_distinct", "quantile_disc", "histogram")
             if f != "quantile_disc"]  # fmt: skip
    calls += [f"{f}({name}{x})" for name in ("i32", "i64", "d", "dec", "dt", "ts", "ti")
              for f, x in (("median", ""), ("quantile", ", 0.3"), ("quantile_disc", ", 0.75"),
                           ("quantile_cont", ", 0.3"), ("quantile_cont", ", [0.1, 0.9]"),
                           ("approx_quantile", ", 0.5"))]  # fmt: skip
    calls += ["percentile_cont(0.3) WITHIN GROUP (ORDER BY n DESC)",
              "percentile_disc([0.25, 1]) WITHIN GROUP (ORDER BY n)",
              "quantile_disc(s, 0.5)", "quantile(l, 0.5)", "reservoir_quantile(n, 0.5, 100)",
              "bitstring_agg(n, 0, 100)", "approx_top_k(s, 2)",
              "histogram(n, [5, 10])", "histogram_exact(n, [5, 10])", "avg(iv)", "avg(ts)",
              "avg(ti)", "avg(tz)", "bit_xor('101'::BIT)", "sum(d ORDER BY n)", "entropy(s)",
              "avg(d ORDER BY n)", "max(st)", "min(l)", "max(m)", "min(e)", "max(iv)"]  # fmt: skip
    check(both, calls, (FINITE, NOTHING))
