"""INSERT and CREATE TABLE: rows from SQL into a table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from sqlglot import exp

from ducklake_spark.errors import InvalidInput
from ducklake_spark.execution.bound_queries import composed_frame
from ducklake_spark.execution.change_rows import assigned_value
from ducklake_spark.execution.defaults import (
    NOT_CONSTANT,
    constant_default,
    default_in_duckdb,
    default_text,
    initial_default,
)
from ducklake_spark.execution.layouts import partition_keys
from ducklake_spark.execution.queries import query_frame, select_frame
from ducklake_spark.execution.sorting import sort_keys
from ducklake_spark.execution.temporary import create_temporary_table
from ducklake_spark.lake import Lake
from ducklake_spark.limits import limits
from ducklake_spark.model.entities import SortKey, TableEntry
from ducklake_spark.model.names import quote_identifier
from ducklake_spark.model.schema import Column
from ducklake_spark.model.types import format_sql_type
from ducklake_spark.operations import objects
from ducklake_spark.operations.append import append, append_rows
from ducklake_spark.operations.contents import TableVersion
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.operations.objects import NewColumn
from ducklake_spark.operations.overwrite import overwrite_all
from ducklake_spark.spark.align import align_by_name, align_by_position
from ducklake_spark.spark.failures import spark_failures
from ducklake_spark.spark.local import local_frame
from ducklake_spark.spark.tags import type_of_field
from ducklake_spark.sql import statements as st
from ducklake_spark.sql.composed import enclosed
from ducklake_spark.sql.sources import is_spark
from ducklake_spark.sql.values import DEFAULT, checked_rows, constant_rows, is_default

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection

_COUNT = (("Count", "BIGINT"),)


def insert(con: Connection, s: st.Insert) -> RowSet:
    """INSERT INTO: returns how many rows were added."""
    lake, schema, name = con.place(s.table)
    with con.writing(lake, f'insert into table "{name}"', hold=_is_short(s)) as tx:
        entry = con.schema_entry(lake, tx, schema)
        if tx.local.find_view(entry.schema_id, name) is not None:
            raise InvalidInput(f'Cannot insert into "{name}": it is a view, not a table.')
        _, table = con.find_table(tx, lake, schema, name)
        constants = None if s.overwrite else _constants(s, table)
        if constants is not None and append_rows(lake, tx, table, constants):
            count = len(constants)
        else:
            tx.let_go()
            with spark_failures(f'insert into table "{name}"'):
                frame = _source(con, s, table)
            if s.overwrite:
                version = TableVersion(lake, table, tx.snapshot, tx.local.base, tx.local)
                count = overwrite_all(tx, version, frame)
            else:
                count = append(lake, tx, table, frame)
    return RowSet(_COUNT, ((count,),))


def _is_short(s: st.Insert) -> bool:
    """Whether it may be so few constants that others can wait for them to be read."""
    few = isinstance(s.source, exp.Values) and len(s.source.expressions) <= limits().held_rows
    return few and not s.overwrite


def _constants(s: st.Insert, table: TableEntry) -> list[tuple[Any, ...]] | None:
    """The rows of an INSERT whose values are all known: it needs no Spark. Else None."""
    if s.by_name or not isinstance(s.source, exp.Values):
        return None
    targets = _targets(s, table)
    given = constant_rows(s.source, [c.type for c in targets], [c.name for c in targets])
    defaults = {column.column_id: constant_default(column) for column in table.schema.columns}
    if given is None or NOT_CONSTANT in defaults.values():
        return None
    rows = []
    for cells in given:
        values = dict(defaults)
        for column, cell in zip(targets, cells, strict=True):
            if cell is not DEFAULT:
                values[column.column_id] = cell
        rows.append(tuple(values.values()))
    return rows


def _source(con: Connection, s: st.Insert, table: TableEntry) -> DataFrame:
    """The rows to insert, with exactly the table's columns."""
    default = partial(default_text, con.spark)
    if isinstance(s.source, st.DefaultValues):
        one_row = con.spark.range(1).select()
        return align_by_name(one_row, table.schema, default, table=table.name)
    targets = _targets(s, table)
    if isinstance(s.source, exp.Values):
        frame = _values(con, s.source, targets)
    else:
        frame = _queried(con, s, table, targets)
    if s.by_name:
        return align_by_name(frame, table.schema, default, table=table.name)
    return align_by_position(frame, table.schema, targets, default, table=table.name)


