"""DELETE, UPDATE and TRUNCATE of Spark on tables of a lake."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException

from ducklake_spark.errors import InvalidInput, InvalidValue, NotNullViolation

pytestmark = [pytest.mark.spark, pytest.mark.interop]


@pytest.fixture
def stock(lake, table):
    """Five rows in a file and two in the catalog."""
    lake.sql(f"CREATE TABLE lake.main.{table} (id INT NOT NULL, item STRING, n DOUBLE DEFAULT 7)")
    lake.sql(f"ALTER TABLE lake.main.{table} SET TBLPROPERTIES (data_inlining_row_limit = 2)")
    rows = "SELECT id, concat('i', id), id / 2D FROM range(1, 6)"
    lake.sql(f"INSERT INTO lake.main.{table} {rows}")
    lake.sql(f"INSERT INTO lake.main.{table} VALUES (6, 'i6', 3), (7, NULL, 3.5)")
    return table


def ids_of(lake, table):
    found = sorted(lake.sql(f"SELECT id FROM lake.main.{table}"))
    assert sorted(lake.duckdb(f"SELECT id FROM {table}")) == found
    return [row[0] for row in found]


@pytest.mark.parametrize(
    ("condition", "gone"),
    [
        ("ID IN (2, 6)", [2, 6]),
        ("x.item IS NULL OR x.n = 0.5", [1, 7]),
        ("id = (SELECT max(id) FROM lake.main.{table})", [7]),
        ("id NOT IN (SELECT id + 1 FROM lake.main.{table})", [1]),
        ("EXISTS (SELECT 1 FROM lake.main.{table} y WHERE y.id = x.id * 3)", [1, 2]),
        ("rowid = 3", [4]),
        ("false", []),
        ("true", [1, 2, 3, 4, 5, 6, 7]),
    ],
)
def test_rows_that_a_condition_means_are_deleted(lake, stock, condition, gone):
    text = f"DELETE FROM lake.main.{stock} AS x WHERE {condition.format(table=stock)}"
    assert lake.sql(text) == [(len(gone),)]
    assert ids_of(lake, stock) == [i for i in range(1, 8) if i not in gone]


def test_parameters_and_common_tables_work_in_a_delete(lake, stock):
    assert lake.sql(f"DELETE FROM lake.main.{stock} WHERE id = :id", args={"id": 3}) == [(1,)]
    text = f"WITH old AS (SELECT 4 AS k) DELETE FROM lake.main.{stock} WHERE id IN (FROM old)"
    assert lake.sql(text) == [(1,)]
    assert ids_of(lake, stock) == [1, 2, 5, 6, 7]


def test_updated_rows_have_new_values_and_keep_their_ids(lake, stock):
    ids = f"SELECT id, rowid FROM {stock} ORDER BY id"
    before = lake.duckdb(ids)
    text = (
        f"UPDATE lake.main.{stock} AS x SET ITEM = concat(x.item, '!', id), x.n = DEFAULT "
        "WHERE id IN (1, 6)"
    )
    assert lake.sql(text) == [(2,)]
    assert lake.duckdb(f"SELECT * FROM {stock} WHERE id IN (1, 6) ORDER BY id") == [
        (1, "i1!1", 7.0),
        (6, "i6!6", 7.0),
    ]
    assert lake.duckdb(ids) == before


def test_a_value_may_come_from_a_subquery(lake, stock):
    lake.sql(
        f"UPDATE lake.main.{stock} x SET n = (SELECT count(*) FROM lake.main.{stock} y "
        "WHERE y.id < x.id) WHERE id > 4"
    )
    assert lake.duckdb(f"SELECT n FROM {stock} WHERE id > 4 ORDER BY id") == [(4,), (5,), (6,)]


def test_fields_of_structs_and_odd_names_are_set(lake, table):
    lake.sql(
        f"CREATE TABLE lake.main.{table} AS SELECT 1 AS `a.b c`, "
        "named_struct('x', 1, 'in', named_struct('y', 'q', 'z', 2)) AS `S`"
    )
    lake.sql(f"UPDATE lake.main.{table} SET s.in.y = 'new', `a.b c` = `a.b c` + 1, s.x = s.in.z")
    assert lake.duckdb(f"FROM {table}") == [(2, {"x": 2, "in": {"y": "new", "z": 2}})]


@pytest.mark.parametrize(
    ("assignment", "error"),
    [
        ("n = DATE'2026-01-01'", InvalidValue),
        ("id = NULL", NotNullViolation),
        ("id = id + 3000000000", InvalidValue),
        ("n = 1, N = 2", (InvalidInput, AnalysisException)),
        ("other = 1", AnalysisException),
    ],
)
def test_values_that_do_not_fit_are_refused(lake, stock, assignment, error):
    before = lake.last_snapshot()
    with pytest.raises(error):
        lake.sql(f"UPDATE lake.main.{stock} SET {assignment}")
    assert lake.last_snapshot() == before


def test_truncating_leaves_an_empty_table_and_its_past(lake, stock):
    before = lake.last_snapshot()
    assert lake.snapshots_of(lambda: lake.sql(f"TRUNCATE TABLE lake.main.{stock}")) == 1
    assert ids_of(lake, stock) == []
    past = lake.sql(f"SELECT count(*) FROM lake.main.{stock} VERSION AS OF {before}")
    assert past == [(7,)]


def test_explaining_a_change_does_nothing(lake, stock):
    before = lake.last_snapshot()
    for text in ("DELETE FROM {}", "UPDATE {} SET n = 1", "DELETE FROM {} WHERE id = 1"):
        ((plan,),) = lake.sql("EXPLAIN " + text.format(f"lake.main.{stock}"))
        assert "DuckLake" in plan
    assert lake.last_snapshot() == before


def test_a_delete_looks_like_one_of_our_own(lake, stock):
    lake.sql(f"DELETE FROM lake.main.{stock} WHERE id < 5")
    told = "SELECT changes FROM ducklake_snapshots('lake') ORDER BY snapshot_id DESC LIMIT 1"
    (by_spark,) = lake.duckdb(told)[0]
    lake.duckdb(f"DELETE FROM {stock} WHERE id = 7")
    (by_duckdb,) = lake.duckdb(told)[0]
    assert set(by_spark) == {"tables_deleted_from"}
    assert list(by_spark.values()) == list(by_duckdb.values())
