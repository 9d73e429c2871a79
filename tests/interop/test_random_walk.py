"""Random walks: two connections of ours and DuckDB change one lake in turn.

Plain DuckDB takes the same steps on ordinary tables and says what every version and every feed
must show. WALK_SEED and WALK_STEPS give other walks; a failure prints the shortest history that
shows it.
"""

from __future__ import annotations

import itertools

import pytest

from support.walking.play import Player, seeds, steps
from support.walking.variants import VARIANTS

pytestmark = [pytest.mark.spark, pytest.mark.interop]


@pytest.fixture
def player(spark, catalog_kind, make_lake_location):
    numbers = itertools.count(1)
    return Player(spark, lambda: make_lake_location(catalog_kind, f"lake{next(numbers)}"))


# These two come by what was wrong once: deletes of a flush, files that are emptied.
@pytest.mark.parametrize("seed", seeds(1005, 2383))
def test_a_lake_shows_what_plain_tables_would_after_each_step(player, seed):
    walk(player, seed, steps(40), "usual")


@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize("catalog_kind", ["sqlite"], indirect=True)
@pytest.mark.parametrize("variant", ["tiny", "uncached"])
def test_small_tables_that_are_treated_as_large_show_the_same(player, variant, seed):
    walk(player, seed, steps(30), variant)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", seeds(*range(100, 104)))
@pytest.mark.parametrize("variant", VARIANTS)
def test_long_walks_show_the_same(player, variant, seed):
    walk(player, seed, steps(120), variant)


def walk(player, seed, count, variant):
    with VARIANTS[variant]():
        taken = player.play(seed, count)
    assert len(taken.log) > count / 2, "most of the steps can be taken"
