"""Fixtures of all tests. Nothing heavy is imported or started before a test asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from ducklake_spark.limits import Limits, limits, set_limits
from support.lakes import CATALOG_KINDS, LakeLocation, make_location

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from support.postgres import PostgresServer


# How long an example takes says more of what else the machine does than of the code.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


@pytest.fixture
def lower() -> Iterator[Callable[..., Limits]]:
    """Puts other limits in force until the test ends: ``lower(many_files=2)``."""
    before = limits()

    def put(**changed: int) -> Limits:
        set_limits(replace(limits(), **changed))
        return limits()

    yield put
    set_limits(before)


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A real PostgreSQL server, started when the first test needs it."""
    from support.postgres import PostgresServer

    server = PostgresServer(tmp_path_factory.mktemp("postgres"))
    yield server
    server.stop()


@pytest.fixture
def postgres_database(postgres_server: PostgresServer) -> str:
    """The libpq string of a new, empty database."""
    return postgres_server.make_database()


@pytest.fixture(params=CATALOG_KINDS)
def catalog_kind(request: pytest.FixtureRequest) -> str:
    """Each kind of metadata database in turn.

    A test that wants others says ``@pytest.mark.parametrize("catalog_kind", [...],
    indirect=True)``.
    """
    return request.param


@pytest.fixture
def make_lake_location(
    tmp_path: Path, request: pytest.FixtureRequest
) -> Callable[[str, str], LakeLocation]:
    """Makes places for further lakes: ``make_lake_location("sqlite", "other")``."""

    def make(kind: str, name: str = "lake") -> LakeLocation:
        if kind != "postgres":
            return make_location(kind, tmp_path, name=name)
        server = request.getfixturevalue("postgres_server")
        return make_location(kind, tmp_path, server.make_database(), name)

    return make


@pytest.fixture
def location(
    catalog_kind: str, make_lake_location: Callable[[str, str], LakeLocation]
) -> LakeLocation:
    """A place for a new lake in each kind of metadata database."""
    return make_lake_location(catalog_kind, "lake")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one Spark session of this worker."""
    from support.spark import start_spark

    session = start_spark(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()
