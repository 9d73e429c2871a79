"""A catalog that is restored, or made anew, under an open connection: numbers mean other things."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from ducklake_spark.catalog.snapshots import load_snapshots
from ducklake_spark.errors import TableNotFound, TransactionConflict
from ducklake_spark.operations.contents import load_contents
from support.writing import Writer, open_session


@pytest.fixture
def location(make_lake_location):
    return make_lake_location("sqlite", "lake")


@pytest.fixture
def restore(location, tmp_path):
    """Takes a backup of the catalog when it is made; called, it puts it back in place."""
    path = location.uri.removeprefix("ducklake:sqlite:")
    with closing(sqlite3.connect(path)) as catalog:
        assert catalog.execute("SELECT count(*) FROM sqlite_master").fetchone() is not None
    backup = str(tmp_path / "backup.sqlite")

    def copy(source: str, target: str) -> None:
        with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
            old.backup(new)

    def take() -> None:
        copy(path, backup)

    def put_back() -> None:
        copy(backup, path)

    put_back.take = take
    return put_back


@pytest.fixture
def session(location):
    made = open_session(location)
    yield made
    made.close_lakes()


def columns(session, table, **at):
    version = session.table_version(("lake", "main", table), **at)
    return [column.name for column in version.table.schema.columns]


def rows(session, table):
    contents = load_contents(session.table_version(("lake", "main", table)), lazily=True)
    return sum(file.record_count for file in contents.files)


def other_history(location, *tables):
    """What somebody else makes of the restored catalog: the same numbers, other things."""
    other = open_session(location)
    for table in tables:
        Writer(other).create_table(table)
    other.close_lakes()


@pytest.mark.parametrize("commits", [1, 2, 3])
def test_tables_of_the_history_that_is_there_are_shown(session, location, restore, commits):
    """The restored catalog has fewer, as many or more snapshots than the connection has seen."""
    Writer(session).create_table("t")
    restore.take()
    Writer(session).create_table("lost")
    Writer(session).create_table("lost_too")
    assert columns(session, "lost") == columns(session, "lost_too") == ["id", "name"]
    restore()
    made = [f"new{number}" for number in range(commits)]
    other_history(location, *made)
    for table in made:
        assert columns(session, table) == ["id", "name"]
    for table in ("lost", "lost_too"):
        with pytest.raises(TableNotFound):
            columns(session, table)


def test_time_travel_shows_the_history_that_is_there(session, location, restore):
    Writer(session).create_table("t")
    restore.take()
    Writer(session).create_table("lost")
    seen = session.current_lake().latest().snapshot_id
    assert columns(session, "lost", version=seen) == ["id", "name"]
    Writer(session).insert(1, 2)
    restore()
    other_history(location, "new", "newer")
    assert columns(session, "new", version=seen) == ["id", "name"]
    with pytest.raises(TableNotFound):
        columns(session, "lost", version=seen)


def test_a_commit_goes_on_from_the_history_that_is_there(session, location, restore):
    Writer(session).create_table("t")
    restore.take()
    Writer(session).insert(1, 2, 3)
    assert rows(session, "t") == 3
    restore()
    other = open_session(location)
    Writer(other).insert(7)
    Writer(session).insert(8, 9)
    assert rows(session, "t") == rows(other, "t") == 3
    found = session.current_lake().db.fetch(
        "SELECT record_count, next_row_id FROM ducklake_table_stats"
    )
    assert [tuple(map(int, row)) for row in found] == [(3, 3)]
    other.close_lakes()


@pytest.mark.parametrize("commits", [0, 1, 2])
def test_an_open_transaction_does_not_commit_to_another_history(
    session, location, restore, commits
):
    """It would add rows to a table that is not there, or that is another one."""
    Writer(session).create_table("t")
    restore.take()
    Writer(session).create_table("lost")
    session.begin()
    Writer(session).insert(1, table="lost")
    restore()
    other_history(location, *(f"new{number}" for number in range(commits)))
    before = load_snapshots(session.current_lake().db)
    with pytest.raises(TransactionConflict, match="began at snapshot 2"):
        session.commit()
    assert load_snapshots(session.current_lake().db) == before


def test_what_has_expired_is_not_missed(session, location):
    """The newest snapshot that was seen may be gone for a better reason."""
    from ducklake_spark.operations.expire import expire_snapshots

    Writer(session).create_table("t")
    Writer(session).insert(1, 2)
    assert rows(session, "t") == 2
    other = open_session(location)
    Writer(other).insert(3)
    lake = other.current_lake()
    expire_snapshots(lake, versions=[1, 2])
    assert rows(session, "t") == 3
    other.close_lakes()
