"""Answers of DuckDB to questions that read no table, on the mirror that a query is bound on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ducklake_spark.binder.mirror import Mirror
from ducklake_spark.errors import InvalidValue, NotSupported


def evaluator(mirror: Mirror) -> Callable[[str], tuple[Any, ...]]:
    """What gives the first row of a SELECT, or raises DuckDB's error in its own words."""

    def evaluate(query: str) -> tuple[Any, ...]:
        import duckdb

        try:
            return mirror.ask(query)[0]
        except duckdb.Error as error:
            text = str(error).split("\n\nLINE ")[0].strip()
            kind = (
                NotSupported if isinstance(error, duckdb.NotImplementedException) else InvalidValue
            )
            raise kind(text) from error

    return evaluate
