"""Which aggregates Spark computes, which DuckDB, and which nobody."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ducklake_spark.binder.expressions import Aggregate, Ref
from ducklake_spark.binder.types import BIGINT, DOUBLE, VARCHAR, BoundType, list_of
from ducklake_spark.translate.aggregates import AGGREGATES, answered_by

INTERVAL = BoundType("INTERVAL")


def _call(name: str, argument: BoundType, result: BoundType, **more: object) -> Aggregate:
    return Aggregate(name, (Ref(0, argument),), (argument,), result, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("node", "who"),
    [
        (_call("max", BIGINT, BIGINT), "Spark"),
        (_call("max", INTERVAL, INTERVAL), "DuckDB"),
        (_call("count", list_of(BIGINT), BIGINT), "Spark"),
        (_call("count", INTERVAL, BIGINT, is_distinct=True), "DuckDB"),
        (_call("mode", BIGINT, BIGINT), "DuckDB"),
        (_call("string_agg", VARCHAR, VARCHAR, bind_data={"separator": ","}), "Spark"),
        (_call("string_agg", VARCHAR, VARCHAR, bind_data={"separator": ",", "x": 1}), "nobody"),
        (_call("quantile_cont", DOUBLE, DOUBLE, bind_data={"quantiles": []}), "nobody"),
        (_call("first", BoundType("UNION"), BoundType("UNION")), "Spark"),
        (_call("mode", BoundType("BIGNUM"), BoundType("BIGNUM")), "nobody"),
    ],
    ids=lambda each: each.name if isinstance(each, Aggregate) else each,
)
def test_calls_are_computed_by_whom_they_should(node: Aggregate, who: str) -> None:
    assert answered_by(node) == who


def test_the_page_names_the_aggregates_of_spark() -> None:
    page = Path(__file__).parents[3] / "docs" / "reference" / "aggregates.md"
    section = page.read_text(encoding="utf-8").split("\n## ")[1].split("\n- ")[0]
    assert sorted(re.findall(r"`(\w+)`", section)) == sorted(AGGREGATES)
