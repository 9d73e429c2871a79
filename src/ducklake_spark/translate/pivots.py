"""PIVOT over many values: the binder groups the rows into lists, from which columns are taken."""

from __future__ import annotations

from typing import Final

from ducklake_spark.binder.operators import Pivot
from ducklake_spark.errors import NotSupported
from ducklake_spark.translate.context import Context
from ducklake_spark.translate.fragments import Fragment, literal_text, sql
from ducklake_spark.translate.relations import NotPullable, Relation, reads_around

# What an aggregate of no rows is: for a key that a group does not have.
_ZERO: Final = frozenset({"count", "count_star"})
_NULL: Final = frozenset(
    {
        *("sum", "sum_no_overflow", "min", "max", "avg", "first", "last", "any_value", "arbitrary"),
        *("list", "array_agg", "string_agg", "group_concat", "listagg", "bool_and", "bool_or"),
        *("arg_min", "arg_max", "median", "mode", "stddev", "stddev_samp", "stddev_pop"),
        *("variance", "var_samp", "var_pop", "product", "quantile_cont", "quantile_disc"),
    }
)


def pivot(plan: Pivot, context: Context) -> Relation:
    """The groups, and for each key the elements of the lists at its place."""
    child = context.ready(context.rows(plan.child))
    if reads_around(child):
        raise NotPullable("a PIVOT of the query around")
    *given, keys = child.values
    lists = given[plan.groups :]
    if len(lists) != len(plan.aggregates):
        raise NotSupported("This PIVOT is not supported.")
    found = list(child.columns[: plan.groups])
    for index, key in enumerate(plan.keys):
        place = index % len(lists)
        element = _element(lists[place], keys, key)
        found.append(_or_default(element, plan.aggregates[place]))
    return context.wrapped(Relation(tuple(found), child.source, child.where))


def _element(values: Fragment, keys: Fragment, key: str) -> Fragment:
    position = sql("CAST(array_position({}, {}) AS INT)", keys, literal_text(key))
    return sql("element_at({}, nullif({}, 0))", values, position)


def _or_default(element: Fragment, aggregate: str) -> Fragment:
    if aggregate in _ZERO:
        return sql("coalesce({}, 0L)", element)
    if aggregate not in _NULL:
        raise NotSupported(
            f"PIVOT with the aggregate {aggregate} over many values is not supported."
        )
    return element
