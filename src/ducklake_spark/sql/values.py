"""INSERT … VALUES: each cell bound to the type of its column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from itertools import repeat
from typing import Any, Final

from sqlglot import exp

from ducklake_spark.errors import ColumnMismatch, InvalidInput, InvalidValue
from ducklake_spark.model.schema import Default
from ducklake_spark.model.types import (
    DataType,
    ListType,
    MapType,
    ScalarType,
    StructType,
    format_sql_type,
)
from ducklake_spark.sql.carriers import format_spark_type
from ducklake_spark.sql.constants import NotPlain, convert
from ducklake_spark.sql.literals import constant_or_tree, is_constant, literal_value
from ducklake_spark.sql.parse import parse_expression
from ducklake_spark.sql.render import render_expression
from ducklake_spark.sql.trees import text
from ducklake_spark.sql.variables import value_tree


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


@contextmanager
def _naming(column: str | None) -> Iterator[None]:
    """Say which column a value was for."""
    try:
        yield
    except InvalidValue as error:
        raise _named(error, column) from None


def _named(error: InvalidValue, column: str | None) -> InvalidValue:
    if column is None:
        return error
    return InvalidValue(f'Column "{column}": {error.message}', hint=error.hint)


def bind_values(
    rows: Rows, types: Sequence[DataType], names: Sequence[str] | None = None
) -> list[tuple[str | DefaultCell, ...]]:
    """For each cell the Spark SQL text ``CAST(… AS carrier)``, or `DEFAULT`. Runs on the driver.

    Constants are converted here, with DuckDB's rules; what must be computed is cast by Spark.
    `names` are those of the columns, for messages.

    Raises:
        ColumnMismatch: a row has another number of values than there are types.
        InvalidValue: a constant does not fit its column.
    """
    bound = []
    for row in _checked(rows, types):
        cells: list[str | DefaultCell] = []
        for cell, kind, name in zip(row, types, names or repeat(None), strict=False):
            with _naming(name):
                cells.append(DEFAULT if is_default(cell) else bind_cell(cell, kind))
        bound.append(tuple(cells))
    return bound


def constant_rows(
    rows: Rows, types: Sequence[DataType], names: Sequence[str] | None = None
) -> list[tuple[Any, ...]] | None:
    """The values of all rows when every cell is a plain constant (or `DEFAULT`); None otherwise."""
    found = []
    for row in _checked(rows, types):
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


def _checked(
    rows: Rows, types: Sequence[DataType], attempt: str = "bind VALUES"
) -> list[tuple[exp.Expr, ...]]:
    trees = cell_trees(rows)
    for index, row in enumerate(trees, start=1):
        if len(row) != len(types):
            raise ColumnMismatch(
                f"Cannot {attempt}: row {index} of VALUES has {len(row)} values, but {len(types)} "
                "columns are to be filled.",
                hint="name the columns: INSERT INTO table (column, …) VALUES ….",
            )
    return trees


def bind_cell(cell: exp.Expr, kind: DataType) -> str:
    """The Spark SQL text of one cell, of the carrier of `kind`."""
    carrier = format_spark_type(kind)
    if is_constant(cell):
        try:
            return f"CAST({_constant_text(convert(literal_value(cell), kind), kind)} AS {carrier})"
        except NotPlain:
            pass
    return f"CAST({_computed_text(cell, kind)} AS {carrier})"


def _constant_text(value: Any, kind: DataType) -> str:
    """A converted value as Spark SQL, before the cast to its carrier."""
    if value is None:
        return "NULL"
    match kind:
        case ListType(element):
            inner = ", ".join(_typed(item, element) for item in value)
            return f"ARRAY({inner})"
        case MapType(key, item):
            pairs = ", ".join(f"{_typed(k, key)}, {_typed(v, item)}" for k, v in value.items())
            return f"MAP({pairs})"
        case StructType(fields):
            parts = ", ".join(
                f"{render_expression(text(f.name))}, {_typed(value[f.name], f.type)}"
                for f in fields
            )
            return f"NAMED_STRUCT({parts})"
        case ScalarType("blob"):
            return f"X'{value.hex()}'"
    if isinstance(value, (int, str)):
        return render_expression(value_tree(value))
    return render_expression(text(str(value)))


def _typed(value: Any, kind: DataType) -> str:
    return f"CAST({_constant_text(value, kind)} AS {format_spark_type(kind)})"


def _computed_text(cell: exp.Expr, kind: DataType) -> str:
    """An expression, cast with DuckDB's rules; struct literals are matched by their names."""
    inner = cell.unnest()
    if isinstance(inner, exp.Array) and isinstance(kind, ListType):
        return f"ARRAY({', '.join(bind_cell(item, kind.element) for item in inner.expressions)})"
    if isinstance(inner, exp.Struct) and isinstance(kind, StructType):
        return _struct_text(inner, kind)
    return render_expression(
        exp.Cast(this=cell.copy(), to=exp.DataType.build(format_sql_type(kind), dialect="duckdb"))
    )


def _struct_text(tree: exp.Struct, kind: StructType) -> str:
    given = {
        item.this.name.lower(): item.expression
        for item in tree.expressions
        if isinstance(item, exp.PropertyEQ)
    }
    unknown = set(given) - {field.name.lower() for field in kind.fields}
    if unknown or len(given) != len(tree.expressions):
        raise ColumnMismatch(f"The struct {tree.sql(dialect='duckdb')} has fields of other names.")
    parts = ", ".join(
        f"{render_expression(text(f.name))}, "
        f"{bind_cell(given.get(f.name.lower(), exp.Null()), f.type)}"
        for f in kind.fields
    )
    return f"NAMED_STRUCT({parts})"


Target = tuple[str, DataType, Default | None]


def _filled(cell: exp.Expr, target: Target) -> str:
    _, kind, default = target
    if not is_default(cell):
        return bind_cell(cell, kind)
    if default is None or (default.kind == "literal" and default.text == "NULL"):
        return bind_cell(exp.Null(), kind)
    if default.kind == "literal":
        return bind_cell(text(default.text), kind)
    return bind_cell(parse_expression(default.text), kind)
