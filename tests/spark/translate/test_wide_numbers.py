"""Wide numbers become the doubles that DuckDB makes of them, to the last bit."""

from __future__ import annotations

import random

import pytest

from ducklake_spark.translate.constants import decimal_text
from support.bound_expressions import Binder
from support.expression_matrix import Matrix

ROWS = 4_000
KINDS = {
    "HUGEINT": (38, 0),
    "DECIMAL(38,0)": (38, 0),
    "DECIMAL(38,2)": (38, 2),
    "DECIMAL(18,2)": (18, 2),
    "DECIMAL(18,0)": (18, 0),
    "DECIMAL(30,15)": (30, 15),
    "DECIMAL(38,6)": (38, 6),
    "DECIMAL(20,4)": (20, 4),
}
EDGES = [
    2**53,
    2**53 + 1,
    2**53 + 3,
    2**54 + 3,
    2**63,
    2**64,
    2**64 - 1,
    2**64 + 1,
    2**65 + 3,
    1,
    0,
]


def unscaled(width: int) -> list[int]:
    """Numbers of all lengths, and those around which the way of rounding changes."""
    chance = random.Random(width)
    found = [chance.randrange(10 ** chance.randint(1, width)) for _ in range(ROWS)]
    edges = [edge * 10**power for edge in EDGES for power in (0, 2, 4, 6, 15)]
    found += [edge for edge in edges if edge < 10**width]
    found += [10**width - 1, 10**width - 10 ** (width // 2)]
    return found + [-number for number in found]


@pytest.mark.parametrize("kind", KINDS)
def test_a_wide_number_is_the_same_double(kind, spark, tmp_path):
    width, scale = KINDS[kind]
    binder = Binder({"n": "INTEGER", "v": kind})
    texts = [f"'{decimal_text(number, scale)}'" for number in unscaled(width)]
    rows = ", ".join(f"({n}, {text})" for n, text in enumerate(texts))
    binder.connection.execute(f"INSERT INTO t SELECT a, b::{kind} FROM (VALUES {rows}) r(a, b)")
    report = Matrix(spark, binder, tmp_path).compare(["v::DOUBLE", "v::DOUBLE / 3"])
    assert not report.differing, "\n".join(report.differing)[:2_000]
    assert report.native
