"""The operator of window functions: Spark's own in one SELECT, others by DuckDB in tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ducklake_spark.binder.expressions import Window
from ducklake_spark.binder.operators import Windows
from ducklake_spark.translate.context import Context
from ducklake_spark.translate.fragments import Fragment
from ducklake_spark.translate.input_order import with_input_order_in_windows
from ducklake_spark.translate.relations import (
    NotPullable,
    Relation,
    item_columns,
    reads_around,
    rest_of,
    subquery,
)
from ducklake_spark.translate.windows import native_window
from ducklake_spark.translate.windows_in_tasks import windows_in_tasks


def windows(plan: Windows, context: Context) -> Relation:
    """Window functions behind the rows of the child."""
    plan, added = with_input_order_in_windows(plan)
    child = context.rows(plan.child)
    if child.carried:
        raise NotPullable("a window over the rows of a correlated subquery")
    child = context.readable(child, plan.windows)
    values = child.values
    found = [native_window(each, values, context.expressions) for each in plan.windows]
    if any(each is not None and each.outers for each in found):
        raise NotPullable("a window that reads the query around")
    width = len(child.columns)
    native = tuple(each for each in found if each is not None)
    rows = context.wrapped(replace(child, columns=(*child.columns, *native)))
    shown = iter(range(width, len(rows.columns)))
    places = [-1 if each is None else next(shown) for each in found]
    foreign = [index for index, each in enumerate(found) if each is None]
    for group in _same_partitions(plan.windows, foreign):
        for offset, index in enumerate(group):
            places[index] = len(rows.columns) + offset
        rows = _by_duckdb([plan.windows[index] for index in group], rows, context)
    ordered = (rows.columns[place] for place in places)
    return replace(rows, columns=(*rows.columns[: width - added], *ordered))


def _same_partitions(windows: Sequence[Window], places: Sequence[int]) -> list[list[int]]:
    """The windows that see the same rows together."""
    groups: list[list[int]] = []
    for place in places:
        keys = windows[place].partitions
        known = (group for group in groups if windows[group[0]].partitions == keys)
        found = next(known, None)
        if found is None:
            groups.append([place])
        else:
            found.append(place)
    return groups


def _by_duckdb(nodes: Sequence[Window], rows: Relation, context: Context) -> Relation:
    """The rows with window functions behind that DuckDB computes for each partition."""
    if reads_around(rows):
        raise NotPullable("a window of DuckDB over the rows of a correlated subquery")
    source: Fragment = rest_of(rows)
    text = windows_in_tasks(nodes, rows.values, source, context.expressions)
    item = context.item()
    return Relation(item_columns(item, len(rows.columns) + len(nodes)), subquery(text, item))
