"""The small language that file pruning understands.

A predicate is three-valued like SQL. What cannot be expressed becomes `Unknown`, which excludes
nothing. Values are Python values of the column's kind: int, Decimal, float, bool, str, bytes,
date, datetime (naive for timestamp, aware UTC for timestamptz), time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Operator = Literal["=", "<>", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class Comparison:
    """``column <operator> value``; the value is never NULL."""

    column_id: int
    operator: Operator
    value: Any


@dataclass(frozen=True, slots=True)
class In:
    """``column IN (values)``; NULLs in the list are left out."""

    column_id: int
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class StartsWith:
    """``column LIKE 'prefix%'``."""

    column_id: int
    prefix: str


@dataclass(frozen=True, slots=True)
class IsNull:
    """``column IS NULL``, or ``IS NOT NULL`` when negated."""

    column_id: int
    negated: bool = False


@dataclass(frozen=True, slots=True)
class And:
    """All parts hold."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one part holds."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Constant:
    """Always true, or never (false and NULL alike: no row passes)."""

    value: bool


@dataclass(frozen=True, slots=True)
class Unknown:
    """Anything else, with its text for explain: it excludes nothing."""

    text: str = ""


Predicate = Comparison | In | StartsWith | IsNull | And | Or | Constant | Unknown


def columns_of(predicate: Predicate) -> set[int]:
    """Ids of the columns whose statistics can matter.

    >>> columns_of(And((Comparison(1, "=", 5), Unknown())))
    {1}
    """
    match predicate:
        case Comparison(column_id) | In(column_id) | StartsWith(column_id) | IsNull(column_id):
            return {column_id}
        case And(parts) | Or(parts):
            return set().union(*(columns_of(part) for part in parts))
        case Constant() | Unknown():
            return set()
