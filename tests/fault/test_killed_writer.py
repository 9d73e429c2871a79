"""A writer that is killed leaves the lake as it was or as it was to become, and no third state."""

from __future__ import annotations

import pytest

from support.faults import die_while_writing, processes, wait_for_the_server
from support.invariants import check_catalog, committed_files
from support.writing import Writer, open_session, table_files, transaction

LAST = 200  # far more things than happen in the transaction


def run_and_kill(location, at: int) -> bool:
    """Whether the writer came to its end before its death."""
    process = processes().Process(target=die_while_writing, args=(location, at))
    process.start()
    process.join(60)
    assert process.exitcode in (0, -9)
    return process.exitcode == 0


@pytest.mark.parametrize("catalog_kind", ["sqlite", "postgres", "duckdb"], indirect=True)
def test_killed_at_any_moment_leaves_the_old_state_or_the_new(location):
    with_session = open_session(location)
    Writer(with_session).create_table("t")
    with_session.close_lakes()
    rows, made = 0, 0
    for at in range(1, LAST):
        finished = run_and_kill(location, at)
        with location.database(create=False) as db:
            wait_for_the_server(db)
            check_catalog(db)
            known = committed_files(db)
        session = open_session(location)
        now = Writer(session).count(), Writer(session).count("u")
        assert now in ((rows, None), (rows + 3, 1)), at
        files = {path.split("/")[-1] for path in table_files(location)}
        assert known <= files, "a committed file is never missing"
        if now[1]:
            rows, made = rows + 3, made + 1
            assert files == known, "what is committed leaves no orphan"
            Writer(session).drop_table("u")
        for path in table_files(location):
            if path.split("/")[-1] not in known:
                remove(path)
        with transaction(session):
            Writer(session).insert(0)
        rows += 1
        session.close_lakes()
        if finished:
            break
    assert finished
    assert at > 20, "there are many moments to die at"
    assert made >= 1


def remove(path: str) -> None:
    from pathlib import Path

    Path(path).unlink()
