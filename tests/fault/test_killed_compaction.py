"""A compaction that is killed at any moment leaves every snapshot as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.faults import die_while_compacting, processes, wait_for_the_server
from support.writing import Keeper, Writer, open_session, table_files

LAST = 200


def build(location) -> None:
    session = open_session(location)
    writer = Writer(session)
    writer.create_table("t")
    for number in range(3):
        writer.insert(number * 2, number * 2 + 1)
    writer.insert_inlined(100)
    writer.insert_inlined(101)
    session.close_lakes()


def run_and_kill(location, at: int) -> bool:
    """Whether the work came to its end before its death."""
    process = processes().Process(target=die_while_compacting, args=(location, at))
    process.start()
    process.join(120)
    assert process.exitcode in (0, -9)
    return process.exitcode == 0


def check_whole(location) -> None:
    """The files and rows of the catalog are there, each row once, at every snapshot."""
    session = open_session(location)
    lake = session.current_lake()
    wait_for_the_server(lake.db)
    assert Writer(session).count() == 8
    stored = {Path(path).name for path in table_files(location)}
    files = lake.db.fetch(f"SELECT path, data_file_id FROM {lake.db.table('ducklake_data_file')}")
    assert {Path(path).name for path, _ in files} <= stored
    scheduled = lake.db.fetch(
        f"SELECT data_file_id FROM {lake.db.table('ducklake_files_scheduled_for_deletion')}"
    )
    assert not {row[0] for row in scheduled} & {file_id for _, file_id in files}
    session.close_lakes()


@pytest.mark.parametrize("catalog_kind", ["sqlite", "duckdb"], indirect=True)
def test_a_compaction_that_is_killed_leaves_all_rows(location):
    build(location)
    for at in range(1, LAST, 3):
        if run_and_kill(location, at):
            break
        check_whole(location)
    else:
        pytest.fail("the work never came to its end")
    check_whole(location)
    session = open_session(location)
    assert Keeper(session).flush() == Keeper(session).merge() == ()
    session.close_lakes()
