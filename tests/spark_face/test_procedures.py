"""CALL lake.system.<procedure>."""

from __future__ import annotations

import pytest

from ducklake_spark.errors import FunctionNotFound, InvalidInput, UnknownOption
from ducklake_spark.spark_face.procedures import PROCEDURES

pytestmark = [pytest.mark.spark, pytest.mark.interop]


@pytest.fixture
def filled(lake, table):
    """The name of a table with three small files and inlined rows."""
    lake.sql(
        f"CREATE TABLE lake.main.{table} TBLPROPERTIES (data_inlining_row_limit = '0') AS "
        "SELECT id FROM range(10)"
    )
    with lake.location.oracle() as duck:
        duck.sql(f"INSERT INTO {table} VALUES (10)")
        duck.sql(f"INSERT INTO {table} VALUES (11)")
        duck.sql(f"CALL lake.set_option('data_inlining_row_limit', 100, table_name => '{table}')")
        duck.sql(f"INSERT INTO {table} VALUES (12)")
    return table


def test_maintenance_by_place_and_by_name(lake, filled):
    assert lake.sql(f"CALL lake.system.flush_inlined_data('{filled}')") == [("main", filled, 1)]
    done = lake.sql(f"CALL lake.system.merge_adjacent_files(table_name => '{filled}')")
    assert len(done) == 1
    lake.sql(f"CALL lake.system.merge_adjacent_files('{filled}', 'main', max_file_size => 1)")
    lake.sql("CALL lake.system.rewrite_data_files(delete_threshold => 0.5)")
    gone = lake.sql("CALL lake.system.expire_snapshots(versions => array(0, 1))")
    assert [row[0] for row in gone] == [0, 1]
    assert lake.sql("CALL lake.system.expire_snapshots(older_than => '2001-01-01 00:00:00')") == []
    would = lake.sql("CALL lake.system.cleanup_old_files(cleanup_all => true, dry_run => true)")
    assert lake.sql("CALL lake.system.cleanup_old_files(cleanup_all => true)") == would
    assert lake.sql("CALL lake.system.delete_orphaned_files(older_than => now())") == []
    lake.sql("CALL lake.system.checkpoint()")
    assert lake.sql("CALL lake.system.check()") == []
    with lake.location.oracle() as duck:
        assert duck.sql(f"SELECT count(*), sum(id) FROM {filled}") == [(13, 78)]


def test_questions_have_the_rows_of_our_sql(lake, filled):
    info = {row[0]: row for row in lake.sql("CALL lake.system.table_info()")}
    assert info[filled][4] == 3
    assert len(lake.sql(f"CALL lake.system.list_files('{filled}')")) == 3
    snapshots = lake.sql("CALL lake.system.snapshots()")
    assert snapshots[-1][0] == lake.last_snapshot()
    assert lake.sql("CALL lake.system.current_snapshot()") == [(lake.last_snapshot(),)]
    assert lake.sql("CALL lake.system.settings()")[0][0] == "sqlite"


def test_the_change_feed_by_snapshots_and_by_moments(lake, filled):
    last = lake.last_snapshot()
    added = lake.sql(f"CALL lake.system.table_insertions('{filled}', {last}, {last})")
    assert [row[-1] for row in added] == [12]
    changed = lake.sql(f"CALL lake.system.table_changes('{filled}', start_snapshot => {last})")
    assert [(row[0], row[2], row[3]) for row in changed] == [(last, "insert", 12)]
    told = lake.sql(
        f"CALL lake.system.table_changes(table_name => '{filled}', "
        "start_time => TIMESTAMP '2020-01-01', end_time => now())"
    )
    assert len(told) == 13
    assert lake.sql(f"CALL lake.system.table_deletions('{filled}', {last})") == []
    with pytest.raises(InvalidInput, match="where the changes begin"):
        lake.sql(f"CALL lake.system.table_changes('{filled}')")


def test_options_and_layouts_are_set(lake, filled):
    lake.sql("CALL lake.system.set_option('parquet_compression', 'zstd')")
    lake.sql(f"CALL lake.system.set_option('target_file_size', '5MB', table_name => '{filled}')")
    told = {(row[0], row[3]): row[2] for row in lake.sql("CALL lake.system.options()")}
    assert told["parquet_compression", "GLOBAL"] == "zstd"
    assert told["target_file_size", "TABLE"] == "5000000"
    with pytest.raises(UnknownOption):
        lake.sql("CALL lake.system.set_option('colour', 'red')")
    lake.sql(f"CALL lake.system.set_partitioned_by('{filled}', 'bucket(4, id)')")
    lake.sql(f"CALL lake.system.set_sorted_by('{filled}', 'id DESC')")
    shown = lake.sql(f"SHOW CREATE TABLE lake.main.{filled}")[0][0]
    assert "4" in shown and "'sorted_by' = 'id DESC'" in shown
    lake.sql(f"CALL lake.system.set_partitioned_by('{filled}')")
    assert "PARTITIONED" not in lake.sql(f"SHOW CREATE TABLE lake.main.{filled}")[0][0]


def test_files_are_added(lake, table, tmp_path):
    lake.spark.range(5).write.parquet(str(tmp_path / "files"))
    lake.sql(f"CREATE TABLE lake.main.{table} (id BIGINT)")
    lake.sql(f"CALL lake.system.add_data_files('{table}', '{tmp_path}/files/*.parquet')")
    assert lake.sql(f"SELECT sum(id) FROM lake.main.{table}") == [(10,)]


def test_explain_calls_nothing(lake, filled):
    before = lake.last_snapshot()
    lake.sql(f"EXPLAIN CALL lake.system.flush_inlined_data('{filled}')")
    assert lake.last_snapshot() == before
    assert len(lake.sql(f"CALL lake.system.list_files('{filled}')")) == 3


def test_a_procedure_that_is_not_there_is_told_with_a_hint(lake):
    with pytest.raises(FunctionNotFound, match="checkpoint"):
        lake.sql("CALL lake.system.chekpoint()")
    with pytest.raises(Exception, match=r"REQUIRED_PARAMETER|required"):
        lake.sql("CALL lake.system.set_option('parquet_compression')")


def test_procedures_are_listed(lake):
    if lake.spark.version.startswith("4.0"):
        pytest.skip("SHOW PROCEDURES came with 4.1")
    listed = {row[-1] for row in lake.sql(f"SHOW PROCEDURES IN {lake.name}.system")}
    assert listed == set(PROCEDURES)


def test_arguments_may_be_expressions(lake):
    assert (
        lake.sql("CALL lake.system.expire_snapshots(older_than => now() - INTERVAL 7 DAYS)") == []
    )
    lake.sql("CREATE TABLE lake.main.by_expression (id INT)")
    assert lake.sql("CALL lake.system.merge_adjacent_files(concat('by_', 'expression'))") == []


@pytest.mark.parametrize("name", ["'apart.named'", "table_name => 'apart.named'"])
def test_the_name_of_a_table_may_say_its_schema(lake, name):
    lake.sql("CREATE SCHEMA IF NOT EXISTS lake.apart")
    lake.sql("CREATE OR REPLACE TABLE lake.apart.named AS SELECT 1 AS id")
    for procedure in ("flush_inlined_data", "rewrite_data_files", "list_files"):
        lake.sql(f"CALL lake.system.{procedure}({name})")
    first = lake.last_snapshot()
    lake.sql("INSERT INTO lake.apart.named VALUES (2)")
    rows = lake.sql(f"CALL lake.system.table_changes({name}, start_snapshot => {first + 1})")
    assert [row[-1] for row in rows] == [2]
