"""What a transaction sees, what others see of it, and how it ends."""

from __future__ import annotations

import pytest

from ducklake_spark.errors import (
    AlreadyExists,
    CommitRetriesExceeded,
    InvalidInput,
    NotNullViolation,
    TableNotFound,
    TransactionConflict,
    TransactionError,
)
from ducklake_spark.operations.options import set_option
from support.invariants import check_catalog, committed_files
from support.writing import Writer, open_session, table_files, transaction


@pytest.fixture
def sessions(location):
    """Two sessions on a lake with an empty table `t`; the catalog is checked at the end."""
    one, other = open_session(location), open_session(location)
    Writer(one).create_table("t")
    yield one, other
    one.close_lakes()
    other.close_lakes()
    with location.database(create=False) as db:
        check_catalog(db)


@pytest.fixture
def catalog_kind() -> str:
    """The meaning of transactions does not depend on the database; see the isolation tests."""
    return "sqlite"


on_all_catalogs = pytest.mark.parametrize(
    "catalog_kind", ["duckdb", "sqlite", "postgres"], indirect=False
)


def latest(session) -> int:
    return session.current_lake().latest().snapshot_id


def changes(session) -> list[str]:
    db = session.current_lake().db
    return [
        row[0]
        for row in db.fetch(
            f"SELECT changes_made FROM {db.table('ducklake_snapshot_changes')} ORDER BY snapshot_id"
        )
    ]


# --- isolation -----------------------------------------------------------------------------------


@on_all_catalogs
def test_dirty_read_does_not_happen(sessions):
    one, other = sessions
    one.begin()
    Writer(one).insert(1, 2)
    Writer(one).create_table("u")
    assert Writer(other).count() == 0
    assert Writer(other).count("u") is None
    one.rollback()
    assert Writer(other).count() == 0


@on_all_catalogs
def test_non_repeatable_read_does_not_happen(sessions):
    one, other = sessions
    one.begin()
    assert Writer(one).count() == 0
    Writer(other).insert(1)
    Writer(other).insert_inlined(2)
    Writer(other).comment("t", "later")
    assert Writer(one).count() == 0
    assert one.table_version(("lake", "main", "t")).table.comment is None
    one.commit()
    assert Writer(one).count() == 2


@on_all_catalogs
def test_phantom_does_not_appear(sessions):
    """Neither rows nor tables that others commit show in a transaction that has begun."""
    one, other = sessions
    one.begin()
    assert Writer(one).count("new") is None
    Writer(other).create_table("new")
    Writer(other).insert(1, table="new")
    assert Writer(one).count("new") is None
    one.rollback()
    assert Writer(one).count("new") == 1


@on_all_catalogs
def test_lost_update_does_not_happen(sessions):
    """Two change the same thing on the strength of the same state: the second is refused."""
    one, other = sessions
    one.begin()
    other.begin()
    Writer(one).comment("t", "one")
    Writer(other).comment("t", "other")
    one.commit()
    with pytest.raises(TransactionConflict, match="altered it"):
        other.commit()
    assert Writer(other).session.table_version(("lake", "main", "t")).table.comment == "one"


@on_all_catalogs
def test_appends_of_two_transactions_are_both_kept(sessions):
    one, other = sessions
    one.begin()
    other.begin()
    Writer(one).insert(1, 2)
    Writer(other).insert(3)
    Writer(other).insert_inlined(4)
    other.commit()
    one.commit()
    assert Writer(one).count() == Writer(other).count() == 4


@on_all_catalogs
def test_write_skew_is_possible_as_snapshot_isolation_has_it(sessions):
    """Each reads what the other writes, neither writes what the other reads to: both commit."""
    one, other = sessions
    Writer(one).create_table("u")
    one.begin()
    other.begin()
    assert Writer(one).count("u") == Writer(other).count("t") == 0
    Writer(one).insert(1, table="t")
    Writer(other).insert(1, table="u")
    one.commit()
    other.commit()
    assert Writer(one).count("t") == Writer(one).count("u") == 1


# --- what a transaction is -----------------------------------------------------------------------


def test_a_transaction_sees_its_own_changes(sessions):
    one, _ = sessions
    with transaction(one):
        Writer(one).insert(1, 2)
        Writer(one).insert_inlined(3)
        assert Writer(one).count() == 3
        Writer(one).create_schema("s")
        Writer(one, "s").create_table("u")
        Writer(one, "s").insert(1, table="u")
        assert Writer(one, "s").count("u") == 1
        Writer(one).drop_table("t")
        assert Writer(one).count("t") is None
    assert Writer(one, "s").count("u") == 1


