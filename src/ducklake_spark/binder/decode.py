"""Serialised bound plans (`json_serialize_plan`) to values: the one place that knows DuckDB's JSON.

The JSON is no stable interface of DuckDB. A node or field that is not known is refused, so that a
version which says something new is never misread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from ducklake_spark.binder import operators as op
from ducklake_spark.binder.decode_expressions import (
    COMPARISONS,
    Node,
    decode_expression,
    decode_order,
)
from ducklake_spark.binder.decode_types import decode_type, decode_value
from ducklake_spark.binder.delim_ctes import with_delim_joins
from ducklake_spark.binder.expressions import (
    Aggregate,
    Comparison,
    Conjunction,
    Expression,
    Ref,
    Unnest,
    Window,
)
from ducklake_spark.binder.fields import Fields
from ducklake_spark.binder.lateral_values import values_over_rows
from ducklake_spark.binder.types import BIGINT
from ducklake_spark.binder.versions import is_newer, older_plan
from ducklake_spark.errors import NotSupported

_E = TypeVar("_E", Aggregate, Window, Unnest)

# Numbers of tables, which references by place do not need, and hints of the optimizer.
_NUMBERS: Final = (
    *("table_index", "group_index", "aggregate_index", "groupings_index", "window_index"),
    *("unnest_index", "mark_index", "estimated_cardinality", "has_estimated_cardinality"),
)


def decode_plan(document: Mapping[str, Any]) -> op.Plan:
    """The plan of a serialised query, whose `error` is false."""
    plans = document.get("plans", ())
    if len(plans) != 1:
        raise NotSupported(f"Expected the plan of one query, but got {len(plans)}.")
    return decode_newer(plans[0]) if is_newer() else decode_operator(plans[0])


def decode_newer(node: dict[str, Any]) -> op.Plan:
    """A plan that DuckDB 2 has serialised."""
    return with_delim_joins(_with_plain_marks(decode_operator(older_plan(node))))


def _with_plain_marks(plan: op.Plan) -> op.Plan:
    """The plan with marks of several columns as SQL has them."""
    plan = op.with_inputs(plan, _with_plain_marks)
    if isinstance(plan, op.Join) and plan.kind == "MARK":
        return replace(plan, spreads_null=False)
    return plan


def decode_operator(node: Node) -> op.Plan:
    """One serialised operator with all below it."""
    name = node["type"].removeprefix("LOGICAL_")
    fields = Fields(node, f"the operator {name}")
    decode = _DECODERS.get(name)
    if decode is None:
        raise fields.refusal("it is unknown")
    fields.skip("type")
    found = decode(fields, fields.several("children", decode_operator))
    fields.skip(*_NUMBERS)
    fields.end()
    return found


Children = Sequence[op.Plan]


# --- sources -------------------------------------------------------------------------------------


def _column_index(fields: Fields, node: Node) -> int:
    index = Fields(node, "a column")
    found: int = index.take("index", 0)
    index.end()
    if found > op.ROW_ID:
        raise fields.refusal(f"column {found} is unknown")
    return found


def _scan(fields: Fields, children: Children) -> op.Plan:
    """A table, or a function in FROM."""
    name = fields.take("name")
    if name == "seq_scan":
        return _table(fields)
    fields.skip("arguments", "original_arguments", "has_serialize", "catalog_name", "schema_name")
    fields.skip("input_table_types", "input_table_names")
    named = fields.take("named_parameters", [])
    ordinality = fields.take("ordinality_idx", None)
    return op.TableFunction(
        name,
        fields.several("parameters", decode_value),
        {each["key"]: decode_value(each["value"]) for each in named},
        tuple(fields.take("names")),
        fields.several("returned_types", decode_type),
        tuple(_column_index(fields, each) for each in fields.take("column_indexes")),
        child=children[0] if children else None,
        projected_input=tuple(fields.take("projected_input", ())),
        with_ordinality=ordinality is not None,
        bind_data=fields.take("function_data", None) or {},
    )


def _table(fields: Fields) -> op.Get:
    fields.skip("arguments", "original_arguments", "has_serialize", "catalog_name", "schema_name")
    types = fields.several("returned_types", decode_type)
    names = tuple(fields.take("names"))
    columns = [_column_index(fields, each) for each in fields.take("column_indexes")]
    data = Fields(fields.take("function_data"), "the scan of a table")
    found = op.Get(
        data.take("catalog"),
        data.take("schema"),
        data.take("table"),
        tuple(None if index == op.ROW_ID else names[index] for index in columns),
        tuple(BIGINT if index == op.ROW_ID else types[index] for index in columns),
    )
    data.end()
    return found


def _dummy(fields: Fields, children: Children) -> op.Plan:
    return op.DummyScan()


def _empty(fields: Fields, children: Children) -> op.Plan:
    fields.skip("bindings")
    return op.EmptyResult(fields.several("return_types", decode_type))


def _values(fields: Fields, children: Children) -> op.Plan:
    rows = fields.several("expressions", lambda row: tuple(map(decode_expression, row)))
    types = fields.several("expr_types", decode_type)
    if isinstance(children[0], op.DummyScan):
        return op.Values(rows, types)
    return values_over_rows(children[0], rows, types)


def _chunk(fields: Fields, children: Children) -> op.Plan:
    """Rows that the binder knows, such as those of DESCRIBE: kept by column."""
    types = fields.several("chunk_types", decode_type)
    columns = fields.take("collection").get("values", ())
    decoded = [[decode_value(value) for value in column] for column in columns]
    return op.Values(tuple(zip(*decoded, strict=True)), types)


def _cte_ref(fields: Fields, children: Children) -> op.Plan:
    fields.skip("bound_columns", "materialized_cte", "correlated_columns")
    types = fields.several("chunk_types", decode_type)
    return op.CteRef(fields.take("cte_index", 0), types, fields.take("is_recurring", False))


def _delim_get(fields: Fields, children: Children) -> op.Plan:
    return op.DelimGet(fields.several("chunk_types", decode_type))


# --- one child -----------------------------------------------------------------------------------


def _expressions(fields: Fields) -> tuple[Expression, ...]:
    return fields.several("expressions", decode_expression)


def _projection(fields: Fields, children: Children) -> op.Plan:
    return op.Projection(children[0], _expressions(fields))


def _filter(fields: Fields, children: Children) -> op.Plan:
    found: op.Plan = op.Filter(children[0], _expressions(fields))
    kept = fields.take("projection_map", ())
    if not kept:
        return found
    types = op.types_of(children[0])
    return op.Projection(found, tuple(Ref(index, types[index]) for index in kept))


def _aggregation(fields: Fields, children: Children) -> op.Plan:
    groups = fields.several("groups", decode_expression)
    sets = fields.several("grouping_sets", tuple)
    calls = fields.several("grouping_functions", tuple)
    aggregates = tuple(_only(Aggregate, each, fields) for each in _expressions(fields))
    everything = (tuple(range(len(groups))),)
    return op.Aggregation(children[0], groups, aggregates, sets or everything, calls)


def _windows(fields: Fields, children: Children) -> op.Plan:
    found = tuple(_only(Window, each, fields) for each in _expressions(fields))
    return op.Windows(children[0], found)


def _unnesting(fields: Fields, children: Children) -> op.Plan:
    found = tuple(_only(Unnest, each, fields) for each in _expressions(fields))
    return op.Unnesting(children[0], found)


def _only(kind: type[_E], found: Expression, fields: Fields) -> _E:
    if not isinstance(found, kind):
        raise fields.refusal("an expression of another kind stands in it")
    return found


def _sorting(fields: Fields, children: Children) -> op.Plan:
    found: op.Plan = op.Sorting(children[0], fields.several("orders", decode_order))
    kept = fields.take("projections", fields.take("projection_map", ()))
    if not kept:
        return found
    types = op.types_of(children[0])
    return op.Projection(found, tuple(Ref(index, types[index]) for index in kept))


def _limit(fields: Fields, children: Children) -> op.Plan:
    limit, offset = fields.take("limit_val", {}), fields.take("offset_val", {})
    return op.Limit(children[0], _bound(limit), _bound(offset))


def _bound(node: Node) -> op.Bound | None:
    fields = Fields(node, "a LIMIT").skip("constant_percentage", "constant_integer")
    kind = fields.take("type", "UNSET")
    expression = fields.optional("expression", decode_expression)
    fields.end()
    match kind:
        case "UNSET":
            return None
        case "CONSTANT_VALUE":
            return op.Bound(node.get("constant_integer", 0))
        case "CONSTANT_PERCENTAGE":
            return op.Bound(node.get("constant_percentage", 0.0), is_percentage=True)
        case "EXPRESSION_VALUE" | "EXPRESSION_PERCENTAGE" if expression is not None:
            return op.Bound(expression, is_percentage=kind.endswith("PERCENTAGE"))
        case _:
            raise fields.refusal(f"{kind} is unknown")


def _distinct(fields: Fields, children: Children) -> op.Plan:
    targets = fields.several("distinct_targets", decode_expression)
    order = fields.take("order_by", None) or {}
    orders = tuple(decode_order(each) for each in order.get("orders", ()))
    places = {each.index for each in targets if isinstance(each, Ref)}
    is_whole = not targets or len(places) == len(op.types_of(children[0]))
    # A column that only ORDER BY names stands behind those that shall be distinct.
    if fields.take("distinct_type", "DISTINCT") == "DISTINCT" and is_whole:
        return op.Distinct(children[0])
    return op.Distinct(children[0], targets, orders)


def _sample(fields: Fields, children: Children) -> op.Plan:
    options = Fields(fields.take("sample_options"), "a SAMPLE").skip("repeatable")
    size = decode_value(options.take("sample_size")).value
    seed = options.take("seed", -1)
    found = op.Sample(
        children[0],
        float(size),
        options.take("is_percentage", False),
        options.take("method", "System").lower(),
        None if seed in (-1, None) else seed,
    )
    options.end()
    return found


def _pivot(fields: Fields, children: Children) -> op.Plan:
    fields.skip("pivot_index")
    data = Fields(fields.take("bound_pivot"), "a PIVOT")
    found = op.Pivot(
        children[0],
        data.take("group_count", 0),
        data.several("pivot_values", str),
        data.several("aggregates", lambda each: str(each["name"])),
        data.several("types", decode_type),
    )
    data.end()
    return found


# --- two children --------------------------------------------------------------------------------


def _conditions(fields: Fields) -> tuple[tuple[Comparison, ...], tuple[Expression, ...]]:
    """Comparisons of left with right rows, and other conditions over both."""
    comparisons, others = [], []
    for node in fields.take("conditions", ()):
        condition = Fields(node, "a join condition").skip("query_location")
        if "left" in node:
            left, right = condition.take("left"), condition.take("right")
            kind = COMPARISONS[condition.take("comparison")]
            comparisons.append(Comparison(kind, decode_expression(left), decode_expression(right)))
        else:
            others.append(decode_expression(condition.take("expression")))
        condition.end()
    return tuple(comparisons), tuple(others)


def _join(fields: Fields, children: Children) -> op.Plan:
    fields.skip("mark_types", "delim_flipped")
    conditions, others = _conditions(fields)
    predicate = fields.optional("predicate", decode_expression)
    extra = (*others, *([predicate] if predicate is not None else []))
    both = Conjunction("AND", extra) if len(extra) > 1 else next(iter(extra), None)
    found = op.Join(fields.take("join_type"), children[0], children[1], conditions, both)
    return _mapped(found, fields)


def _mapped(join: op.Join, fields: Fields) -> op.Plan:
    """The columns that a join gives on, where they are not all of both sides."""
    left, right = (fields.take(f"{side}_projection_map", ()) for side in ("left", "right"))
    if not left and not right:
        return join
    types = op.types_of(join)
    before, after = len(op.types_of(join.left)), len(op.types_of(join.right))
    shows_right = len(types) == before + after
    kept = [*(left or range(before))]
    if shows_right:
        kept += [before + index for index in right or range(after)]
    else:
        kept += range(before, len(types))  # a mark, or nothing
    return op.Projection(join, tuple(Ref(index, types[index]) for index in kept))


def _refuse_maps(fields: Fields) -> None:
    """Maps of what a join gives on are the optimizer's; empty ones say nothing."""
    for name in ("left_projection_map", "right_projection_map"):
        if fields.take(name, ()):
            raise fields.refusal(f"its {name} is not understood")


