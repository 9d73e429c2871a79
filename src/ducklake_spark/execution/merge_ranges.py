"""Keep a MERGE from reading files of the table that no row of its source can match. Driver."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F
from sqlglot import exp

from ducklake_spark.execution.merge_arms import Names
from ducklake_spark.model.schema import Column
from ducklake_spark.model.types import ScalarType
from ducklake_spark.spark.carriers import carrier_type
from ducklake_spark.spark.failures import spark_failures
from ducklake_spark.sql.variables import value_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

    from ducklake_spark.operations.row_changes import Target

# Fewer files and bytes are read faster than the source is looked through.
_MANY_FILES: Final = 8
_MANY_BYTES: Final = 64 * 1024 * 1024

_INTEGERS: Final = ("int8", "int16", "int32", "int64")
_FIRST_DAY: Final = dt.date(1970, 1, 1).toordinal()

Keys = list[tuple[Column, str]]
"""Columns of the table, each with the column of the source that it must be equal to."""


def is_worthwhile(target: Target) -> bool:
    """Whether the table is so large that it pays to know the keys of the source first."""
    files = target.contents.files
    return len(files) > _MANY_FILES or (
        len(files) > 1 and sum(file.file_size_bytes for file in files) >= _MANY_BYTES
    )


def find_keys(condition: exp.Expr, names: Names, source: DataFrame) -> Keys:
    """The pairs of columns whose equality the condition asks for, of types that have ranges."""
    fields = {field.name.lower(): field for field in source.schema.fields}
    keys: Keys = []
    for own, other in _equalities(condition, names):
        column, field = names.table.schema.find(own), fields.get(other.lower())
        if column is None or field is None or not isinstance(column.type, ScalarType):
            continue
        ordered = column.type.name in (*_INTEGERS, "varchar", "date")
        if ordered and carrier_type(column.type) == field.dataType:
            keys.append((column, field.name))
    return keys


def _equalities(condition: exp.Expr, names: Names) -> Iterator[tuple[str, str]]:
    tree = condition.unnest()
    if isinstance(tree, exp.And):
        yield from _equalities(tree.this, names)
        yield from _equalities(tree.expression, names)
        return
    sides = (tree.this, tree.expression) if isinstance(tree, exp.EQ) else ()
    by_table = {
        side.table.lower(): side.name
        for side in sides
        if isinstance(side, exp.Column) and len(side.parts) == 2
    }
    if by_table.keys() == {names.target.lower(), names.source.lower()}:
        yield by_table[names.target.lower()], by_table[names.source.lower()]


def range_condition(source: DataFrame, keys: Keys, names: Names) -> exp.Expr | None:
    """What is true for every row of the table that a row of the source matches.

    One job finds the least and the greatest value of each key.
    """
    ends = []
    for column, name in keys:
        value = F.col("`" + name.replace("`", "``") + "`")
        ends += [F.min(_plain(value, column)), F.max(_plain(value, column))]
    with spark_failures(f'merge into table "{names.table.name}"'):
        found = source.agg(*ends).collect()[0]
    tests = []
    for place, (column, _) in enumerate(keys):
        low, high = _tree(found[2 * place], column), _tree(found[2 * place + 1], column)
        if low is not None and high is not None:
            own = exp.column(column.name, table=names.target, quoted=True)
            tests.append(exp.Between(this=own, low=low, high=high))
    return exp.and_(*tests) if tests else None


def _plain(value: Any, column: Column) -> Any:
    """Days travel as numbers: Python has no dates of all years."""
    return F.unix_date(value) if column.type == ScalarType("date") else value


def _tree(value: Any, column: Column) -> exp.Expr | None:
    if value is None or column.type != ScalarType("date"):
        return None if value is None else value_tree(value)
    ordinal = value + _FIRST_DAY
    if not 1 <= ordinal <= dt.date.max.toordinal():
        return None
    return value_tree(dt.date.fromordinal(ordinal))