def test_many_changes_are_one_snapshot(sessions):
    one, _ = sessions
    before = latest(one)
    with transaction(one):
        Writer(one).create_schema("s")
        Writer(one, "s").create_table("u")
        Writer(one, "s").insert(1, table="u")
        Writer(one).insert(1)
        Writer(one).insert(2)
        Writer(one).comment("t", "c")
    assert latest(one) == before + 1
    assert one.last_committed_snapshot() == latest(one)
    assert changes(one)[-1] == (
        'created_schema:"s",created_table:"s"."u",'
        "inserted_into_table:1,inserted_into_table:3,altered_table:1"
    )


def test_a_transaction_pins_its_snapshot_at_its_first_use(sessions):
    one, other = sessions
    one.begin()
    Writer(other).insert(1)
    assert Writer(one).count() == 1
    Writer(other).insert(2)
    assert Writer(one).count() == 1
    one.commit()


def test_a_transaction_without_effect_makes_no_snapshot(sessions, location):
    one, _ = sessions
    before = latest(one)
    with transaction(one):
        Writer(one).count()
    with transaction(one):
        Writer(one).create_table("u")
        Writer(one).insert(1, table="u")
        Writer(one).create_view("v")
        Writer(one).rename_view("v", "w")
        Writer(one).create_schema("s")
        Writer(one, "s").create_macro("m")
        Writer(one).drop_table("u")
        Writer(one).drop_view("w")
        Writer(one).drop_schema("s")
    assert latest(one) == before
    assert one.last_committed_snapshot() == before
    assert table_files(location) == []


def test_rollback_leaves_nothing(sessions, location):
    one, _ = sessions
    before = latest(one)
    one.begin()
    Writer(one).insert(1, 2)
    Writer(one).create_table("u")
    assert len(table_files(location)) == 1
    one.rollback()
    assert (latest(one), table_files(location)) == (before, [])
    Writer(one).insert(1)
    assert Writer(one).count() == 1


def test_what_a_transaction_did_before_a_drop_is_forgotten(sessions, location):
    one, _ = sessions
    Writer(one).create_view("v")
    with transaction(one):
        Writer(one).insert(1)
        Writer(one).insert_inlined(2)
        Writer(one).comment("t", "c")
        Writer(one).drop_table("t")
        Writer(one).comment("v", "c")
        Writer(one).rename_view("v", "w")
        Writer(one).drop_view("w")
    assert changes(one)[-1] == "dropped_table:1,dropped_view:2"
    assert table_files(location) == []
    with one.reading(one.current_lake()) as tx:
        assert (list(tx.local.tables()), tx.local.views()) == ([], [])


def test_the_last_of_several_comments_and_names_counts(sessions):
    one, _ = sessions
    with transaction(one):
        Writer(one).create_view("v")
        Writer(one).comment("v", "first")
        Writer(one).rename_view("v", "w")
        Writer(one).rename_view("w", "x")
        Writer(one).comment("x", "second")
        Writer(one).comment("t", "first", column="id")
        Writer(one).comment("t", "second", column="id")
    with open_reader(one) as tx:
        assert [(v.name, v.comment) for v in tx.local.views()] == [("x", "second")]
        [table] = tx.local.tables()
        assert table.column_comments == {1: "second"}


def open_reader(session):
    session.current_lake()._states.clear()
    return session.reading(session.current_lake())


def test_create_after_drop_of_the_same_name_is_a_new_table(sessions):
    one, _ = sessions
    Writer(one).insert(1)
    with transaction(one):
        Writer(one).drop_table("t")
        Writer(one).create_table("t")
        Writer(one).insert(5, 6)
    assert Writer(one).count() == 2
    assert changes(one)[-1] == 'dropped_table:1,created_table:"main"."t",inserted_into_table:2'


def test_create_in_a_schema_that_another_dropped_is_refused(sessions, location):
    one, other = sessions
    Writer(other).create_schema("s")
    one.begin()
    Writer(one, "s").create_table("u")
    Writer(one, "s").insert(1, table="u")
    Writer(other).drop_schema("s")
    with pytest.raises(TransactionConflict, match="dropped this schema"):
        one.commit()
    assert table_files(location) == []
    Writer(one).insert(1)


def test_two_lakes_cannot_be_changed_together(sessions, make_lake_location):
    one, _ = sessions
    second = make_lake_location("sqlite", "second")
    one.attach(second.uri, "second", data_path=second.data_path)
    one.begin()
    Writer(one).insert(1)
    one.use("second")
    with pytest.raises(TransactionError, match="one transaction can change one lake only"):
        Writer(one).create_table("u")
    one.rollback()
    Writer(one).create_table("u")
    assert one.last_committed_snapshot("second") == 1
    assert one.last_committed_snapshot("lake") == 1


# --- failures ------------------------------------------------------------------------------------


def test_a_statement_that_is_refused_leaves_the_transaction_as_it_was(sessions):
    one, _ = sessions
    with transaction(one):
        Writer(one).insert(1)
        with pytest.raises(TableNotFound):
            Writer(one).insert(2, table="nowhere")
        with pytest.raises(AlreadyExists):
            Writer(one).create_table("t")
        Writer(one).insert(3)
    assert Writer(one).count() == 2


