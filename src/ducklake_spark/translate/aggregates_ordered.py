"""Aggregates that keep rows: first and last, the row of a bound, lists and joined texts."""

from __future__ import annotations

from typing import Final, Literal

from ducklake_spark.binder.expressions import Order
from ducklake_spark.translate.fragments import Fragment, joined, literal_text, sql
from ducklake_spark.translate.rules import AggregateCall, AggregateRule, AggregateRules
from ducklake_spark.translate.types import is_equal_in_spark, is_ordered_in_spark

_SEPARATOR: Final = "separator"


def orders_natively(orders: tuple[Order, ...]) -> bool:
    """Whether Spark sorts by those keys as DuckDB does."""
    return all(is_ordered_in_spark(each.expression.type) for each in orders)


def order_text(orders: tuple[Order, ...], keys: tuple[Fragment, ...]) -> Fragment:
    """Keys of an ORDER BY with everything written out."""
    return joined(
        ", ",
        (
            sql(
                f"{{}} {'DESC' if each.is_descending else 'ASC'}"
                f" NULLS {'FIRST' if each.nulls_first else 'LAST'}",
                key,
            )
            for each, key in zip(orders, keys, strict=True)
        ),
    )


# --- one row of many ------------------------------------------------------------------------------


def _edge(name: Literal["first", "last"], *, skips_nulls: bool = False) -> AggregateRule:
    """The value of the first or last row, by the ORDER BY inside the call if there is one."""

    def rule(call: AggregateCall) -> Fragment | None:
        if call.node.is_distinct:
            return None
        if call.orders:
            return _sorted_edge(call, is_first=name == "first", skips_nulls=skips_nulls)
        if skips_nulls:
            return call.run(f"{name}({{}}, true)", call.argument)
        if call.mask is None:
            return call.run(f"{name}({{}})", call.argument)
        row = call.kept(sql("named_struct('v', {})", call.argument))
        return sql("{}.v", call.run(f"{name}({{}}, true)", row))

    return rule


def _sorted_edge(call: AggregateCall, *, is_first: bool, skips_nulls: bool) -> Fragment | None:
    """By the least or greatest of all keys as one struct, if they run in one direction."""
    orders = call.node.orders
    if not orders_natively(orders) or len({each.is_descending for each in orders}) != 1:
        return None
    is_least = is_first != orders[0].is_descending
    fields = []
    for index, (each, key) in enumerate(zip(orders, call.orders, strict=True)):
        # In the struct NULLs are told by a flag; false is less than true.
        nulls_least = each.nulls_first != each.is_descending
        flag = "IS NOT NULL" if nulls_least else "IS NULL"
        fields.append(sql(f"'n{index}', {{0}} {flag}, 'k{index}', {{0}}", key))
    place = sql("named_struct({})", joined(", ", fields))
    if skips_nulls:
        place = sql("CASE WHEN {} IS NOT NULL THEN {} END", call.argument, place)
    place = call.kept(place)
    return call.run(f"{'min_by' if is_least else 'max_by'}({{}}, {{}})", call.argument, place)


def _by(name: Literal["min_by", "max_by"], *, keeps_null: bool = False) -> AggregateRule:
    """The value in the row of the least or greatest other value; rows without one do not count."""

    def rule(call: AggregateCall) -> Fragment | None:
        if len(call.arguments) != 2 or call.orders or call.node.is_distinct:
            return None
        if not is_ordered_in_spark(call.node.children[1].type):
            return None
        value, key = call.arguments
        if not keeps_null:
            key = sql("CASE WHEN {} IS NOT NULL THEN {} END", value, key)
        return call.run(f"{name}({{}}, {{}})", value, key)

    return rule


# --- all rows -------------------------------------------------------------------------------------


def _list(call: AggregateCall) -> Fragment | None:
    """A list of all values, NULLs too; NULL for no rows."""
    if call.node.is_distinct and not is_equal_in_spark(call.type):
        return None
    if not orders_natively(call.node.orders):
        return None
    if call.node.is_distinct and any(key != call.argument for key in call.orders):
        return None
    keys = () if call.node.is_distinct else call.orders
    fields = joined(", ", (sql(f"'k{i}', {{}}", key) for i, key in enumerate(keys)))
    row = sql("named_struct('v', {}{}{})", call.argument, ", " if keys else "", fields)
    rows = call.run(f"collect_list({call.distinct}{{}})", call.kept(row))
    if call.orders:
        rows = sql("array_sort({}, (l, r) -> {})", rows, _comparison(call))
    found = call.run("count({})", call.kept("1"))
    return sql("CASE WHEN {} > 0 THEN {}.v END", found, sql("({})", rows))


def _comparison(call: AggregateCall) -> Fragment:
    """Which of the rows l and r comes first: less than 0 for l."""
    text = sql("0")
    for index, each in reversed(list(enumerate(call.node.orders))):
        field = "v" if call.node.is_distinct else f"k{index}"
        before, after = ("1", "-1") if each.is_descending else ("-1", "1")
        null_left, null_right = ("-1", "1") if each.nulls_first else ("1", "-1")
        text = sql(
            f"CASE WHEN l.{field} <=> r.{field} THEN {{}} WHEN l.{field} IS NULL THEN {null_left}"
            f" WHEN r.{field} IS NULL THEN {null_right} WHEN l.{field} < r.{field} THEN {before}"
            f" ELSE {after} END",
            text,
        )
    return text


def _text(call: AggregateCall) -> Fragment | None:
    """Texts with a separator between, which the binder has taken out of the arguments."""
    data = call.node.bind_data
    separator = data.get(_SEPARATOR)
    if set(data) != {_SEPARATOR} or not isinstance(separator, str) or call.type.id != "VARCHAR":
        return None
    if not orders_natively(call.node.orders):
        return None
    if call.node.is_distinct and any(key != call.argument for key in call.orders):
        return None
    if call.node.is_distinct and call.orders and call.clause.pieces:
        return None  # with FILTER Spark fails to sort what is distinct
    inside = sql(f"listagg({call.distinct}{{}}, {{}})", call.argument, literal_text(separator))
    if not call.orders:
        return call.run("{}", inside)
    order = order_text(call.node.orders, call.orders)
    return call.run("{} WITHIN GROUP (ORDER BY {})", inside, order)


def _product(call: AggregateCall) -> Fragment | None:
    if call.orders or call.node.is_distinct:
        return None
    factors = call.run("collect_list({})", call.argument)
    product = sql("aggregate({}, 1D, (product, factor) -> product * factor)", factors)
    return sql("CASE WHEN {} > 0 THEN {} END", call.run("count({})", call.argument), product)


RULES: Final[AggregateRules] = {
    "first": _edge("first"),
    "last": _edge("last"),
    "any_value": _edge("first", skips_nulls=True),
    "arbitrary": _edge("first"),
    **dict.fromkeys(("arg_min", "argmin", "min_by"), _by("min_by")),
    **dict.fromkeys(("arg_max", "argmax", "max_by"), _by("max_by")),
    "arg_min_null": _by("min_by", keeps_null=True),
    "arg_max_null": _by("max_by", keeps_null=True),
    "list": _list,
    "array_agg": _list,
    **dict.fromkeys(("string_agg", "group_concat", "listagg"), _text),
    "product": _product,
}
