"""How Spark carries each type of DuckDB, and which carriers Spark compares as DuckDB would."""

from __future__ import annotations

from typing import Final

from ducklake_spark.binder.types import BoundType, decimal, format_type, list_of, map_of, simple
from ducklake_spark.binder.types import struct_of as struct
from ducklake_spark.caching import remembered
from ducklake_spark.errors import NotSupported
from ducklake_spark.model.names import quote_for_spark

_PLAIN: Final = {
    "NULL": "VOID",
    "BOOLEAN": "BOOLEAN",
    "TINYINT": "TINYINT",
    "SMALLINT": "SMALLINT",
    "INTEGER": "INT",
    "BIGINT": "BIGINT",
    "FLOAT": "FLOAT",
    "DOUBLE": "DOUBLE",
    "DATE": "DATE",
    "TIMESTAMP": "TIMESTAMP_NTZ",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMP",
    "VARCHAR": "STRING",
    "BLOB": "BINARY",
}

# Carried by another type of DuckDB, whose values are made by a cast that loses nothing.
_CARRIED: Final = {
    "UTINYINT": simple("SMALLINT"),
    "USMALLINT": simple("INTEGER"),
    "UINTEGER": simple("BIGINT"),
    "UBIGINT": decimal(20, 0),
    "HUGEINT": decimal(38, 0),
    "UHUGEINT": decimal(38, 0),
    "TIMESTAMP_S": simple("TIMESTAMP"),
    "TIMESTAMP_MS": simple("TIMESTAMP"),
    **dict.fromkeys(
        ("TIME", "TIME WITH TIME ZONE", "TIMESTAMP_NS", "INTERVAL", "UUID", "ENUM", "BIT"),
        simple("VARCHAR"),
    ),
}

TEXT_CARRIED: Final = frozenset(k for k, kind in _CARRIED.items() if kind.id == "VARCHAR")
"""Types whose carrier is DuckDB's own text of the value."""

_UNEQUAL: Final = frozenset({"INTERVAL", "TIME WITH TIME ZONE", "BIT", "MAP", "UNION"})
_UNORDERED: Final = _UNEQUAL | {"ENUM", "LIST", "ARRAY", "STRUCT"}


def spark_type(kind: BoundType) -> str:
    """Spark's name of the type that carries `kind`; NotSupported where there is none.

    >>> spark_type(struct([("a", simple("UINTEGER")), ("b", list_of(simple("TIME")))]))
    'STRUCT<`a`: BIGINT, `b`: ARRAY<STRING>>'
    >>> spark_type(map_of(simple("NULL"), simple("VARCHAR")))
    'MAP<INT, STRING>'
    """
    found = carrier(kind)
    match found.id:
        case "DECIMAL":
            return f"DECIMAL({found.width},{found.scale})"
        case "LIST":
            return f"ARRAY<{spark_type(found.element)}>"
        case "MAP":
            return f"MAP<{spark_type(found.key)}, {spark_type(found.value)}>"
        case "STRUCT":
            inner = (f"{quote_for_spark(name)}: {spark_type(t)}" for name, t in found.fields)
            return f"STRUCT<{', '.join(inner)}>"
        case _:
            return _PLAIN[found.id]


@remembered("carriers of types", entries=4_096)
def carrier(kind: BoundType) -> BoundType:
    """The type of DuckDB that Spark's carrier is; `kind` itself for most.

    Fields of rows without names are called ``col1`` and so on.

    >>> str(carrier(list_of(simple("HUGEINT"))))
    'DECIMAL(38,0)[]'
    """
    match kind.id:
        case "LIST" | "ARRAY":
            return list_of(carrier(kind.element))
        case "MAP":
            key = simple("INTEGER") if kind.key.id == "NULL" else carrier(kind.key)
            return map_of(key, carrier(kind.value))  # Arrow has no keys that are only NULL
        case "STRUCT":
            return struct([(name, carrier(t)) for name, t in named_fields(kind)])
        case "DECIMAL":
            return decimal(kind.width, kind.scale)
        case name if name in _PLAIN:
            return simple(name)
        case name if name in _CARRIED:
            return _CARRIED[name]
        case _:
            raise NotSupported(f"Values of type {kind} cannot be carried by Spark.")


