"""Writers at once, of ours and DuckDB's: every snapshot shows the commits up to it, and no others.

Each writer notes which snapshot its commits became. Plain DuckDB replays them in that order.
"""

from __future__ import annotations

import pytest

from support.walking.engines import Engines
from support.walking.many import in_processes, in_threads, verify, write_together
from support.walking.play import seeds, steps

pytestmark = [pytest.mark.spark, pytest.mark.interop]

IN_THREADS = {2: ("cursor", "duckdb"), 4: ("cursor", "own", "cursor", "duckdb")}
IN_PROCESSES = {2: ("bare", "duckdb"), 4: ("bare", "bare", "duckdb", "bare")}


@pytest.fixture
def engines(spark, location):
    found = Engines(spark, location)
    yield found
    found.close()


@pytest.mark.parametrize("seed", seeds(1))
@pytest.mark.parametrize("catalog_kind", ["sqlite"], indirect=True)
@pytest.mark.parametrize("writers", [2])
def test_writers_in_threads_lose_nothing(engines, writers, seed):
    kinds = IN_THREADS[writers]
    walk_in_threads(engines, kinds, seed, steps(12), reads=4)


@pytest.mark.parametrize("seed", seeds(1))
@pytest.mark.parametrize("catalog_kind", ["sqlite", "postgres"], indirect=True)
@pytest.mark.parametrize("writers", [4])
def test_writers_in_processes_lose_nothing(engines, writers, seed):
    walk_in_processes(engines, IN_PROCESSES[writers], seed, steps(25), reads=4)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", seeds(11, 12))
@pytest.mark.parametrize("catalog_kind", ["sqlite", "postgres"], indirect=True)
@pytest.mark.parametrize("writers", [2, 4])
def test_many_commits_of_threads_lose_nothing(engines, writers, seed):
    walk_in_threads(engines, IN_THREADS[writers], seed, steps(60), reads=20)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", seeds(11, 12))
@pytest.mark.parametrize("catalog_kind", ["sqlite", "postgres"], indirect=True)
@pytest.mark.parametrize("writers", [2, 4])
def test_many_commits_of_processes_lose_nothing(engines, writers, seed):
    walk_in_processes(engines, IN_PROCESSES[writers], seed, steps(150), reads=20)


def walk_in_threads(engines, kinds, seed, count, *, reads):
    plain, logs = write_together(engines, kinds, lambda: in_threads(engines, kinds, seed, count))
    assert all(log.commits for log in logs)
    verify(plain, engines, logs, seed=seed, reads=reads)


def walk_in_processes(engines, kinds, seed, count, *, reads):
    def let():
        return in_processes(engines.location, kinds, seed, count)

    plain, logs = write_together(engines, kinds, let)
    assert all(log.commits for log in logs)
    verify(plain, engines, logs, seed=seed, reads=reads)
