"""Serialised bound expressions to values. What DuckDB 1.5 writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast, get_args

from ducklake_spark.binder.decode_types import decode_type, decode_value
from ducklake_spark.binder.expressions import (
    Aggregate,
    Between,
    Case,
    Cast,
    Comparison,
    ComparisonKind,
    Conjunction,
    Expression,
    FrameBound,
    Function,
    Lambda,
    Operator,
    OperatorKind,
    Order,
    OuterColumn,
    Ref,
    Unnest,
    Window,
)
from ducklake_spark.binder.fields import Fields

Node = Mapping[str, Any]

COMPARISONS: Final[Mapping[str, ComparisonKind]] = {
    "COMPARE_EQUAL": "=",
    "COMPARE_NOTEQUAL": "<>",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
    "COMPARE_DISTINCT_FROM": "IS DISTINCT FROM",
    "COMPARE_NOT_DISTINCT_FROM": "IS NOT DISTINCT FROM",
}
_OPERATORS: Final[Mapping[str, str]] = {
    "COMPARE_IN": "IN",
    "COMPARE_NOT_IN": "NOT IN",
    "ARRAY_EXTRACT": "ARRAY_EXTRACT",
    "ARRAY_SLICE": "ARRAY_SLICE",
    "STRUCT_EXTRACT": "STRUCT_EXTRACT",
    "ARRAY_CONSTRUCTOR": "ARRAY_CONSTRUCTOR",
}
_WINDOWS: Final[Mapping[str, str]] = {"RANK_DENSE": "DENSE_RANK"}
_EXCLUDES: Final[Mapping[str, str]] = {
    "NO_OTHER": "NO OTHERS",
    "CURRENT_ROW": "CURRENT ROW",
    "GROUP": "GROUP",
    "TIES": "TIES",
}
# How an overload is described, besides what the types of the children say.
_OVERLOAD: Final = ("original_arguments", "catalog_name", "schema_name", "has_serialize")
_NAMING: Final = "struct_update"  # which field is new stands nowhere but in the names of arguments
_TAKES_TWO: Final = frozenset({"list_reduce", "array_reduce", "reduce"})


def decode_expression(node: Node) -> Expression:
    """A serialised expression; NotSupported for what has no meaning here."""
    kind = node["expression_class"]
    fields = Fields(node, f"the expression {node.get('name') or node.get('type')}")
    decode = _DECODERS.get(kind)
    if decode is None:
        raise fields.refusal(f"{kind} is unknown")
    fields.skip("expression_class", "alias")
    found = decode(fields)
    fields.skip("query_location")
    fields.end()
    return found


def decode_order(node: Node) -> Order:
    """A serialised key of an ORDER BY."""
    fields = Fields(node, "an ORDER BY")
    direction, nulls = fields.take("type", "ASCENDING"), fields.take("null_order", "NULLS LAST")
    found = decode_expression(fields.take("expression"))
    fields.end()
    return Order(found, direction.startswith("DESC"), "FIRST" in nulls)


def _ref(fields: Fields) -> Ref:
    fields.skip("type", "depth")
    return Ref(fields.take("index", 0), decode_type(fields.take("return_type")))


def _outer_column(fields: Fields) -> OuterColumn:
    fields.skip("type", "depth")
    binding = fields.take("binding", {})
    kind = decode_type(fields.take("return_type"))
    return OuterColumn(binding.get("table_index", 0), binding.get("column_index", 0), kind)


def _constant(fields: Fields) -> Expression:
    fields.skip("type")
    return decode_value(fields.take("value"))


def _cast(fields: Fields) -> Cast:
    fields.skip("type")
    child = decode_expression(fields.take("child"))
    return Cast(child, decode_type(fields.take("return_type")), fields.take("try_cast", False))


def _comparison(fields: Fields) -> Comparison:
    kind = COMPARISONS[fields.take("type")]
    left, right = decode_expression(fields.take("left")), decode_expression(fields.take("right"))
    return Comparison(kind, left, right)


def _conjunction(fields: Fields) -> Conjunction:
    kind = fields.take("type").removeprefix("CONJUNCTION_")
    return Conjunction(kind, fields.several("children", decode_expression))


def _between(fields: Fields) -> Between:
    fields.skip("type")
    return Between(
        decode_expression(fields.take("input")),
        decode_expression(fields.take("lower")),
        decode_expression(fields.take("upper")),
        fields.take("lower_inclusive", False),
        fields.take("upper_inclusive", False),
    )


def _case(fields: Fields) -> Case:
    fields.skip("type")
    checks = fields.several(
        "case_checks",
        lambda c: (decode_expression(c["when_expr"]), decode_expression(c["then_expr"])),
    )
    otherwise = decode_expression(fields.take("else_expr"))
    return Case(checks, otherwise, decode_type(fields.take("return_type")))


def _operator(fields: Fields) -> Operator:
    name = fields.take("type")
    kind = _OPERATORS.get(name, name.removeprefix("OPERATOR_").replace("_", " "))
    if kind not in get_args(OperatorKind):
        raise fields.refusal(f"{name} is unknown")
    children = fields.several("children", decode_expression)
    return Operator(cast("OperatorKind", kind), children, decode_type(fields.take("return_type")))


def _function(fields: Fields) -> Function:
    fields.skip("type", "is_operator", *_OVERLOAD)
    name, data = fields.take("name"), fields.take("function_data", None) or {}
    data = {key: value for key, value in data.items() if value not in (None, {}, [])}
    children = fields.take("children", ())
    if name == _NAMING:
        data["names"] = tuple(child.get("alias", "") for child in children[1:])
    return Function(
        name,
        tuple(map(decode_expression, children)),
        fields.several("arguments", decode_type),
        decode_type(fields.take("return_type")),
        bind_data=data,
        body=_lambda(name, data),
        location=fields.take("query_location", -1),
    )


def _lambda(name: str, data: dict[str, Any]) -> Lambda | None:
    """The lambda of a call; what describes it is taken out of the bind data."""
    body = data.pop("lambda_expr", None)
    if body is None:
        return None
    data.pop("return_type", None)
    parameters = (2 if name in _TAKES_TWO else 1) + bool(data.pop("has_index", False))
    return Lambda(decode_expression(body), parameters)


def _aggregate(fields: Fields) -> Aggregate:
    fields.skip("type", *_OVERLOAD)
    orders = fields.take("order_bys", None) or {}
    return Aggregate(
        fields.take("name"),
        fields.several("children", decode_expression),
        fields.several("arguments", decode_type),
        decode_type(fields.take("return_type")),
        is_distinct=fields.take("aggregate_type", "NON_DISTINCT") == "DISTINCT",
        filter=fields.optional("filter", decode_expression),
        orders=tuple(decode_order(each) for each in orders.get("orders", ())),
        bind_data=fields.take("function_data", None) or {},
        location=fields.take("query_location", -1),
    )


def _window(fields: Fields) -> Window:
    kind = fields.take("type").removeprefix("WINDOW_")
    fields.skip("arguments", *_OVERLOAD)
    start, end = fields.take("start"), fields.take("end")
    units = {each.rpartition("_")[2] for each in (start, end)} & {"ROWS", "RANGE", "GROUPS"}
    if len(units) > 1:
        raise fields.refusal(f"a frame in {' and '.join(sorted(units))}")
    return Window(
        _WINDOWS.get(kind, kind),
        fields.take("name", ""),
        fields.several("children", decode_expression),
        decode_type(fields.take("return_type")),
        fields.several("partitions", decode_expression),
        fields.several("orders", decode_order),
        cast("Any", units.pop() if units else "RANGE"),
        _bound(fields, start, fields.optional("start_expr", decode_expression)),
        _bound(fields, end, fields.optional("end_expr", decode_expression)),
        exclude=_EXCLUDES[fields.take("exclude_clause", "NO_OTHER")],
        filter=fields.optional("filters", decode_expression),
        offset=fields.optional("offset_expr", decode_expression),
        default=fields.optional("default_expr", decode_expression),
        ignores_nulls=fields.take("ignore_nulls", False),
        is_distinct=fields.take("distinct", False),
        argument_orders=fields.several("arg_orders", decode_order),
        bind_data=fields.take("function_data", None) or {},
        location=fields.take("query_location", -1),
    )


def _bound(fields: Fields, name: str, offset: Expression | None) -> FrameBound:
    if name.startswith("UNBOUNDED"):
        return FrameBound(cast("Any", name.replace("_", " ")))
    if name.startswith("CURRENT_ROW"):
        return FrameBound("CURRENT ROW")
    if offset is None:
        raise fields.refusal(f"the frame bound {name} has no value")
    return FrameBound("PRECEDING" if "PRECEDING" in name else "FOLLOWING", offset)


def _unnest(fields: Fields) -> Unnest:
    fields.skip("type")
    child = decode_expression(fields.take("child"))
    return Unnest(child, decode_type(fields.take("return_type")))


_DECODERS: Final[Mapping[str, Callable[[Fields], Expression]]] = {
    "BOUND_REF": _ref,
    "BOUND_COLUMN_REF": _outer_column,
    "BOUND_CONSTANT": _constant,
    "BOUND_CAST": _cast,
    "BOUND_COMPARISON": _comparison,
    "BOUND_CONJUNCTION": _conjunction,
    "BOUND_BETWEEN": _between,
    "BOUND_CASE": _case,
    "BOUND_OPERATOR": _operator,
    "BOUND_FUNCTION": _function,
    "BOUND_AGGREGATE": _aggregate,
    "BOUND_WINDOW": _window,
    "BOUND_UNNEST": _unnest,
}
