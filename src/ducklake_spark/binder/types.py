"""Types as DuckDB's binder names them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

SIGNED: Final = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
UNSIGNED: Final = ("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT")
INTEGERS: Final = frozenset((*SIGNED, *UNSIGNED))
FLOATS: Final = frozenset(("FLOAT", "DOUBLE"))
NUMBERS: Final = INTEGERS | FLOATS | {"DECIMAL"}


@dataclass(frozen=True, slots=True)
class BoundType:
    """A type with everything that it is made of.

    Attributes:
        id: DuckDB's name, such as ``INTEGER``, ``DECIMAL``, ``TIMESTAMP WITH TIME ZONE``, ``NULL``.
        width: of a DECIMAL.
        scale: of a DECIMAL.
        fields: of a STRUCT and of a UNION (without its tag) in order; the names are "" in a row
            that has none. A MAP has two, ``key`` and ``value``.
        child: what a LIST or an ARRAY holds.
        size: of an ARRAY.
        values: of an ENUM, in their order.
        alias: a name over the type, such as ``JSON`` over VARCHAR.
    """

    id: str
    width: int = 0
    scale: int = 0
    fields: tuple[tuple[str, BoundType], ...] = ()
    child: BoundType | None = None
    size: int = 0
    values: tuple[str, ...] = ()
    alias: str = ""

    @property
    def element(self) -> BoundType:
        """What a LIST or an ARRAY holds."""
        if self.child is None:
            raise TypeError(f"{self.id} holds nothing")
        return self.child

    @property
    def key(self) -> BoundType:
        """The keys of a MAP."""
        return self.fields[0][1]

    @property
    def value(self) -> BoundType:
        """The values of a MAP."""
        return self.fields[1][1]

    @property
    def is_json(self) -> bool:
        """Whether it is text that DuckDB takes for JSON."""
        return self.alias.upper() == "JSON"

    def __str__(self) -> str:
        return format_type(self)


def simple(id_: str) -> BoundType:
    """A type without parameters."""
    return BoundType(id_)


BOOLEAN: Final = simple("BOOLEAN")
INTEGER: Final = simple("INTEGER")
BIGINT: Final = simple("BIGINT")
DOUBLE: Final = simple("DOUBLE")
VARCHAR: Final = simple("VARCHAR")
NULL: Final = simple("NULL")


def decimal(width: int, scale: int) -> BoundType:
    """A DECIMAL."""
    return BoundType("DECIMAL", width=width, scale=scale)


def list_of(child: BoundType) -> BoundType:
    """A LIST."""
    return BoundType("LIST", child=child)


def struct_of(fields: Sequence[tuple[str, BoundType]]) -> BoundType:
    """A STRUCT."""
    return BoundType("STRUCT", fields=tuple(fields))


def map_of(key: BoundType, value: BoundType) -> BoundType:
    """A MAP."""
    return BoundType("MAP", fields=(("key", key), ("value", value)))


def format_type(kind: BoundType) -> str:
    """The type in DuckDB's SQL."""
    match kind.id:
        case "DECIMAL":
            return f"DECIMAL({kind.width},{kind.scale})"
        case "LIST":
            return f"{format_type(kind.element)}[]"
        case "ARRAY":
            return f"{format_type(kind.element)}[{kind.size}]"
        case "STRUCT" if kind.fields and not kind.fields[0][0]:
            return f"ROW({', '.join(format_type(child) for _, child in kind.fields)})"
        case "STRUCT" | "UNION":
            inner = ", ".join(f"{_quoted(name)} {format_type(t)}" for name, t in kind.fields)
            return f"{kind.id}({inner})"
        case "MAP":
            return f"MAP({format_type(kind.key)}, {format_type(kind.value)})"
        case "ENUM":
            return f"ENUM({', '.join(_text(value) for value in kind.values)})"
        case "NULL":
            return '"NULL"'
        case _:
            return kind.alias or kind.id


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
