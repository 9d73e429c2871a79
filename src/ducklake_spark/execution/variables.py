"""SET VARIABLE, RESET VARIABLE, PREPARE, EXECUTE and DEALLOCATE: what a session remembers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ducklake_spark.errors import FunctionNotFound
from ducklake_spark.execution.bound_queries import mirror_of
from ducklake_spark.execution.bound_values import shown, variables_of
from ducklake_spark.execution.compute import compute_all, compute_typed
from ducklake_spark.execution.parameters import bind_parameters
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.sql import statements as st

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection

_NOTHING = RowSet(())


def set_variable(con: Connection, s: st.SetVariable) -> RowSet:
    """Remember a value under a name, for getvariable()."""
    name, value = s.name.lower(), compute_typed(con, s.expression)
    mirror_of(con).know(variables_of(con, {name: shown(value)}))  # refused now or by each query
    con.variables[name] = value
    return _NOTHING


def prepare(con: Connection, s: st.Prepare) -> RowSet:
    """Remember a statement, its parameters still open."""
    con.prepared[s.name.lower()] = s.statement
    return _NOTHING


def prepared_statement(con: Connection, s: st.Execute) -> Any:
    """The remembered statement with the values of EXECUTE in it."""
    statement = con.prepared.get(s.name.lower())
    if statement is None:
        names = list(con.prepared)
        raise FunctionNotFound.named(
            s.name, where="the prepared statements of this connection", candidates=names
        )
    arguments, named = compute_all(con, s.arguments, s.named)
    return bind_parameters(con, statement, named or arguments)


def deallocate(con: Connection, s: st.Deallocate) -> RowSet:
    """Forget a prepared statement; one that does not exist is no error, as in DuckDB."""
    con.prepared.pop(s.name.lower(), None)
    return _NOTHING
