"""Where a PIVOT lacks its values, and what the query is with them."""

from __future__ import annotations

import pytest

from ducklake_spark.sql.composed import Composed
from ducklake_spark.sql.dynamic_pivots import find_missing_values, put_values


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1",
        "PIVOT t ON a IN (1, 2) USING sum(b)",
        "SELECT * FROM t PIVOT (sum(b) FOR a IN (1, 2))",
        "SELECT pivot FROM t WHERE pivot = 'PIVOT t ON a'",
        "PIVOT t USING sum(b)",
        "PIVOT t GROUP BY a",
        "SELECT 'open",
    ],
)
def test_nothing_is_missing(text: str) -> None:
    assert find_missing_values(text) == []


@pytest.mark.parametrize(
    ("text", "sources", "expected"),
    [
        (
            "PIVOT t ON a USING sum(b) GROUP BY c",
            ["t"],
            "PIVOT t ON CAST(a AS VARCHAR) IN ('x', 'it''s') USING sum(b) GROUP BY c",
        ),
        (
            "FROM (PIVOT (SELECT * FROM u WHERE v > 1) AS s ON a || 'b')",
            ["(SELECT * FROM u WHERE v > 1) AS s"],
            "FROM (PIVOT (SELECT * FROM u WHERE v > 1) AS s ON "
            "CAST(a || 'b' AS VARCHAR) IN ('x', 'it''s'))",
        ),
        (
            "PIVOT t ON a IN (1), f(b, c) USING sum(d)",
            ["t"],
            "PIVOT t ON a IN (1), CAST(f(b, c) AS VARCHAR) IN ('x', 'it''s') USING sum(d)",
        ),
    ],
)
def test_values_are_put_in(text: str, sources: list[str], expected: str) -> None:
    missing = find_missing_values(text)
    assert len(missing) == len(sources)
    for each, source in zip(missing, sources, strict=True):
        assert f" FROM {source} WHERE " in each.question
    made = put_values(Composed(text), missing, [["x", "it's"]] * len(missing))
    assert made.text == expected
    assert find_missing_values(made.text) == []


def test_common_table_expressions_before_it_are_seen() -> None:
    (missing,) = find_missing_values("WITH c AS (SELECT 1 AS a) PIVOT c ON a")
    assert missing.question.startswith("WITH c AS (SELECT 1 AS a) SELECT DISTINCT")


def test_the_innermost_goes_first() -> None:
    (missing,) = find_missing_values("PIVOT (PIVOT t ON a) ON b")
    assert " FROM t " in missing.question
