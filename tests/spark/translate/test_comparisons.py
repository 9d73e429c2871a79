"""Comparisons of all types, and what is made of conditions, are DuckDB's."""

from __future__ import annotations

import pytest

from support.bound_expressions import Binder
from support.expression_matrix import Matrix
from support.values import VALUES, value

COMPARISONS = ["=", "<>", "<", ">", "<=", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"]
NESTED = {
    "INTEGER[]": ("[]", "[1]", "[NULL]", "[1, NULL]", "[1, 2]", "[2]"),
    "DOUBLE[]": ("[0.0]", "[-0.0]", "['nan'::DOUBLE]", "['inf'::DOUBLE]", "[NULL]"),
    "STRUCT(a INTEGER, b VARCHAR)": (
        *("{'a': 1, 'b': 'x'}", "{'a': NULL, 'b': 'x'}", "{'a': 1, 'b': NULL}"),
        *("{'a': NULL, 'b': NULL}", "{'a': 2, 'b': ''}"),
    ),
    "MAP(VARCHAR, INTEGER)": ("MAP {}", "MAP {'a': 1}", "MAP {'a': NULL}", "MAP {'b': 0}"),
    "INTEGER[2]": ("[1, 2]", "[1, NULL]", "[2, 1]"),
    "STRUCT(a INTEGER[], b STRUCT(c DATE))": (
        *("{'a': [1], 'b': {'c': DATE '2024-01-01'}}", "{'a': [1], 'b': NULL}"),
        *("{'a': NULL, 'b': {'c': NULL}}",),
    ),
    "INTERVAL[]": ("['1 month'::INTERVAL]", "['30 days'::INTERVAL]", "[NULL]"),
}
ALL = {**VALUES, **NESTED}


def table_of_pairs(kind: str) -> Binder:
    """Every value beside every other."""
    binder = Binder({"n": "INTEGER", "a": kind, "b": kind})
    values = ["NULL", *ALL[kind]]
    for n, (left, right) in enumerate((a, b) for a in values for b in values):
        row = f"{n}, {value(left, kind)}, {value(right, kind)}"
        binder.connection.execute(f"INSERT INTO t SELECT {row}")
    return binder


def conditions(kind: str) -> list[str]:
    one, two = value(ALL[kind][0], kind), value(ALL[kind][1], kind)
    return [
        *(f"a {sign} b" for sign in COMPARISONS),
        *(f"a {sign} {one}" for sign in COMPARISONS),
        *(f"{one} {sign} {two}" for sign in COMPARISONS),
        "a BETWEEN b AND b",
        f"a NOT BETWEEN {one} AND b",
        f"a IN (b, {one})",
        f"a NOT IN ({one}, NULL)",
        f"a IN ({', '.join(value(v, kind) for v in ALL[kind])})",
        "a IS NULL OR a = b AND NOT b IS NOT NULL",
        *(choices(two) if kind != "INTEGER[2]" else ()),  # DuckDB has no CASE of ARRAYs
    ]


def choices(last: str) -> list[str]:
    return [
        "CASE WHEN a < b THEN a WHEN a = b THEN NULL ELSE b END",
        f"coalesce(a, b, {last})",
        "nullif(a, b)",
        "greatest(a, b)",
    ]


@pytest.mark.parametrize("kind", ALL)
def test_a_comparison_is_duckdbs(kind, spark, tmp_path):
    report = Matrix(spark, table_of_pairs(kind), tmp_path).compare(conditions(kind))
    assert not report.differing, "\n".join(report.differing)
    assert not report.refused, "\n".join(report.refused)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("words", ["ASC NULLS LAST", "DESC NULLS FIRST", "DESC NULLS LAST"])
def test_an_order_is_duckdbs(kind, words, spark, tmp_path):
    binder = table_of_pairs(kind)
    found = Matrix(spark, binder, tmp_path).ordered("a", words)
    query = f"SELECT a::VARCHAR, dense_rank() OVER (ORDER BY a {words}) FROM t"
    ranks = {zero(a): b for a, b in binder.connection.execute(query).fetchall()}
    assert [ranks[zero(text)] for text in found] == sorted(ranks[zero(text)] for text in found)
    assert set(map(zero, found)) == set(ranks)


def zero(text: str | None) -> str | None:
    """The two zeros are one: DuckDB itself gives either of them after it has sorted."""
    return text and text.replace("-0.0", "0.0")
