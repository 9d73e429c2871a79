"""A walk that meets a fault tells the few steps that lead to it."""

from __future__ import annotations

import itertools
import random

import pytest

from support.walking.engines import Engines
from support.walking.play import Player
from support.walking.shrink import shrink

pytestmark = pytest.mark.interop


class Forgetful(Engines):
    """DuckDB that says it deletes, and does not."""

    def _run(self, session, statement, versions):
        if not statement.text.startswith("DELETE"):
            super()._run(session, statement, versions)


def test_a_lost_delete_is_told_with_the_steps_that_are_needed(make_lake_location):
    numbers = itertools.count(1)
    player = Player(
        None,
        lambda: make_lake_location("sqlite", f"lake{next(numbers)}"),
        sides=("duckdb",),
        engines=Forgetful,
    )
    with pytest.raises(AssertionError, match="duckdb reads rows") as told:
        player.play(3, 60)
    history = str(told.value)
    assert history.count("\n-- ") <= 5, history  # of nine
    assert "CREATE TABLE" in history
    assert "DELETE FROM" in history


def test_walks_of_duckdb_alone_agree_with_plain_tables(make_lake_location):
    player = Player(None, lambda: make_lake_location("sqlite", "lake"), sides=("duckdb",))
    assert len(player.play(5, 30).log) > 20


@pytest.mark.parametrize("seed", range(5))
def test_a_list_is_left_with_what_is_needed_alone(seed):
    needed = set(random.Random(seed).sample(range(80), 4))
    assert set(shrink(range(80), lambda left: needed <= set(left), seconds=30)) == needed
