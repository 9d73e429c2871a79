"""COPY, files in FROM, SUMMARIZE and computed variables: compared with DuckDB where it can."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import ducklake_spark
from ducklake_spark.connection import Connection
from ducklake_spark.errors import DataFileError, InvalidInput, InvalidValue, NotSupported
from support.rows import same_rows

pytestmark = pytest.mark.spark

ODD = """SELECT * FROM (VALUES
    (1, 'plain', 1.5::DOUBLE, DATE '2024-02-29', 2.50::DECIMAL(5,2), true),
    (2, 'a "quote", and a comma', NULL, NULL, NULL, NULL),
    (3, '', -0.25::DOUBLE, DATE '1969-12-31', -1.05::DECIMAL(5,2), false),
    (4, NULL, 1e10::DOUBLE, NULL, 0.00::DECIMAL(5,2), NULL)) AS t(i, s, f, d, n, b)"""


@pytest.fixture
def con(spark, tmp_path: Path) -> Iterator[Connection]:
    uri = f"ducklake:sqlite:{tmp_path / 'lake.sqlite'}"
    with ducklake_spark.connect(uri, spark=spark, data_path=f"{tmp_path}/data/") as connection:
        yield connection


def rows(con: Connection, text: str) -> list[tuple]:
    return [tuple(row) for row in con.sql(text).collect()]


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_a_copied_file_holds_what_duckdb_would_write(con, tmp_path, ending):
    ours, theirs = tmp_path / f"ours.{ending}", tmp_path / f"theirs.{ending}"
    assert rows(con, f"COPY ({ODD}) TO '{ours}'") == [(4,)]
    duckdb.sql(f"COPY ({ODD}) TO '{theirs}'")
    if ending == "csv":
        assert ours.read_text() == theirs.read_text()
    elif ending == "json":  # decimals keep their zeros here
        lines = [path.read_text().splitlines() for path in (ours, theirs)]
        assert list(map(json.loads, lines[0])) == list(map(json.loads, lines[1]))
    else:
        kinds = "SELECT name, type, field_id FROM parquet_schema('{}') OFFSET 1"
        found = [duckdb.sql(kinds.format(path)).fetchall() for path in (ours, theirs)]
        assert found[0] == found[1]
    found = [duckdb.sql(f"FROM '{path}'").fetchall() for path in (ours, theirs)]
    assert found[0] == found[1]
    assert ours.is_file()


def test_a_file_of_duckdb_is_read_by_its_path_and_with_folders_as_columns(con, tmp_path):
    duckdb.sql(f"COPY (SELECT range AS i, range % 2 AS part FROM range(10)) "
               f"TO '{tmp_path}/parts' (FORMAT parquet, PARTITION_BY (part))")  # fmt: skip
    found = rows(con, f"SELECT sum(i), part FROM '{tmp_path}/parts/*/*.parquet' GROUP BY part")
    assert sorted(found) == [(20, 0), (25, 1)]
    duckdb.sql(f"COPY (SELECT uuid() AS u, TIME '01:02:03' AS t, 5::UINTEGER AS n) "
               f"TO '{tmp_path}/odd.parquet'")  # fmt: skip
    [expected] = duckdb.sql(
        f"SELECT u::VARCHAR, t::VARCHAR, n FROM '{tmp_path}/odd.parquet'"
    ).fetchall()
    assert rows(con, f"FROM read_parquet('{tmp_path}/odd.parquet')") == [expected]
    assert rows(con, f"SELECT file FROM glob('{tmp_path}/od*.parquet')") == [
        (f"{tmp_path}/odd.parquet",)
    ]


def test_a_missing_file_is_named(con, tmp_path):
    with pytest.raises(DataFileError, match="nothing"):
        con.sql(f"FROM '{tmp_path}/nothing.parquet'")
    with pytest.raises(InvalidInput, match="folder"):
        con.sql(f"COPY (SELECT 1 AS a) TO '{tmp_path}/no/such/x.csv'")


def test_copy_from_casts_the_cells_to_the_columns(con, tmp_path):
    (tmp_path / "with.csv").write_text('id,day,note\n1,2024-02-29,"a,b"\n2,,\n')
    (tmp_path / "without.csv").write_text("3;2024-03-01;x\n")
    con.sql("CREATE TABLE log (id INTEGER, day DATE, note VARCHAR)")
    assert rows(con, f"COPY log FROM '{tmp_path}/with.csv'") == [(2,)]
    assert rows(con, f"COPY log FROM '{tmp_path}/without.csv' (DELIM ';')") == [(1,)]
    con.sql(f"COPY log TO '{tmp_path}/log.parquet'; COPY log FROM '{tmp_path}/log.parquet'")
    expected = [(1, dt.date(2024, 2, 29), "a,b"), (2, None, None), (3, dt.date(2024, 3, 1), "x")]
    assert same_rows(rows(con, "FROM log"), [*expected, *expected])


def test_what_json_cannot_hold_is_refused_and_leaves_no_file(con, tmp_path):
    with pytest.raises(InvalidValue):
        con.sql(f"COPY (SELECT 'NaN'::DOUBLE AS f) TO '{tmp_path}/x.json'")
    assert not (tmp_path / "x.json").exists()
    with pytest.raises(NotSupported):
        con.sql(f"COPY (SELECT 1 AS a) TO '{tmp_path}/x.parquet' (KV_METADATA 1)")


def test_summarize_gives_duckdbs_figures(con):
    query = "SELECT i, 'n' || (i % 3) AS s, i / 4.0::DOUBLE AS f FROM range(1, 9) t(i)"
    ours, theirs = con.sql(f"SUMMARIZE {query}"), duckdb.sql(f"SUMMARIZE {query}")
    assert ours.columns == theirs.columns
    without = ("approx_unique", "q25", "q50", "q75", "std")  # approximate, or in the last digit
    kept = [i for i, name in enumerate(ours.columns) if name not in without]
    assert [tuple(row[i] for i in kept) for row in ours.collect()] == [
        tuple(row[i] for i in kept) for row in theirs.fetchall()
    ]
    assert rows(con, f"SELECT count FROM (SUMMARIZE {query}) LIMIT 1") == [(8,)]


def test_a_variable_holds_what_a_query_computes(con):
    con.sql("CREATE TABLE t AS SELECT range AS i FROM range(5)")
    con.sql("SET VARIABLE top = (SELECT max(i) FROM t); SET VARIABLE m = MAP {'a': 1}")
    con.sql("SET VARIABLE l = (SELECT list(i ORDER BY i) FROM t)")
    assert rows(con, "SELECT getvariable('top') + 1, getvariable('m')['a'], getvariable('l')") == [
        (5, 1, [0, 1, 2, 3, 4])
    ]
    with pytest.raises(ducklake_spark.errors.DuckLakeError):
        con.sql("SET VARIABLE bad = (SELECT i FROM t)")


def test_explain_analyze_counts_the_files(con):
    con.sql("CALL set_option('data_inlining_row_limit', 0); CREATE TABLE t (i INTEGER)")
    con.sql("INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")
    [(key, text)] = rows(con, "EXPLAIN ANALYZE SELECT * FROM t WHERE i = 1")
    assert key == "analyzed_plan"
    assert "Total Files Read: 1" in text
