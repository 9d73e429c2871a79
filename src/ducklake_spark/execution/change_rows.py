"""DELETE, UPDATE and TRUNCATE: the rows that a statement means, as queries over the table."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F
from sqlglot import exp

from ducklake_spark.errors import InvalidInput, NotSupported
from ducklake_spark.execution.defaults import default_text
from ducklake_spark.execution.queries import select_frame
from ducklake_spark.model.names import quote_for_spark
from ducklake_spark.model.types import format_sql_type
from ducklake_spark.operations.contents import TableVersion
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.operations.row_changes import (
    IDENTITY,
    open_target,
    stage_changes,
    stage_deletes,
)
from ducklake_spark.operations.whole_files import stage_truncate
from ducklake_spark.spark.align import align_by_position, drop_equal_rows
from ducklake_spark.spark.failures import spark_failures
from ducklake_spark.spark.internal import FILE_ID, POSITION, WRITTEN
from ducklake_spark.sql import statements as st
from ducklake_spark.sql.composed import set_ctes, verbatim
from ducklake_spark.sql.parse import parse_expression
from ducklake_spark.sql.sources import is_spark
from ducklake_spark.sql.values import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame

    from ducklake_spark.commit.transaction import Transaction
    from ducklake_spark.connection import Connection
    from ducklake_spark.model.entities import Snapshot, TableEntry
    from ducklake_spark.model.schema import Column
    from ducklake_spark.operations.row_changes import Target

_COUNT = (("Count", "BIGINT"),)


def delete(con: Connection, s: st.Delete) -> RowSet:
    """DELETE FROM: returns how many rows went."""
    with changing(con, s.table, "delete from") as (tx, version):
        if s.where is None and not s.using:
            return RowSet(_COUNT, ((stage_truncate(tx, version),),))
        target = open_target(con.spark, version)
        query = table_query(version, s.alias, s.ctes)
        query.set("expressions", [_column(query, name) for name in (FILE_ID, POSITION)])
        rows = select_frame(con, _narrowed(query, s.using, s.where), target)
        return RowSet(_COUNT, ((stage_deletes(tx, target, rows),),))


def update(con: Connection, s: st.Update) -> RowSet:
    """UPDATE: returns how many rows were changed."""
    with changing(con, s.table, "update") as (tx, version):
        table = version.table
        values_of = assigned(s.assignments, table)
        given = [c for c in table.schema.columns if values_of.get(c.column_id) is not DEFAULT]
        target = open_target(con.spark, version)
        query = table_query(version, s.alias, s.ctes)
        values = [_given_value(query, column, values_of) for column in given]
        query.set(
            "expressions",
            [
                *(exp.alias_(v, f"_u{i}", quoted=True) for i, v in enumerate(values)),
                *(_column(query, name) for name in IDENTITY),
            ],
        )
        rows = select_frame(con, _narrowed(query, s.source, s.where), target)
        once = s.source is None
        return RowSet(_COUNT, ((stage_update(tx, target, given, rows, once=once),),))


def _given_value(query: exp.Select, column: Column, values_of: Mapping[int, exp.Expr]) -> exp.Expr:
    """What a column becomes: a value of its type, or what it is."""
    tree = values_of.get(column.column_id)
    return _column(query, column.name) if tree is None else assigned_value(tree, column)


def assigned(assignments: Sequence[st.Assignment], table: TableEntry) -> dict[int, Any]:
    """The value of each column that is set, by id: a tree, or `DEFAULT`."""
    found: dict[int, Any] = {}
    for each in assignments:
        if len(each.column) > 1:
            raise NotSupported(
                f"Cannot set {'.'.join(each.column)}: name the column alone.",
                hint="a struct is set as a whole, e.g. s = struct_update(s, a := 1).",
            )
        column = table.schema.get(each.column[0], table=table.name)
        if column.column_id in found:
            raise InvalidInput(f'The column "{column.name}" is set twice.')
        is_default = isinstance(each.value, exp.Var) and each.value.name.upper() == "DEFAULT"
        found[column.column_id] = DEFAULT if is_default else each.value
    return found


def stage_update(
    tx: Transaction, target: Target, given: Sequence[Column], rows: DataFrame, *, once: bool
) -> int:
    """Replace rows; `rows` has the values of the given columns and then the identities.

    A row that a source matches more than once must come out the same each time.
    """
    table, default = target.table, partial(default_text, target.spark)
    with spark_failures(f'update table "{table.name}"'):
        aligned = align_by_position(
            rows, table.schema, given, default, table=table.name, kept=IDENTITY
        )
        if not once:
            aligned = drop_equal_rows(aligned, [FILE_ID, POSITION])
        aligned = aligned.withColumn(WRITTEN, F.lit(True))
    return stage_changes(tx, target, aligned).deleted


def delete_where(con: Connection, parts: Sequence[str], condition: str | SparkColumn | None) -> int:
    """`Connection.delete`."""
    if condition is None:
        return _count_of(delete(con, st.Delete(tuple(parts))))
    with changing(con, parts, "delete from") as (tx, version):
        target = open_target(con.spark, version)
        return stage_deletes(tx, target, condition_rows(con, target, condition))


def condition_rows(con: Connection, target: Target, condition: str | SparkColumn) -> DataFrame:
    """The identities of the rows that a condition is true for."""
    if isinstance(condition, SparkColumn):
        with spark_failures(f'look for rows of table "{target.table.name}"'):
            return target.frame().where(condition).select(FILE_ID, POSITION)
    query = table_query(target.version, None, None)
    query.set("expressions", [_column(query, name) for name in (FILE_ID, POSITION)])
    return select_frame(con, _narrowed(query, None, parse_expression(condition)), target)


def update_where(
    con: Connection,
    parts: Sequence[str],
    values: Mapping[str, str | SparkColumn],
    condition: str | SparkColumn | None,
) -> int:
    """`Connection.update`."""
    with changing(con, parts, "update") as (tx, version):
        columns = version.table.schema.columns
        set_by = {
            version.table.schema.get(name, table=version.table.name).column_id: value
            for name, value in values.items()
        }
        if len(set_by) != len(values):
            raise InvalidInput(f"A column is set twice: {', '.join(values)}.")
        target = open_target(con.spark, version)
        query = table_query(version, None, None)
        texts = [
            exp.alias_(
                assigned_value(parse_expression(value), version.table.schema.by_id[column_id]),
                f"__ducklake_set_{column_id}",
                quoted=True,
            )
            for column_id, value in set_by.items()
            if isinstance(value, str)
        ]
        names = [*(column.name for column in columns), *IDENTITY]
        query.set("expressions", [*(_column(query, name) for name in names), *texts])
        where = parse_expression(condition) if isinstance(condition, str) else None
        rows = select_frame(con, _narrowed(query, None, where), target)
        with spark_failures(f'update table "{version.table.name}"'):
            rows = rows.where(condition) if isinstance(condition, SparkColumn) else rows
            rows = rows.select(*(_new_value(column, set_by) for column in columns), *IDENTITY)
        return stage_update(tx, target, columns, rows, once=True)


def _new_value(column: Column, set_by: Mapping[int, str | SparkColumn]) -> SparkColumn:
    value = set_by.get(column.column_id)
    if isinstance(value, SparkColumn):
        return value
    name = column.name if value is None else f"__ducklake_set_{column.column_id}"
    return F.col(quote_for_spark(name))


def _count_of(outcome: RowSet) -> int:
    return int(outcome.rows[0][0])


def truncate(con: Connection, s: st.Truncate) -> RowSet:
    """TRUNCATE: returns how many rows there were."""
    with changing(con, s.parts, "truncate") as (tx, version):
        return RowSet(_COUNT, ((stage_truncate(tx, version),),))


@contextmanager
def changing(
    con: Connection, parts: Sequence[str], action: str, *, since: Snapshot | None = None
) -> Iterator[tuple[Transaction, TableVersion]]:
    """A transaction that changes rows of a table, and the table as it sees it; see `writing`."""
    lake, schema, name = con.place(parts)
    with con.writing(lake, f'{action} table "{name}"', since=since) as tx:
        entry = con.schema_entry(lake, tx, schema)
        if tx.local.find_view(entry.schema_id, name) is not None:
            raise InvalidInput(f'Cannot {action} "{name}": it is a view, not a table.')
        _, table = con.find_table(tx, lake, schema, name)
        yield tx, TableVersion(lake, table, tx.snapshot, tx.local.base, tx.local)


def table_query(version: TableVersion, alias: str | None, ctes: exp.With | None) -> exp.Select:
    """A query over the table alone. Its whole name tells it apart from a CTE of that name."""
    table = version.table
    names = (table.name, version.schema.name, version.lake.name)
    parts = [exp.to_identifier(name, quoted=True) for name in names]
    shown = exp.TableAlias(this=exp.to_identifier(alias or table.name, quoted=True))
    source = exp.Table(this=parts[0], db=parts[1], catalog=parts[2], alias=shown)
    query = exp.Select(from_=exp.From(this=source))
    set_ctes(query, ctes)
    return query


def assigned_value(tree: exp.Expr, column: Column, *, spark: bool = False) -> exp.Expr:
    """The value that a column is set to; in DuckDB's dialect it is cast to the column's type."""
    value = exp.paren(verbatim(tree), copy=False)
    if spark or is_spark(tree):
        return value
    kind = exp.Var(this=format_sql_type(column.type))
    return exp.Cast(this=value, to=kind)


def _narrowed(query: exp.Select, sources: exp.Expr | None, where: exp.Expr | None) -> exp.Select:
    """The query joined with further sources, of the rows that a condition is true for."""
    if sources is not None:
        query.set("joins", [exp.Join(this=verbatim(sources))])
    if where is not None:
        query.set("where", exp.Where(this=exp.paren(verbatim(where), copy=False)))
    return query


def _column(query: exp.Select, name: str) -> exp.Column:
    """A column of the table that the query is over."""
    return exp.column(name, table=query.args["from_"].this.alias, quoted=True)