def _any_join(fields: Fields, children: Children) -> op.Plan:
    _refuse_maps(fields)
    condition = decode_expression(fields.take("condition"))
    return op.Join(fields.take("join_type"), children[0], children[1], (), condition)


def _asof_join(fields: Fields, children: Children) -> op.Plan:
    _refuse_maps(fields)
    fields.skip("mark_types")
    conditions, others = _conditions(fields)
    predicate = fields.optional("predicate", decode_expression)
    if others:
        raise fields.refusal("it has a condition over both sides")
    return op.AsofJoin(fields.take("join_type"), children[0], children[1], conditions, predicate)


def _delim_join(fields: Fields, children: Children) -> op.Plan:
    _refuse_maps(fields)
    fields.skip("mark_types")
    if fields.take("delim_flipped", False) or fields.take("predicate", None) is not None:
        raise fields.refusal("its sides are flipped")
    keys = fields.several("duplicate_eliminated_columns", decode_expression)
    conditions, others = _conditions(fields)
    if others:
        raise fields.refusal("it has a condition over both sides")
    return op.DelimJoin(fields.take("join_type"), children[0], children[1], keys, conditions)


def _cross_product(fields: Fields, children: Children) -> op.Plan:
    return op.CrossProduct(children[0], children[1])


def _positional_join(fields: Fields, children: Children) -> op.Plan:
    return op.PositionalJoin(children[0], children[1])


