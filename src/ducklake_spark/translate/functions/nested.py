"""Lists, structs and maps."""

from __future__ import annotations

from typing import Final

from ducklake_spark.binder.types import BoundType
from ducklake_spark.model.names import quote_for_spark
from ducklake_spark.translate.fragments import Fragment, joined, literal_text, sql
from ducklake_spark.translate.functions.templates import has_types, number_of, on, text_of
from ducklake_spark.translate.functions.text import character, text_slice
from ducklake_spark.translate.rules import Call, Rules

_LISTS: Final = frozenset({"LIST"})
_MAPS: Final = frozenset({"MAP"})
_BIGINTS: Final = frozenset({"BIGINT"})
_LARGEST: Final = 2**31 - 1
# Types of which Spark finds the elements that DuckDB finds: NaN, zeros and nested values are not.
_PLAIN: Final = frozenset(
    {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER"}
    | {"UBIGINT", "UHUGEINT", "DECIMAL", "BOOLEAN", "VARCHAR", "DATE", "TIMESTAMP", "UUID"}
    | {"TIMESTAMP WITH TIME ZONE", "BLOB", "TIMESTAMP_S", "TIMESTAMP_MS"}
)


def list_of_values(call: Call) -> Fragment | None:
    """list_value() of one and more."""
    element = call.type.child
    if not call.arguments or element is None or any(each != element for each in call.types):
        return None
    return sql("array({})", joined(", ", call.arguments))


def element(call: Call) -> Fragment | None:
    """The element of a list at a place, counted from 1 or from behind; NULL where there is none."""
    if not has_types(call, _LISTS, _BIGINTS):
        return None
    place = number_of(call, 1)
    if place is not None and 0 < abs(place) <= _LARGEST:
        return sql(f"try_element_at({{0}}, {place})", call.arguments[0])
    return sql("try_element_at({}, nullif(try_cast({} AS INT), 0))", *call.arguments)


def extract(call: Call) -> Fragment | None:
    """What ``x[i]`` is of a list, a text or a struct."""
    match call.ids()[0]:
        case "LIST":
            return element(call)
        case "VARCHAR":
            return character(call)
        case _:
            return field(call)


def list_slice(call: Call) -> Fragment | None:
    """A list from one constant place to another."""
    if call.ids() == ("VARCHAR", "BIGINT", "BIGINT"):
        return text_slice(call)
    first, last = number_of(call, 1), number_of(call, 2)
    if not has_types(call, _LISTS, _BIGINTS, _BIGINTS) or first is None or last is None:
        return None
    if not 0 < first <= last <= _LARGEST:
        return None
    return sql(f"slice({{0}}, {first}, {last - first + 1})", call.arguments[0])


def contains(call: Call) -> Fragment | None:
    """Whether something is in a list, a text or the keys of a map."""
    match call.ids():
        case ("VARCHAR", "VARCHAR"):
            return sql("contains({}, {})", *call.arguments)
        case ("LIST", _) if text_of(call, 1) != "":  # which DuckDB's optimizer finds in any list
            return list_contains(call)
        case _:
            return None


def list_contains(call: Call) -> Fragment | None:
    """Whether a list has an element: false, not NULL, where it has NULLs and not that one."""
    if not has_types(call, _LISTS, _PLAIN) or call.types[0].child != call.types[1]:
        return None
    unknown = "if({0} IS NULL OR {1} IS NULL, NULL, false)"
    return sql(f"coalesce(array_contains({{0}}, {{1}}), {unknown})", *call.arguments)


def position(call: Call) -> Fragment | None:
    """The first place of an element in a list; NULL where it is not."""
    if not has_types(call, _LISTS, _PLAIN) or call.types[0].child != call.types[1]:
        return None
    found = "CAST(nullif(array_position({0}, {1}), 0) AS INT)"
    constant = call.constant(1)  # DuckDB finds a NULL, Spark does not
    is_known = constant is not None and constant.value is not None
    return sql(found, *call.arguments) if is_known else None


def length(call: Call) -> Fragment | None:
    """The length of a text or list."""
    if has_types(call, {"VARCHAR"}):
        return sql("CAST(char_length({}) AS BIGINT)", *call.arguments)
    return on("CAST(size({}) AS BIGINT)", _LISTS)(call)


def field(call: Call) -> Fragment | None:
    """A named field of a struct, or one by its place."""
    if call.ids()[0] != "STRUCT" or len(call.arguments) != 2:
        return None
    found = _field_of(call.types[0], text_of(call, 1), number_of(call, 1))
    return None if found is None else sql(f"({{}}).{quote_for_spark(found)}", call.arguments[0])


def _field_of(kind: BoundType, name: str | None, place: int | None) -> str | None:
    names = [each for each, _ in kind.fields]
    if place is not None:
        return names[place - 1] or None if 0 < place <= len(names) else None
    wanted = (name or "").casefold()
    return next((each for each in names if each and each.casefold() == wanted), None)


def pack(call: Call) -> Fragment | None:
    """struct_pack(): a struct of named values."""
    names = [name for name, _ in call.type.fields]
    if not all(names) or len(names) != len(call.arguments):
        return None
    pairs = zip(names, call.arguments, strict=True)
    return sql("named_struct({})", joined(", ", (sql(f"{_text(n)}, {{}}", a) for n, a in pairs)))


def _text(name: str) -> str:
    return literal_text(name).replace("{", "{{").replace("}", "}}")


def value_of_key(call: Call) -> Fragment | None:
    """The value of a key in a map; NULL where it is not."""
    if not has_types(call, _MAPS, _PLAIN) or call.types[0].key != call.types[1]:
        return None
    return sql("try_element_at({}, {})", *call.arguments)


RULES: Final[Rules] = {
    "list_value": list_of_values,
    "list_extract": extract,
    "array_extract": extract,
    "list_slice": list_slice,
    "list_contains": list_contains,
    "contains": contains,
    "list_position": position,
    "length": length,
    "array_length": length,
    "struct_extract": field,
    "struct_extract_at": field,
    "struct_pack": pack,
    "map_extract_value": value_of_key,
    "map_keys": on("map_keys({})", _MAPS),
    "map_values": on("map_values({})", _MAPS),
    "cardinality": on("CAST(size({}) AS DECIMAL(20,0))", _MAPS),
}
