"""CREATE TEMPORARY TABLE … AS: the rows of a query, computed once, as a temporary view of Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ducklake_spark.errors import AlreadyExists, DuckLakeError, InvalidInput, NotSupported
from ducklake_spark.execution.bind import run_query
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.spark.failures import spark_failures
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
    frame = run_query(con, s.query)
    if len(s.column_aliases) > len(frame.columns):
        raise InvalidInput(
            f'Table "{name}" names {len(s.column_aliases)} columns, but its query has '
            f"{len(frame.columns)}."
        )
    frame = frame.toDF(*s.column_aliases, *frame.columns[len(s.column_aliases) :])
    with spark_failures(f'create table "{name}"'):
        rows = (frame.limit(0) if s.with_no_data else frame).localCheckpoint()
        rows.createOrReplaceTempView(_quoted(name))
        con.temporary[name.lower()] = name
        return RowSet(_COUNT, ((rows.count(),),))


def drop_temporary_table(con: Connection, parts: tuple[str, ...]) -> bool:
    """Forget a temporary table; whether there was one of that name."""
    if tuple(part.lower() for part in parts[:-1]) not in _HOMES:
        return False
    name = con.temporary.pop(parts[-1].lower(), None)
    return name is not None and con.spark.catalog.dropTempView(name)


def _check_free(con: Connection, name: str, *, or_replace: bool) -> None:
    """A name means a table of the lake first: a temporary one behind it would not be seen."""
    taken = con.spark.catalog.tableExists(_quoted(name))
    if taken and not (or_replace and name.lower() in con.temporary):
        raise AlreadyExists(
            f'Cannot create the temporary table "{name}": Spark has a table or view of that name.',
            hint="choose another name, or use CREATE OR REPLACE for a temporary table.",
        )
    try:
        lake, schema_name, _ = con.place((name,))
        con.table_version((lake.name, schema_name, name))
    except DuckLakeError:
        return
    raise AlreadyExists(
        f'Cannot create the temporary table "{name}": "{lake.name}.{schema_name}" has a table of '
        "that name.",
        hint="choose another name.",
    )


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
