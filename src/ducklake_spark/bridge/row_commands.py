"""Statements of Spark that change rows of a lake, as frames. Driver."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from ducklake_spark.bridge.half import bridge_of, java_session


@dataclass(frozen=True)
class RowCommand:
    """A statement that Spark has resolved; conditions, values and subqueries stay in the JVM.

    A frame that is handed over has the table's columns under their names, whatever else it has.

    Attributes:
        spark: the session that runs it.
        java: the JVM's statement.
    """

    spark: SparkSession
    java: Any

    def query(self) -> DataFrame:
        """The rows that are written, or those of a MERGE's source."""
        return DataFrame(self.java.query(java_session(self.spark)), self.spark)

    def matching(self, target: DataFrame) -> DataFrame:
        """The rows that the condition is true for."""
        return DataFrame(self.java.matching(target._jdf), self.spark)

    def marked(self, rows: DataFrame, mark: str) -> DataFrame:
        """The rows and a further column: whether the condition is true."""
        return DataFrame(self.java.marked(rows._jdf, mark), self.spark)

    def updated(self, target: DataFrame, prefix: str) -> DataFrame:
        """`matching`, and for each column that is set its new value: `prefix` and its name."""
        return DataFrame(self.java.updated(target._jdf, prefix), self.spark)

    def merged(
        self, target: DataFrame, source: DataFrame | None, told: Mapping[str, Any]
    ) -> DataFrame:
        """Target and source joined, with the clause that each row takes and what that gives.

        Args:
            target: the table's rows.
            source: the rows of `query`, computed; None to compute them now.
            told: see the JVM's `Merge`.
        """
        rows = None if source is None else source._jdf
        return DataFrame(self.java.merged(target._jdf, rows, json.dumps(dict(told))), self.spark)


def refused_types(spark: SparkSession, pairs: Sequence[tuple[T.DataType, T.DataType]]) -> list[int]:
    """The places of the pairs (value, column) that `spark.sql.storeAssignmentPolicy` forbids."""
    told = json.dumps([[given.json(), wanted.json()] for given, wanted in pairs])
    found: list[int] = json.loads(bridge_of(spark).java.refusedTypes(java_session(spark), told))
    return found
