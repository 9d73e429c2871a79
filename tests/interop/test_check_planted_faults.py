"""A check finds each fault that is planted, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ducklake_spark.model.findings import CHECKS
from ducklake_spark.operations.attach import AttachOptions, open_lake
from ducklake_spark.operations.check.run import check_lake
from ducklake_spark.parquet.verify import verify_file
from support.histories import FILES, INLINED, copy_lake
from support.lakes import make_location

pytestmark = pytest.mark.interop

STATEMENTS = (
    FILES,
    "CREATE TABLE t(i BIGINT, s VARCHAR, l INTEGER[])",  # 1
    "INSERT INTO t SELECT range, 's' || range, [range] FROM range(10)",  # file 0
    "INSERT INTO t SELECT range, NULL, NULL FROM range(10, 20)",  # file 1
    "DELETE FROM t WHERE i IN (3, 5, 7)",  # delete file 2
    "CREATE TABLE p(k INTEGER, d DATE)",  # 2
    "ALTER TABLE p SET PARTITIONED BY (k, year(d))",
    "INSERT INTO p SELECT 1, DATE '2024-05-06' FROM range(3)",  # file 3
    "CREATE TABLE m(i INTEGER)",  # 4
    "INSERT INTO m SELECT range FROM range(11)",
    "INSERT INTO m SELECT range FROM range(11, 22)",
    "CALL ducklake_merge_adjacent_files('lake', 'm')",
    INLINED,
    "CREATE TABLE n(i INTEGER)",
    "INSERT INTO n VALUES (1), (2)",
    "DELETE FROM t WHERE i = 12",  # inlined
    "CREATE VIEW v AS SELECT 1 AS one",
    "CREATE TABLE a(x BIGINT)",
    "COPY (SELECT range AS x FROM range(9)) TO '{data_path}main/foreign.parquet'",
    "CALL ducklake_add_data_files('lake', 'a', '{data_path}main/foreign.parquet')",
)


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    place = make_location("sqlite", tmp_path_factory.mktemp("sound"))
    with place.oracle() as oracle:
        for statement in STATEMENTS:
            oracle.sql(statement.replace("{data_path}", place.data_path))
    return place


@pytest.fixture
def lake(sound, tmp_path):
    found = open_lake(copy_lake(sound, tmp_path / "copy").uri, "lake", AttachOptions())
    use_own_copy(found)
    yield found
    found.close()


def use_own_copy(lake) -> None:
    """Paths outside of a table's directory are absolute."""
    path = f"{lake.data_path}main/foreign.parquet"
    lake.db.execute("UPDATE ducklake_data_file SET path = ? WHERE path_is_relative = 0", (path,))


def findings(lake) -> set[str]:
    rows = check_lake(lake, lambda claims: [verify_file(claim) for claim in claims]).rows
    assert all(detail and severity in ("error", "warning") for severity, *_, detail in rows)
    return {check for _, check, *_ in rows}


def path_of(lake, file_id: int, kind: str = "data_file") -> Path:
    directory = "main/t/" if file_id < 3 else "main/p/"
    row = lake.db.fetch(f"SELECT path FROM ducklake_{kind} WHERE {kind}_id = {file_id}")[0]
    return Path(lake.data_path) / directory / row[0]


