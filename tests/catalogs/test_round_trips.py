"""How often the catalog is asked: a commit takes two round trips, whatever it writes."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from support.writing import Writer, open_session, transaction


class Asked:
    """What a block sent to the catalog."""

    statements: list[str]
    round_trips: int


@contextmanager
def counted(session):
    db, asked = session.current_lake().db, Asked()
    before, db.trace = db.round_trips, []
    yield asked
    asked.statements, db.trace = db.trace, None
    asked.round_trips = db.round_trips - before


@pytest.fixture(params=["postgres"])
def catalog_kind(request):
    """The database that is reached over a network."""
    return request.param


@pytest.fixture
def session(location):
    session = open_session(location)
    Writer(session).create_table("t")
    Writer(session).insert(1, 2)
    yield session
    session.close_lakes()


def written(asked: Asked) -> list[str]:
    return [sql for sql in asked.statements if not sql.startswith("SELECT")]


def test_append_commits_in_two_round_trips(session):
    session.begin()
    Writer(session).insert(3)
    with counted(session) as asked:
        session.commit()
    assert asked.round_trips == 2
    begin, timeout, snapshot, *_, commit = written(asked)
    assert begin.startswith("BEGIN ISOLATION LEVEL READ COMMITTED")
    assert timeout.startswith("SET LOCAL lock_timeout")
    assert snapshot.startswith('INSERT INTO "public"."ducklake_snapshot"')
    assert commit == "COMMIT"
    assert len(asked.statements) <= 18


@pytest.mark.parametrize("inline_limit", [0, 5], ids=["files", "inlined"])
def test_delete_commits_in_two_round_trips(session, inline_limit):
    Writer(session).insert(*range(10, 20))
    Writer(session).delete(10, inline_limit=inline_limit)
    session.begin()
    Writer(session).delete(1, 11, inline_limit=inline_limit)
    Writer(session).insert(1)
    with counted(session) as asked:
        session.commit()
    assert asked.round_trips == 2
    assert len(asked.statements) <= 24


def test_the_number_of_rows_changes_neither_round_trips_nor_statements(session):
    def commit_of(files: int) -> Asked:
        session.begin()
        for number in range(files):
            Writer(session).insert(number)
        with counted(session) as asked:
            session.commit()
        return asked

    few, many = commit_of(2), commit_of(60)
    assert few.round_trips == many.round_trips == 2
    assert len(few.statements) == len(many.statements)


def test_create_table_commits_in_two_round_trips(session):
    session.begin()
    Writer(session).create_table("u")
    with counted(session) as asked:
        session.commit()
    assert asked.round_trips == 2
    assert len(asked.statements) <= 16


def test_appends_to_many_tables_commit_in_two_round_trips(session):
    with transaction(session):
        for number in range(10):
            Writer(session).create_table(f"t{number}")
    session.begin()
    for number in range(10):
        Writer(session).insert(1, table=f"t{number}")
        Writer(session).insert_inlined(2, table=f"t{number}")
    with counted(session) as asked:
        session.commit()
    assert asked.round_trips == 2


def test_a_commit_that_others_overtook_takes_no_more_round_trips(session, location):
    other = open_session(location)
    session.begin()
    Writer(session).insert(3)
    Writer(other).insert(4)
    with counted(session) as asked:
        session.commit()
    assert asked.round_trips == 2
    assert Writer(other).count() == 4


def test_a_transaction_begins_in_one_round_trip(session):
    with counted(session) as asked, session.reading(session.current_lake()):
        pass
    assert asked.round_trips == 1


def test_a_transaction_begins_cold_in_two_round_trips(location, session):
    cold = open_session(location)
    cold.current_lake()._states.clear()
    with counted(cold) as asked, cold.reading(cold.current_lake()) as tx:
        schema = tx.local.find_schema("main")
    assert asked.round_trips == 2
    with counted(cold) as asked:
        assert tx.local.find_table(schema.schema_id, "t").schema.names == ["id", "name"]
    assert asked.round_trips == 1


def test_rollback_asks_nothing(session):
    session.begin()
    Writer(session).insert(3)
    with counted(session) as asked:
        session.rollback()
    assert asked.statements == []
