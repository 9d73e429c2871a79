"""Random walks: both engines change one lake in turn, and always agree on all of it.

Longer ones are had with DUCKLAKE_WALK_STEPS; others with DUCKLAKE_WALK_SEED. A failure prints what
led to it.
"""

from __future__ import annotations

import os
import random

import pytest

from support.walk import Walk
from support.walkers import Engines, Walker

pytestmark = [pytest.mark.spark, pytest.mark.interop]

STEPS = int(os.environ.get("DUCKLAKE_WALK_STEPS", "30"))
SEEDS = [int(seed) for seed in os.environ.get("DUCKLAKE_WALK_SEED", "1").split(",")]


@pytest.mark.parametrize("seed", SEEDS)
def test_both_engines_agree_on_a_lake_that_they_change_in_turn(spark, location, seed):
    engines = Engines(spark, location)
    walker = Walker(Walk(seed), engines)
    try:
        walker.start()
        walker.take_steps(STEPS)
        walker.look_back()
        check_feeds(walker, random.Random(seed))
        walker.check_lake()
    except BaseException:
        print(f"seed {seed}, {STEPS} steps on {location.kind}", *walker.log, sep="\n")
        raise
    finally:
        engines.close()


def check_feeds(walker: Walker, rng: random.Random) -> None:
    last = max(walker.past)
    pairs = [(a, b) for a in range(1, last + 1) for b in range(a, last + 1)]
    for start, end in [(1, last), *rng.sample(pairs, min(len(pairs), 5))]:
        for name in walker.past[end].tables:
            walker.check_feed(name, start, end)
