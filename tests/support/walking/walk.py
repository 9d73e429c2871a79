"""Takes steps on a lake and in plain DuckDB, and looks at the lake after each of them."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from support.walking.known import extension_tells, wants_new_session
from support.walking.looking import Difference, Looker
from support.walking.plain import DoesNotApply, Plain
from support.walking.steps import OURS

if TYPE_CHECKING:
    from support.walking.engines import Engines
    from support.walking.steps import Step

SIDES = (*OURS, "duckdb")


@dataclass(frozen=True)
class Pace:
    """How much is looked at after a step.

    Attributes:
        reads: at most so many old versions by us, in random order; one more by DuckDB.
        feeds: in which part of the steps a feed of ours is compared.
        totals: in which part a filter of ours.
        fresh: in which part a new connection in a new session reads.
    """

    reads: int = 2
    feeds: float = 0.15
    totals: float = 0.2
    fresh: float = 0.05


class Walk:
    """One lake, its plain twin, and the history so far."""

    def __init__(
        self,
        engines: Engines,
        *,
        pace: Pace | None = None,
        only: str = "",
        sides: tuple[str, ...] = SIDES,
    ) -> None:
        self.engines = engines
        self.sides = sides
        self.pace = pace or Pace()
        self.plain = Plain()
        self.look = Looker(self.plain, engines, only=only)
        self.log: list[str] = []
        self.kinds: list[str] = []
        self.expired: set[int] = set()
        self.seconds = 0.0

    def take(self, step: Step) -> bool:
        """Take a step and look at what it made; whether it applied."""
        try:
            self.plain.apply(step)
        except DoesNotApply:
            return False
        started = time.monotonic()
        versions = self._expiring(step)
        self.log.append(str(step).replace("{versions}", str(versions)))
        try:
            self.engines.take(step, versions)
        except Exception as error:
            check = f"{step.actor} refuses {step.kind}: {type(error).__name__}"
            raise Difference(check, str(error)) from error
        self.kinds.append(step.kind)
        self._remember(step, versions)
        self._look(step, random.Random(step.number))
        self.seconds += time.monotonic() - started
        return True

    def _expiring(self, step: Step) -> list[int]:
        if step.kind != "expire":
            return []
        old = sorted(self.plain.versions)[:-1]
        return sorted({old[int(part * len(old))] for part in step.parts if old}) or [10**6]

    def _remember(self, step: Step, versions: list[int]) -> None:
        for version in versions:
            if version in self.plain.versions:
                self.plain.forget(version)
                self.expired.add(version)
        texts = [statement.text for statement in step.statements]
        if wants_new_session(step.kind, step.actor, texts):
            self.engines.forget_duckdb()
        newest = self.engines.newest(step.actor)
        known = max(self.plain.versions, default=0)
        for version in range(known + 1, newest + 1):
            self.plain.keep(version)

    def _look(self, step: Step, rng: random.Random) -> None:
        """Some old versions in any order, then the newest, by us and by DuckDB."""
        sides = list(self.sides)
        if self.engines.alone and self.sides == SIDES:  # each change of sides opens the lake anew
            other = rng.random() < 0.15
            sides = ["duckdb"] if (step.actor == "duckdb") != other else [*OURS]
        ours = [side for side in sides if side in OURS]
        if ours:
            self._look_back(rng.choice(ours), rng, rng.randint(0, self.pace.reads))
            self._look_at_newest(rng.choice(ours), rng)
            self._look_further(rng.choice(ours), rng)
        if "duckdb" in sides:
            self._look_back("duckdb", rng, 2)
            self._look_at_newest("duckdb", rng, every=True)
            self._look_at_feed_of_extension(step)

    def _some(self, rng: random.Random) -> tuple[int, str] | None:
        """A version that is still there, a recent one mostly, and one of its tables."""
        versions = sorted(self.plain.versions)
        if rng.random() < 0.6:
            versions = versions[-6:]
        version = versions[int(rng.random() * len(versions))]
        tables = sorted(self.plain.versions[version].shapes)
        return (version, tables[int(rng.random() * len(tables))]) if tables else None

    def _look_back(self, who: str, rng: random.Random, count: int) -> None:
        for _ in range(count):
            chosen = self._some(rng)
            if chosen is not None:
                self.look.rows(who, chosen[1], chosen[0])

    def _look_at_newest(self, who: str, rng: random.Random, *, every: bool = False) -> None:
        newest = self.plain.newest
        seen = self.engines.newest(who)
        if seen != newest:
            raise Difference(f"{who} sees the newest", f"{seen}, not {newest}")
        tables = sorted(self.plain.versions[newest].shapes)
        for table in tables if every else [rng.choice(["t", *tables])]:
            if table in tables:
                self.look.rows(who, table, newest, newest=True)
        self.look.view(who)

    def _look_further(self, who: str, rng: random.Random) -> None:
        chosen = self._some(rng)
        if chosen is not None and rng.random() < self.pace.totals:
            self.look.totals(who, chosen[1], chosen[0], rng)
        if rng.random() < self.pace.feeds:
            self._look_at_feed(who, rng)
        if rng.random() < self.pace.fresh:
            self._look_back("fresh", rng, 1)
            self._look_at_newest("fresh", rng)
        gone = sorted(self.expired)
        if gone and rng.random() < 0.3:
            for side in (who, *(() if self.engines.alone else ("duckdb",))):
                self.look.expired(side, "t", gone[int(rng.random() * len(gone))])

    def _look_at_feed(self, who: str, rng: random.Random) -> None:
        chosen = self._some(rng)
        if chosen is None:
            return
        end, table = chosen
        start = end
        while start - 1 in self.plain.versions and rng.random() < 0.8:
            start -= 1
        if start > 1 and start - 1 not in self.plain.versions:
            return  # what was deleted then went with the snapshot
        if rng.random() < 0.7:
            self.look.feed(who, table, start, end)
        else:
            which = rng.choice(["insertions", "deletions"])
            self.look.half_feed(who, table, start, end, which)

    def _look_at_feed_of_extension(self, step: Step) -> None:
        """The extension tells what the step did, whoever took it."""
        if extension_tells(step.kind, self.kinds):
            newest = self.plain.newest
            for table in sorted(self.plain.versions[newest].shapes):
                if newest - 1 in self.plain.versions:
                    self.look.feed("duckdb", table, newest, newest)

    def finish(self) -> None:
        """Every version that is left, in a new session of each side; and the lake is sound."""
        self.engines.close()
        rng = random.Random(len(self.log))
        for who in (side for side in ("duckdb", "a") if side in self.sides):
            versions = sorted(self.plain.versions)
            if who == "a":
                versions = rng.sample(versions, min(len(versions), 8))
            for version in versions:
                for table in self.plain.versions[version].shapes:
                    self.look.rows(who, table, version)
        if "a" not in self.sides:
            return
        findings = self.engines.ours("a").check().collect()
        if findings:
            raise Difference("check()", str(findings))