def named_fields(kind: BoundType) -> tuple[tuple[str, BoundType], ...]:
    """The fields of a STRUCT with names also where it is a row without."""
    return tuple((name or f"col{at}", t) for at, (name, t) in enumerate(kind.fields, 1))


def from_carrier(text: str, kind: BoundType) -> str:
    """DuckDB's SQL for the value of type `kind` that the carrier `text` stands for."""
    return text if is_itself(kind) else cast_text(text, kind)


def to_carrier(text: str, kind: BoundType) -> str:
    """DuckDB's SQL for the carrier of a value."""
    return text if is_itself(kind) else cast_text(text, carrier(kind))


def is_itself(kind: BoundType) -> bool:
    """Whether the carrier is of the very type."""
    return carrier(kind) == kind


def cast_text(text: str, kind: BoundType, *, is_try: bool = False) -> str:
    """A cast in DuckDB's SQL. The type of a row without names has none there, but an example."""
    if not _has_rows(kind):
        return f"{'TRY_CAST' if is_try else 'CAST'}({text} AS {format_type(kind)})"
    if is_try:
        raise NotSupported(f"TRY_CAST to {kind} is not supported: name the fields.")
    return f"cast_to_type({text}, {_example(kind)})"


def null_text(kind: BoundType) -> str:
    """A NULL of the type in DuckDB's SQL."""
    return "NULL" if kind.id == "NULL" else cast_text("NULL", kind)


def _has_rows(kind: BoundType) -> bool:
    if kind.id == "STRUCT" and kind.fields and not kind.fields[0][0]:
        return True
    inner = [child for _, child in kind.fields] + ([kind.child] if kind.child else [])
    return any(map(_has_rows, inner))


def _example(kind: BoundType) -> str:
    """A value whose type is `kind`."""
    match kind.id:
        case "LIST":
            return f"[{_example(kind.element)}]"
        case "ARRAY":
            return f"array_value({', '.join([_example(kind.element)] * kind.size)})"
        case "MAP":
            return f"map([{_example(kind.key)}], [{_example(kind.value)}])"
        case "STRUCT" if kind.fields and not kind.fields[0][0]:
            return f"row({', '.join(_example(child) for _, child in kind.fields)})"
        case "STRUCT":
            inner = (f"{quote_text(name)}: {_example(child)}" for name, child in kind.fields)
            return f"{{{', '.join(inner)}}}"
        case _:
            return null_text(kind)


def quote_text(value: str) -> str:
    """A text as a literal of DuckDB."""
    return "'" + value.replace("'", "''") + "'"


def is_equal_in_spark(kind: BoundType) -> bool:
    """Whether Spark finds two carriers equal exactly if DuckDB finds the values equal.

    Also as keys of groups and joins. NULLs inside nested values are equal to each other in both.
    """
    return not _is_any(kind, _UNEQUAL)


def is_ordered_in_spark(kind: BoundType) -> bool:
    """Whether Spark orders carriers as DuckDB orders the values.

    Not for nested values: a NULL inside is the least for Spark and the greatest for DuckDB.
    """
    return kind.id not in _UNORDERED


def holds(kind: BoundType, id_: str) -> bool:
    """Whether a type is one of that name, or has one inside."""
    return _is_any(kind, frozenset({id_}))


def _is_any(kind: BoundType, ids: frozenset[str]) -> bool:
    inner = [child for _, child in kind.fields] + ([kind.child] if kind.child else [])
    return kind.id in ids or any(_is_any(child, ids) for child in inner)
