"""What every metadata database does, tried on each of them."""

from __future__ import annotations

import datetime as dt
import sqlite3
import subprocess
import sys
import threading
import uuid

import pytest

from ducklake_spark.catalog_db.connection import (
    CommitUncertain,
    MissingTable,
    SnapshotTaken,
    Statement,
    open_database,
)
from ducklake_spark.catalog_db.initialize import check_version, create_lake, is_lake
from ducklake_spark.catalog_db.tables import FILE_COLUMN_STATS, SCHEMA, SNAPSHOT
from ducklake_spark.catalog_db.url import parse_url
from ducklake_spark.errors import (
    AlreadyExists,
    CatalogError,
    CatalogLocked,
    CatalogUnreachable,
    DriverMissing,
    NotALake,
    ReadOnlyLake,
    TransactionError,
    UnknownOption,
    UnsupportedVersion,
)
from support.lakes import LakeLocation

NOW = dt.datetime(2026, 11, 15, 21, 10, 4, 835170, dt.timezone.utc)


def snapshot_ids(db):
    return [row[0] for row in db.select(SNAPSHOT, "ORDER BY snapshot_id")]


def test_values_come_back_as_they_were_given(location: LakeLocation):
    number = uuid.uuid4()
    row = (7, number, 1, None, "it's ü ? %s", "", False)
    with location.database() as db:
        db.insert(SCHEMA, [row])
        db.insert(SNAPSHOT, [(1, NOW, 0, 1, 2**62)])
        assert db.select(SCHEMA, "WHERE schema_id = ?", (7,)) == [(7, str(number), *row[2:])]
        assert db.select(SNAPSHOT, "WHERE snapshot_time = ?", (NOW,)) == [(1, NOW, 0, 1, 2**62)]
        assert db.select(SNAPSHOT, "WHERE snapshot_time > ?", (NOW,), columns=("snapshot_id",)) == (
            [] if dt.datetime.now(dt.timezone.utc) < NOW else [(0,)]
        )


def test_many_rows_are_inserted_in_few_statements(location: LakeLocation):
    rows = [
        (n, 1, n % 7, n, n, 0, f"min '{n}' \\ \"q\" ü", None, n % 2 == 0, None) for n in range(3000)
    ]
    with location.database() as db:
        db.trace = []
        db.insert(FILE_COLUMN_STATS, rows)
        assert len(db.trace) < 10
        assert db.select(FILE_COLUMN_STATS, "ORDER BY data_file_id") == rows


def test_no_rows_are_no_statement(location: LakeLocation):
    with location.database() as db:
        assert db.insert_statements(SCHEMA, []) == []


def test_transaction_is_undone_when_its_body_fails(location: LakeLocation):
    with location.database() as db:
        with pytest.raises(RuntimeError), db.transaction():
            db.insert(SNAPSHOT, [(1, NOW, 0, 1, 0)])
            assert snapshot_ids(db) == [0, 1]
            raise RuntimeError
        assert snapshot_ids(db) == [0]


def test_transaction_is_refused_inside_another(location: LakeLocation):
    with location.database() as db:
        with pytest.raises(TransactionError), db.transaction(), db.transaction():
            pass
        with db.transaction():
            db.insert(SNAPSHOT, [(1, NOW, 0, 1, 0)])
        assert snapshot_ids(db) == [0, 1]


def test_taken_snapshot_is_told_apart(location: LakeLocation):
    with location.database() as db:
        with pytest.raises(SnapshotTaken), db.transaction():
            db.insert(SNAPSHOT, [(0, NOW, 0, 1, 0)])
            db.insert(SCHEMA, [(5, None, 0, None, "s", "s/", True)])
        assert [row[0] for row in db.select(SCHEMA)] == [0]
        assert snapshot_ids(db) == [0]


