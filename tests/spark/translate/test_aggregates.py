"""Counts, sums and bounds of Spark beside DuckDB's own, over groups that are hard."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.aggregate_matrix import check
from support.aggregate_rows import COLUMNS, NAMES, ROWS
from support.both_engines import BothEngines, both_engines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

INTEGERS = ["i8", "i16", "i32", "i64", "u8", "u32", "u64", "h"]
NUMBERS = [*INTEGERS, "f", "d", "dec", "wide"]


@pytest.fixture(scope="module")
def both(spark: SparkSession) -> BothEngines:
    return both_engines(spark, COLUMNS, ROWS)


def test_counts(both: BothEngines) -> None:
    calls = ["count(*)", "count(*) FILTER (WHERE n > 3)", "count(1)", "count(NULL)"]
    calls += [f"count({name})" for name in NAMES]
    calls += [f"count(DISTINCT {name})" for name in NAMES]
    calls += [f"count(DISTINCT {name}) FILTER (WHERE n > 3)" for name in NAMES]
    calls += ["count_if(bo)", "countif(n > 3)", "count_if(bo) FILTER (WHERE bo)"]
    check(both, calls)


def test_sums_and_averages(both: BothEngines) -> None:
    calls = [
        f"{f}({x}){w}"
        for name in NUMBERS
        for f in ("sum", "avg")
        for x, w in ((name, ""), (name, " FILTER (WHERE n <> 4)"), (f"DISTINCT {name}", ""))
    ]
    calls += [
        "mean(i32)",
        "sum(bo)",
        "sum(DISTINCT bo)",
        "sum(i32 ORDER BY n DESC)",
        "avg(dec ORDER BY s)",
    ]
    check(both, calls)


def test_bounds(both: BothEngines) -> None:
    calls = [f"{f}({name}){w}" for name in NAMES for f in ("min", "max")
             for w in ("", " FILTER (WHERE n <> 4)")]  # fmt: skip
    calls += [f"{f}(DISTINCT {name})" for name in NAMES for f in ("min", "max")]
    calls += ["bool_and(bo)", "bool_or(bo)", "bool_and(DISTINCT bo)", "bool_or(n > 2)"]
    check(both, calls)


def test_bits(both: BothEngines) -> None:
    calls = [f"{f}({d}{name})" for name in INTEGERS for f in ("bit_and", "bit_or", "bit_xor")
             for d in ("", "DISTINCT ")]  # fmt: skip
    check(both, calls)
