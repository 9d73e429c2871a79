"""Connections interleaved step by step: every pair of operations, and threes of them.

All begin, all do their work on what they see, then they commit one after the other. Each ends as
the matrix says, and the lake is then as if those that committed had come one after the other.
"""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from ducklake_spark.operations.check.run import check_lake
from ducklake_spark.parquet.verify import verify_file
from support.interleaving import (
    MATRIX,
    OPERATIONS,
    Copies,
    do,
    is_refused,
    state_of,
)
from support.invariants import committed_files
from support.writing import Writer

NAMES = list(OPERATIONS)
# What refers to an object that another has renamed meanwhile holds on to the object, not its name:
# no serial order of the statements does that.
BY_IDENTITY: dict[tuple[str, str], dict[str, Any]] = {
    ("rm_view", "ren_view"): {"view s.v": None, "view s.w": None},
    ("rm_table", "ren_table"): {"table s.t": None, "table s.r": None},
    ("replace", "ren_table"): {"table s.r": None},
}


@pytest.fixture
def copies(location, request) -> Copies:
    server = request.getfixturevalue("postgres_server") if location.kind == "postgres" else None
    return Copies(location, server)


def run(copies: Copies, operations: tuple[str, ...]) -> list[str]:
    """Interleave; returns those that committed, in their order, after looking at the lake."""
    before = copies.files()
    with copies.sessions(len(operations)) as sessions:
        for session in sessions:
            session.begin()
        for session, operation in zip(sessions, operations, strict=True):
            do(session, operation)
        first = sessions[0].current_lake().latest().snapshot_id
        committed = [
            operation
            for session, operation in zip(sessions, operations, strict=True)
            if not is_refused(session)
        ]
        lake = sessions[-1].current_lake()
        assert lake.latest().snapshot_id == first + len(committed), operations
        assert not any(session.in_transaction for session in sessions)
        written = {path.split("/")[-1] for path in copies.files() - before}
        assert written <= committed_files(lake.db), "a refused transaction leaves no file"
        if committed[1:]:
            check_sound(lake, operations)
        check_serial(copies, state_of(sessions[-1]), committed)
    return committed


def check_sound(lake, operations: tuple[str, ...]) -> None:
    """Catalog and files agree; files of the other copies lie in the same place."""
    found = check_lake(lake, lambda claims: [verify_file(claim) for claim in claims]).rows
    assert [row for row in found if row[1] != "orphans"] == [], operations


def check_serial(copies: Copies, state: dict[str, Any], committed: list[str]) -> None:
    """The lake is as after the operations one after the other, in one order or another.

    A transaction that did not see what another did can stand for one that came before it.
    """
    identity = BY_IDENTITY.get(tuple(reversed(committed)))
    if identity is not None:
        assert {key: state.get(key) for key in identity} == identity, committed
        return
    orders = itertools.permutations(committed)
    assert any(copies.serial(*order) == state for order in orders), committed


def expected(mine: str, theirs: str) -> bool:
    return MATRIX[mine, theirs] in "X*"


@pytest.mark.thorough
@pytest.mark.parametrize("catalog_kind", ["sqlite", "duckdb", "postgres"])
def test_every_pair_ends_as_the_matrix_says_and_as_one_after_the_other(copies):
    pairs = list(itertools.product(NAMES, repeat=2))
    outcome = {(m, t): m not in run(copies, (t, m))[1:] for m, t in pairs}
    assert outcome == {(m, t): expected(m, t) for m, t in pairs}


# Every operation in both roles.
SOME = [(mine, NAMES[(i * 5 + 3) % len(NAMES)]) for i, mine in enumerate(NAMES)]
MEETING = ("delete", "note", "update", "truncate", "flush", "merge", "rewrite", "add_col")


def test_pairs_end_as_the_matrix_says_on_every_catalog(copies):
    pairs = SOME + list(itertools.product(MEETING[::2], MEETING[1::2]))
    step = {"sqlite": 1, "postgres": 3, "duckdb": 6}[copies.location.kind]  # slow to copy
    outcome = {(m, t): m not in run(copies, (t, m))[1:] for m, t in pairs[::step]}
    assert outcome == {(m, t): expected(m, t) for m, t in outcome}


def test_threes_of_connections_end_as_the_matrix_says(copies):
    """Who is refused is no obstacle to who comes after."""
    choose = random.Random(7)
    count = {"sqlite": 60, "postgres": 8, "duckdb": 4}[copies.location.kind]
    refused = 0
    for _ in range(count):
        operations = tuple(choose.sample(NAMES, 3))
        allowed: list[str] = []
        for mine in operations:
            if not any(expected(mine, theirs) for theirs in allowed):
                allowed.append(mine)
        refused += 3 - len(allowed)
        if any(pair in BY_IDENTITY for pair in itertools.permutations(allowed, 2)):
            continue
        assert run(copies, operations) == allowed, operations
    assert refused


@pytest.mark.parametrize(("row", "limit"), [(100, 0), (120, 10), (301, 10)])
def test_lost_update_of_rows_does_not_happen(copies, row, limit):
    """Two update the same row, in a file or inlined, on the strength of the same state."""
    with copies.sessions(2) as [one, other]:
        one.begin()
        other.begin()
        Writer(one, "s").update(row, inline_limit=limit)
        Writer(other, "s").update(row, inline_limit=limit)
        Writer(other, "s").delete(row + 1, inline_limit=limit)
        one.commit()
        assert is_refused(other)
        found = {i: name for _, i, name in Writer(other, "s").rows()}
        assert (found[row], found[row + 1]) == (f"u{row}", f"n{row + 1}")
        check_sound(other.current_lake(), ("update", "update"))


def test_deleted_rows_stay_in_a_transaction_that_has_begun(copies):
    """Neither deletes nor what compaction does with their files disturb who reads on."""
    with copies.sessions(2) as [one, other]:
        one.begin()
        before = Writer(one, "s").ids()
        for operation in ("delete", "rewrite", "merge", "flush", "truncate"):
            other.begin()
            do(other, operation)
            other.commit()
            assert Writer(one, "s").ids() == before, operation
        one.rollback()
        assert Writer(one, "s").ids() == []
