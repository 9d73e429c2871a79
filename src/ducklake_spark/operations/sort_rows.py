"""Sort rows that the driver holds as their table wants them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ducklake_spark.errors import InvalidValue
from ducklake_spark.model.entities import SortKey, TableEntry
from ducklake_spark.model.literals import from_python
from ducklake_spark.model.types import DataType
from ducklake_spark.plan.bounds import has_order, order_key

Row = tuple[Any, ...]


def sort_rows(table: TableEntry, rows: Sequence[Row]) -> list[Row] | None:
    """The rows in the table's order; None when only Spark can tell it: keys are expressions."""
    places = {column.name.lower(): i for i, column in enumerate(table.schema.columns)}
    ordered = list(rows)
    try:
        # Sorting keeps the order of what is equal: the last key goes first.
        for key in reversed(table.sort.keys if table.sort else ()):
            place = places.get(key.expression.lower())
            if place is None or key.dialect != "duckdb":
                return None
            ordered = _sort_by(ordered, place, table.schema.columns[place].type, key)
    except InvalidValue:
        return None
    return ordered


def _sort_by(rows: list[Row], place: int, kind: DataType, key: SortKey) -> list[Row]:
    if not has_order(kind):
        raise InvalidValue(f"Values of the type {kind} have no order here.")
    nulls = [row for row in rows if row[place] is None]
    known = [row for row in rows if row[place] is not None]
    known.sort(
        key=lambda row: order_key(from_python(row[place], kind), kind),
        reverse=key.direction.upper() == "DESC",
    )
    first = key.null_order.upper() == "NULLS_FIRST"
    return [*nulls, *known] if first else [*known, *nulls]