def _set_operation(kind: Any) -> Callable[[Fields, Children], op.Plan]:
    def decode(fields: Fields, children: Children) -> op.Plan:
        fields.skip("column_count", "allow_out_of_order")
        # True is the default that is left out.
        return op.SetOperation(kind, fields.take("setop_all", True), tuple(children))

    return decode


def _cte(fields: Fields, children: Children) -> op.Plan:
    fields.skip("column_count", "materialize", "correlated_columns")
    index = fields.take("table_index", 0)
    return op.Cte(index, fields.take("ctename"), children[0], children[1])


def _recursive_cte(fields: Fields, children: Children) -> op.Plan:
    fields.skip("ref_recurring", "correlated_columns", "internal_types", "result_types")
    if fields.take("payload_aggregates", ()):
        raise fields.refusal("USING KEY with aggregates")
    return op.RecursiveCte(
        fields.take("table_index", 0),
        fields.take("ctename"),
        fields.take("union_all", False),
        children[0],
        children[1],
        fields.take("column_count"),
        fields.several("key_targets", decode_expression),
    )


_DECODERS: Final[Mapping[str, Callable[[Fields, Children], op.Plan]]] = {
    "GET": _scan,
    "DUMMY_SCAN": _dummy,
    "EMPTY_RESULT": _empty,
    "EXPRESSION_GET": _values,
    "CHUNK_GET": _chunk,
    "CTE_REF": _cte_ref,
    "DELIM_GET": _delim_get,
    "PROJECTION": _projection,
    "FILTER": _filter,
    "AGGREGATE_AND_GROUP_BY": _aggregation,
    "WINDOW": _windows,
    "UNNEST": _unnesting,
    "ORDER_BY": _sorting,
    "LIMIT": _limit,
    "DISTINCT": _distinct,
    "SAMPLE": _sample,
    "PIVOT": _pivot,
    "COMPARISON_JOIN": _join,
    "ANY_JOIN": _any_join,
    "ASOF_JOIN": _asof_join,
    "DELIM_JOIN": _delim_join,
    "CROSS_PRODUCT": _cross_product,
    "POSITIONAL_JOIN": _positional_join,
    "UNION": _set_operation("UNION"),
    "INTERSECT": _set_operation("INTERSECT"),
    "EXCEPT": _set_operation("EXCEPT"),
    "MATERIALIZED_CTE": _cte,
    "RECURSIVE_CTE": _recursive_cte,
}
