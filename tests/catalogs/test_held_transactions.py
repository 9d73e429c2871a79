"""Statements that start no Spark hold the metadata database from their first read to the commit."""

from __future__ import annotations

from threading import Timer

import pytest

import ducklake_spark
from ducklake_spark.errors import NotFound, NotNullViolation
from support.writing import Writer, open_session


@pytest.fixture
def con(location):
    con = ducklake_spark.connect(location.uri, alias="lake", data_path=location.data_path)
    con.sql("CREATE TABLE t (id BIGINT, name VARCHAR)")
    con.sql("INSERT INTO t VALUES (1, 'one')")
    yield con
    con.close()


def traced(con, *texts: str) -> list[str]:
    db = con.current_lake().db
    db.trace = []
    for text in texts:
        con.sql(text)
    statements, db.trace = db.trace, None
    return statements


def count(location) -> int:
    session = open_session(location)
    try:
        return Writer(session).count()
    finally:
        session.close_lakes()


def test_a_one_row_insert_reads_once_inside_its_own_transaction(con):
    con.sql("INSERT INTO t VALUES (2, 'two')")
    statements = traced(con, "INSERT INTO t VALUES (2, 'two')")
    assert len([sql for sql in statements if " FROM " in sql]) == 1
    assert statements[0].startswith("BEGIN")


@pytest.mark.parametrize("catalog_kind", ["postgres"])
def test_a_one_row_insert_and_an_alter_take_two_round_trips(con):
    con.sql("INSERT INTO t VALUES (2, 'two')")
    db = con.current_lake().db
    for text in ("INSERT INTO t VALUES (3, 'three')", "ALTER TABLE t ADD COLUMN c INTEGER"):
        before = db.round_trips
        con.sql(text)
        assert db.round_trips - before == 2, text


def test_what_others_did_meanwhile_is_seen(con, location):
    other = open_session(location)
    Writer(other).insert(5, 6)
    con.sql("INSERT INTO t VALUES (2, 'two')")
    con.sql("ALTER TABLE t ADD COLUMN c INTEGER")
    con.sql("INSERT INTO t VALUES (3, 'three', 3)")
    assert Writer(other).count() == 5
    other.close_lakes()


def test_a_refused_statement_lets_go_of_the_database(con, location):
    con.sql("CREATE TABLE strict (id BIGINT NOT NULL)")
    for text, error in (
        ("INSERT INTO missing VALUES (1)", NotFound),
        ("INSERT INTO strict VALUES (NULL)", NotNullViolation),
        ("ALTER TABLE t DROP COLUMN missing", NotFound),
    ):
        with pytest.raises(error):
            con.sql(text)
        other = open_session(location)
        Writer(other).insert(7)
        other.close_lakes()
    con.sql("INSERT INTO t VALUES (2, 'two')")
    assert count(location) == 5


def test_a_statement_that_changes_nothing_lets_go_of_the_database(con, location):
    con.sql("ALTER TABLE IF EXISTS missing ADD COLUMN c INTEGER")
    con.sql("ALTER TABLE t ADD COLUMN IF NOT EXISTS name VARCHAR")
    other = open_session(location)
    Writer(other).insert(7)
    other.close_lakes()
    assert count(location) == 2


def test_a_taken_snapshot_is_retried_with_what_is_there_then(con, location):
    """Those who do not wait in our line, as DuckDB, may be first all the same."""
    db = con.current_lake().db
    other = open_session(location)

    class Overtaken(list):
        done = False

        def append(self, sql: str) -> None:
            if not self.done and sql.startswith("INSERT") and 'snapshot"' in sql:
                self.done = True
                db._session.run("ROLLBACK", ())
                Writer(other).insert(8, 9)
                from ducklake_spark.catalog_db.connection import SnapshotTaken

                raise SnapshotTaken("taken")

    db.trace = Overtaken()
    con.sql("INSERT INTO t VALUES (2, 'two')")
    db.trace = None
    other.close_lakes()
    assert count(location) == 4
    rows = db.fetch(f"SELECT snapshot_id FROM {db.table('ducklake_snapshot')}")
    numbers = [number for (number,) in rows]
    assert sorted(numbers) == list(range(max(numbers) + 1))


