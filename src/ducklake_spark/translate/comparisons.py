"""Comparisons that Spark answers as DuckDB does; all others are the engine's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ducklake_spark.binder.expressions import ComparisonKind
from ducklake_spark.binder.types import BoundType
from ducklake_spark.translate.fragments import Fragment, joined, sql
from ducklake_spark.translate.types import is_equal_in_spark, is_ordered_in_spark

_TEMPLATES: Final[dict[str, str]] = {
    "IS DISTINCT FROM": "(NOT ({} <=> {}))",
    "IS NOT DISTINCT FROM": "({} <=> {})",
}
_ORDERED: Final = frozenset({"<", ">", "<=", ">="})
_NESTED: Final = frozenset({"LIST", "ARRAY", "STRUCT", "MAP", "UNION"})
_FLOATS: Final = {"FLOAT": "CAST(0 AS FLOAT)", "DOUBLE": "0D"}


def native_comparison(
    kind: ComparisonKind, left: Fragment, right: Fragment, of: BoundType
) -> Fragment | None:
    """Spark SQL of a comparison of two values of a type; None where Spark answers otherwise."""
    fits = is_ordered_in_spark(of) if kind in _ORDERED else is_equal_in_spark(of)
    if not fits:
        return None
    return sql(_TEMPLATES.get(kind, f"({{}} {kind} {{}})"), left, right)


def native_in(
    value: Fragment, choices: Sequence[Fragment], of: BoundType, *, negated: bool
) -> Fragment | None:
    """Spark SQL of IN and NOT IN.

    Spark looks long lists up in a set, where the two zeros of floating-point numbers differ: adding
    zero makes one of them.
    """
    if not is_equal_in_spark(of) or of.id in _NESTED:
        return None
    zero = _FLOATS.get(of.id)
    if zero is not None:
        value = sql(f"({{}} + {zero})", value)
        choices = [_with_one_zero(choice, zero) for choice in choices]
    return sql(f"({{}} {'NOT IN' if negated else 'IN'} ({{}}))", value, joined(", ", choices))


def _with_one_zero(choice: Fragment, zero: str) -> Fragment:
    is_positive = len(choice.pieces) == 1 and str(choice)[:1].isdigit()
    return choice if is_positive else sql(f"({{}} + {zero})", choice)