def fail_while_running(session) -> None:
    """A statement that has written a file when its last row proves to be wrong."""
    with session.writing(session.current_lake(), "insert"):
        Writer(session).insert(2)
        raise NotNullViolation("NOT NULL constraint failed: t.id")


def test_a_statement_that_fails_while_it_runs_aborts_the_transaction(sessions, location):
    one, _ = sessions
    one.begin()
    Writer(one).insert(1)
    with pytest.raises(NotNullViolation):
        fail_while_running(one)
    assert len(table_files(location)) == 1
    for statement in (lambda: Writer(one).count(), lambda: Writer(one).insert(3)):
        with pytest.raises(TransactionError, match="aborted"):
            statement()
    with pytest.raises(TransactionError, match="rolled back"):
        one.commit()
    assert (table_files(location), Writer(one).count()) == ([], 0)
    Writer(one).insert(1)
    assert Writer(one).count() == 1


def test_rollback_ends_an_aborted_transaction(sessions):
    one, _ = sessions
    one.begin()
    with pytest.raises(TransactionError, match="within a transaction"):
        one.begin()
    with pytest.raises(TransactionError, match="aborted"):
        Writer(one).count()
    one.rollback()
    with transaction(one):
        Writer(one).insert(1)
    for ends in (one.commit, one.rollback):
        with pytest.raises(TransactionError, match="no transaction is active"):
            ends()


def test_a_failed_statement_outside_a_transaction_leaves_nothing(sessions, location):
    one, _ = sessions
    before = latest(one)
    with pytest.raises(NotNullViolation), one.writing(one.current_lake(), "insert") as tx:
        del tx
        raise NotNullViolation("NOT NULL constraint failed: t.id")
    assert (latest(one), table_files(location)) == (before, [])


def test_files_stay_when_a_commit_is_interrupted(sessions, location):
    """Ctrl-C may come after the database has committed: then the files are needed."""
    one, other = sessions
    one.begin()
    Writer(one).insert(1, 2)
    db = one.current_lake().db

    class Interrupt(list):
        def append(self, sql: str) -> None:
            if sql == "COMMIT":
                db._session.run("COMMIT", ())
                raise KeyboardInterrupt

    db.trace = Interrupt()
    with pytest.raises(KeyboardInterrupt):
        one.commit()
    db.trace = None
    assert Writer(other).count() == 2
    assert {path.split("/")[-1] for path in table_files(location)} == committed_files(db)
    Writer(one).insert(3)


def test_retries_end(sessions, location):
    one, _ = sessions
    one.retry = type(one.retry)(max_retry_count=2, wait_ms=1)
    one.begin()
    Writer(one).insert(1)
    db = one.current_lake().db

    class AlwaysSecond(list):
        def append(self, sql: str) -> None:
            if sql.startswith("INSERT") and "snapshot" in sql and "changes" not in sql:
                raise db_conflict(db)

    db.trace = AlwaysSecond()
    with pytest.raises(CommitRetriesExceeded, match="tried 3 times"):
        one.commit()
    db.trace = None
    assert table_files(location) == []
    Writer(one).insert(1)


def db_conflict(db):
    from ducklake_spark.catalog_db.connection import SnapshotTaken

    return SnapshotTaken("taken")


# --- messages ------------------------------------------------------------------------------------


def messages(session) -> tuple:
    db = session.current_lake().db
    return db.fetch(
        "SELECT author, commit_message, commit_extra_info FROM "
        f"{db.table('ducklake_snapshot_changes')} ORDER BY snapshot_id DESC"
    )[0]


def test_author_message_and_extra_info_are_stored(sessions):
    one, _ = sessions
    with transaction(one):
        one.set_commit_message("Ada", "load", '{"run": 7}')
        Writer(one).insert(1)
    assert messages(one) == ("Ada", "load", '{"run": 7}')
    with transaction(one):
        Writer(one).insert(1)
    assert messages(one) == (None, None, None)
    with pytest.raises(TransactionError, match="no transaction is active"):
        one.set_commit_message("Ada", "load")


def test_a_commit_without_message_is_refused_where_one_is_required(sessions, location):
    one, other = sessions
    with one.writing(one.current_lake(), "set an option") as tx:
        set_option(one.current_lake(), tx, "require_commit_message", True)
    with pytest.raises(InvalidInput, match="Commit information"):
        Writer(other).insert(1)
    other.begin()
    Writer(other).insert(1)
    with pytest.raises(InvalidInput, match="Commit information"):
        other.commit()
    assert (table_files(location), Writer(other).count()) == ([], 0)
    with transaction(other):
        Writer(other).count()
    with transaction(other):
        other.set_commit_message("Ada", None)
        Writer(other).insert(1)
    assert messages(other) == ("Ada", None, None)
