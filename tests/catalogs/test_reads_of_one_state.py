"""A read asks the catalog several times and sees one state, whatever others commit in between."""

from __future__ import annotations

import pytest

from support.tracing import Before
from support.writing import Keeper, Writer, open_session


@pytest.fixture(params=["postgres"])
def catalog_kind(request):
    """A database where readers and writers do not wait for each other."""
    return request.param


@pytest.fixture
def sessions(location):
    both = open_session(location), open_session(location)
    Writer(both[0]).create_table("t")
    yield both
    for session in both:
        session.close_lakes()


@pytest.mark.parametrize("read", [Writer.ids, Writer.count], ids=["rows", "count"])
def test_a_flush_between_two_statements_of_a_read_changes_nothing(sessions, read):
    reader, other = Writer(sessions[0]), Writer(sessions[1])
    db, keeper = reader.lake.db, Keeper(sessions[1])
    number, statements, expected, answers = 1, 1, [], []
    while number <= statements:
        fresh = range(10 * number, 10 * number + 4)
        other.insert(*fresh[:2])
        other.insert_inlined(*fresh[2:])
        other.delete(fresh[0], inline_limit=5)
        expected += fresh[1:]
        db.trace = Before(number, keeper.flush)
        found = read(reader)
        statements, db.trace = len(db.trace), None
        # None: once the snapshot is no longer the latest, only the files can tell the number.
        right = (expected,) if read is Writer.ids else (len(expected), None)
        assert found in right, number
        answers.append(found)
        number += 1
    assert number > 5, "a read that asks more than once was looked at"
    assert any(answers)
