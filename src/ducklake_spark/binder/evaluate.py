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
        except UnicodeDecodeError as error:  # DuckDB quotes bytes of a value that are no text
            raise InvalidValue(_words(error.object.decode("utf-8", "replace"))) from error
        except duckdb.Error as error:
            kind = (
                NotSupported if isinstance(error, duckdb.NotImplementedException) else InvalidValue
            )
            raise kind(_words(str(error))) from error

    return evaluate


def _words(text: str) -> str:
    """What went wrong, without the place in a text that nobody has written."""
    return text.split("\n\nLINE ", maxsplit=1)[0].strip()
