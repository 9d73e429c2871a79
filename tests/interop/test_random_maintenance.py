"""Maintenance in any order, by either engine, on lakes with a random past: nothing changes."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest

from support.walk import Step, Walk
from support.walkers import Engines, Walker

pytestmark = [pytest.mark.spark, pytest.mark.interop]

STEPS = int(os.environ.get("DUCKLAKE_WALK_STEPS", "14"))
SEEDS = [int(seed) for seed in os.environ.get("DUCKLAKE_WALK_SEED", "1").split(",")]
CALLS = {
    "flush": "CALL ducklake_flush_inlined_data('lake')",
    "merge": "CALL ducklake_merge_adjacent_files('lake')",
    "rewrite": "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.2)",
    "cleanup": "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)",
    "orphans": "CALL ducklake_delete_orphaned_files('lake', cleanup_all => true)",
    "checkpoint": "CHECKPOINT lake",
}
MERGING = ("merge", "checkpoint")
FLUSHING = ("flush", "checkpoint")
REWRITING = ("rewrite", "checkpoint")


@pytest.mark.parametrize("seed", SEEDS)
def test_maintenance_in_any_order_changes_no_row_of_any_snapshot(spark, location, seed):
    rng = random.Random(seed)
    engines = Engines(spark, location)
    walker = Walker(Walk(seed), engines, lookers=("duckdb",))
    try:
        walker.start()
        walker.take_steps(STEPS)
        for kind in rng.choices(["expire", *CALLS], k=STEPS // 2):
            maintain(walker, rng, kind)
        walker.look_back()
        walker.check_lake()
    except BaseException:
        print(f"seed {seed}, {STEPS} steps on {location.kind}", *walker.log, sep="\n")
        raise
    finally:
        engines.close()


def maintain(walker: Walker, rng: random.Random, kind: str) -> None:
    """One call, after which all snapshots that are left show what they showed."""
    engine = rng.choice(["spark", "duckdb"])
    walk = walker.walk
    if (kind in MERGING and walk.renumbers) or (kind in FLUSHING and walk.rewritten):
        engine = "spark"
    walk.rewritten |= kind in REWRITING
    orphan = plant(walker) if kind == "orphans" else None
    text = expire(walker, rng) if kind == "expire" else CALLS[kind]
    walker.take(Step(engine, (text,), kind))
    walker.look_back(engines=("duckdb",))
    assert orphan is None or not orphan.exists()


def expire(walker: Walker, rng: random.Random) -> str:
    """Forget some snapshots, or all but the newest."""
    old = sorted(walker.past)[:-1]
    chosen = old if rng.random() < 0.2 else rng.sample(old, min(len(old), rng.randint(1, 4)))
    for snapshot in chosen:
        del walker.past[snapshot]
    return f"CALL ducklake_expire_snapshots('lake', versions => {chosen or [10**6]})"


def plant(walker: Walker) -> Path | None:
    """A file that no snapshot knows."""
    files = sorted(Path(walker.engines.location.data_path).rglob("*.parquet"))
    if not files:
        return None
    copy = files[0].with_name("ducklake-nobody.parquet")
    shutil.copy(files[0], copy)
    return copy
