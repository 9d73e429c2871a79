"""SET VARIABLE, RESET VARIABLE, PREPARE, EXECUTE and DEALLOCATE: what a session remembers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from ducklake_spark.errors import FunctionNotFound
from ducklake_spark.execution.compute import MapValue, compute, compute_all
from ducklake_spark.execution.parameters import bind_parameters
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.sql import statements as st
from ducklake_spark.sql.literals import is_constant
from ducklake_spark.sql.variables import value_tree

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection

_NOTHING = RowSet(())


def set_variable(con: Connection, s: st.SetVariable) -> RowSet:
    """Remember a value under a name, for getvariable()."""
    value: Any = s.expression
    if not (is_constant(value) and value.find(exp.ToMap)):
        value = compute(con, value)
    con.variables[s.name.lower()] = _map_tree(value) if isinstance(value, MapValue) else value
    return _NOTHING


def _map_tree(value: MapValue) -> exp.Expr:
    """A map as an expression: as a Python value it would be taken for a struct."""
    entries = [
        exp.PropertyEQ(this=value_tree(k), expression=value_tree(v)) for k, v in value.items()
    ]
    return exp.ToMap(this=exp.Struct(expressions=entries))


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
