"""Arguments that the binder has taken out of a call: what is not understood is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ducklake_spark.binder.decode_types import decode_value
from ducklake_spark.binder.expressions import Constant, Function
from ducklake_spark.errors import NotSupported
from ducklake_spark.translate.duckdb_literals import duckdb_literal
from ducklake_spark.translate.types import cast_text, null_text, quote_text

_AGGREGATED: Final = frozenset(
    {"list_aggregate", "array_aggregate", "list_aggr", "array_aggr", "aggregate"}
)
_BY_NAME: Final = frozenset({"median", "mad"})  # their quantile is in their name
_PARTS: Final = frozenset({"date_part", "datepart"})
_DECIMAL: Final = frozenset({"check_overflow", "return_type", "arguments"})
_LAMBDA: Final = frozenset({"return_type", "has_index"})
_OF_NULL: Final = {"id": "NULL"}  # of a list that is NULL the binder leaves the lambda out
_STRUCTS: Final = frozenset({"struct_pack", "row", "struct_insert"})


def extra_arguments(node: Function, arguments: Sequence[str]) -> str | None:
    """DuckDB's SQL of a call whose arguments are not all among its children.

    None for a call that is complete; NotSupported for one that is not understood.
    """
    if node.bind_data.keys() >= _LAMBDA and node.bind_data["return_type"] == _OF_NULL:
        return null_text(node.type)
    if node.name == "struct_pack":
        return _struct(node, arguments)
    if node.name == "struct_insert":
        return _insert(node, arguments)
    if node.name == "struct_update":
        return _with_fields(node, node.bind_data["names"], arguments)
    if node.name == "equi_width_bins":  # the binder takes its type from uncast arguments
        return cast_text(f'"{node.name}"({", ".join(arguments)})', node.type)
    if node.name in _AGGREGATED:
        return _aggregate(node, arguments)
    if node.name in _PARTS and node.bind_data and len(arguments) == 1:
        parts = ", ".join(quote_text(name) for name, _ in node.type.fields)
        return f'"{node.name}"([{parts}], {arguments[0]})'
    if node.bind_data and node.name not in _STRUCTS and not _is_decimal(node):
        raise NotSupported(f"This call of {node.name} is not understood: {dict(node.bind_data)}.")
    return None


def _is_decimal(node: Function) -> bool:
    """Arithmetic of decimals, which keeps the types of its overload."""
    return node.type.id == "DECIMAL" and node.bind_data.keys() <= _DECIMAL


def _struct(node: Function, arguments: Sequence[str]) -> str:
    names = [name for name, _ in node.type.fields]
    named = (f"{quote_text(n)}: {value}" for n, value in zip(names, arguments, strict=True))
    return f"{{{', '.join(named)}}}"


def _insert(node: Function, arguments: Sequence[str]) -> str:
    """New fields stand behind those of the first argument."""
    names = [name for name, _ in node.type.fields][1 - len(arguments) :]
    return _with_fields(node, names, arguments)


def _with_fields(node: Function, names: Sequence[str], arguments: Sequence[str]) -> str:
    first, *values = arguments
    named = (f'"{n}" := {value}' for n, value in zip(names, values, strict=True))
    if any('"' in name or not name for name in names):
        raise NotSupported(f"{node.name} with a quote in a name is not supported.")
    return f"{node.name}({first}, {', '.join(named)})"


def _aggregate(node: Function, arguments: Sequence[str]) -> str:
    aggregate = (node.bind_data.get("bind_data") or {}).get("aggr_expr") or {}
    data: Mapping[str, Any] = aggregate.get("function_data") or {}
    extra: list[str] = []
    if "separator" in data:
        extra = [quote_text(data["separator"])]
    elif "quantiles" in data and aggregate.get("name") not in _BY_NAME:
        extra = [_quantiles(node, data)]
    elif data and "quantiles" not in data:
        raise NotSupported(f"This call of {node.name} is not understood: {dict(data)}.")
    if set(data) - {"separator", "quantiles", "order", "desc"} or data.get("desc"):
        raise NotSupported(f"This call of {node.name} is not understood: {dict(data)}.")
    return f'"{node.name}"({", ".join([*arguments, *extra])})'


def _quantiles(node: Function, data: Mapping[str, Any]) -> str:
    values = [_quantile(each) for each in data["quantiles"]]
    if node.type.id == "LIST" or len(values) != 1:
        return f"[{', '.join(values)}]"
    return values[0]


def _quantile(value: Any) -> str:
    found = decode_value(value) if isinstance(value, Mapping) else None
    if isinstance(found, Constant):
        return duckdb_literal(found)
    if isinstance(value, int | float):
        return repr(value)
    raise NotSupported(f"The quantile {value!r} is not understood.")
