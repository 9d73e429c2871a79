"""INSERT … VALUES: each cell bound to the type of its column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from itertools import repeat
from typing import Any, Final

from sqlglot import exp

from ducklake_spark.errors import ColumnMismatch, InvalidInput, InvalidValue
from ducklake_spark.model.types import DataType
from ducklake_spark.sql.constants import NotPlain, convert
from ducklake_spark.sql.literals import constant_or_tree


class DefaultCell(Enum):
    """Marks a cell that says DEFAULT."""

    DEFAULT = "DEFAULT"


DEFAULT: Final = DefaultCell.DEFAULT

Rows = exp.Values | Iterable[exp.Expr]


def cell_trees(rows: Rows) -> list[tuple[exp.Expr, ...]]:
    """The cells of a VALUES clause, row by row."""
    found = rows.expressions if isinstance(rows, exp.Values) else list(rows)
    return [tuple(row.expressions) if isinstance(row, exp.Tuple) else (row,) for row in found]


def is_default(cell: exp.Expr) -> bool:
    """Whether a cell says DEFAULT."""
    return isinstance(cell, exp.Var) and cell.name.upper() == "DEFAULT"


def _named(error: InvalidValue, column: str | None) -> InvalidValue:
    if column is None:
        return error
    return InvalidValue(f'Column "{column}": {error.message}', hint=error.hint)


def constant_rows(
    rows: Rows, types: Sequence[DataType], names: Sequence[str] | None = None
) -> list[tuple[Any, ...]] | None:
    """The values of all rows when every cell is a plain constant (or `DEFAULT`); None otherwise."""
    found = []
    for row in checked_rows(rows, types):
        cells: list[Any] = []
        for cell, kind, name in zip(row, types, names or repeat(None), strict=False):
            if is_default(cell):
                cells.append(DEFAULT)
                continue
            try:
                value = constant_or_tree(cell)
            except InvalidInput:
                return None
            if value is cell:
                return None
            try:
                cells.append(convert(value, kind))
            except NotPlain:
                return None
            except InvalidValue as error:
                raise _named(error, name) from None
        found.append(tuple(cells))
    return found


def checked_rows(rows: Rows, types: Sequence[DataType]) -> list[tuple[exp.Expr, ...]]:
    """The cells row by row.

    Raises:
        ColumnMismatch: a row has another number of values than there are types.
    """
    trees = cell_trees(rows)
    for index, row in enumerate(trees, start=1):
        if len(row) != len(types):
            raise ColumnMismatch(
                f"Cannot bind VALUES: row {index} of VALUES has {len(row)} values, but "
                f"{len(types)} columns are to be filled.",
                hint="name the columns: INSERT INTO table (column, …) VALUES ….",
            )
    return trees
