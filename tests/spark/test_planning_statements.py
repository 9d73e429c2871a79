"""How many statements a query sends to the catalog, and that it shows the right rows with so few.

The check of the newest snapshot, and BEGIN and COMMIT, are not counted.
"""

from __future__ import annotations

from contextlib import contextmanager

import pytest

import ducklake_spark
from support.writing import Writer, open_session

pytestmark = pytest.mark.spark

MANY = 6


@pytest.fixture(params=["duckdb", "sqlite", "postgres"])
def catalog_kind(request):
    return request.param


@pytest.fixture
def con(spark, location, lower):
    """A lake in which seven files are many, with tables of three and of nine files."""
    lower(many_files=MANY)
    with ducklake_spark.connect(
        location.uri, spark=spark, alias="lake", data_path=location.data_path
    ) as connection:
        connection.sql("USE lake")
        for table, files in (("few", 3), ("several", 9)):
            connection.sql(f"CREATE TABLE {table} (id BIGINT, name VARCHAR)")
            for number in range(files):
                Writer(connection).insert(10 * number, 10 * number + 1, table=table)
        yield connection


@contextmanager
def asked(con):
    """The statements about tables that are sent inside."""
    db, found = con.current_lake().db, []
    db.trace = []
    yield found
    found += [sql for sql in db.trace if not is_frame(sql)]
    db.trace = None


def is_frame(sql: str) -> bool:
    asks = sql.startswith("SELECT snapshot_id, snapshot_time")
    newest = asks and ("max(snapshot_id)" in sql or sql.endswith("WHERE snapshot_id >= ?"))
    # The same with what was changed, once there are large tables.
    newest = newest or sql.startswith("SELECT s.snapshot_id, s.snapshot_time")
    return newest or sql.startswith(("BEGIN", "COMMIT"))


def ids(con, query):
    return sorted(row[0] for row in con.sql(query).collect())


@pytest.mark.parametrize("table", ["few", "several"])
def test_a_filtered_query_after_a_commit_sends_three_statements(con, table):
    query = f"SELECT id FROM {table} WHERE id BETWEEN 11 AND 20"
    assert ids(con, query) == [11, 20]
    Writer(con).insert(12, table=table)
    with asked(con) as statements:
        assert ids(con, query) == [11, 12, 20]
    assert len(statements) <= 3, statements


def test_a_commit_to_another_table_costs_a_large_one_no_statement_more(con):
    query = "SELECT id FROM several WHERE id BETWEEN {} AND {}"
    assert ids(con, query.format(11, 20)) == [11, 20]
    for number in range(3):
        Writer(con).insert(100 + number, table="few")
        with asked(con) as statements:
            assert ids(con, query.format(10 + number, 30)) == [
                *([10] if number < 1 else []),
                *([11] if number < 2 else []),
                *(20, 21, 30),
            ]
        assert len(statements) <= 1, statements


@pytest.mark.parametrize(("table", "most"), [("few", 0), ("several", 1)])
def test_a_query_of_the_same_snapshot_asks_for_no_more_than_the_files_of_its_filter(
    con, table, most
):
    query = "SELECT id FROM {} WHERE id BETWEEN {} AND {}"
    assert ids(con, query.format(table, 10, 11)) == [10, 11]
    with asked(con) as statements:
        assert ids(con, query.format(table, 11, 20)) == [11, 20]
    assert len(statements) <= most, statements


def test_a_table_of_many_files_is_found_out_by_one_more_statement_once(con):
    with asked(con) as statements:
        assert ids(con, "SELECT id FROM several WHERE id = 80") == [80]
    assert len(statements) <= 4 + TABLE_STATEMENTS, statements


TABLE_STATEMENTS = 4
"""Columns, partition, order and comments of a table that was not asked for before."""


@pytest.mark.parametrize("table", ["few", "several"])
def test_every_commit_of_others_is_seen_at_once(con, location, table):
    other = open_session(location)
    query = f"SELECT id FROM {table} WHERE id < 13"
    expected = {0, 1, 10, 11}
    for number, change in enumerate(
        [
            lambda: Writer(other).insert(2, table=table),
            lambda: Writer(other).insert_inlined(3, 12, table=table),
            lambda: Writer(other).delete(10, table=table),
            lambda: Writer(other).delete(0, table=table, inline_limit=5),
        ]
    ):
        assert ids(con, query) == sorted(expected), number
        change()
        expected = [expected | {2}, expected | {3, 12}, expected - {10}, expected - {0}][number]
    assert ids(con, query) == sorted(expected)
    other.close_lakes()


def test_small_deletes_of_the_last_of_many_files_stay_deleted(con):
    Writer(con).delete(80, table="several", inline_limit=5)
    assert ids(con, "SELECT id FROM several WHERE id >= 70") == [70, 71, 81]
    assert len(ids(con, "SELECT id FROM several")) == 17


def test_an_open_transaction_sees_its_own_changes_and_no_others(con, location):
    other = open_session(location)
    for table in ("few", "several"):
        query = f"SELECT id FROM {table} WHERE id < 12"
        assert ids(con, query) == [0, 1, 10, 11]
        con.sql("BEGIN")
        Writer(con).insert_inlined(5, table=table)
        assert ids(con, query) == [0, 1, 5, 10, 11]
        Writer(other).insert(6, table=table)
        Writer(con).delete(1, table=table)
        assert ids(con, query) == [0, 5, 10, 11]
        con.sql("ROLLBACK")
        assert ids(con, query) == [0, 1, 6, 10, 11]
    other.close_lakes()


def test_older_snapshots_do_not_show_what_was_remembered_of_the_newest(con):
    at = con.sql("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')").collect()[0][0]
    for table in ("few", "several"):
        Writer(con).insert(7, table=table)
        query = f"SELECT id FROM {table} {{}} WHERE id < 10"
        assert ids(con, query.format("")) == [0, 1, 7]
        assert ids(con, query.format(f"AT (VERSION => {at})")) == [0, 1]
        assert ids(con, query.format("")) == [0, 1, 7]


def test_a_count_sends_two_statements(con):
    Writer(con).insert_inlined(3, 4, table="few")
    assert con.sql("SELECT count(*) FROM few").collect()[0][0] == 8
    with asked(con) as statements:
        assert con.sql("SELECT count(*) FROM few").collect()[0][0] == 8
    assert len(statements) <= 2, statements


def test_a_count_at_an_attached_snapshot_leaves_out_rows_that_were_merged_in_later(con, location):
    at = con.sql("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')").collect()[0][0]
    Writer(con).insert(5, 6, table="few")
    con.merge_adjacent_files("few")
    con.sql(f"ATTACH '{location.uri}' AS past (SNAPSHOT_VERSION {at})")
    assert con.sql("SELECT count(*) FROM past.few").collect()[0][0] == 6
    assert con.sql("SELECT count(*) FROM lake.few").collect()[0][0] == 8
