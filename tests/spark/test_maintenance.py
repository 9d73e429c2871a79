"""Maintenance by Spark jobs, as SQL and as methods of the connection."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import ducklake_spark
from ducklake_spark.errors import InvalidInput, MissingDataFile, TableNotFound
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
    with con.transaction():
        con.sql("INSERT INTO events VALUES (2000, 'mine', NULL)")
        con.sql("CHECKPOINT")  # beside the transaction
    assert con.sql("SELECT count(*) FROM events").collect()[0][0] == 82


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


def past(con, table: str) -> dict[int, list[tuple]]:
    """The rows with their ids at every snapshot that has the table."""
    found = {}
    for version in range(1, con.lake("lake").latest().snapshot_id + 1):
        try:
            frame = con.table(table, version=version, virtual_columns=["rowid"])
        except TableNotFound:
            continue
        found[version] = sorted(rows(frame), key=repr)
    return found


def test_files_of_a_sorted_table_are_merged_in_its_order(con):
    con.sql("CREATE TABLE s (old INTEGER, v VARCHAR)")
    con.sql("ALTER TABLE s SET SORTED BY (old DESC NULLS FIRST)")
    for low in (0, 20, 40):
        con.sql(f"INSERT INTO s SELECT i, 'v' || i FROM range({low}, {low + 20}) r(i)")
    con.sql("ALTER TABLE s RENAME COLUMN old TO id")
    before = past(con, "s")
    assert rows(con.merge_adjacent_files("s")) == [("main", "s", 3, 1)]
    after = past(con, "s")
    assert {version: after[version] for version in before} == before
    (merged,) = (row[0] for row in rows(con.sql("FROM ducklake_list_files('lake', 's')")))
    table = pq.read_table(merged)
    assert table.column(0).to_pylist() == list(range(59, -1, -1))
    assert con.merge_adjacent_files("s").count() == 0


def test_inlined_rows_are_flushed_divided_and_sorted_and_the_past_stays(con):
    con.sql("CREATE TABLE p (id INTEGER, part VARCHAR)")
    con.sql("ALTER TABLE p SET PARTITIONED BY (part)")
    con.sql("ALTER TABLE p SET SORTED BY (id DESC)")
    con.sql("INSERT INTO p VALUES (1, 'a'), (2, 'b'), (3, NULL)")
    con.sql("INSERT INTO p VALUES (4, 'a'), (5, 'b')")
    con.sql("UPDATE p SET id = 20 WHERE id = 2")
    con.sql("DELETE FROM p WHERE id = 4")
    before = past(con, "p")
    assert rows(con.flush_inlined_data("p")) == [("main", "p", 6)]
    after = past(con, "p")
    assert {version: after[version] for version in before} == before
    files = [row[0] for row in rows(con.sql("FROM ducklake_list_files('lake', 'p')"))]
    found = {
        path.split("/")[-2]: pq.ParquetFile(path).read().column(0).to_pylist() for path in files
    }
    assert found == {"part=a": [4, 1], "part=b": [20, 5, 2], "part=__HIVE_DEFAULT_PARTITION__": [3]}
    assert con.flush_inlined_data("p").count() == 0
