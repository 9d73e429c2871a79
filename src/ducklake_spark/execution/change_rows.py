"""DELETE, UPDATE and TRUNCATE: the rows that a statement means, as queries over the table."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlglot import exp

from ducklake_spark.errors import InvalidInput
from ducklake_spark.execution.bind import run_query
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.operations.read import TableVersion
from ducklake_spark.operations.row_changes import (
    open_target,
    stage_deletes,
    stage_truncate,
)
from ducklake_spark.spark.internal import FILE_ID, POSITION
from ducklake_spark.sql import statements as st

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ducklake_spark.commit.transaction import Transaction
    from ducklake_spark.connection import Connection

_COUNT = (("Count", "BIGINT"),)


def delete(con: Connection, s: st.Delete) -> RowSet:
    """DELETE FROM: returns how many rows went."""
    with changing(con, s.table, "delete from") as (tx, version):
        if s.where is None and not s.using:
            return RowSet(_COUNT, ((stage_truncate(tx, version),),))
        target = open_target(con.spark, version)
        query = _query(version, s.alias, s.ctes)
        query.set("expressions", [_column(query, name) for name in (FILE_ID, POSITION)])
        query.set("joins", [exp.Join(this=source) for source in s.using])
        query.set("where", exp.Where(this=s.where) if s.where else None)
        rows = run_query(con, query, target=target)
        return RowSet(_COUNT, ((stage_deletes(tx, target, rows),),))


def truncate(con: Connection, s: st.Truncate) -> RowSet:
    """TRUNCATE: returns how many rows there were."""
    with changing(con, s.parts, "truncate") as (tx, version):
        return RowSet(_COUNT, ((stage_truncate(tx, version),),))


@contextmanager
def changing(
    con: Connection, parts: Sequence[str], action: str
) -> Iterator[tuple[Transaction, TableVersion]]:
    """A transaction that changes rows of a table, and the table as it sees it."""
    lake, schema, name = con.place(parts)
    with con.writing(lake, f'{action} table "{name}"') as tx:
        entry = con.schema_entry(lake, tx, schema)
        if tx.local.find_view(entry.schema_id, name) is not None:
            raise InvalidInput(f'Cannot {action} "{name}": it is a view, not a table.')
        _, table = con.find_table(tx, lake, schema, name)
        yield tx, TableVersion(lake, table, tx.snapshot, tx.local.base, tx.local)


def _query(version: TableVersion, alias: str | None, ctes: exp.With | None) -> exp.Select:
    """A query over the table alone. Its whole name tells it apart from a CTE of that name."""
    table = version.table
    names = (table.name, version.schema.name, version.lake.name)
    parts = [exp.to_identifier(name, quoted=True) for name in names]
    shown = exp.TableAlias(this=exp.to_identifier(alias or table.name, quoted=True))
    source = exp.Table(this=parts[0], db=parts[1], catalog=parts[2], alias=shown)
    return exp.Select(from_=exp.From(this=source), with_=ctes)


def _column(query: exp.Select, name: str) -> exp.Column:
    """A column of the table that the query is over."""
    return exp.column(name, table=query.args["from_"].this.alias, quoted=True)
