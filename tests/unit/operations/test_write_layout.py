"""Each option of a lake shows in the files that are written; the nearest scope decides."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ducklake_spark
from ducklake_spark.operations.write_layout import plan_layout, sorts_inserts, sorts_small_inserts
from ducklake_spark.parquet.write import write_batches
from support.carried import JOB


@pytest.fixture
def con(tmp_path):
    uri = f"ducklake:sqlite:{tmp_path / 'lake.sqlite'}"
    with ducklake_spark.connect(uri, alias="lake", data_path=f"{tmp_path}/data/") as connection:
        connection.sql("CREATE SCHEMA s")
        connection.sql("CREATE TABLE s.t (a BIGINT)")
        yield connection


def layout_of(con, tmp_path):
    lake = con.lake("lake")
    with con.reading(lake) as tx:
        _, table = con.find_table(tx, lake, "s", "t")
        return plan_layout(lake, table, str(tmp_path / "files"))


def footers(con, tmp_path, rows=5000):
    starts = range(0, rows, 500)
    batches = [pa.record_batch({"a": pa.array(range(start, start + 500))}) for start in starts]
    written = list(write_batches(iter(batches), layout_of(con, tmp_path), JOB))
    return [pq.read_metadata(file.path) for file in written]


CODECS = {"uncompressed": "UNCOMPRESSED", "snappy": "SNAPPY", "gzip": "GZIP", "zstd": "ZSTD",
          "brotli": "BROTLI", "lz4": "LZ4", "lz4_raw": "LZ4"}  # fmt: skip


@pytest.mark.parametrize("codec", CODECS)
def test_files_are_compressed_as_the_option_says(con, tmp_path, codec):
    con.sql(f"CALL lake.set_option('parquet_compression', '{codec}')")
    (footer,) = footers(con, tmp_path)
    assert footer.row_group(0).column(0).compression == CODECS[codec]


def test_files_are_compressed_as_hard_as_the_option_says(con, tmp_path):
    con.sql("CALL lake.set_option('parquet_compression', 'zstd')")
    sizes = []
    for level in (1, 19):
        con.sql(f"CALL lake.set_option('parquet_compression_level', {level})")
        (footer,) = footers(con, tmp_path)
        sizes.append(footer.row_group(0).column(0).total_compressed_size)
    assert sizes[1] != sizes[0]


def test_row_groups_have_the_rows_or_bytes_of_the_option(con, tmp_path):
    con.sql("CALL lake.set_option('parquet_row_group_size', 2000)")
    (footer,) = footers(con, tmp_path)
    assert [footer.row_group(i).num_rows for i in range(3)] == [2000, 2000, 1000]
    con.sql("CALL lake.set_option('parquet_row_group_size_bytes', '8KB')")
    (footer,) = footers(con, tmp_path)
    assert footer.row_group(0).num_rows == 1000


def test_pages_are_of_the_version_of_the_option(con, tmp_path):
    con.sql("CALL lake.set_option('parquet_version', 2)")
    assert layout_of(con, tmp_path).parquet_version == "V2"
    (footer,) = footers(con, tmp_path)
    assert footer.num_rows == 5000


def test_files_rotate_at_the_target_size_of_the_session_or_the_option(con, tmp_path):
    con.sql("CALL lake.set_option('parquet_row_group_size', 1000)")
    con.sql("CALL lake.set_option('target_file_size', '3KB')")
    assert len(footers(con, tmp_path)) > 1
    con.sql("SET ducklake_target_file_size = '1GB'")
    assert len(footers(con, tmp_path)) == 1
    con.sql("RESET ducklake_target_file_size")
    assert len(footers(con, tmp_path)) > 1


def test_switches_reach_the_layout(con, tmp_path):
    plain = layout_of(con, tmp_path)
    assert plain.hive
    assert not plain.one_file_per_task
    con.sql("CALL lake.set_option('hive_file_pattern', false)")
    con.sql("CALL lake.set_option('per_thread_output', true)")
    assert not layout_of(con, tmp_path).hive
    assert layout_of(con, tmp_path).one_file_per_task


def test_the_nearest_scope_decides(con, tmp_path):
    con.sql("CALL lake.set_option('parquet_compression', 'gzip')")
    assert layout_of(con, tmp_path).compression == "gzip"
    con.sql("CALL lake.set_option('parquet_compression', 'zstd', schema => 's')")
    assert layout_of(con, tmp_path).compression == "zstd"
    con.sql("CALL lake.set_option('parquet_compression', 'lz4', schema => 's', table_name => 't')")
    assert layout_of(con, tmp_path).compression == "lz4"


def test_an_option_is_part_of_its_transaction(con, tmp_path):
    con.sql("BEGIN")
    con.sql("CALL lake.set_option('parquet_compression', 'zstd')")
    assert layout_of(con, tmp_path).compression == "zstd"
    with con.cursor() as other:
        assert layout_of(other, tmp_path).compression == "snappy"
    con.sql("ROLLBACK")
    assert layout_of(con, tmp_path).compression == "snappy"
    before = con.lake("lake").latest()
    con.sql("BEGIN")
    con.sql("CALL lake.set_option('parquet_compression', 'zstd')")
    con.sql("COMMIT")
    assert layout_of(con, tmp_path).compression == "zstd"
    assert con.lake("lake").latest() == before
    con.sql("BEGIN")
    con.sql("CALL lake.set_option('parquet_compression', 'gzip')")
    con.sql("CREATE TABLE more (a INTEGER)")
    con.sql("COMMIT")
    assert layout_of(con, tmp_path).compression == "gzip"


def test_inserts_are_not_sorted_when_the_option_says_so(con):
    con.sql("ALTER TABLE s.t SET SORTED BY (a)")
    lake = con.lake("lake")

    def sorts():
        with con.reading(lake) as tx:
            _, table = con.find_table(tx, lake, "s", "t")
            return sorts_inserts(lake, table), sorts_small_inserts(lake, table)

    assert sorts() == (True, True)
    con.sql("CALL lake.set_option('sort_on_insert', false)")
    assert sorts() == (True, False)  # rows of files are sorted while small inserts are not files
    con.sql("CALL lake.set_option('data_inlining_row_limit', 0)")
    assert sorts() == (False, False)
