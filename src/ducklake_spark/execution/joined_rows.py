"""Rows that are joined already, under the names of the two tables that they come from.

What a MERGE does with a row is decided in a query over the join of its tables; the new values are
those of a second query, which names the same two tables but reads the rows of the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeGuard

from pyspark.sql import DataFrame

from ducklake_spark.binder.mirror import Name
from ducklake_spark.binder.operators import CrossProduct, Get, Plan, with_inputs
from ducklake_spark.binder.types import BoundType
from ducklake_spark.errors import NotSupported

JOINED: Final = "__ducklake_joined"
"""The catalog of the two halves, which a query names as tables side by side."""

Columns = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Half:
    """What comes from one of the tables.

    Attributes:
        parts: the name of the table, which columns may be qualified with.
        columns: names in the table, with DuckDB's types.
        names: what they are called among the joined rows.
    """

    parts: tuple[str, ...]
    columns: Columns
    names: tuple[str, ...]


@dataclass(frozen=True)
class JoinedRows:
    """The rows, and the halves by the names of their tables in `JOINED`."""

    frame: DataFrame
    halves: dict[str, Half]

    @property
    def columns(self) -> Columns:
        """All columns as they are called among the joined rows."""
        return tuple(
            (name, kind)
            for half in self.halves.values()
            for name, (_, kind) in zip(half.names, half.columns, strict=True)
        )


def put_rows(plan: Plan, halves: dict[Name, Half], rows: Name) -> Plan:
    """The plan with the rows in the place of the product of the two halves.

    Raises:
        NotSupported: a half stands by itself.
    """
    known = {name.folded: half for name, half in halves.items()}

    def changed(each: Plan) -> Plan:
        if isinstance(each, CrossProduct) and _is_half(each.left) and _is_half(each.right):
            return _one(each.left, each.right)
        if _is_half(each):
            raise NotSupported("This MERGE asks for one of its tables alone.")
        return with_inputs(each, changed)

    def _is_half(each: Plan) -> TypeGuard[Get]:
        return isinstance(each, Get) and _key(each) in known

    def _one(left: Get, right: Get) -> Get:
        columns: list[str | None] = []
        types: list[BoundType] = []
        for get in (left, right):
            half = known[_key(get)]
            names = {name: own for (name, _), own in zip(half.columns, half.names, strict=True)}
            columns += [None if name is None else names[name] for name in get.columns]
            types += get.types
        return Get(rows.catalog, rows.schema, rows.name, tuple(columns), tuple(types))

    return changed(plan)


def _key(get: Get) -> tuple[str, str, str]:
    return get.catalog.lower(), get.schema.lower(), get.table.lower()
