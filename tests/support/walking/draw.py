"""Draws the steps of a walk from its seed and from what the tables hold."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING

from support.walking import draw_rows, draw_shapes, draw_upkeep
from support.walking.steps import OURS, Statement, Step

if TYPE_CHECKING:
    from support.walking.plain import Plain

Maker = Callable[["Drawer"], list[Statement]]

# How often a kind of step is taken, and in how many of the walks at all: a lake that is never
# merged grows into other shapes than one that is merged all the time, and few kinds meet oftener.
KINDS: dict[str, tuple[Maker, int, float]] = {
    "small_insert": (draw_rows.small_insert, 6, 1),
    "large_insert": (draw_rows.large_insert, 4, 1),
    "append": (draw_rows.append, 2, 0.5),
    "delete": (draw_rows.delete, 6, 0.9),
    "update": (draw_rows.update, 4, 0.7),
    "merge_into": (draw_rows.merge_into, 3, 0.4),
    "truncate": (draw_rows.truncate, 1, 0.3),
    "overwrite": (draw_rows.overwrite, 1, 0.25),
    "alter": (draw_shapes.alter, 5, 0.5),
    "table": (draw_shapes.other_table, 2, 0.4),
    "view": (draw_shapes.view, 1, 0.3),
    "partition": (draw_shapes.partition, 2, 0.35),
    "sort": (draw_shapes.sort, 2, 0.35),
    "limit": (draw_upkeep.limit, 2, 0.4),
    "flush": (draw_upkeep.flush, 3, 0.6),
    "merge": (draw_upkeep.merge, 3, 0.4),
    "rewrite": (draw_upkeep.rewrite, 2, 0.4),
    "expire": (draw_upkeep.expire, 1, 0.3),
    "cleanup": (draw_upkeep.cleanup, 1, 0.3),
    "checkpoint": (draw_upkeep.checkpoint, 1, 0.25),
    "together": (lambda d: d.together(), 5, 0.5),
}
IN_TRANSACTIONS = ("small_insert", "large_insert", "append", "delete", "update", "merge_into")


class Drawer:
    """What a walk may do next. Steps are drawn with the tables of plain DuckDB in view."""

    def __init__(self, seed: int, plain: Plain, *, actors: tuple[str, ...] = ()) -> None:
        self.random = random.Random(seed)
        self.plain = plain
        self.actors = actors or (*OURS, "duckdb")
        self.actor = ""
        self.next_key = 0
        self.next_name = 0
        self.taken: set[str] = set()
        self.layout_keys: dict[str, set[str]] = {}  # columns that partitions and sort orders use
        self.renumbers = False  # files hold updated or sorted rows
        self.kinds = {
            kind: weight for kind, (_, weight, part) in KINDS.items() if self.random.random() < part
        }
        self._ending = ""
        self.parts: tuple[float, ...] = ()

    def first(self) -> Step:
        """The step that all walks begin with."""
        self.actor = self.random.choice(self.actors)
        return Step(0, self.actor, "create", (draw_shapes.create(self, "t"),))

    def next(self, number: int) -> Step:
        """Draw a step."""
        while True:
            (kind,) = self.random.choices(list(self.kinds), list(self.kinds.values()))
            self.actor = self.random.choice(self.actors)
            self._ending, self.parts = "", ()
            statements = KINDS[kind][0](self)
            if statements and self.actor:
                self.taken.add(kind)
                return Step(number, self.actor, kind, tuple(statements), self._ending, self.parts)

    @property
    def is_ours(self) -> bool:
        """Whether one of our connections takes the step that is being drawn."""
        return self.actor in OURS

    def must_be_ours(self) -> None:
        """Let one of our connections take the step; nobody does if there is none."""
        if not self.is_ours:
            ours = [actor for actor in self.actors if actor in OURS]
            self.actor = self.random.choice(ours) if ours else ""

    def table(self) -> str:
        """One of the tables, the first one mostly."""
        return self.random.choice(["t", *self.plain.numbers])

    def new_key(self) -> int:
        """A key that no row has had."""
        self.next_key += 1
        return self.next_key - 1

    def new_name(self) -> str:
        """A name that no column has had."""
        self.next_name += 1
        return f"c{self.next_name}"

    def together(self) -> list[Statement]:
        """Several statements as one transaction."""
        kinds = [k for k in IN_TRANSACTIONS if k in self.kinds]
        chosen = [self.random.choice(kinds) for _ in range(self.random.randint(2, 4))]
        if not self.is_ours:  # "adds then updates"
            merges = [k for k in chosen if k == "merge_into"][:1]
            others = [k for k in chosen if k not in ("merge_into", "update", "append")]
            chosen = [*(k for k in chosen if k == "update"), *merges, *others]
        statements = [text for kind in chosen for text in KINDS[kind][0](self)]
        if "alter" in self.kinds and self.random.random() < 0.3:
            statements = [*draw_shapes.alter(self, in_transaction=True), *statements]
        if not statements:
            return []
        self._ending = "ROLLBACK" if self.random.random() < 0.25 else "COMMIT"
        return statements
