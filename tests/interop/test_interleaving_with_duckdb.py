"""DuckDB is the other connection, in both orders, for every pair of operations.

The matrix says who is refused; where DuckDB commits what we refuse, its lake may be broken after
it, so that nothing more is asked of it.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from support.interleaving import (
    INLINE_LIMIT,
    MATRIX,
    OPERATIONS,
    Copies,
    do,
    is_refused,
    prepare,
    state_of,
)
from support.oracle import Oracle
from support.writing import Writer, open_session

pytestmark = pytest.mark.interop

NAMES = list(OPERATIONS)
PAIRS = list(itertools.product(NAMES, repeat=2))
SOME = PAIRS[::61]
# What two transactions do to the same rows.
ROWS = ("inline", "delete", "note", "update", "flush", "merge", "rewrite", "add_col", "ren_table")


def rows_of_duckdb(oracle: Oracle, table: str) -> list[tuple]:
    found = oracle.sql(f"SELECT rowid, COLUMNS(*) FROM {table}")
    return sorted((row[:3] for row in found), key=repr)


def check_rows(state: dict, oracle: Oracle, pair: tuple[str, str]) -> None:
    """Both read the same rows, with the same ids."""
    for name, seen in state.items():
        if name.startswith("table "):
            assert rows_of_duckdb(oracle, name.removeprefix("table ")) == seen[-1], pair


def we_commit_last(location, mine: str, theirs: str) -> bool:
    """Whether we are refused after a commit of DuckDB."""
    session = open_session(location, data_inlining_row_limit=INLINE_LIMIT)
    oracle = Oracle(location, data_inlining_row_limit=INLINE_LIMIT)
    try:
        session.begin()
        do(session, mine)
        oracle.sql(OPERATIONS[theirs][1].format(s="s"))
        refused = is_refused(session)
        check_rows(state_of(session), oracle, (mine, theirs))
    finally:
        session.close_lakes()
        oracle.close()
    return refused


def run_last(make_lake_location, pairs: list[tuple[str, str]]) -> None:
    copies = Copies(make_lake_location("sqlite", "lake"))
    outcome = {}
    for pair in pairs:
        location = copies.copy()
        outcome[pair] = we_commit_last(location, *pair)
        Path(location.uri.rsplit(":", 1)[1]).unlink()
    assert outcome == {pair: MATRIX[pair] in "X*" for pair in pairs}


def test_we_end_as_the_matrix_says_after_duckdb(make_lake_location):
    run_last(make_lake_location, SOME)


@pytest.mark.thorough
def test_we_end_as_the_matrix_says_after_duckdb_in_every_pair(make_lake_location):
    run_last(make_lake_location, PAIRS)


def run_first(make_lake_location, pairs: list[tuple[str, str]]) -> None:
    """On PostgreSQL only: on SQLite DuckDB's open transaction keeps others from committing."""
    location = make_lake_location("postgres", "lake")
    ours = open_session(location, data_inlining_row_limit=INLINE_LIMIT)
    for number, _ in enumerate(pairs):
        prepare(Writer(ours, f"s{number}"))
    oracle = Oracle(location, data_inlining_row_limit=INLINE_LIMIT)
    outcome = {}
    for number, (mine, theirs) in enumerate(pairs):
        schema = f"s{number}"
        oracle.sql("BEGIN")
        oracle.sql(OPERATIONS[mine][1].format(s=schema))
        ours.begin()
        do(ours, theirs, schema)
        ours.commit()
        outcome[mine, theirs] = duckdb_is_refused(oracle)
    assert outcome == {pair: MATRIX[pair] == "X" for pair in pairs}
    check_rows(state_of(ours), oracle, ("any", "any"))
    ours.close_lakes()
    oracle.close()


def duckdb_is_refused(oracle: Oracle) -> bool:
    import duckdb

    try:
        oracle.sql("COMMIT")
    except duckdb.TransactionException:
        return True
    return False


# DuckDB takes the inlined rows away when it flushes, before COMMIT: who changes them waits for it.
WAITING = {("flush", theirs) for theirs in ("note_row", "up_row", "truncate", "flush")}


def harmless(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Without those after which a lake of DuckDB cannot be read, and those that wait for it."""
    return [pair for pair in pairs if MATRIX[pair] != "*" and pair not in WAITING]


def test_duckdb_ends_as_the_matrix_says_after_us(make_lake_location):
    run_first(make_lake_location, harmless(list(itertools.product(ROWS[::2], ROWS[1::2]))))


@pytest.mark.thorough
@pytest.mark.parametrize("mine", NAMES)
def test_duckdb_ends_as_the_matrix_says_after_us_in_every_pair(make_lake_location, mine):
    run_first(make_lake_location, harmless([(mine, theirs) for theirs in NAMES]))
