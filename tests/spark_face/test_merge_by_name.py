"""MERGE INTO of Spark, and `DataFrame.mergeInto`, on tables of a lake."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

from ducklake_spark.errors import InvalidInput, InvalidValue

pytestmark = [pytest.mark.spark, pytest.mark.interop]

NEWS = "(SELECT * FROM VALUES (1, 'one'), (2, 'two'), (9, 'nine') AS v(id, item)) AS s"


@pytest.fixture
def stock(lake, table):
    """Three rows."""
    lake.sql(f"CREATE TABLE lake.main.{table} (id INT, item STRING, n INT DEFAULT 7)")
    lake.sql(f"INSERT INTO lake.main.{table} VALUES (1, 'a', 10), (2, 'b', 20), (3, 'c', 30)")
    return table


def rows_of(lake, table):
    found = lake.sql(f"SELECT * FROM lake.main.{table} ORDER BY id")
    assert lake.duckdb(f"FROM {table} ORDER BY id") == found
    return found


def test_each_row_takes_the_first_clause_that_is_true_for_it(lake, stock):
    done = lake.sql(
        f"MERGE INTO lake.main.{stock} AS t USING {NEWS} ON t.ID = s.id "
        "WHEN MATCHED AND s.item = 'one' THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET item = concat(t.item, s.item), t.n = t.n + 1 "
        "WHEN NOT MATCHED THEN INSERT (item, id) VALUES (upper(s.item), s.id) "
        "WHEN NOT MATCHED BY SOURCE AND t.n > 5 THEN UPDATE SET n = DEFAULT"
    )
    assert done == [(4, 2, 1, 1)]
    assert rows_of(lake, stock) == [(2, "btwo", 21), (3, "c", 7), (9, "NINE", 7)]


def test_all_columns_are_taken_by_name(lake, stock):
    done = lake.sql(
        f"MERGE INTO lake.main.{stock} t USING (SELECT 5 AS n, id, item FROM {NEWS}) s "
        "ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert done == [(3, 2, 0, 1)]
    assert rows_of(lake, stock) == [(1, "one", 5), (2, "two", 5), (3, "c", 30), (9, "nine", 5)]


def test_the_table_may_be_its_own_source(lake, stock):
    lake.sql(
        f"MERGE INTO lake.main.{stock} t USING lake.main.{stock} s ON t.id = s.id + 1 "
        "WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id + 1)"
    )
    assert rows_of(lake, stock) == [(1, "a", 10), (2, "b", 10), (3, "c", 20), (4, None, 7)]


def test_conditions_of_clauses_may_have_subqueries(lake, stock):
    lake.sql(
        f"MERGE INTO lake.main.{stock} t USING {NEWS} ON t.id = s.id "
        f"WHEN MATCHED AND t.n = (SELECT max(n) FROM lake.main.{stock} WHERE id < 3) THEN DELETE"
    )
    assert [row[0] for row in rows_of(lake, stock)] == [1, 3]


def test_a_row_that_two_rows_of_the_source_match_is_an_error(lake, stock):
    before = lake.last_snapshot()
    with pytest.raises(InvalidInput, match="more than once"):
        lake.sql(
            f"MERGE INTO lake.main.{stock} t USING (SELECT 1 AS id UNION ALL SELECT 1) s "
            "ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = 0"
        )
    assert lake.last_snapshot() == before


def test_values_are_computed_and_checked_for_the_rows_of_their_clause(lake, stock):
    merge = f"MERGE INTO lake.main.{stock} t USING {NEWS} ON t.id = s.id WHEN MATCHED "
    lake.sql(f"{merge} AND s.id = 2 THEN UPDATE SET n = 10 / (s.id - 1) WHEN MATCHED THEN DELETE")
    assert rows_of(lake, stock) == [(2, "b", 10), (3, "c", 30)]
    with pytest.raises(InvalidValue, match='"n" is INTEGER'):
        lake.sql(f"{merge} THEN UPDATE SET n = s.item")
    with pytest.raises(AnalysisException, match="UNRESOLVED_COLUMN"):
        lake.sql(f"{merge} THEN UPDATE SET n = s.other")


def test_the_schema_evolves_with_the_source_in_the_same_snapshot(lake, stock):
    text = (
        f"MERGE WITH SCHEMA EVOLUTION INTO lake.main.{stock} t "
        "USING (SELECT 3 AS id, 'new' AS note, 3000000000 AS n UNION ALL SELECT 4, 'x', 1) s "
        "ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert lake.snapshots_of(lambda: lake.sql(text)) == 1
    assert rows_of(lake, stock) == [
        (1, "a", 10, None),
        (2, "b", 20, None),
        (3, "c", 3000000000, "new"),
        (4, None, 1, "x"),
    ]


def test_without_evolution_a_table_keeps_its_columns(lake, stock):
    source = "(SELECT 1 AS id, 'i' AS item, 2 AS n, 'x' AS note)"
    text = f"MERGE INTO lake.main.{stock} t USING {source} s ON t.id = s.id "
    lake.sql(f"{text} WHEN MATCHED THEN UPDATE SET *")
    assert rows_of(lake, stock)[0] == (1, "i", 2)
    with pytest.raises(AnalysisException):
        lake.sql(f"{text} WHEN MATCHED THEN UPDATE SET t.note = s.note")


def test_a_frame_is_merged(lake, stock):
    source = lake.spark.createDataFrame([(1, "m", 0), (8, "new", 1)], "id int, item string, n int")
    merge = source.alias("s").mergeInto(f"{lake.name}.main.{stock}", F.expr(f"{stock}.id = s.id"))
    merge.whenMatched().updateAll().whenNotMatched().insertAll().merge()
    assert rows_of(lake, stock) == [(1, "m", 0), (2, "b", 20), (3, "c", 30), (8, "new", 1)]


def test_fields_of_structs_are_set(lake, table):
    lake.sql(f"CREATE TABLE lake.main.{table} AS SELECT 1 AS id, named_struct('x', 1, 'y', 2) AS s")
    lake.sql(
        f"MERGE INTO lake.main.{table} t USING (SELECT 1 AS id, 5 AS v) u ON t.id = u.id "
        "WHEN MATCHED THEN UPDATE SET t.s.y = u.v"
    )
    assert lake.duckdb(f"FROM {table}") == [(1, {"x": 1, "y": 5})]


def test_explaining_a_merge_does_nothing(lake, stock):
    before = lake.last_snapshot()
    text = f"MERGE INTO lake.main.{stock} t USING {NEWS} ON t.id = s.id WHEN MATCHED THEN DELETE"
    assert "merge" in lake.sql(f"EXPLAIN {text}")[0][0]
    assert lake.last_snapshot() == before


def test_files_that_no_row_of_the_source_matches_are_not_read(lake, table):
    lake.sql(f"CREATE TABLE lake.main.{table} (id INT, part INT, v STRING) PARTITIONED BY (part)")
    rows = "SELECT CAST(id AS INT), CAST(id DIV 10 AS INT), 'old' FROM range(120)"
    lake.sql(f"INSERT INTO lake.main.{table} {rows}")
    gone = lake.duckdb(f"SELECT data_file FROM ducklake_list_files('lake', '{table}')")
    source = "(SELECT CAST(id AS INT) AS id, 'new' AS `v`, rand() AS r FROM range(55, 65)) s"
    for (path,) in gone:
        if "part=5/" not in path and "part=6/" not in path:
            Path(path).unlink()
    done = lake.sql(
        f"MERGE INTO lake.main.{table} t USING {source} ON s.id = t.id AND s.r < 2 "
        "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"
    )
    assert done == [(10, 10, 0, 0)]
    text = f"MERGE INTO lake.main.{table} t USING {source} ON s.id = t.rowid AND t.part = 5 "
    assert lake.sql(f"{text} WHEN MATCHED THEN DELETE") == [(5, 0, 5, 0)]
