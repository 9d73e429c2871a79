"""Maintenance while DuckDB changes the same table, on a catalog that both can open."""

from __future__ import annotations

import pytest

from ducklake_spark.errors import TransactionConflict, TransactionError
from support.rows import sorted_rows
from support.writing import Keeper, open_session, table_files

pytestmark = pytest.mark.interop

FILES = [
    "CREATE TABLE t (id INTEGER, v VARCHAR)",
    "INSERT INTO t SELECT i, 'a' FROM range(0, 30) r(i)",
    "INSERT INTO t SELECT i, 'b' FROM range(30, 60) r(i)",
    "DELETE FROM t WHERE id = 59",
    "INSERT INTO t SELECT i, 'c' FROM range(60, 90) r(i)",
    "INSERT INTO t VALUES (90, 'inlined')",
]
BIG_DELETE = "DELETE FROM t WHERE id BETWEEN 5 AND 25"
SMALL_DELETE = "DELETE FROM t WHERE id = 7"
INLINED_DELETE = "DELETE FROM t WHERE id = 90"
INSERT = "INSERT INTO t SELECT i, 'd' FROM range(100, 130) r(i)"
SMALL_INSERT = "INSERT INTO t VALUES (200, 'new')"


@pytest.fixture
def location(make_lake_location):
    found = make_lake_location("sqlite", "lake")
    with found.oracle() as oracle:
        for statement in FILES:
            oracle.sql(statement)
    return found


def run(session, call: str) -> None:
    keeper = Keeper(session)
    {"merge": keeper.merge, "rewrite": lambda: keeper.rewrite(0.0), "flush": keeper.flush}[call]()


@pytest.mark.parametrize("call", ["merge", "rewrite"])
@pytest.mark.parametrize("theirs", [BIG_DELETE, SMALL_DELETE])
def test_a_compaction_that_a_delete_overtakes_conflicts_and_leaves_nothing(location, call, theirs):
    files = table_files(location)
    session = open_session(location)
    session.begin()
    run(session, call)
    assert len(table_files(location)) == len(files) + 1
    with location.oracle() as oracle:
        oracle.sql(theirs)
        rows = sorted_rows(oracle.sql("SELECT rowid, * FROM t"))
        written = table_files(location)
    with pytest.raises(TransactionConflict, match="compact table"):
        session.commit()
    session.close_lakes()
    with location.oracle() as oracle:
        assert sorted_rows(oracle.sql("SELECT rowid, * FROM t")) == rows
    ours = set(written) - set(table_files(location))
    assert len(ours) == 1
    assert set(files) <= set(table_files(location))


@pytest.mark.parametrize("call", ["merge", "rewrite", "flush"])
@pytest.mark.parametrize("theirs", [INSERT, SMALL_INSERT])
def test_inserts_go_on_during_maintenance(location, call, theirs):
    session = open_session(location)
    session.begin()
    run(session, call)
    with location.oracle() as oracle:
        oracle.sql(theirs)
        rows = sorted_rows(oracle.sql("SELECT rowid, * FROM t"))
    session.commit()
    session.close_lakes()
    with location.oracle() as oracle:
        assert sorted_rows(oracle.sql("SELECT rowid, * FROM t")) == rows


@pytest.mark.parametrize("theirs", [INLINED_DELETE, SMALL_DELETE])
def test_a_flush_that_an_inlined_delete_overtakes_conflicts(location, theirs):
    session = open_session(location)
    session.begin()
    run(session, "flush")
    with location.oracle() as oracle:
        oracle.sql(theirs)
        rows = sorted_rows(oracle.sql("SELECT rowid, * FROM t"))
    with pytest.raises(TransactionConflict):
        session.commit()
    session.close_lakes()
    with location.oracle() as oracle:
        assert sorted_rows(oracle.sql("SELECT rowid, * FROM t")) == rows


def test_compaction_and_other_changes_do_not_go_into_one_transaction(location):
    session = open_session(location)
    session.begin()
    run(session, "flush")
    run(session, "merge")
    with pytest.raises(TransactionError, match="not both"):
        session.commit()
    session.close_lakes()


def test_a_transaction_merges_a_file_once(location):
    session = open_session(location)
    session.begin()
    keeper = Keeper(session)
    assert keeper.merge() == (("main", "t", 2, 1),)
    assert keeper.merge() == ()
    session.commit()
    assert keeper.merge() == ()
    session.close_lakes()


def test_calling_again_with_nothing_to_do_makes_no_snapshot(location):
    session = open_session(location)
    keeper = Keeper(session)
    for call in (keeper.flush, keeper.merge, lambda: keeper.rewrite(0.0), keeper.merge):
        call()
    latest = keeper.lake.latest().snapshot_id
    for call in (keeper.flush, keeper.merge, lambda: keeper.rewrite(0.0), keeper.merge):
        assert call() == ()
    assert keeper.lake.latest().snapshot_id == latest
    session.close_lakes()
