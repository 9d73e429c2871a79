"""Aggregates that DuckDB computes itself: Spark gathers the rows of a group into a list.

The answer is DuckDB's own. The largest group has to fit into the memory of a task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ducklake_spark.binder.decode_types import decode_value
from ducklake_spark.binder.expressions import Aggregate, Order
from ducklake_spark.binder.types import BoundType, list_of, struct_of
from ducklake_spark.errors import NotSupported
from ducklake_spark.translate.duckdb_literals import duckdb_literal
from ducklake_spark.translate.fragments import Fragment, joined, sql
from ducklake_spark.translate.rules import AggregateCall, Engine
from ducklake_spark.translate.types import quote_text

# What is no NULL over no rows: a subquery without rows of which it could be the answer gives NULL.
_OF_NOTHING: Final = {
    "count": "0L",
    "count_star": "0L",
    "regr_count": "0L",
    "approx_count_distinct": "0L",
    "entropy": "0D",
}
_QUANTILES: Final = frozenset({"quantile_cont", "quantile_disc"})
_WITHIN_GROUP: Final = {"quantile_cont": "percentile_cont", "quantile_disc": "percentile_disc"}


def aggregate_in_tasks(call: AggregateCall, engine: Engine) -> Fragment:
    """A call of an aggregate that DuckDB computes over a list of the group's rows.

    Raises:
        NotSupported: what the binder has taken out of the arguments is not understood.
    """
    node = call.node
    values = (*call.arguments, *call.orders)
    types = [*(c.type for c in node.children), *(o.expression.type for o in node.orders)]
    fields = joined(", ", (sql(f"'f{i}', {{}}", value) for i, value in enumerate(values)))
    row = sql("named_struct({})", fields) if values else sql("named_struct('f0', true)")
    rows = call.run("collect_list({})", call.kept(row))
    named = [(f"f{i}", kind) for i, kind in enumerate(types)] or [("f0", BoundType("BOOLEAN"))]
    text = _over_rows(node, _fields(len(types)))
    found = engine.call(node.name, text, [(rows, list_of(struct_of(named)))], node.type)
    nothing = _OF_NOTHING.get(node.name)
    return sql(f"coalesce({{}}, {nothing})", found) if nothing else found


def _over_rows(node: Aggregate, fields: Sequence[str]) -> str:
    """The call over the rows of a group.

    What DISTINCT leaves may be sorted by whatever follows from the arguments: computed by Spark,
    that is no argument for DuckDB any more, and distinct are the rows with it.
    """
    kept = ""
    if node.is_distinct and node.orders:
        kept, node = "DISTINCT ", replace(node, is_distinct=False)
    return f"(SELECT {call_text(node, fields)} FROM (SELECT {kept}unnest(a0) AS s))"


def _fields(count: int) -> list[str]:
    return [f"s.f{i}" for i in range(count)]


def call_text(node: Aggregate, values: Sequence[str]) -> str:
    """DuckDB's SQL of a call over the texts of its arguments and then of its ORDER BY."""
    arguments = list(values[: len(node.children)])
    orders = order_by_text(node.orders, values[len(node.children) :])
    distinct = "DISTINCT " if node.is_distinct else ""
    if _is_descending(node):
        return _within_group(node, distinct, arguments)
    arguments += _vanished(node)
    name = '"' + ("count" if node.name == "count_star" else node.name).replace('"', '""') + '"'
    inside = ", ".join(arguments) or "*"
    return f"{name}({distinct}{inside}{' ' if orders else ''}{orders})"


def order_by_text(orders: Sequence[Order], keys: Sequence[str]) -> str:
    """ORDER BY in DuckDB's SQL, or nothing."""
    if not orders:
        return ""
    texts = (
        f"{key} {'DESC' if each.is_descending else 'ASC'}"
        f" NULLS {'FIRST' if each.nulls_first else 'LAST'}"
        for each, key in zip(orders, keys, strict=True)
    )
    return f"ORDER BY {', '.join(texts)}"


def _within_group(node: Aggregate, distinct: str, arguments: Sequence[str]) -> str:
    """Quantiles of the descending order are called so."""
    if distinct or node.orders or node.name not in _WITHIN_GROUP:
        raise _not_understood(node)
    quantiles = ", ".join(_vanished(node))
    order = f"ORDER BY {arguments[0]} DESC"
    return f"{_WITHIN_GROUP[node.name]}({quantiles}) WITHIN GROUP ({order})"


def _is_descending(node: Aggregate) -> bool:
    return node.bind_data.get("desc") is True


def _vanished(node: Aggregate) -> list[str]:
    """DuckDB's SQL of the arguments that the binder has taken away."""
    data = dict(node.bind_data)
    keys = set(data)
    if not data or (node.name == "median" and keys == {"quantiles", "order", "desc"}):
        return []
    if keys == {"separator"}:
        return [quote_text(data["separator"])]
    if keys == {"quantiles", "order", "desc"} and node.name in _QUANTILES:
        return [_listed(node, [duckdb_literal(decode_value(q)) for q in data["quantiles"]])]
    if keys == {"quantiles"} and node.name == "approx_quantile":
        return [_listed(node, [f"CAST({q!r} AS FLOAT)" for q in data["quantiles"]])]
    if keys == {"quantiles", "sample_size"} and node.name == "reservoir_quantile":
        quantiles = _listed(node, [f"CAST({q!r} AS DOUBLE)" for q in data["quantiles"]])
        return [quantiles, str(data["sample_size"])]
    if keys == {"min", "max"} and node.name == "bitstring_agg":
        return _bounds(data)
    raise _not_understood(node)


def _bounds(data: Mapping[str, Any]) -> list[str]:
    bounds = [decode_value(data["min"]), decode_value(data["max"])]
    if any(each.value is None for each in bounds):
        # DuckDB takes them from the statistics of its own tables.
        raise NotSupported(
            "bitstring_agg without its bounds is not supported.",
            hint="name them: bitstring_agg(value, least, greatest).",
        )
    return [duckdb_literal(each) for each in bounds]


def _listed(node: Aggregate, quantiles: Sequence[str]) -> str:
    """One quantile or a list of them, as the result's type says."""
    is_list = node.type.id == "LIST" and node.type != node.children[0].type
    if not is_list and len(quantiles) != 1:
        raise _not_understood(node)
    return f"[{', '.join(quantiles)}]" if is_list else quantiles[0]


def _not_understood(node: Aggregate) -> NotSupported:
    return NotSupported(
        f"The call of the aggregate {node.name} is not understood.",
        hint="call it with constants where it takes parameters.",
    )
