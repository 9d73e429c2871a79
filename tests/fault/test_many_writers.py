"""Processes that write to one lake at the same time: nothing is lost, nothing comes twice."""

from __future__ import annotations

import pytest

from support.faults import append_many, delete_many, processes
from support.invariants import check_catalog, committed_files
from support.writing import Writer, open_session, table_files

WRITERS, COMMITS = 8, 12


@pytest.mark.parametrize("catalog_kind", ["sqlite", "postgres"], indirect=True)
def test_eight_processes_append_to_one_table(location):
    session = open_session(location)
    Writer(session).create_table("t")
    context = processes()
    start = context.Barrier(WRITERS)
    writers = [
        context.Process(target=append_many, args=(location, number, COMMITS, start))
        for number in range(WRITERS)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)
    assert [writer.exitcode for writer in writers] == [0] * WRITERS
    commits = WRITERS * COMMITS
    assert Writer(session).count() == commits * 2
    db = session.current_lake().db
    check_catalog(db)
    assert session.current_lake().latest().snapshot_id == commits + 1
    files = {path.split("/")[-1] for path in table_files(location)}
    assert files == committed_files(db)
    assert len(files) == commits
    bounds = db.fetch(
        "SELECT min_value, max_value FROM "
        f"{db.table('ducklake_table_column_stats')} WHERE column_id = 1"
    )
    assert bounds == [("0", str(commits * 2 - 1))]
    session.close_lakes()


@pytest.mark.parametrize("catalog_kind", ["sqlite", "postgres"], indirect=True)
def test_eight_processes_delete_from_one_table(location):
    session = open_session(location)
    Writer(session).create_table("t")
    Writer(session).insert(*range(50))
    Writer(session).insert(*range(50, 100))
    context = processes()
    start = context.Barrier(WRITERS)
    wanted = [[number + 10 * each for each in range(5)] for number in range(WRITERS)]
    writers = [
        context.Process(target=delete_many, args=(location, number, ids, start))
        for number, ids in enumerate(wanted)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(240)
    assert [writer.exitcode for writer in writers] == [0] * WRITERS
    gone = {each for ids in wanted for each in ids}
    assert Writer(session).ids() == [each for each in range(100) if each not in gone]
    assert Writer(session).count() == 100 - len(gone)
    db = session.current_lake().db
    check_catalog(db)
    assert session.current_lake().latest().snapshot_id == 3 + len(gone)
    assert {path.split("/")[-1] for path in table_files(location)} == committed_files(db)
    session.close_lakes()
