"""The connection breaks during COMMIT: the outcome is found out, and no file is lost."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager

import psycopg
import pytest

from ducklake_spark.catalog_db.connection import CommitUncertain
from ducklake_spark.errors import CatalogLocked, CatalogUnreachable
from support.invariants import check_catalog, committed_files
from support.writing import Writer, open_session, table_files


@pytest.fixture(params=["postgres"])
def catalog_kind(request):
    return request.param


@pytest.fixture
def sessions(location):
    one, other = open_session(location), open_session(location)
    Writer(one).create_table("t")
    yield one, other
    one.close_lakes()
    check_catalog(other.current_lake().db)
    other.close_lakes()


class AnswerLost:
    """A connection that breaks once, after the server has committed and before it can say so."""

    def __init__(self, session) -> None:
        self._session = session

    def __getattr__(self, name):
        return getattr(self._session, name)

    @contextmanager
    def batch(self):
        with self._session.batch():
            yield
        self._session.close()
        raise psycopg.OperationalError("server closed the connection unexpectedly")


class AtCommit(list):
    """Does something just before COMMIT is sent, once."""

    def __init__(self, action) -> None:
        super().__init__()
        self._action = action

    def append(self, sql: str) -> None:
        if sql == "COMMIT" and self._action is not None:
            action, self._action = self._action, None
            action()


def break_connection(session, other) -> None:
    """Have the server end the connection of a session when it is about to commit."""
    db = session.current_lake().db
    pid = db.fetch_one("SELECT pg_backend_pid()")
    killer = other.current_lake().db
    db.trace = AtCommit(lambda: killer.fetch("SELECT pg_terminate_backend(?)", pid))


def files_are_committed(location, db) -> bool:
    return {path.split("/")[-1] for path in table_files(location)} == committed_files(db)


def test_commit_that_happened_is_recognised(sessions, location):
    one, other = sessions
    one.begin()
    Writer(one).insert(1, 2)
    db = one.current_lake().db
    db._session = AnswerLost(db._session)
    one.commit()
    assert one.last_committed_snapshot() == 2
    assert other.current_lake().latest().snapshot_id == 2
    assert Writer(other).count() == 2
    assert files_are_committed(location, other.current_lake().db)


def test_commit_that_did_not_happen_is_done_again(sessions, location):
    one, other = sessions
    one.begin()
    Writer(one).insert(1, 2)
    break_connection(one, other)
    one.commit()
    assert other.current_lake().latest().snapshot_id == 2
    assert Writer(other).count() == 2
    assert files_are_committed(location, other.current_lake().db)


def test_commit_is_told_from_that_of_another_who_took_the_number(sessions):
    one, other = sessions
    one.begin()
    Writer(one).insert(1, 2)
    db = one.current_lake().db
    break_connection(one, other)
    kill = db.trace._action

    def kill_and_overtake() -> None:
        kill()
        while (
            other.current_lake().db.fetch_one(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            )[0]
            > 1
        ):
            time.sleep(0.01)
        Writer(other).insert(3)

    db.trace._action = kill_and_overtake
    one.commit()
    assert one.last_committed_snapshot() == 3
    assert Writer(other).count() == 3


def test_files_stay_when_the_outcome_cannot_be_found_out(sessions, location):
    one, other = sessions
    one.retry = type(one.retry)(max_retry_count=2, wait_ms=1)
    one.begin()
    Writer(one).insert(1, 2)
    db = one.current_lake().db
    break_connection(one, other)

    def refuse():
        raise CatalogUnreachable("the server is gone")

    connect, db._connect = db._connect, refuse
    with pytest.raises(CommitUncertain, match="could not be found out"):
        one.commit()
    assert len(table_files(location)) == 1
    db._connect, db.trace = connect, None
    Writer(one).insert(3)
    assert Writer(one).count() == 1


@pytest.mark.parametrize("catalog_kind", ["sqlite"])
def test_commit_waits_for_a_lock_longer_than_the_busy_timeout(location):
    one, other = open_session(location, busy_timeout=50), open_session(location)
    Writer(other).create_table("t")
    one.begin()
    Writer(one).insert(1)
    held, released = threading.Event(), []

    def hold() -> None:
        with other.current_lake().db.transaction():
            held.set()
            time.sleep(0.4)
            released.append(True)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    one.commit()
    assert released
    holder.join()
    assert Writer(other).count() == 1


@pytest.mark.parametrize("catalog_kind", ["sqlite"])
def test_commit_gives_up_on_a_lock_that_stays(location):
    one, other = open_session(location, busy_timeout=10), open_session(location)
    one.retry = type(one.retry)(max_retry_count=2, wait_ms=1)
    Writer(other).create_table("t")
    one.begin()
    Writer(one).insert(1)
    with other.current_lake().db.transaction(), pytest.raises(CatalogLocked):
        one.commit()
    assert table_files(location) == []
    Writer(one).insert(1)
    assert Writer(one).count() == 1