def test_options_are_read_anew_for_every_statement(con, location):
    other = ducklake_spark.connect(location.uri, alias="lake", data_path=location.data_path)
    con.sql("INSERT INTO t VALUES (2, 'two')")
    other.sql("CALL lake.set_option('require_commit_message', true)")
    with pytest.raises(ducklake_spark.errors.InvalidInput, match="Commit information"):
        con.sql("INSERT INTO t VALUES (3, 'three')")
    other.close()
    assert count(location) == 2


@pytest.mark.parametrize("catalog_kind", ["postgres"])
def test_a_connection_that_was_lost_while_idle_is_opened_again(con, location):
    db = con.current_lake().db
    (pid,) = db.fetch_one("SELECT pg_backend_pid()")
    with location.database() as other:
        other.fetch("SELECT pg_terminate_backend(?)", (pid,))
    con.sql("INSERT INTO t VALUES (2, 'two')")
    con.sql("ALTER TABLE t ADD COLUMN c INTEGER")
    assert count(location) == 2


@pytest.mark.parametrize("catalog_kind", ["sqlite"])
def test_a_locked_database_is_waited_for(location):
    """Longer than SQLite itself waits: the commit is tried again."""
    con = ducklake_spark.connect(
        location.uri, alias="lake", data_path=location.data_path, busy_timeout=100
    )
    con.sql("CREATE TABLE t (id BIGINT, name VARCHAR)")
    with location.database() as other:
        other._session.run("BEGIN IMMEDIATE", ())
        Timer(0.5, lambda: other._session.run("ROLLBACK", ())).start()
        con.sql("INSERT INTO t VALUES (1, 'one')")
    con.close()
    assert count(location) == 1


def test_one_bound_that_moves_is_one_statement(con):
    con.sql("INSERT INTO t VALUES (2, 'one')")
    statements = traced(con, "INSERT INTO t VALUES (3, 'one')")
    changed = [sql for sql in statements if "ducklake_table_column_stats" in sql]
    assert [sql.split()[0] for sql in changed] == ["UPDATE"]


def test_bounds_cover_all_rows_however_many_of_them_move(con):
    con.sql("INSERT INTO t VALUES (5, 'one')")
    con.sql("INSERT INTO t VALUES (7, 'two')")
    con.sql("INSERT INTO t VALUES (-3, 'alone')")
    con.sql("INSERT INTO t VALUES (1, NULL)")
    db = con.current_lake().db
    rows = db.fetch(
        "SELECT column_id, min_value, max_value, contains_null "
        f"FROM {db.table('ducklake_table_column_stats')} ORDER BY column_id"
    )
    bounds = [(i, low, high, db.decode("boolean", null)) for i, low, high, null in rows]
    assert bounds == [(1, "-3", "7", False), (2, "alone", "two", True)]


@pytest.mark.parametrize("catalog_kind", ["postgres"])
def test_writers_in_turns_take_two_round_trips_each(con, location):
    other = ducklake_spark.connect(location.uri, alias="lake", data_path=location.data_path)
    both = (con, other)
    for number in range(3):
        for each in both:
            each.sql(f"INSERT INTO t VALUES ({number}, 'in turn')")
    for each in both:
        db = each.current_lake().db
        before = db.round_trips
        each.sql("INSERT INTO t VALUES (9, 'again')")
        assert db.round_trips - before == 2
    other.close()


def test_writers_in_turns_count_rows_and_widen_bounds_together(con, location):
    """What one remembers of the table is what the other has left, whoever was last."""
    other = ducklake_spark.connect(location.uri, alias="lake", data_path=location.data_path)
    turns = (con, other, con, other, other, con, con, other, con)
    for number, each in enumerate(turns, 10):
        each.sql(f"INSERT INTO t VALUES ({number}, 'name {number}')")
    other.sql("CREATE TABLE u (id BIGINT)")
    for each in (con, other, con):
        each.sql("INSERT INTO u VALUES (1)")
    db = con.current_lake().db
    query = f"SELECT record_count, next_row_id FROM {db.table('ducklake_table_stats')} "
    assert db.fetch(f"{query} ORDER BY table_id") == [(10, 10), (3, 3)]
    bounds = db.fetch(
        f"SELECT min_value, max_value FROM {db.table('ducklake_table_column_stats')} "
        "WHERE column_id = 1 ORDER BY table_id"
    )
    assert bounds == [("1", "18"), ("1", "1")]
    other.close()
    assert count(location) == 10
