"""Tables about tables, time travel and the columns that no SELECT * shows."""

from __future__ import annotations

import datetime as dt

import pytest

from ducklake_spark.errors import DuckLakeError, InvalidInput

pytestmark = [pytest.mark.spark, pytest.mark.interop]


@pytest.fixture
def versions(lake, table):
    """The snapshots at which a table was made, got three rows, and lost one."""
    lake.sql(
        f"CREATE TABLE lake.main.{table} (id BIGINT, region STRING) PARTITIONED BY (region) "
        "TBLPROPERTIES (data_inlining_row_limit = '0')"
    )
    made = [lake.last_snapshot()]
    with lake.location.oracle() as duck:
        duck.sql("CREATE TABLE IF NOT EXISTS other (a INT)")
        duck.sql("INSERT INTO other VALUES (1)")
        duck.sql(f"INSERT INTO {table} VALUES (1, 'north'), (2, 'south'), (3, 'north')")
        made.append(lake.last_snapshot())
        duck.sql("INSERT INTO other VALUES (2)")
        duck.sql(f"DELETE FROM {table} WHERE id = 1")
        made.append(lake.last_snapshot())
    return made


def test_snapshots_are_those_that_changed_the_table(lake, table, versions):
    found = lake.sql(f"SELECT snapshot_id FROM lake.main.{table}.snapshots ORDER BY 1")
    assert [row[0] for row in found] == versions
    assert lake.sql(f"SELECT count(*) FROM lake.main.{table}.history") == [(3,)]
    old = f"SELECT count(*) FROM lake.main.{table}.snapshots VERSION AS OF {versions[1]}"
    assert lake.sql(old) == [(2,)]
    lake_wide = lake.sql("SELECT max(snapshot_id) FROM lake.system.snapshots")
    assert lake_wide == [(lake.last_snapshot(),)]
    assert (table,) in lake.sql("SELECT table_name FROM lake.system.table_info")


def test_files_partitions_and_changes(lake, table, versions):
    assert lake.sql(f"SELECT count(*), count(delete_file) FROM lake.main.{table}.files") == [(2, 1)]
    parts = f"SELECT partition['region'], record_count FROM lake.main.{table}.partitions ORDER BY 1"
    assert lake.sql(parts) == [("north", 2), ("south", 1)]
    at = f"SELECT count(*) FROM lake.main.{table}.partitions VERSION AS OF {versions[0]}"
    assert lake.sql(at) == [(0,)]
    changes = lake.sql(
        f"SELECT snapshot_id, change_type, id FROM lake.main.{table}.changes ORDER BY 1, 3"
    )
    assert changes == [
        (versions[1], "insert", 1),
        (versions[1], "insert", 2),
        (versions[1], "insert", 3),
        (versions[2], "delete", 1),
    ]


def test_they_can_only_be_read(lake, table, versions):
    with pytest.raises(InvalidInput, match="only be read"):
        lake.sql(f"INSERT INTO lake.main.{table}.history SELECT * FROM lake.main.{table}.snapshots")
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        lake.sql(f"SELECT * FROM lake.main.{table}.nothing")
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        lake.sql("SELECT * FROM lake.main.nothing.files")


def test_time_travel_by_versions_and_moments(lake, table, versions):
    count = f"SELECT count(*) FROM lake.main.{table}"
    assert [lake.sql(f"{count} VERSION AS OF {v}")[0][0] for v in versions] == [0, 3, 2]
    at = "SELECT snapshot_time FROM lake.system.snapshots WHERE snapshot_id = "
    moment = lake.sql(f"{at}{versions[1]}")[0][0]
    utc = moment.astimezone(dt.timezone.utc).strftime("%Y-%m-%d %H:%M:%S.%f+00:00")
    assert lake.sql(f"{count} TIMESTAMP AS OF '{utc}'") == [(3,)]
    lake.spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        assert lake.sql(f"{count} TIMESTAMP AS OF '{utc}'") == [(3,)]
    finally:
        lake.spark.conf.set("spark.sql.session.timeZone", "UTC")
    reader = lake.spark.read.option("versionAsOf", versions[1])
    assert reader.table(f"{lake.name}.main.{table}").count() == 3
    with pytest.raises(DuckLakeError, match="99999"):
        lake.sql(f"{count} VERSION AS OF 99999")


def test_columns_that_no_star_shows(lake, table, versions):
    rows = lake.sql(
        f"SELECT id, rowid, _rowid, snapshot_id, _pos, file_row_number, _file = filename, _file "
        f"FROM lake.main.{table} ORDER BY id"
    )
    with lake.location.oracle() as duck:
        known = duck.sql(
            f"SELECT id, rowid, rowid, snapshot_id, file_row_number, file_row_number, true, "
            f"filename FROM {table} ORDER BY id"
        )
    assert [row[:7] for row in rows] == [row[:7] for row in known]
    assert [row[7].removeprefix("file:") for row in rows] == [row[7] for row in known]
    assert len(lake.spark.table(f"{lake.name}.main.{table}").columns) == 2


def test_a_column_of_the_table_wins_over_one_that_is_made(lake, table):
    lake.sql(
        f"CREATE TABLE lake.main.{table} AS SELECT 'mine' AS rowid, 'too' AS _file, id "
        "FROM range(2)"
    )
    assert lake.sql(f"SELECT DISTINCT rowid, _file FROM lake.main.{table}") == [("mine", "too")]
    found = lake.sql(f"SELECT rowid, _rowid, filename, id FROM lake.main.{table} ORDER BY id")
    assert [(row[0], row[1], row[3]) for row in found] == [("mine", 0, 0), ("mine", 1, 1)]
