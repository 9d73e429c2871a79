"""Queries that stand in other statements: DuckDB binds those in its dialect, Spark its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from sqlglot import exp

from ducklake_spark.execution.bound_queries import composed_frame
from ducklake_spark.execution.contexts import Context
from ducklake_spark.execution.joined_rows import JoinedRows
from ducklake_spark.execution.spark_queries import run_query
from ducklake_spark.sql.composed import compose, written_query
from ducklake_spark.sql.reader import WRITTEN
from ducklake_spark.sql.sources import is_spark

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection
    from ducklake_spark.operations.row_changes import Target


def query_frame(
    con: Connection, tree: exp.Expr, context: Context | None = None, *, is_inserted: bool = False
) -> DataFrame:
    """The lazy DataFrame of a query of the user's; of INSERT, if it says so."""
    if is_spark(tree):
        return run_query(con, tree)
    query = written_query(tree) if WRITTEN in tree.meta else compose(tree)
    return composed_frame(con, query, context, is_inserted=is_inserted)


def select_frame(
    con: Connection,
    query: exp.Query,
    target: Target | None = None,
    *,
    joined: JoinedRows | None = None,
) -> DataFrame:
    """The lazy DataFrame of a query of ours in which parts of the user's text stand.

    Args:
        con: the connection.
        query: in Spark's dialect, if it is marked so.
        target: a table that is about to be changed: in the query's own FROM its rows have their
            identities.
        joined: rows whose halves the query names as tables.
    """
    if is_spark(query):
        return run_query(con, query, target=target)
    return composed_frame(con, compose(query), target=target, joined=joined)
