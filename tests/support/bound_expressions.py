"""Expressions as DuckDB's binder gives them, for tests of what is made of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import duckdb

from ducklake_spark.binder.decode import decode_plan
from ducklake_spark.binder.expressions import Expression
from ducklake_spark.binder.operators import Plan, Projection, Sorting
from ducklake_spark.errors import InvalidValue


class Binder:
    """An in-memory DuckDB with one table ``t`` of the given columns."""

    def __init__(self, columns: Mapping[str, str], time_zone: str = "UTC") -> None:
        self.connection = duckdb.connect()
        self.connection.execute(f"SET TimeZone = '{time_zone}'")
        self.columns = dict(columns)
        inner = ", ".join(f'"{name}" {kind}' for name, kind in self.columns.items())
        self.connection.execute(f"CREATE TABLE t ({inner or 'nothing INTEGER'})")

    def bind(self, *texts: str) -> tuple[Expression, ...]:
        """The bound expressions; a `Ref` counts the columns of the table from 0."""
        plan = self._plan(f"SELECT {', '.join(texts)} FROM (SELECT {self._names} FROM t)")
        assert isinstance(plan, Projection)
        return plan.expressions

    def order(self, text: str) -> Expression:
        """What ORDER BY sorts by, which is not always the expression itself."""
        plan = self._plan(f"SELECT {self._names} FROM t ORDER BY {text}")
        assert isinstance(plan, Sorting)
        (order,) = plan.orders
        return order.expression

    @property
    def _names(self) -> str:
        return ", ".join(f'"{name}"' for name in self.columns) or "nothing"

    def _plan(self, query: str) -> Plan:
        asked = "SELECT json_serialize_plan(?, skip_default := true)"
        row = self.connection.execute(asked, [query]).fetchone()
        assert row is not None
        document = json.loads(row[0])
        assert not document.get("error"), document
        return decode_plan(document)

    def evaluate(self, query: str) -> tuple[Any, ...]:
        """What `Expressions` asks when a query is planned."""
        try:
            row = self.connection.execute(query).fetchone()
        except UnicodeDecodeError as error:
            raise InvalidValue("an error with bytes that are no text") from error
        except duckdb.Error as error:
            raise InvalidValue(str(error).split("\n\nLINE ")[0]) from error
        assert row is not None
        return row
