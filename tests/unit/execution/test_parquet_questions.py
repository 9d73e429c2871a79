"""parquet_metadata() and its kin give what DuckDB gives of the same file, without Spark."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from ducklake_spark.errors import CorruptDataFile, MissingDataFile, NotSupported

QUERY = """
    SELECT i, i::VARCHAR s, i / 2 d, [i, i + 1] l, {'a': i, 'b': 'x'} st,
        DATE '2020-01-01' + i::INT dd, TIMESTAMP '2020-01-01 01:02:03.5' ts,
        (i / 4)::DECIMAL(10, 2) de, (i / 4)::DECIMAL(30, 2) hd, gen_random_uuid() u, true b,
        'ab\\x01'::BLOB bl, TIME '10:00' t, TIMESTAMPTZ '2020-01-01 00:00:00+00' tz,
        MAP {'k': i} m
    FROM range(3000) t(i)
"""


@pytest.fixture
def path(tmp_path) -> str:
    target = f"{tmp_path}/x.parquet"
    options = "ROW_GROUP_SIZE 2048, KV_METADATA {k: 'v'}, CODEC 'lz4_raw'"
    duckdb.sql(f"COPY ({QUERY}) TO '{target}' ({options})")
    return target


@pytest.mark.parametrize(
    "function",
    ["parquet_metadata", "parquet_schema", "parquet_file_metadata", "parquet_kv_metadata"],
)
def test_the_footer_is_shown_as_duckdb_shows_it(con, path, function):
    ours = con.sql(f"CALL {function}('{path}')")
    names = [name for name, _ in ours._columns]
    theirs = duckdb.sql(f"SELECT {', '.join(names)} FROM {function}('{path}')").fetchall()
    assert [tuple(row) for row in ours._rows] == theirs


def test_all_files_of_a_pattern_are_shown(con, path, tmp_path):
    duckdb.sql(f"COPY (SELECT 1 AS a) TO '{tmp_path}/y.parquet'")
    shown = con.sql(f"CALL parquet_file_metadata('{tmp_path}/*.parquet')")
    assert [(row[0].rpartition("/")[2], row[2]) for row in shown._rows] == [
        ("x.parquet", 3000),
        ("y.parquet", 1),
    ]


def test_a_file_that_is_not_there_or_no_parquet_file_is_told(con, path, tmp_path):
    with pytest.raises(MissingDataFile, match="nothing"):
        con.sql(f"CALL parquet_schema('{tmp_path}/nothing.parquet')")
    (tmp_path / "z.parquet").write_bytes(b"PAR1 and no more at all")
    with pytest.raises(CorruptDataFile, match="no Parquet file"):
        con.sql(f"CALL parquet_schema('{tmp_path}/z.parquet')")
    with pytest.raises(NotSupported, match="no_such"):
        con.sql(f"CALL parquet_schema('{path}', no_such => 1)")


@pytest.mark.parametrize("cut", [1, 40, 200])
def test_a_footer_that_is_damaged_is_told(con, path, tmp_path, cut):
    data = Path(path).read_bytes()
    size = int.from_bytes(data[-8:-4], "little")
    broken = data[: -8 - size] + data[-8 - size + cut : -8] + b"\xff" * cut + data[-8:]
    (tmp_path / "broken.parquet").write_bytes(broken)
    with pytest.raises(CorruptDataFile, match="cannot be read"):
        con.sql(f"CALL parquet_schema('{tmp_path}/broken.parquet')")
