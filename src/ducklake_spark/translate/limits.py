"""ORDER BY, LIMIT and OFFSET in all their forms, and SAMPLE."""

from __future__ import annotations

from dataclasses import replace

from ducklake_spark.binder.operators import Bound, Limit, Sample, Sorting, types_of
from ducklake_spark.errors import NotSupported
from ducklake_spark.translate.context import Context
from ducklake_spark.translate.failures import raise_text
from ducklake_spark.translate.fragments import Fragment, joined, sql
from ducklake_spark.translate.relations import (
    NotPullable,
    Relation,
    cell_outers,
    is_plain,
)
from ducklake_spark.translate.sort_keys import order_text
from ducklake_spark.translate.types import holds

_LARGEST = 2**31 - 1


def sorting(plan: Sorting, context: Context) -> Relation:
    """The rows with an order, which is written when nothing is put above it any more."""
    nodes = [each.expression for each in plan.orders]
    child = context.readable(context.rows(plan.child), nodes)
    if child.carried or any(map(cell_outers, child.columns)):
        return child  # the rows of a correlated subquery have no order
    return replace(child, order=tuple(order_text(plan.orders, child.columns, context)))


def limit(plan: Limit, context: Context) -> Relation:
    """LIMIT and OFFSET: as such where they are numbers, else over numbered rows."""
    child = context.rows(plan.child)
    if child.carried or any(map(cell_outers, child.columns)):
        raise NotPullable("a LIMIT for each row of the query around")
    if child.limit:
        child = context.wrapped(child)
    if context.reads_step(child.source):
        return _numbered(plan, _ordered_somehow(plan, child), context)
    if all(_is_small(bound) for bound in (plan.limit, plan.offset)):
        text = "".join(
            f" {word} {bound.value}"
            for word, bound in (("LIMIT", plan.limit), ("OFFSET", plan.offset))
            if bound is not None
        )
        return replace(child, limit=text)
    return _numbered(plan, child, context)


def _ordered_somehow(plan: Limit, child: Relation) -> Relation:
    """The rows of a recursive step in any order, if they have none: Spark refuses LIMIT there."""
    if child.order:
        return child
    for cell, kind in zip(child.values, types_of(plan.child), strict=True):
        if not holds(kind, "MAP"):
            return replace(child, order=(_by(cell),))
    raise NotSupported("A LIMIT over MAP values of a recursive step is not supported.")


def _is_small(bound: Bound | None) -> bool:
    if bound is None:
        return True
    return isinstance(bound.value, int) and not bound.is_percentage and 0 <= bound.value <= _LARGEST


def _numbered(plan: Limit, child: Relation, context: Context) -> Relation:
    """The rows whose number is within the bounds, in their order."""
    order = joined(", ", child.order) if child.order else Fragment(("NULL",))
    if not all(map(is_plain, child.columns)):
        child = context.wrapped(child)
        order = joined(", ", child.order) if child.order else Fragment(("NULL",))
    extra = (
        sql("row_number() OVER (ORDER BY {})", order),
        Fragment(("count(1) OVER ()",)),
    )
    rows = context.wrapped(replace(child, columns=(*child.columns, *extra), order=()))
    number, total = rows.values[-2:]
    width = len(rows.columns) - 2
    skipped = None if plan.offset is None else _rows(plan.offset, rows, total, context, "0L")
    where = []
    shown = number
    if skipped is not None:
        where.append(sql("{} > {}", number, skipped))
        shown = sql("{} - {}", number, skipped)
    if plan.limit is not None:
        kept = _rows(plan.limit, rows, total, context, "9223372036854775807L")
        where.append(sql("{} <= {}", shown, kept))
    return replace(rows, columns=rows.columns[:width], where=tuple(where), order=(_by(number),))


def _by(number: Fragment) -> Fragment:
    return sql("{} ASC NULLS LAST", number)


def _rows(bound: Bound, rows: Relation, total: Fragment, context: Context, null: str) -> Fragment:
    """A bound as a number of rows; what NULL means is said by `null`."""
    if isinstance(bound.value, int | float):
        if not bound.is_percentage:
            return Fragment((f"{bound.value}L",))
        share = Fragment((f"CAST('{float(bound.value)!r}' AS DOUBLE)",))
    elif not bound.is_percentage:
        return sql(
            "coalesce(CAST({} AS BIGINT), {})", context.scalar(bound.value, rows.columns), null
        )
    else:
        share = _checked(sql("CAST({} AS DOUBLE)", context.scalar(bound.value, rows.columns)))
    if null == "0L":
        raise NotSupported("OFFSET with a percentage is not supported.")
    return sql("coalesce(CAST(floor({} / 100 * {}) AS BIGINT), {})", share, total, null)


def _checked(share: Fragment) -> Fragment:
    error = raise_text(
        "Out of Range Error: Limit percent out of range, should be between 0% and 100%"
    )
    return sql("CASE WHEN {0} < 0 OR {0} > 100 THEN {1} ELSE {0} END", share, error)


def sample(plan: Sample, context: Context) -> Relation:
    """Random rows. A seed gives the same rows for the same files, not those that DuckDB picks."""
    child = context.rows(plan.child)
    if child.carried or any(map(cell_outers, child.columns)):
        raise NotPullable("a SAMPLE for each row of the query around")
    child = context.ready(child)
    draw = Fragment((f"rand({plan.seed})" if plan.seed is not None else "rand()",))
    if plan.is_percentage and plan.method != "reservoir":
        rows = context.wrapped(replace(child, columns=(*child.columns, draw)))
        share = f"CAST('{plan.size / 100!r}' AS DOUBLE)"
        kept = replace(rows, where=(sql("{} < {}", rows.values[-1], share),))
        return _sealed(kept, len(child.columns), context)
    rows = context.wrapped(replace(child, columns=(*child.columns, draw)))
    drawn = replace(rows, order=(sql("{} ASC NULLS LAST", rows.values[-1]),))
    if not plan.is_percentage:
        taken = replace(drawn, limit=f" LIMIT {int(plan.size)}")
        return _sealed(taken, len(child.columns), context)
    return _sealed(_share(plan.size, drawn, context), len(child.columns), context)


def _share(percentage: float, drawn: Relation, context: Context) -> Relation:
    """A share of the rows that is rounded, where a LIMIT would be cut off."""
    extra = (
        sql("row_number() OVER (ORDER BY {})", joined(", ", drawn.order)),
        Fragment(("count(1) OVER ()",)),
    )
    rows = context.wrapped(replace(drawn, columns=(*drawn.columns, *extra), order=()))
    number, total = rows.values[-2:]
    share = percentage / 100
    kept = sql("{} <= floor(CAST('{}' AS DOUBLE) * {} + 0.5D)", number, repr(share), total)
    return replace(rows, where=(kept,))


def _sealed(rows: Relation, width: int, context: Context) -> Relation:
    """The rows as an item of their own, so that nothing is drawn again or filtered before."""
    found = context.wrapped(replace(rows, columns=rows.columns[:width]))
    return replace(found, order=())