def _queried(
    con: Connection, s: st.Insert, table: TableEntry, targets: Sequence[Column]
) -> DataFrame:
    """The rows of a query; DuckDB casts them to the types of the columns that they are for."""
    assert not isinstance(s.source, st.DefaultValues)  # noqa: S101 - the caller has looked
    frame = query_frame(con, s.source, is_inserted=True)
    if is_spark(s.source):
        return frame
    names = frame.columns
    if s.by_name:
        targets = [table.schema.get(name, table=table.name) for name in names]
    if len(names) != len(targets):
        return frame  # whoever aligns the columns says so
    wanted = [format_sql_type(column.type) for column in targets]
    given = [quote_identifier(f"c{place}") for place in range(len(names))]
    items = ", ".join(
        f"CAST({name} AS {kind}) AS {quote_identifier(column.name)}"
        for name, kind, column in zip(given, wanted, targets, strict=True)
    )
    query = enclosed(s.source, f"SELECT {items} FROM (", f") AS given({', '.join(given)})")
    return composed_frame(con, query)


def _values(con: Connection, source: exp.Values, targets: list[Column]) -> DataFrame:
    """The rows of VALUES: constants are converted here, the rest is computed by Spark."""
    kinds = [column.type for column in targets]
    constants = constant_rows(source, kinds, [column.name for column in targets])
    if constants is not None and not any(DEFAULT in row for row in constants):
        return local_frame(con.spark, targets, constants)
    rows = [
        [_cell(*pair) for pair in zip(row, targets, strict=True)]
        for row in checked_rows(source, kinds)
    ]
    if source.find(exp.Query) is None:
        tuples = [exp.Tuple(expressions=row) for row in rows]
        alias = exp.TableAlias(this=exp.to_identifier("given"))
        query: exp.Query = exp.select("*").from_(exp.Values(expressions=tuples, alias=alias))
    else:  # subqueries stand in select lists alone
        queries = [exp.Select(expressions=row) for row in rows]
        query = exp.union(*queries, distinct=False) if rows[1:] else queries[0]
    return select_frame(con, query)


def _cell(cell: exp.Expr, column: Column) -> exp.Expr:
    if is_default(cell):
        return exp.Var(this=default_in_duckdb(column))
    return assigned_value(cell, column)


def _targets(s: st.Insert, table: TableEntry) -> list[Column]:
    if s.columns is None:
        return list(table.schema.columns)
    targets = [table.schema.get(name, table=table.name) for name in s.columns]
    if len({column.column_id for column in targets}) != len(targets):
        raise InvalidInput(f'The column list for table "{table.name}" names a column twice.')
    return targets


def create_table(con: Connection, s: st.CreateTable) -> RowSet:
    """CREATE TABLE, with rows when it is AS a query."""
    if s.temporary:
        return create_temporary_table(con, s)
    lake, schema_name, name = con.place(s.name)
    with con.writing(lake, f'create table "{name}"') as tx:
        schema = con.schema_entry(lake, tx, schema_name)
        if s.if_not_exists and tx.local.find_table(schema.schema_id, name) is not None:
            return RowSet(())
        frame = None if s.query is None else query_frame(con, s.query)
        columns = defined_columns(s) if frame is None else _queried_columns(s, frame)
        table = objects.create_table(
            lake,
            tx,
            schema,
            name,
            columns,
            or_replace=s.or_replace,
            partitioned_by=partition_keys(s.partitioned_by),
            sorted_by=_sort_keys(con, lake, schema.name, s, columns),
        )
        if frame is None:
            return RowSet(())
        if s.with_no_data:
            return RowSet(_COUNT, ((0,),))
        with spark_failures(f'create table "{name}"'):
            given = table.schema.columns
            default = partial(default_text, con.spark)
            rows = align_by_position(frame, table.schema, given, default, table=name)
        return RowSet(_COUNT, ((append(lake, tx, table, rows),),))


def _sort_keys(
    con: Connection, lake: Lake, schema_name: str, s: st.CreateTable, columns: list[NewColumn]
) -> list[SortKey]:
    if not s.sorted_by:
        return []
    schema = objects.build_schema(columns)
    return sort_keys(con, lake, s.name[-1], schema, schema_name, s.sorted_by)


def defined_columns(s: st.CreateTable) -> list[NewColumn]:
    """The columns of a CREATE TABLE that lists them."""
    return [
        NewColumn(c.name, c.type, c.not_null, c.default, initial_default(c.name, c.type, c.default))
        for c in s.columns
    ]


def _queried_columns(s: st.CreateTable, frame: DataFrame) -> list[NewColumn]:
    columns = [NewColumn(field.name, type_of_field(field)) for field in frame.schema.fields]
    return objects.rename_columns(columns, s.column_aliases)