def rewrite(path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    pq.write_table(change(pq.read_table(path)), path)


def without_ids(table: pa.Table) -> pa.Table:
    return table.cast(pa.schema([field.remove_metadata() for field in table.schema]))


def other_id(table: pa.Table) -> pa.Table:
    field = table.schema.field(0).with_metadata({"PARQUET:field_id": "77"})
    return table.cast(table.schema.set(0, field))


def positions(*numbers: int | None) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        paths = pa.array(["x"] * len(numbers))
        return pa.table([paths, pa.array(numbers, pa.int64())], names=["file_path", "pos"])

    return change


def test_the_lake_is_sound_before_anything_is_planted(lake):
    assert findings(lake) == set()


IN_THE_CATALOG = [
    ("change-log", "DELETE FROM ducklake_snapshot_changes WHERE snapshot_id = 2"),
    (
        "change-log",
        "UPDATE ducklake_snapshot_changes SET changes_made = 'ate:1' WHERE snapshot_id = 2",
    ),
    ("snapshots", "UPDATE ducklake_snapshot SET schema_version = 99 WHERE snapshot_id = 2"),
    (
        "snapshot-times",
        "UPDATE ducklake_snapshot SET snapshot_time = '2020-01-01 00:00:00+00' "
        "WHERE snapshot_id = 5",
    ),
    (
        "counters",
        "UPDATE ducklake_data_file SET data_file_id = 999 WHERE data_file_id = 3; "
        "UPDATE ducklake_file_column_stats SET data_file_id = 999 WHERE data_file_id = 3; "
        "UPDATE ducklake_file_partition_value SET data_file_id = 999 WHERE data_file_id = 3",
    ),
    ("counters", "UPDATE ducklake_view SET view_id = 999"),
    ("ranges", "UPDATE ducklake_view SET end_snapshot = begin_snapshot"),
    ("ranges", "UPDATE ducklake_view SET begin_snapshot = 999"),
    (
        "versions",
        "INSERT INTO ducklake_table SELECT * FROM ducklake_table WHERE table_id = 1; "
        "UPDATE ducklake_table SET table_name = 'other' WHERE rowid = (SELECT max(rowid) "
        "FROM ducklake_table)",
    ),
    ("names", "UPDATE ducklake_view SET view_name = 'T'"),
    ("references", "DELETE FROM ducklake_table WHERE table_name = 'n'"),
    (
        "references",
        "INSERT INTO ducklake_name_mapping VALUES (9, 0, 'x', 1, NULL, 0)",
    ),
    ("columns", "UPDATE ducklake_column SET column_type = 'number' WHERE column_name = 'k'"),
    ("columns", "UPDATE ducklake_column SET parent_column = 50 WHERE column_name = 'element'"),
    ("columns", "UPDATE ducklake_column SET column_name = 'I' WHERE column_name = 's'"),
    (
        "partitions",
        "UPDATE ducklake_partition_column SET column_id = 99 WHERE partition_key_index = 1",
    ),
    ("inlined-tables", "DROP TABLE ducklake_inlined_data_{n}_{v}"),
    ("table-totals", "DELETE FROM ducklake_table_stats WHERE table_id = 1"),
    ("table-totals", "UPDATE ducklake_table_stats SET record_count = 1 WHERE table_id = 1"),
    ("row-ids", "UPDATE ducklake_table_stats SET next_row_id = 19 WHERE table_id = 1"),
    ("row-ids", "UPDATE ducklake_data_file SET row_id_start = 5 WHERE data_file_id = 1"),
    ("row-ids", "UPDATE ducklake_data_file SET row_id_start = NULL WHERE data_file_id = 1"),
    ("delete-count", "UPDATE ducklake_delete_file SET delete_count = 2"),
    ("record-count", "UPDATE ducklake_data_file SET record_count = 2 WHERE data_file_id = 3"),
    ("file-size", "UPDATE ducklake_data_file SET file_size_bytes = 7 WHERE data_file_id = 1"),
    ("footer-size", "UPDATE ducklake_data_file SET footer_size = 7 WHERE data_file_id = 1"),
    ("footer-size", "UPDATE ducklake_delete_file SET footer_size = 7"),
    (
        "statistics",
        "UPDATE ducklake_file_column_stats SET min_value = '1' "
        "WHERE data_file_id = 0 AND column_id = 1",
    ),
    (
        "statistics",
        "UPDATE ducklake_file_column_stats SET max_value = 's8' "
        "WHERE data_file_id = 0 AND column_id = 2",
    ),
    (
        "statistics",
        "UPDATE ducklake_file_column_stats SET null_count = 3 "
        "WHERE data_file_id = 0 AND column_id = 2",
    ),
    (
        "statistics",
        "UPDATE ducklake_file_column_stats SET max_value = '8' "
        "WHERE data_file_id = 0 AND column_id = 4",
    ),
    (
        "table-statistics",
        "UPDATE ducklake_table_column_stats SET max_value = '18' "
        "WHERE table_id = 1 AND column_id = 1",
    ),
    (
        "table-statistics",
        "UPDATE ducklake_table_column_stats SET contains_null = 0 "
        "WHERE table_id = 1 AND column_id = 2",
    ),
    (
        "partition-values",
        "UPDATE ducklake_file_partition_value SET partition_value = '2' "
        "WHERE partition_key_index = 0",
    ),
    (
        "partition-values",
        "UPDATE ducklake_file_partition_value SET partition_value = NULL "
        "WHERE partition_key_index = 1",
    ),
    ("partition-values", "DELETE FROM ducklake_file_partition_value WHERE partition_key_index = 1"),
    (
        "snapshot-ids",
        "UPDATE ducklake_data_file SET partial_max = begin_snapshot WHERE partial_max IS NOT NULL",
    ),
    ("delete-twice", "INSERT INTO ducklake_inlined_delete_1 VALUES (0, 3, 3)"),
    ("delete-positions", "INSERT INTO ducklake_inlined_delete_1 VALUES (0, 10, 3)"),
    (
        "schedule",
        "INSERT INTO ducklake_files_scheduled_for_deletion SELECT 0, 'main/t/' || path, "
        "1, '2020-01-01 00:00:00+00' FROM ducklake_data_file WHERE data_file_id = 0",
    ),
]


@pytest.mark.parametrize(("expected", "statements"), IN_THE_CATALOG)
def test_a_fault_in_the_catalog_is_found(lake, expected, statements):
    name = lake.db.fetch("SELECT table_name FROM ducklake_inlined_data_tables")[-1][0]
    *_, table_id, version = name.split("_")
    for statement in statements.format(n=table_id, v=version).split("; "):
        lake.db.execute(statement)
    assert findings(lake) == {expected}


def test_two_delete_files_of_one_data_file_are_found(lake):
    lake.db.execute(
        "INSERT INTO ducklake_delete_file SELECT 4, table_id, begin_snapshot, end_snapshot, "
        "data_file_id, path, path_is_relative, format, delete_count, file_size_bytes, "
        "footer_size, encryption_key, partial_max FROM ducklake_delete_file"
    )
    assert findings(lake) == {"one-delete-file"}


IN_THE_STORAGE = [
    ("file-missing", 0, lambda path: path.unlink()),
    ("file-missing", 2, lambda path: path.unlink()),
    ("file-unreadable", 0, lambda path: path.write_bytes(b"PAR1" + bytes(500) + b"PAR1")),
    ("field-ids", 0, lambda path: rewrite(path, without_ids)),
    ("field-ids", 0, lambda path: rewrite(path, other_id)),
    ("record-count", 0, lambda path: rewrite(path, lambda rows: rows.slice(1))),
    ("delete-order", 2, lambda path: rewrite(path, positions(3, 7, 5))),
    ("delete-order", 2, lambda path: rewrite(path, positions(3, 3, 5))),
    ("delete-positions", 2, lambda path: rewrite(path, positions(3, 5, 10))),
    ("delete-positions", 2, lambda path: rewrite(path, positions(3, 5, None))),
    ("delete-count", 2, lambda path: rewrite(path, positions(3, 5))),
    ("delete-columns", 2, lambda path: rewrite(path, lambda rows: rows.select(["file_path"]))),
    ("orphans", 0, lambda path: path.with_name("stray.parquet").write_bytes(b"")),
]


@pytest.mark.parametrize(("expected", "file_id", "spoil"), IN_THE_STORAGE)
def test_a_fault_in_the_storage_is_found(lake, expected, file_id, spoil):
    spoil(path_of(lake, file_id, "delete_file" if file_id == 2 else "data_file"))
    found = findings(lake)
    assert expected in found
    rewritten = {"file-size", "footer-size", "statistics"}  # what a changed file brings with it
    assert found - {expected} <= rewritten


def test_a_file_without_its_mapped_column_is_found(lake):
    path = Path(lake.data_path) / "main" / "foreign.parquet"
    rewrite(path, lambda rows: rows.rename_columns(["y"]))
    assert "name-mapping" in findings(lake)


def test_every_check_has_a_planted_fault():
    planted = {check for check, *_ in (*IN_THE_CATALOG, *IN_THE_STORAGE)}
    assert set(CHECKS) - planted == {"one-delete-file", "name-mapping"}, "these have their own"


def test_a_wrong_value_in_a_file_is_found(lake):
    def change(table: pa.Table) -> pa.Table:
        return table.set_column(0, table.schema.field(0), pa.array([50] * 3, pa.int32()))

    rewrite(path_of(lake, 3), change)
    assert {"partition-values", "statistics", "table-statistics"} <= findings(lake)
