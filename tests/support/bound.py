"""Expressions as DuckDB's binder gives them, for tests of what is made of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import duckdb

from ducklake_spark.binder.decode import decode_plan
from ducklake_spark.binder.expressions import Expression
from ducklake_spark.binder.operators import Projection
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
        names = ", ".join(f'"{name}"' for name in self.columns) or "nothing"
        query = f"SELECT {', '.join(texts)} FROM (SELECT {names} FROM t)"
        asked = "SELECT json_serialize_plan(?, skip_default := true)"
        row = self.connection.execute(asked, [query]).fetchone()
        assert row is not None
        document = json.loads(row[0])
        assert not document.get("error"), document
        plan = decode_plan(document)
        assert isinstance(plan, Projection)
        return plan.expressions

    def evaluate(self, query: str) -> tuple[Any, ...]:
        """What `Expressions` asks when a query is planned."""
        try:
            row = self.connection.execute(query).fetchone()
        except duckdb.Error as error:
            raise InvalidValue(str(error).split("\n\nLINE ")[0]) from error
        assert row is not None
        return row
