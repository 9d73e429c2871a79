"""Keep a MERGE from reading files and joining rows that no row of its source matches. Driver."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F
from sqlglot import exp

from ducklake_spark.execution.merge_arms import Names
from ducklake_spark.limits import limits
from ducklake_spark.model.names import quote_for_spark
from ducklake_spark.model.schema import Column
from ducklake_spark.model.types import ScalarType
from ducklake_spark.spark.carriers import carrier_type
from ducklake_spark.spark.failures import spark_failures
from ducklake_spark.spark.jobs import run_job
from ducklake_spark.sql.variables import value_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructField

    from ducklake_spark.operations.row_changes import Target

_INTEGERS: Final = ("int8", "int16", "int32", "int64")
_FIRST_DAY: Final = dt.date(1970, 1, 1).toordinal()

Keys = list[tuple[Column, str]]
"""Columns of the table, each with the column of the source that it must be equal to."""


def is_worthwhile(target: Target) -> bool:
    """Whether the table is so large that it pays to know the keys of the source first."""
    files, least = target.contents.files, limits()
    return len(files) > least.merge_files or (
        len(files) > 1 and sum(file.file_size_bytes for file in files) >= least.merge_bytes
    )


def find_keys(condition: exp.Expr, names: Names, source: DataFrame) -> Keys:
    """The pairs of columns whose equality the condition asks for, of types that have ranges."""
    fields = {field.name.lower(): field for field in source.schema.fields}
    keys: Keys = []
    for own, other in _equalities(condition, names):
        column, field = names.table.schema.find(own), fields.get(other.lower())
        if column is not None and field is not None and has_range(column, field):
            keys.append((column, field.name))
    return keys


def has_range(column: Column, field: StructField) -> bool:
    """Whether a column of the table and one of the source are of one type that has ranges."""
    if not isinstance(column.type, ScalarType):
        return False
    ordered = column.type.name in (*_INTEGERS, "varchar", "date")
    return ordered and carrier_type(column.type) == field.dataType


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


@dataclass(frozen=True)
class SourceKeys:
    """What is known of the keys of a source.

    Attributes:
        keys: the pairs of columns.
        within: what is true for every row of the table that a row of the source matches.
        rows: the source's keys, in order, if they are few enough to be sent to every task.
    """

    keys: Keys
    within: exp.Expr | None
    rows: DataFrame | None

    def joined(self, names: Names, view: str) -> exp.Join | None:
        """The join that leaves rows of the table that have the keys of a row of the source.

        Args:
            names: of the table.
            view: where `rows` can be found.
        """
        if self.rows is None:
            return None
        equal = [
            exp.EQ(
                this=exp.column(column.name, table=names.target, quoted=True),
                expression=exp.column(f"k{place}", table=view, quoted=True),
            )
            for place, (column, _) in enumerate(self.keys)
        ]
        keys = exp.Table(this=exp.to_identifier(view, quoted=True))
        return exp.Join(this=keys, side="LEFT", kind="SEMI", on=exp.and_(*equal))


def measure_keys(source: DataFrame, keys: Keys, names: Names) -> SourceKeys:
    """What one job over the source finds out about its keys."""
    found, few = _measure(source, keys, names.table.name)
    tests = []
    for (column, _), (least, greatest) in zip(keys, found, strict=True):
        low, high = _tree(least, column), _tree(greatest, column)
        if low is not None and high is not None:
            own = exp.column(column.name, table=names.target, quoted=True)
            tests.append(exp.Between(this=own, low=low, high=high))
    return SourceKeys(
        keys, exp.and_(*tests) if tests else None, _key_rows(source, keys) if few else None
    )


def matchable_rows(rows: DataFrame, source: DataFrame, keys: Keys, *, table: str) -> DataFrame:
    """The rows of a table that a row of the source may match: by its keys, or by their ranges."""
    found, few = _measure(source, keys, table)
    for (column, _), ends in zip(keys, found, strict=True):
        low, high = (_value(end, column) for end in ends)
        if low is not None and high is not None:
            rows = rows.where(F.col(quote_for_spark(column.name)).between(low, high))
    if not few:
        return rows
    equal = [
        F.col(quote_for_spark(column.name)) == F.col(f"__ducklake_k{place}")
        for place, (column, _) in enumerate(keys)
    ]
    wanted = _key_rows(source, keys).toDF(*(f"__ducklake_k{i}" for i in range(len(keys))))
    return rows.join(F.broadcast(wanted), reduce(and_, equal), "left_semi")


def _measure(source: DataFrame, keys: Keys, table: str) -> tuple[list[tuple[Any, Any]], bool]:
    """One job finds the least and the greatest value of each key, and whether keys are few."""
    values = [F.col(quote_for_spark(name)) for _, name in keys]
    plain = [_plain(value, column) for value, (column, _) in zip(values, keys, strict=True)]
    sizes = [
        F.coalesce(F.octet_length(value), F.lit(0)) if _is_text(column) else F.lit(8)
        for value, (column, _) in zip(values, keys, strict=True)
    ]
    ends = [end for value in plain for end in (F.min(value), F.max(value))]
    with spark_failures(f'merge into table "{table}"'):
        measured = source.agg(*ends, F.sum(sum(sizes, F.lit(8))))
        *found, size = run_job(source.sparkSession, measured.collect)[0]
    few = (size or 0) <= limits().merge_key_bytes
    return list(zip(found[::2], found[1::2], strict=True)), few


def _key_rows(source: DataFrame, keys: Keys) -> DataFrame:
    named = [F.col(quote_for_spark(name)).alias(f"k{i}") for i, (_, name) in enumerate(keys)]
    # Few keys go to every task, which drops the rows of the table that match none of them. Without
    # that the join would move the whole table to where the source's rows are.
    return F.broadcast(source.select(*named))


def _is_text(column: Column) -> bool:
    return column.type == ScalarType("varchar")


def _plain(value: Any, column: Column) -> Any:
    """Days travel as numbers: Python has no dates of all years."""
    return F.unix_date(value) if column.type == ScalarType("date") else value


def _tree(value: Any, column: Column) -> exp.Expr | None:
    known = _value(value, column)
    return None if known is None else value_tree(known)


def _value(value: Any, column: Column) -> Any:
    """A value of a key as Python has it; None where it has none."""
    if value is None or column.type != ScalarType("date"):
        return value
    ordinal = value + _FIRST_DAY
    if not 1 <= ordinal <= dt.date.max.toordinal():
        return None
    return dt.date.fromordinal(ordinal)
