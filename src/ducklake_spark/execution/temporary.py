"""CREATE TEMPORARY TABLE … AS: the rows of a query, computed once, as a temporary view of Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ducklake_spark.errors import AlreadyExists, DuckLakeError, InvalidInput, NotSupported
from ducklake_spark.execution.queries import query_frame
from ducklake_spark.model.names import quote_for_spark
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.spark.failures import spark_failures
from ducklake_spark.spark.jobs import run_job
from ducklake_spark.sql import statements as st

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection

_COUNT: Final = (("Count", "BIGINT"),)
_HOMES: Final = ((), ("temp",), ("temp", "main"))


def create_temporary_table(con: Connection, s: st.CreateTable) -> RowSet:
    """Keep the rows of a query under a name until they are dropped or Spark ends."""
    name = s.name[-1]
    if s.query is None or s.partitioned_by or s.sorted_by:
        raise NotSupported(
            f'Cannot create the temporary table "{name}": a temporary table holds the rows of a '
            "query.",
            hint="write CREATE TEMP TABLE name AS SELECT …; it cannot be partitioned or sorted.",
        )
    if tuple(part.lower() for part in s.name[:-1]) not in _HOMES:
        raise InvalidInput(
            f'Cannot create the temporary table "{".".join(s.name)}": it is not part of a lake.',
            hint="leave out lake and schema.",
        )
    if s.if_not_exists and name.lower() in con.temporary:
        return RowSet(())
    _check_free(con, name, or_replace=s.or_replace)
    frame = query_frame(con, s.query)
    if len(s.column_aliases) > len(frame.columns):
        raise InvalidInput(
            f'Table "{name}" names {len(s.column_aliases)} columns, but its query has '
            f"{len(frame.columns)}."
        )
    frame = frame.toDF(*s.column_aliases, *frame.columns[len(s.column_aliases) :])
    with spark_failures(f'create table "{name}"'):
        wanted = frame.limit(0) if s.with_no_data else frame
        rows = run_job(con.spark, wanted.localCheckpoint)
        rows.createOrReplaceTempView(quote_for_spark(name))
        con.temporary[name.lower()] = name
        return RowSet(_COUNT, ((run_job(con.spark, rows.count),),))


def drop_temporary_table(con: Connection, parts: tuple[str, ...]) -> bool:
    """Forget the temporary table that a name means; whether it means one."""
    if tuple(part.lower() for part in parts[:-1]) not in _HOMES:
        return False
    if len(parts) == 1 and _place_in_lake(con, parts[0]) is not None:
        return False
    name = con.temporary.pop(parts[-1].lower(), None)
    return name is not None and con.spark.catalog.dropTempView(name)


def _check_free(con: Connection, name: str, *, or_replace: bool) -> None:
    """A name means a table of the lake first: a temporary one behind it would not be seen."""
    taken = con.spark.catalog.tableExists(quote_for_spark(name))
    if taken and not (or_replace and name.lower() in con.temporary):
        raise AlreadyExists(
            f'Cannot create the temporary table "{name}": Spark has a table or view of that name.',
            hint="choose another name, or use CREATE OR REPLACE for a temporary table.",
        )
    place = _place_in_lake(con, name)
    if place is not None:
        raise AlreadyExists(
            f'Cannot create the temporary table "{name}": "{place}" has a table or view of that '
            "name.",
            hint="choose another name.",
        )


def _place_in_lake(con: Connection, name: str) -> str | None:
    """Where the lake in use has a table or view of that name."""
    try:
        lake, schema_name, _ = con.place((name,))
    except DuckLakeError:  # no lake is in use
        return None
    with con.reading(lake) as tx:
        schema = tx.local.find_schema(schema_name)
        if schema is None:
            return None
        local, number = tx.local, schema.schema_id
        found = local.find_table(number, name) or local.find_view(number, name)
    return f"{lake.name}.{schema_name}" if found is not None else None
