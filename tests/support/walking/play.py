"""Plays a whole walk; a difference is told with the shortest history that shows it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from support.walking.draw import Drawer
from support.walking.engines import Engines
from support.walking.looking import Difference
from support.walking.shrink import shrink
from support.walking.walk import SIDES, Pace, Walk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from support.lakes import LakeLocation
    from support.walking.steps import Step

SHRINKING_SECONDS = float(os.environ.get("WALK_SHRINK", "240"))


def seeds(*usual: int) -> list[int]:
    """The seeds of a test; WALK_SEED gives others, such as ``5``, ``3,8`` or ``100-120``."""
    given = os.environ.get("WALK_SEED")
    if not given:
        return list(usual)
    found: list[int] = []
    for part in given.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def steps(usual: int) -> int:
    """How many steps a walk has; WALK_STEPS gives another number."""
    return int(os.environ.get("WALK_STEPS", usual))


@dataclass
class Player:
    """Plays walks on new lakes."""

    spark: SparkSession | None
    new_lake: Callable[[], LakeLocation]
    pace: Pace | None = None
    sides: tuple[str, ...] = SIDES  # who takes steps and looks
    engines: Callable[..., Engines] = Engines

    def play(self, seed: int, count: int) -> Walk:
        """Take so many steps; raises with the shortest history if something differs."""
        taken: list[Step] = []
        engines = self.engines(self.spark, self.new_lake())
        walk, ended = Walk(engines, pace=self.pace, sides=self.sides), False
        try:
            draw = Drawer(seed, walk.plain, actors=self.sides)
            step = draw.first()
            for number in range(1, count + 1):
                taken.append(step)
                walk.take(step)
                step = draw.next(number)
            ended = True
            walk.finish()
        except Difference as difference:
            engines.close()
            self._tell(seed, taken, walk, difference, ended=ended)
        finally:
            engines.close()
            walk.plain.close()
        return walk

    def replay(
        self, taken: Sequence[Step], *, only: str = "", to_the_end: bool = True
    ) -> tuple[Walk, Difference | None]:
        """Take given steps on a new lake."""
        engines = self.engines(self.spark, self.new_lake())
        walk = Walk(engines, pace=self.pace, only=only, sides=self.sides)
        try:
            for step in taken:
                walk.take(step)
            if to_the_end:
                walk.finish()
        except Difference as difference:
            return walk, difference
        finally:
            engines.close()
            walk.plain.close()
        return walk, None

    def _tell(
        self, seed: int, taken: list[Step], walk: Walk, difference: Difference, *, ended: bool
    ) -> None:
        shortest: list[tuple[Walk, Difference]] = [(walk, difference)]

        def fails(left: Sequence[Step]) -> bool:
            again, found = self.replay(left, only=difference.check, to_the_end=ended)
            if found is not None and found.check == difference.check:
                shortest.append((again, found))
                return True
            return False

        if SHRINKING_SECONDS:
            shrink(taken, fails, seconds=SHRINKING_SECONDS)
        last, found = shortest[-1]
        history = "\n".join(last.log)
        kind = walk.engines.location.kind
        raise AssertionError(
            f"A walk with seed {seed} on {kind} fails after {len(taken)} steps; {len(last.log)} "
            f"of them are enough:\n{history}\n{found}"
        ) from difference
