"""Options of `spark.read.option(…).table(…)`, as programs for other formats give them."""

from __future__ import annotations

import pytest

from ducklake_spark.errors import InvalidInput, NotSupported, SnapshotNotFound

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def changed(lake):
    """A table of four rows, of which one was updated and one deleted; its first snapshot."""
    name = f"{lake.name}.main.changed"
    lake.spark.sql(f"CREATE TABLE {name} AS SELECT id, id AS v FROM range(4)")
    first = lake.last_snapshot()
    lake.spark.sql(f"UPDATE {name} SET v = 100 WHERE id = 1")
    lake.spark.sql(f"DELETE FROM {name} WHERE id = 2")
    return name, first


@pytest.mark.parametrize("option", ["readChangeFeed", "readChangeData"])
def test_the_change_feed_of_a_table_by_name(lake, changed, option):
    name, first = changed
    reader = lake.spark.read.option(option, "true").option("startingVersion", first + 1)
    feed = reader.table(name)
    assert feed.columns == ["snapshot_id", "rowid", "change_type", "id", "v"]
    assert sorted(map(tuple, feed.where("v < 100").select("change_type", "id").collect())) == [
        ("delete", 2),
        ("update_preimage", 1),
    ]


def test_a_snapshot_that_an_option_names(lake, changed):
    name, first = changed
    for option in ("snapshot", "versionAsOf"):
        rows = lake.spark.read.option(option, first).table(name)
        assert rows.count() == 4, option
    with pytest.raises(SnapshotNotFound):
        lake.spark.read.option("timestamp", "1999-01-01").table(name)


@pytest.mark.parametrize("query", ["SELECT *", "SELECT count(*)"])
def test_options_that_ask_for_other_rows_are_refused_inside_of_a_query(lake, changed, query):
    name, first = changed
    with pytest.raises(NotSupported, match="inside of a query"):
        lake.spark.sql(f"{query} FROM {name} WITH ('snapshot' = '{first}')")


def test_options_that_mean_nothing_to_a_snapshot_are_refused(lake, changed):
    with pytest.raises(InvalidInput, match="startingsnapshot"):
        lake.spark.read.option("startingVersion", 1).table(changed[0])


@pytest.mark.parametrize("option", ["snapshot-id", "as-of-timestamp", "branch", "tag"])
def test_options_of_other_formats_that_name_other_rows_are_refused(lake, changed, option):
    with pytest.raises(InvalidInput, match=option):
        lake.spark.read.option(option, "1").table(changed[0])


def test_a_feed_that_is_not_wanted_is_the_table(lake, changed):
    assert lake.spark.read.option("readChangeFeed", "false").table(changed[0]).count() == 3


@pytest.mark.parametrize("option", ["branch", "txnAppId", "txnVersion"])
def test_a_write_does_not_pass_over_what_would_keep_rows_from_coming_twice(lake, changed, option):
    rows = lake.spark.range(1).selectExpr("id", "id AS v")
    with pytest.raises(InvalidInput, match=option.lower()):
        rows.writeTo(changed[0]).option(option, "1").append()
