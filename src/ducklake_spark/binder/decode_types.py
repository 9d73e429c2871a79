"""Serialised types and constants to values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ducklake_spark.binder.expressions import Constant
from ducklake_spark.binder.fields import Fields
from ducklake_spark.binder.types import BoundType

_NULL_NAMES: Final = frozenset({"NULL", '"NULL"', "SQLNULL"})
_TEXTS: Final = frozenset({"VARCHAR", "BLOB", "BIT", "CHAR"})
_NESTED: Final = frozenset({"LIST", "ARRAY", "STRUCT", "MAP", "UNION"})


def decode_type(node: Mapping[str, Any]) -> BoundType:
    """A serialised type."""
    fields = Fields(node, "a type")
    id_ = fields.take("id")
    info = Fields(fields.take("type_info", None) or {}, f"the type {id_}").skip("type")
    fields.end()
    alias = info.take("alias", "")
    info.skip("extension_info")
    kind = _decode_parameters("NULL" if id_ in _NULL_NAMES else id_, info, alias)
    info.end()
    return kind


def _decode_parameters(id_: str, info: Fields, alias: str) -> BoundType:
    match id_:
        case "DECIMAL":
            width, scale = info.take("width", 18), info.take("scale", 0)
            return BoundType(id_, width=width, scale=scale, alias=alias)
        case "LIST" | "ARRAY":
            child, size = decode_type(info.take("child_type")), info.take("size", 0)
            return BoundType(id_, child=child, size=size, alias=alias)
        case "MAP":
            entry = decode_type(info.take("child_type"))
            return BoundType(id_, fields=entry.fields, alias=alias)
        case "STRUCT" | "UNION":
            found = tuple(
                (each.get("first", ""), decode_type(each["second"]))
                for each in info.take("child_types", ())
            )
            # The first field of a UNION is its tag.
            return BoundType(id_, fields=found[1:] if id_ == "UNION" else found, alias=alias)
        case "ENUM":
            info.skip("values_count")
            return BoundType(id_, values=tuple(info.take("values", ())), alias=alias)
        case "VARIANT":
            info.skip("child_types")  # how it is stored
            return BoundType(id_, alias=alias)
        case _:  # a collation of VARCHAR changes comparisons: it is left unread, and so refused
            return BoundType(id_, alias=alias)


def decode_value(node: Mapping[str, Any]) -> Constant:
    """A serialised value with its type."""
    fields = Fields(node, "a constant")
    kind = decode_type(fields.take("type"))
    is_null, value = fields.take("is_null", False), fields.take("value", None)
    fields.end()
    return Constant(None if is_null or kind.id == "NULL" else _decode_raw(kind, value), kind)


def _decode_raw(kind: BoundType, value: Any) -> Any:
    if kind.id in _NESTED:
        children = (value or {}).get("children", ())
        return tuple(decode_value(child) for child in children)
    if kind.id == "INTERVAL":
        parts = value or {}
        return (parts.get("months", 0), parts.get("days", 0), parts.get("micros", 0))
    if isinstance(value, Mapping) and value.keys() <= {"upper", "lower"}:
        return (value.get("upper", 0) << 64) + value.get("lower", 0)
    if value is None:  # left out because it is the type's default
        return "" if kind.id in _TEXTS else False if kind.id == "BOOLEAN" else 0
    return value
