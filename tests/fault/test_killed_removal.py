"""Removal that is killed at any moment leaves a lake that is whole, and can be repeated."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.faults import die_while_removing, processes, remove_all, wait_for_the_server
from support.writing import Writer, open_session, table_files

LAST = 300


def build(location, number: int) -> None:
    """Something to expire, something to clean up, something that nobody knows."""
    session = open_session(location)
    writer = Writer(session)
    writer.create_table("gone")
    writer.insert(1, 2, table="gone")
    writer.insert_inlined(3, table="gone")
    writer.drop_table("gone")
    writer.insert(number)
    (Path(location.data_path) / f"stray{number}.parquet").write_bytes(b"stray")
    session.close_lakes()


def run_and_kill(location, at: int) -> bool:
    """Whether the removal came to its end before its death."""
    process = processes().Process(target=die_while_removing, args=(location, at))
    process.start()
    process.join(60)
    assert process.exitcode in (0, -9)
    return process.exitcode == 0


def column(db, table: str, name: str) -> set:
    return {row[0] for row in db.fetch(f"SELECT {name} FROM {db.table(table)}")}


def check_whole(location, rows: int) -> None:
    """Every file that a snapshot has is there, and no part of a table without the rest."""
    session = open_session(location)
    db = session.current_lake().db
    wait_for_the_server(db)
    assert Writer(session).count() == rows
    stored = {Path(path).name for path in table_files(location)}
    assert {Path(path).name for path in column(db, "ducklake_data_file", "path")} <= stored
    tables = column(db, "ducklake_table", "table_id")
    for name in ("ducklake_column", "ducklake_data_file", "ducklake_table_stats"):
        assert column(db, name, "table_id") <= tables, name
    files = column(db, "ducklake_data_file", "data_file_id")
    assert column(db, "ducklake_file_column_stats", "data_file_id") == files
    assert not files & column(db, "ducklake_files_scheduled_for_deletion", "data_file_id")
    registered = column(db, "ducklake_inlined_data_tables", "table_name")
    assert all(db.has_table(name) for name in registered)
    session.close_lakes()


@pytest.mark.parametrize("catalog_kind", ["sqlite", "postgres", "duckdb"], indirect=True)
def test_killed_at_any_moment_leaves_a_whole_lake_and_can_be_repeated(location):
    session = open_session(location)
    Writer(session).create_table("t")
    session.close_lakes()
    step = 1 if location.kind == "sqlite" else 4  # the others are slower
    for rows, at in enumerate(range(1, LAST, step), 1):
        build(location, at)
        finished = run_and_kill(location, at)
        check_whole(location, rows=rows)
        session = open_session(location)
        db = session.current_lake().db
        remove_all(session.current_lake())
        assert len(column(db, "ducklake_snapshot", "snapshot_id")) == 1
        assert column(db, "ducklake_files_scheduled_for_deletion", "path") == set()
        kept = {Path(path).name for path in column(db, "ducklake_data_file", "path")}
        assert {Path(path).name for path in table_files(location)} == kept
        session.close_lakes()
        check_whole(location, rows=rows)
        if finished:
            break
    assert finished
    assert at > 30, "there are many moments to die at"
