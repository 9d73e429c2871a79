"""What DuckDB 2 says otherwise in its JSON than 1.5, said as 1.5 says it. Pure.

The rest of the package knows one shape of parse trees and bound plans. A tree in that shape is read
by both versions when it is turned into text again.

| What | 1.5 | 2.0 |
|---|---|---|
| Names of functions | `name`, `catalog_name`, `schema_name` | `qname.path` |
| Comparisons and casts in a plan | expressions of their own | functions with operators' names |
| Lambdas in a plan | in what the function remembers | `BOUND_LAMBDA` beside the arguments |
| Arguments that the function remembers | left out | among the others |
| Offset and default of `lag` and `lead` | fields of the window | arguments |
| Correlated joins | operators | two CTEs: see `delim_ctes` |
| Arguments of calls in a tree | `children`, some with an alias | `arguments` with names |
| Constants in a tree | a typed `value` | the `literal` as written |
| The query of a CTE in a tree | `query.node` | `query_node` |
| Places | where a sign stands | where its expression begins, and how long it is |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Any, Final

Node = dict[str, Any]

# Fields that only DuckDB 2 has and that say nothing which others do not.
_PLAN_EXTRAS: Final = frozenset(
    {"query_location_length", "source_ordinality", "table_filters_by_projection"}
)
# How many arguments are left of calls that remember the others in their `function_data`.
_ARGUMENTS_LEFT: Final[Mapping[str, int]] = {
    **dict.fromkeys(("string_agg", "listagg", "group_concat", "bitstring_agg"), 1),
    **dict.fromkeys(("quantile", "quantile_cont", "quantile_disc", "approx_quantile"), 1),
    "reservoir_quantile": 1,
    **dict.fromkeys(("list_aggregate", "list_aggr", "array_aggregate", "array_aggr"), 2),
    "aggregate": 2,
}
# Functions of any number of arguments, and how many of their types say which overload it is.
_TYPES_LEFT: Final[Mapping[str, int]] = {
    "list_value": 1,
    "list_pack": 1,
    "struct_pack": 0,
    "row": 0,
    "union_value": 0,
}
_STRUCT_PARTS: Final = ("date_part", "datepart")
_TREE_EXTRAS: Final = frozenset({"query_location_length", "qualified_name", "syntax_type"})
_LITERALS: Final[Mapping[str, tuple[str, Callable[[str], Any]]]] = {
    "INTEGER": ("INTEGER", int),
    "STRING": ("VARCHAR", str),
}


def is_newer() -> bool:
    """Whether the DuckDB that is installed speaks as 2.0 does."""
    import duckdb

    return int(str(duckdb.__version__).split(".", maxsplit=1)[0]) >= 2


def newer_settings() -> dict[str, str]:
    """Settings with which DuckDB 2 computes as 1.5 does."""
    return {"error_on_division_by_zero": "false"} if is_newer() else {}


def _rebuilt(value: Any, dropped: Set[str], change: Callable[[Node], Node]) -> Any:
    """A tree without some fields, each of whose nodes is changed, from below."""
    if isinstance(value, list):
        return [_rebuilt(each, dropped, change) for each in value]
    if not isinstance(value, dict):
        return value
    kept = ((key, each) for key, each in value.items() if key not in dropped)
    return change({key: _rebuilt(each, dropped, change) for key, each in kept})


# --- parse trees ---------------------------------------------------------------------------------


def older_tree(tree: Node) -> Node:
    """A parse tree of DuckDB 2 as 1.5 has it."""
    found: Node = _rebuilt(tree, _TREE_EXTRAS, _older_node)
    return found


def _older_node(node: Node) -> Node:
    if "arguments" in node and "children" not in node:
        node["children"] = [_argument(each) for each in node.pop("arguments")]
    if "query_node" in node:
        node["query"] = {"node": node.pop("query_node")}
    if "literal" in node:
        _value_of_literal(node)
    return node


def _argument(told: Node) -> Node:
    expression: Node = told["expression"]
    if told.get("name"):
        expression["alias"] = told["name"]
    return expression


def _value_of_literal(node: Node) -> None:
    """Literals that somebody reads; others stay, and only DuckDB reads them."""
    kind, text = node["literal"].get("kind"), node["literal"].get("text", "")
    if kind in _LITERALS:
        type_id, convert = _LITERALS[kind]
        del node["literal"]
        node["value"] = {"type": {"id": type_id}, "is_null": False, "value": convert(text)}


# --- bound plans ---------------------------------------------------------------------------------


def older_plan(plan: Node) -> Node:
    """A bound plan of DuckDB 2 as 1.5 has it."""
    found: Node = _rebuilt(plan, _PLAN_EXTRAS, _older_part)
    return found


def _older_part(node: Node) -> Node:
    if "qname" in node:
        node["name"] = node.pop("qname")["path"][-1]
    if "expression_class" in node:
        return _older_expression(node)
    if "comparison" in node:
        return _older_condition(node)
    if "is_null" in node:
        _type_children(node)
    if node.get("id") == "TUPLE":
        node["id"] = "STRUCT"
    if isinstance(node.get("function_data"), dict):  # a function in FROM
        node["function_data"].pop("qualified_name", None)
    return node


def _older_condition(node: Node) -> Node:
    """A condition of a join that compares no side with the other is the whole of its left."""
    return {"expression": node["left"]} if node["comparison"] == "INVALID" else node


def _type_children(value: Node) -> None:
    """Parts of a nested constant have types of their own; DuckDB 2 leaves them to the whole."""
    kind, held = value.get("type"), value.get("value")
    if not kind or not isinstance(held, dict):
        return
    info = kind.get("type_info") or {}
    named = [each["second"] for each in info.get("child_types", ())]
    for place, child in enumerate(held.get("children", ())):
        child.setdefault("type", named[place] if named else info.get("child_type"))
        _type_children(child)


def _older_expression(node: Node) -> Node:
    match node["expression_class"], node.get("type", ""):
        case "BOUND_FUNCTION", "OPERATOR_CAST":
            return _older_cast(node)
        case "BOUND_FUNCTION", kind if kind.startswith("COMPARE_"):
            left, right = node["children"]
            comparison = {"expression_class": "BOUND_COMPARISON", "type": kind}
            return {**comparison, "left": left, "right": right}
        case "BOUND_FUNCTION", _:
            _shorten_call(node)
        case "BOUND_WINDOW", "WINDOW_LAG" | "WINDOW_LEAD":
            _name_arguments(node, "offset_expr", "default_expr")
        case "BOUND_AGGREGATE" | "BOUND_WINDOW", _:
            _drop_remembered(node)
    return node


def _older_cast(node: Node) -> Node:
    (child,) = node["children"]
    return {
        "expression_class": "BOUND_CAST",
        "type": node["type"],
        "child": child,
        "return_type": node["return_type"],
        "try_cast": node["function_data"].get("try_cast", False),
    }


def _shorten_call(node: Node) -> None:
    """Leave out what the call says twice."""
    data = node.get("function_data") or {}
    if "named_arguments" in node:  # the names of a struct's fields, which its type has too
        del node["named_arguments"]
        node.pop("positional_arguments", None)
    if "sort_key" in data:  # what the arguments say
        del node["function_data"]
    node["children"] = [
        each for each in node.get("children", ()) if each["expression_class"] != "BOUND_LAMBDA"
    ]
    if node["name"] in _STRUCT_PARTS and "part_codes" in data:
        node["children"], node["arguments"] = node["children"][1:], node["arguments"][1:]
    _drop_remembered(node)


def _drop_remembered(node: Node) -> None:
    """Leave the arguments out that stand in what the call remembers."""
    (node.get("function_data") or {}).pop("decimal_type", None)  # its type says it
    left = _ARGUMENTS_LEFT.get(node.get("name", ""))
    if left is not None and node.get("function_data"):
        node["children"], node["arguments"] = node["children"][:left], node["arguments"][:left]
    if node.get("name") in _TYPES_LEFT:
        node["arguments"] = node["arguments"][: _TYPES_LEFT[node["name"]]]


def _name_arguments(node: Node, *names: str) -> None:
    """Arguments behind the first as fields of their own."""
    for name, child in zip(names, node["children"][1:], strict=False):
        node[name] = child
    node["children"] = node["children"][:1]