def test_one_of_two_racing_transactions_wins(location: LakeLocation):
    with location.database() as one, location.database() as other:
        outcomes, ready = [], threading.Barrier(2)

        def commit(db):
            ready.wait()
            try:
                with db.transaction():
                    db.insert(SNAPSHOT, [(1, NOW, 0, 1, 0)])
                    db.execute(f"UPDATE {db.table('ducklake_schema')} SET end_snapshot = 1")
                outcomes.append("won")
            except SnapshotTaken:
                outcomes.append("lost")

        threads = [threading.Thread(target=commit, args=(db,)) for db in (one, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == ["lost", "won"]
        assert snapshot_ids(one) == snapshot_ids(other) == [0, 1]


def test_one_connection_serves_many_threads(location: LakeLocation):
    with location.database() as db:

        def commit(number):
            with db.transaction():
                latest = max(snapshot_ids(db))
                db.insert(SNAPSHOT, [(latest + 1, NOW, number, 1, 0)])

        threads = [threading.Thread(target=commit, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert snapshot_ids(db) == list(range(9))


def test_reads_of_a_batch_come_together(location: LakeLocation):
    with location.database() as db:
        query = Statement(f"SELECT snapshot_id FROM {db.table('ducklake_snapshot')}")
        none = Statement(f"{query.sql} WHERE snapshot_id = ?", (9,))
        before = db.round_trips
        assert db.fetch_batch([query, none, query]) == [[(0,)], [], [(0,)]]
        if db.kind == "postgres":
            assert db.round_trips - before == 1
        with db.transaction():
            db.insert(SNAPSHOT, [(1, NOW, 0, 1, 0)])
            assert db.fetch_batch([query]) == [[(0,), (1,)]]


def test_missing_table_is_told_apart(location: LakeLocation):
    with location.database() as db:
        with pytest.raises(MissingTable, match="nothing_here"):
            db.fetch(f"SELECT * FROM {db.table('nothing_here')}")
        assert not db.has_table("nothing_here")
        assert db.has_table("ducklake_snapshot")
        with pytest.raises(CatalogError) as wrong:
            db.fetch("SELEC")
        assert type(wrong.value) is CatalogError


def test_changes_are_refused_when_opened_read_only(location: LakeLocation):
    with location.database():
        pass
    with location.database(create=False, read_only=True) as db:
        assert snapshot_ids(db) == [0]
        for change in (
            lambda: db.insert(SNAPSHOT, [(1, NOW, 0, 1, 0)]),
            lambda: db.execute("DROP TABLE ducklake_snapshot"),
        ):
            with pytest.raises(ReadOnlyLake):
                change()


def test_lake_is_not_created_twice(location: LakeLocation):
    with location.database(create=False) as db:
        assert not is_lake(db)
        with pytest.raises(NotALake):
            check_version(db)
        create_lake(db, "data")
        assert is_lake(db)
        check_version(db)
        with pytest.raises(AlreadyExists):
            create_lake(db, "data")


@pytest.mark.parametrize("catalog_kind", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("version", "advice"), [("0.3", "AUTOMATIC_MIGRATION"), ("1.1-dev1", "newer release")]
)
def test_version_is_refused_when_it_is_not_served(location: LakeLocation, version, advice):
    with location.database() as db:
        db.execute("UPDATE ducklake_metadata SET value = ? WHERE \"key\" = 'version'", (version,))
        with pytest.raises(UnsupportedVersion, match=version) as refused:
            check_version(db)
        assert advice in refused.value.hint


def test_commit_goes_out_at_once_on_postgres(make_lake_location):
    with make_lake_location("postgres").database() as db:
        before = db.round_trips
        with db.transaction():
            for number in range(1, 11):
                db.insert(SNAPSHOT, [(number, NOW, 0, 1, 0)])
        assert db.round_trips - before == 1
        with db.transaction():
            assert len(snapshot_ids(db)) == 11
            db.insert(SNAPSHOT, [(11, NOW, 0, 1, 0)])
        assert db.round_trips - before == 3


def test_lost_connection_is_opened_again_for_reads(make_lake_location):
    location = make_lake_location("postgres")
    with location.database() as db, location.database() as killer:
        kill = "SELECT pg_terminate_backend(?)"
        killer.fetch(kill, db.fetch_one("SELECT pg_backend_pid()"))
        assert snapshot_ids(db) == [0]
        killer.fetch(kill, db.fetch_one("SELECT pg_backend_pid()"))
        with pytest.raises(CatalogUnreachable), db.transaction():
            db.insert(SNAPSHOT, [(1, NOW, 0, 1, 0)])
            db.select(SNAPSHOT)
        assert snapshot_ids(db) == [0]


def test_lost_connection_is_opened_again_after_a_failed_write(make_lake_location):
    location = make_lake_location("postgres")
    query = Statement("SELECT count(*) FROM ducklake_snapshot")
    with location.database() as db, location.database() as killer:
        kill = "SELECT pg_terminate_backend(?)"
        killer.fetch(kill, db.fetch_one("SELECT pg_backend_pid()"))
        with pytest.raises(CatalogUnreachable), db.transaction():
            db.select(SNAPSHOT)
        db.insert(SNAPSHOT, [(1, NOW, 0, 1, 0)])
        killer.fetch(kill, db.fetch_one("SELECT pg_backend_pid()"))
        assert db.fetch_batch([query]) == [[(2,)]]


def test_closed_connection_stays_closed(location: LakeLocation):
    with location.database() as db:
        db.close()
        db.close()
        with pytest.raises(CatalogError, match="is closed"):
            snapshot_ids(db)


def test_commit_is_uncertain_when_the_connection_is_lost_in_it(make_lake_location):
    location = make_lake_location("postgres")
    with location.database() as db, location.database() as killer:
        with pytest.raises(CommitUncertain), db.transaction():
            killer.fetch("SELECT pg_terminate_backend(?)", db.fetch_one("SELECT pg_backend_pid()"))
        assert snapshot_ids(db) == [0]


def test_unreachable_server_is_named_without_the_password():
    url = parse_url("ducklake:postgres:host=127.0.0.1 port=1 user=ada password=geheim dbname=x")
    with pytest.raises(CatalogUnreachable, match=r"password=\*\*\*") as refused:
        open_database(url)
    assert "geheim" not in str(refused.value)


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_missing_file_is_named(make_lake_location, kind):
    location = make_lake_location(kind)
    with pytest.raises(NotALake, match="does not exist"):
        location.open(create=False)
    with pytest.raises(NotALake, match="does not exist"):
        location.open(read_only=True)
    with pytest.raises(UnknownOption):
        location.open(parameters={"speed": "high"})


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_foreign_file_is_refused(tmp_path, make_lake_location, kind):
    location = make_lake_location(kind)
    (tmp_path / location.url.target).write_text("this is no database, whatever its name says " * 50)
    with pytest.raises(CatalogUnreachable, match="cannot be opened"):
        location.open()


def test_missing_directory_is_named(tmp_path):
    for prefix in ("ducklake:", "ducklake:sqlite:"):
        with pytest.raises(CatalogUnreachable, match="directory"):
            open_database(parse_url(f"{prefix}{tmp_path}/none/lake.db"))


def test_duckdb_file_says_who_holds_it(make_lake_location):
    location = make_lake_location("duckdb")
    with location.database():
        code = (
            "import sys; from ducklake_spark.catalog_db.connection import open_database\n"
            "from ducklake_spark.catalog_db.url import parse_url\n"
            "from ducklake_spark.errors import CatalogLocked\n"
            "try: open_database(parse_url(sys.argv[1]))\n"
            "except CatalogLocked as error: print(error)"
        )
        said = subprocess.run(
            [sys.executable, "-c", code, location.uri], capture_output=True, text=True, check=True
        )
    assert "PID" in said.stdout
    assert "Hint: only one process" in said.stdout


def test_duckdb_file_is_read_while_the_process_writes_it(make_lake_location):
    location = make_lake_location("duckdb")
    with location.database() as writer, location.database(read_only=True) as reader:
        writer.insert(SNAPSHOT, [(1, NOW, 0, 1, 0)])
        assert snapshot_ids(reader) == [0, 1]


def test_sqlite_file_is_locked_when_another_writes(make_lake_location):
    location = make_lake_location("sqlite")
    with location.database() as holder, location.database(busy_timeout_ms=50) as other:
        with holder.transaction():
            assert snapshot_ids(other) == [0]
            with pytest.raises(CatalogLocked), other.transaction():
                pass
        with other.transaction():
            other.insert(SNAPSHOT, [(1, NOW, 0, 1, 0)])


def test_no_statement_runs_alone_when_sqlite_has_ended_its_transaction(make_lake_location):
    same = "INSERT OR ROLLBACK INTO ducklake_snapshot SELECT * FROM ducklake_snapshot"
    with make_lake_location("sqlite").database() as db:
        with pytest.raises(CatalogError, match="has ended before its commit"), db.transaction():
            with pytest.raises(SnapshotTaken):
                db.execute(same)
            db.execute("DELETE FROM ducklake_snapshot")
        with pytest.raises(CatalogError, match="has ended before its commit"), db.transaction():
            with pytest.raises(SnapshotTaken):
                db.execute(same)
            db.fetch("SELECT * FROM ducklake_snapshot")
        assert snapshot_ids(db) == [0]
        with db.transaction():
            db.insert(SNAPSHOT, [(1, NOW, 0, 1, 2)])
        assert snapshot_ids(db) == [0, 1]


def test_reads_leave_no_lock_on_sqlite(make_lake_location):
    location = make_lake_location("sqlite")
    with location.database() as db:
        snapshot_ids(db)
        with sqlite3.connect(location.url.target, timeout=0, isolation_level=None) as other:
            other.execute("BEGIN EXCLUSIVE")
            other.execute("ROLLBACK")


def test_driver_is_named_when_it_is_missing():
    pytest.importorskip("psycopg")
    try:
        import pymysql  # noqa: F401
    except ImportError:
        with pytest.raises(DriverMissing, match="pymysql") as missing:
            open_database(parse_url("ducklake:mysql:db=lake"))
        assert missing.value.hint == "pip install 'ducklake-spark[mysql]'"
