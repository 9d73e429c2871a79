"""The outcome of a statement that is no query: rows on the driver, a DataFrame on demand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession

from ducklake_spark.model.schema import build_column
from ducklake_spark.model.types import parse_sql_type
from ducklake_spark.spark.local import local_frame


class Result:
    """Behaves as a DataFrame; one is made when something is asked that needs Spark.

    A CREATE TABLE or a one-row INSERT so costs no call to the JVM unless its outcome is used as
    a DataFrame.
    """

    def __init__(
        self,
        columns: Sequence[tuple[str, str]],
        rows: Sequence[tuple[Any, ...]],
        spark: Callable[[], SparkSession],
    ) -> None:
        self._columns = tuple(columns)  # names and DuckDB types
        self._rows = list(rows)
        self._spark = spark

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return [name for name, _ in self._columns]

    @property
    def types(self) -> list[str]:
        """DuckDB's types of the columns."""
        return [kind for _, kind in self._columns]

    def collect(self) -> list[Row]:
        """The rows, as a DataFrame gives them."""
        make = Row(*self.columns)
        return [make(*row) for row in self._rows]

    def count(self) -> int:
        """How many rows there are."""
        return len(self._rows)

    @cached_property
    def frame(self) -> DataFrame:
        """The same as a DataFrame."""
        ids = iter(range(1, 1_000_000))
        tree = [build_column(name, parse_sql_type(kind), ids) for name, kind in self._columns]
        return local_frame(self._spark(), tree, self._rows)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.frame, name)

    def __getitem__(self, item: Any) -> Any:
        return self.frame[item]

    def __repr__(self) -> str:
        kinds = ", ".join(f"{name}: {kind}" for name, kind in self._columns)
        return f"Result[{kinds}] of {len(self._rows)} rows"
