"""The change feed in SQL and Python: names, bounds, columns, errors, and what it reads."""

from __future__ import annotations

import datetime as dt

import pytest

import ducklake_spark
from ducklake_spark.errors import InvalidInput, SnapshotNotFound, TableNotFound
from ducklake_spark.spark.relation import explain_scans

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def con(spark, tmp_path_factory):
    """A lake with a table of three files, one each of snapshots 2 to 4, and some others."""
    place = tmp_path_factory.mktemp("feed")
    con = ducklake_spark.connect(
        f"ducklake:sqlite:{place / 'lake.sqlite'}",
        spark=spark,
        alias="lake",
        data_path=f"{place}/data/",
    )
    con.sql("CREATE TABLE t (id BIGINT, name VARCHAR)")
    for first in (0, 100, 200):
        con.sql(f"INSERT INTO t SELECT id, 'n' FROM range({first}, {first + 20}) r(id)")
    con.sql("CREATE VIEW v AS SELECT * FROM t")
    con.sql("CREATE SCHEMA s")
    con.sql("CREATE TABLE s.t (snapshot_id INTEGER, rowid INTEGER)")
    con.sql("INSERT INTO s.t VALUES (70, 80)")
    con.sql("CREATE TABLE p AS SELECT id FROM range(0, 20) r(id)")
    con.sql("INSERT INTO p SELECT id FROM range(100, 120) r(id)")
    con.sql("DELETE FROM p WHERE id IN (5, 105)")
    yield con
    con.close()


def rows(con, query, **more):
    return [tuple(row) for row in con.sql(query, **more).collect()]


@pytest.mark.parametrize(
    "source",
    [
        "table_changes('t', 3, 4)",
        "lake.table_changes('t', 3, 4)",
        "main.table_changes('t', 3, 2 + 2)",
        "lake.main.table_changes('t', start_snapshot => 3, end_snapshot => 4)",
        "ducklake_table_changes('lake', 'main', 't', 3, 4)",
        "lake.table_changes('t', getvariable('first'), getvariable('first') + 1)",
    ],
)
def test_the_feed_is_had_by_every_name_it_has(con, source):
    con.sql("SET VARIABLE first = 3")
    query = f"SELECT snapshot_id, change_type, count(*), min(rowid) FROM {source} GROUP BY ALL"
    assert sorted(rows(con, query)) == [(3, "insert", 20, 20), (4, "insert", 20, 40)]


def test_bounds_are_parameters_or_moments(con):
    query = "SELECT count(*) FROM lake.table_insertions('t', ?, ?)"
    assert rows(con, query, params=[2, 3]) == [(40,)]
    moments = "lake.table_insertions('t', DATE '1970-01-01', now())"
    assert rows(con, f"SELECT count(*) FROM {moments}") == [(60,)]
    third = con.snapshots().where("snapshot_id = 3").collect()[0].snapshot_time
    third = third.astimezone(dt.timezone.utc)
    assert con.changes("t", third, third).count() == 20
    assert con.changes("t", "1970-01-01").count() == 60
    assert con.changes("t", 4, 3).count() == 0


def test_columns_are_those_of_the_extension(con):
    assert con.changes("t", 2, 3).columns == ["snapshot_id", "rowid", "change_type", "id", "name"]
    assert con.sql("FROM lake.table_deletions('t', 2, 3)").columns == ["id", "name"]
    halves = con.changes("t", 2, 2, kind="insertions")
    assert halves.columns == ["snapshot_id", "rowid", "id", "name"]
    virtual = rows(
        con,
        "SELECT i.rowid, snapshot_id, file_row_number, filename LIKE '%.parquet', i.* "
        "FROM ducklake_table_insertions('lake', 'main', 't', 3, 3) i WHERE id = 101",
    )
    assert virtual == [(21, 3, 1, True, 101, "n")]


def test_columns_of_the_table_keep_their_values_when_the_feed_has_the_same_names(con):
    frame = con.sql("FROM s.table_changes('t', 0, 8)")
    assert frame.columns == ["snapshot_id", "rowid", "change_type", "snapshot_id_1", "rowid_1"]
    assert [tuple(row) for row in frame.collect()] == [(8, 0, "insert", 70, 80)]
    assert rows(con, "SELECT snapshot_id FROM s.table_insertions('t', 0, 8)") == [(70,)]


@pytest.mark.parametrize(
    ("source", "error", "text"),
    [
        ("table_changes('t', 3, 99)", SnapshotNotFound, "No snapshot found at version 99"),
        ("table_changes('t', 99, 3)", SnapshotNotFound, "No snapshot found at version 99"),
        ("table_changes('t', 0, 0)", TableNotFound, "t does not exist at version 0"),
        ("table_changes('t', NULL, 3)", InvalidInput, "Snapshot identifier cannot be NULL"),
        ("table_changes(NULL, 3, 3)", InvalidInput, "Table cannot be NULL"),
        ("table_changes('t', 3)", InvalidInput, "does not support the supplied arguments"),
        ("table_changes('t', 2, now())", InvalidInput, "No function matches"),
        ("table_changes('t', '2', '3')", InvalidInput, "No function matches"),
        ("table_changes('v', 3, 5)", InvalidInput, '"v" is a View, not a table'),
        ("ducklake_table_deletions('lake', NULL, 't', 3, 3)", InvalidInput, "Schema cannot be"),
    ],
)
def test_arguments_that_name_nothing_are_refused(con, source, error, text):
    with pytest.raises(error, match=text):
        con.sql(f"FROM {source}")


def test_only_files_of_the_range_are_listed_and_filters_prune_them(con):
    [report] = explain_scans(con.changes("t", 3, 3))
    assert (report.files_total, report.files_chosen) == (1, 1)
    reports = explain_scans(con.sql("FROM lake.table_changes('t', 2, 4) WHERE id = 105"))
    assert sum(report.files_total for report in reports) == 3
    assert sum(report.files_chosen for report in reports) == 1


def test_filters_prune_the_files_that_rows_were_deleted_from(con):
    frame = con.sql("FROM lake.table_changes('p', 11, 11) WHERE id = 105")
    [report] = explain_scans(frame)
    assert (report.files_total, report.files_chosen) == (2, 1)
    assert [tuple(row) for row in frame.collect()] == [(11, 25, "delete", 105)]
    called = con.sql("CALL ducklake_table_deletions('lake', 'main', 'p', 11, 11)")
    assert sorted(row.id for row in called.collect()) == [5, 105]


def test_a_transaction_sees_the_feed_of_what_is_committed(con):
    con.begin()
    try:
        con.sql("INSERT INTO t VALUES (999, 'mine')")
        con.sql("CREATE TABLE mine (id INTEGER)")
        assert con.changes("t", 2).count() == 60
        with pytest.raises(TableNotFound):
            con.changes("mine", 2)
    finally:
        con.rollback()
