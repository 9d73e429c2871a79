"""Correlated joins that DuckDB 2 has taken apart into CTEs, put together again. Pure.

It keeps the rows around a subquery as one CTE and the distinct keys of these rows as another. Where
a plan is not of that form the CTEs stay: they mean the same, and cost more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from ducklake_spark.binder.operators import (
    Aggregation,
    Cte,
    CteRef,
    DelimGet,
    DelimJoin,
    Join,
    Plan,
    Projection,
    with_inputs,
)

_ROWS: Final = "__duckdb_delim_"
_KEYS: Final = "__duckdb_delim_dedup_"


def with_delim_joins(plan: Plan) -> Plan:
    """The plan with correlated joins as operators."""
    plan = with_inputs(plan, with_delim_joins)
    if isinstance(plan, Cte) and plan.name == f"{_ROWS}{plan.index}":
        return _restored(plan)
    return plan


def _restored(rows: Cte) -> Plan:
    keys, rebuild = _below_projections(rows.child)
    if not isinstance(keys, Cte) or keys.name != f"{_KEYS}{keys.index}":
        return rows
    distinct = keys.definition
    if not isinstance(distinct, Aggregation) or distinct.aggregates:
        return rows
    if not _is_ref(distinct.child, rows) or _count_refs(keys.child, rows) != 1:
        return rows
    joined = _put_together(keys.child, rows, keys, distinct)
    return rows if joined is None else rebuild(joined)


def _below_projections(plan: Plan) -> tuple[Plan, Callable[[Plan], Plan]]:
    """What projections read, and what puts them above something else."""
    if not isinstance(plan, Projection):
        return plan, lambda found: found
    below, rebuild = _below_projections(plan.child)
    return below, lambda found: replace(plan, child=rebuild(found))


def _is_ref(plan: Plan, cte: Cte) -> bool:
    return isinstance(plan, CteRef) and plan.index == cte.index


def _count_refs(plan: Plan, cte: Cte) -> int:
    found = [int(_is_ref(plan, cte))]

    def count(below: Plan) -> Plan:
        found.append(_count_refs(below, cte))
        return below

    with_inputs(plan, count)
    return sum(found)


def _put_together(plan: Plan, rows: Cte, keys: Cte, distinct: Aggregation) -> Plan | None:
    """The plan with the correlated join; None if the rows are joined in another way."""

    def symbolic(below: Plan) -> Plan:
        if isinstance(below, CteRef) and below.index == keys.index:
            return DelimGet(below.types)
        return with_inputs(below, symbolic)

    def change(below: Plan) -> Plan:
        if isinstance(below, Join) and below.predicate is None and _is_ref(below.left, rows):
            right = symbolic(below.right)
            return DelimJoin(below.kind, rows.definition, right, distinct.groups, below.conditions)
        return with_inputs(below, change)

    found = change(plan)
    whole = _count_refs(found, rows) == 0 and _count_refs(found, keys) == 0
    return found if whole else None
