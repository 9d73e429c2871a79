"""Maintenance by Spark jobs, as SQL and as methods of the connection."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ducklake_spark
from ducklake_spark.errors import InvalidInput, MissingDataFile, TransactionError
from support.writing import table_files

pytestmark = pytest.mark.spark

PAGE = Path(__file__).parents[2] / "docs" / "maintenance.md"


@pytest.fixture
def con(spark, make_lake_location):
    location = make_lake_location("sqlite", "lake")
    connection = ducklake_spark.connect(
        location.uri, spark=spark, alias="lake", data_path=location.data_path
    )
    connection.location = location
    yield connection
    connection.close()


def rows(frame) -> list[tuple]:
    return [tuple(row) for row in frame.collect()]


def write_events(con, table: str = "events", files: int = 4) -> None:
    con.sql(f"CREATE TABLE {table} (id BIGINT, name VARCHAR, at TIMESTAMP)")
    for number in range(files):
        low = number * 20
        con.sql(
            f"INSERT INTO {table} SELECT id, 'n' || id, TIMESTAMP '2024-01-01 00:00:00' "
            f"FROM range({low}, {low + 20}) r(id)"
        )
    con.sql(f"INSERT INTO {table} VALUES (1000, 'small', NULL)")


def test_groups_are_rewritten_by_tasks_and_every_snapshot_stays(con):
    for table in ("a", "b"):
        write_events(con, table)
    latest = con.lake("lake").latest().snapshot_id
    past = {
        version: sorted(rows(con.table("b", version=version, virtual_columns=["rowid"])), key=repr)
        for version in range(latest - 3, latest + 1)
    }
    assert rows(con.flush_inlined_data()) == [("main", "a", 1), ("main", "b", 1)]
    told: list[tuple[int, int]] = []
    merged = con.merge_adjacent_files(progress=lambda done, total: told.append((done, total)))
    assert rows(merged) == [("main", "a", 5, 1), ("main", "b", 5, 1)]
    assert told[-1] == (2, 2)
    now = {
        version: sorted(rows(con.table("b", version=version, virtual_columns=["rowid"])), key=repr)
        for version in past
    }
    assert now == past
    assert con.merge_adjacent_files().count() == 0


def test_a_group_that_fails_loses_only_its_own_work(con):
    for table in ("a", "b"):
        write_events(con, table)
    broken = next(path for path in table_files(con.location) if "/a/" in path)
    Path(broken).unlink()
    with pytest.raises(MissingDataFile, match="1 of 2 groups"):
        con.sql("CALL ducklake_merge_adjacent_files('lake')")
    files = rows(con.sql("SELECT table_name, file_count FROM ducklake_table_info('lake')"))
    assert files == [("a", 4), ("b", 1)]
    assert len([path for path in table_files(con.location) if "/a/" in path]) == 3


def test_parameters_that_make_no_sense_are_refused(con):
    for call, message in (
        ("ducklake_merge_adjacent_files('lake', max_compacted_files => 0)", "greater than zero"),
        ("ducklake_merge_adjacent_files('lake', min_file_size => 9, max_file_size => 9)", "less"),
        ("ducklake_merge_adjacent_files('lake', max_file_size => NULL)", "non-null integer"),
        ("ducklake_rewrite_data_files('lake', delete_threshold => 2)", "between 0 and 1"),
        ("ducklake_flush_inlined_data('lake', table => 't')", "no argument"),
    ):
        write = pytest.raises(InvalidInput, match=message)
        with write:
            if "rewrite" in call:
                con.sql("CREATE TABLE IF NOT EXISTS t (id INTEGER)")
            con.sql(f"CALL {call}")


def test_checkpoint_runs_all_steps_and_leaves_tables_alone_that_say_so(con):
    write_events(con)
    write_events(con, "archive")
    con.sql("CALL lake.set_option('auto_compact', false, table_name => 'archive')")
    con.sql("CHECKPOINT lake")
    info = rows(con.sql("SELECT table_name, file_count FROM ducklake_table_info('lake')"))
    assert sorted(info) == [("archive", 4), ("events", 1)]
    assert con.sql("SELECT count(*) FROM events").collect()[0][0] == 81
    with pytest.raises(TransactionError, match="inside a transaction"), con.transaction():
        con.sql("CHECKPOINT")


def test_the_tiers_of_the_documentation_merge_small_files_first(con):
    write_events(con)
    text = PAGE.read_text(encoding="utf-8")
    recipe = text[text.index("## Merging in tiers") : text.index("## How it works")]
    (code,) = re.findall(r"```python\n(.*?)```", recipe, re.DOTALL)
    exec(code, {"con": con})
    info = rows(con.sql("SELECT table_name, file_count FROM ducklake_table_info('lake')"))
    assert info == [("events", 1)]


def test_the_calls_of_the_documentation_run(con):
    write_events(con)
    write_events(con, "archive")
    for block in re.findall(r"```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        con.sql(block)
    assert con.sql("SELECT count(*) FROM events").collect()[0][0] == 81
