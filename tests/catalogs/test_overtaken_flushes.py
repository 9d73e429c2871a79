"""A flush that another one overtakes ends in a conflict: nothing is corrupt, nothing is lost."""

from __future__ import annotations

import pytest

from ducklake_spark.errors import CorruptDataFile, TransactionConflict
from ducklake_spark.operations import alter
from support.tracing import Before
from support.writing import Keeper, Writer, open_session, table_files

pytestmark = pytest.mark.parametrize("catalog_kind", ["postgres"], indirect=True)


@pytest.fixture
def sessions(location):
    both = open_session(location), open_session(location)
    Writer(both[0]).create_table("t")
    yield both
    for session in both:
        session.close_lakes()


def fill(writer, number):
    """Rows under two sets of columns, and deletes: a flush then drops one of the tables of rows."""
    first = 100 * number
    writer.insert(first, first + 1)
    writer.insert_inlined(first + 2, first + 3)
    old = "name" if number == 1 else f"name{number - 1}"
    writer.alter(alter.rename_column, (old,), f"name{number}")
    writer.insert_inlined(first + 4, first + 5)
    writer.delete(first, first + 2, inline_limit=5)


def until_the_commit(keeper):
    """How many statements a flush sends before it commits: then others wait."""
    fill(Writer(keeper.session), 1)
    db = keeper.lake.db
    db.trace = trace = []
    keeper.flush()
    db.trace = None
    starts = (sql.startswith("BEGIN") and "READ ONLY" not in sql for sql in trace)
    return list(starts).index(True)


def test_a_flush_between_two_statements_of_a_flush_is_a_conflict(sessions, location):
    mine, other = Keeper(sessions[0]), Keeper(sessions[1])
    db, conflicts = mine.lake.db, []
    for number in range(1, until_the_commit(mine) + 1):
        fill(Writer(sessions[1]), number + 1)
        expected = Writer(sessions[1]).ids()
        db.trace = Before(number, other.flush)
        try:
            mine.flush()
        except TransactionConflict as conflict:
            assert "has flushed" in str(conflict), number
            conflicts.append(number)
        db.trace = None
        assert Writer(sessions[0]).ids() == expected, number
    assert len(conflicts) > 5
    with db.reading():
        known = db.fetch("SELECT path FROM ducklake_data_file")
        known += db.fetch("SELECT path FROM ducklake_delete_file")
        known += db.fetch("SELECT path FROM ducklake_files_scheduled_for_deletion")
    left = {path.rsplit("/", 1)[-1] for path in table_files(location)}
    assert left == {row[0].rsplit("/", 1)[-1] for row in known}


def test_rows_that_are_there_twice_are_still_called_corrupt(sessions, lower):
    lower(flush_rows=1)
    writer = Writer(sessions[0])
    writer.insert_inlined(1, 2)
    db = writer.lake.db
    (name,) = db.fetch_one("SELECT table_name FROM ducklake_inlined_data_tables")
    db.execute(f"INSERT INTO {name} SELECT * FROM {name}")
    with pytest.raises(CorruptDataFile, match="same id and the same snapshot"):
        Keeper(sessions[0]).flush()
