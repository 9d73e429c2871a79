"""A lake that Spark knows by name, one for each file of tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from support.lakes import LakeLocation, make_location

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_numbers = count(1)


@dataclass(frozen=True)
class NamedLake:
    """A lake under a name of Spark.

    Attributes:
        name: what Spark calls it.
        spark: the session.
        location: where it is.
    """

    name: str
    spark: SparkSession
    location: LakeLocation

    def sql(self, text: str, **arguments: Any) -> list[tuple[Any, ...]]:
        """Run a statement of Spark, in which ``lake.`` is this lake; its rows."""
        said = text.replace("lake.", f"{self.name}.")
        return [tuple(row) for row in self.spark.sql(said, **arguments).collect()]

    def duckdb(self, text: str) -> list[tuple[Any, ...]]:
        """Run statements in the real DuckDB; the rows of the last one."""
        with self.location.oracle() as duckdb:
            return duckdb.sql(text)

    def last_snapshot(self) -> int:
        """The number of the newest snapshot."""
        with self.location.database(create=False) as db:
            return int(db.fetch("SELECT max(snapshot_id) FROM ducklake_snapshot")[0][0])

    def snapshots_of(self, action: Callable[[], Any]) -> int:
        """How many snapshots an action has made."""
        before = self.last_snapshot()
        action()
        return self.last_snapshot() - before


@pytest.fixture(scope="module")
def lake(
    tmp_path_factory: pytest.TempPathFactory, spark: SparkSession, request: pytest.FixtureRequest
) -> Iterator[NamedLake]:
    """A lake on SQLite, which others may open at the same time."""
    import ducklake_spark

    location = make_location("sqlite", tmp_path_factory.mktemp("named"))
    name = f"lake_{next(_numbers)}"
    ducklake_spark.register(spark, name, location.uri, data_path=location.data_path)
    yield NamedLake(name, spark, location)
    spark.catalog.setCurrentCatalog("spark_catalog")


@pytest.fixture
def table() -> str:
    """A name that no other test has."""
    return f"t{next(_numbers)}"
