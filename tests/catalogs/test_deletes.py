"""Deletes as transactions: what they see, what stands in their way, what they leave behind."""

from __future__ import annotations

import pytest

from ducklake_spark.errors import TransactionConflict
from support.invariants import check_catalog, committed_files
from support.writing import Writer, open_session, table_files, transaction


@pytest.fixture(params=["sqlite", "postgres"])
def catalog_kind(request):
    """DuckDB files cannot be opened by two at a time."""
    return request.param


@pytest.fixture
def writers(location):
    """Two writers on a table with two files of ten rows each; all is checked at the end."""
    one, other = open_session(location), open_session(location)
    Writer(one).create_table("t")
    Writer(one).insert(*range(10))
    Writer(one).insert(*range(10, 20))
    yield Writer(one), Writer(other)
    assert Writer(one).ids() == Writer(other).ids()
    assert Writer(one).count() == len(Writer(one).ids())
    one.close_lakes()
    other.close_lakes()
    with location.database(create=False) as db:
        check_catalog(db)
        assert {path.split("/")[-1] for path in table_files(location)} == committed_files(db)


@pytest.mark.parametrize("inline_limit", [0, 5])
def test_deleted_rows_are_gone_for_all(writers, inline_limit):
    one, other = writers
    assert one.delete(3, 4, 13, 99, inline_limit=inline_limit) == 3
    assert other.delete(5, 13, 14, inline_limit=inline_limit) == 2
    assert one.ids() == [0, 1, 2, *range(6, 13), *range(15, 20)]


def test_two_deletes_from_different_files_both_happen(writers):
    one, other = writers
    one.session.begin()
    one.delete(1, 2)
    other.delete(11)
    one.session.commit()
    assert one.ids() == [0, *range(3, 11), *range(12, 20)]


@pytest.mark.parametrize("mine", [0, 5], ids=["file", "inlined"])
@pytest.mark.parametrize("theirs", [0, 5], ids=["file", "inlined"])
def test_two_deletes_from_one_file_conflict(writers, mine, theirs):
    one, other = writers
    one.session.begin()
    one.delete(1, 2, inline_limit=mine)
    other.delete(2, 3, inline_limit=theirs)
    with pytest.raises(TransactionConflict, match="deleted from it"):
        one.session.commit()
    assert one.ids() == [0, 1, *range(4, 20)]


def test_a_delete_and_the_end_of_the_same_file_conflict(writers):
    one, other = writers
    one.session.begin()
    one.delete(1)
    other.delete(*range(10))
    with pytest.raises(TransactionConflict, match="delete from file with index"):
        one.session.commit()


def test_a_delete_and_an_insert_conflict(writers):
    one, other = writers
    one.session.begin()
    one.delete(1)
    other.insert(50)
    with pytest.raises(TransactionConflict, match="inserted into it"):
        one.session.commit()


def test_a_delete_that_others_overtook_is_dated_when_it_happened(writers):
    one, other = writers
    one.delete(1)
    one.session.begin()
    one.delete(2)
    other.create_table("u")
    other.create_table("v")
    one.session.commit()
    db = one.lake.db
    begin, last, count = db.fetch(
        f"SELECT begin_snapshot, partial_max, delete_count FROM {db.table('ducklake_delete_file')}"
    )[0]
    assert count == 2
    assert last == one.lake.latest().snapshot_id == begin + 3


def test_a_transaction_sees_its_own_deletes(writers):
    one, other = writers
    with transaction(one.session):
        one.insert(30, 31, 32)
        one.insert_inlined(40, 41)
        assert one.delete(2, 31, 41, inline_limit=5) == 3
        assert one.delete(3, 12, 13, 14, 32, inline_limit=2) == 5
        expected = [0, 1, *range(4, 12), *range(15, 20), 30, 40]
        assert one.ids() == expected
        assert one.count() == len(expected)
        assert other.count() == 20
    assert other.ids() == expected


def test_rows_of_the_same_transaction_leave_no_trace_when_all_go(writers):
    one, _ = writers
    before = one.lake.latest()
    with transaction(one.session):
        one.insert(30, 31)
        one.insert_inlined(40)
        one.delete(30, 31, 40)
    assert one.lake.latest() == before


def test_a_file_that_ends_after_a_delete_needs_no_delete_file(writers):
    one, _ = writers
    with transaction(one.session):
        one.delete(0, 1)
        one.delete(*range(2, 10))
    assert one.ids() == list(range(10, 20))
    db = one.lake.db
    assert db.fetch(f"SELECT * FROM {db.table('ducklake_delete_file')}") == []


def test_rollback_removes_delete_files(writers):
    one, _ = writers
    one.session.begin()
    one.delete(1, 2)
    one.delete(3)
    one.session.rollback()
    assert one.ids() == list(range(20))
