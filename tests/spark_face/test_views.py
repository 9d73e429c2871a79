"""Views of a lake: those that DuckDB made, and those that Spark makes."""

from __future__ import annotations

import pytest

from ducklake_spark.errors import NotSupported

pytestmark = [pytest.mark.spark, pytest.mark.interop]


@pytest.fixture
def rows(lake, table):
    """The name of a table with ten numbers."""
    lake.sql(f"CREATE TABLE lake.main.{table} AS SELECT id FROM range(10)")
    return table


@pytest.fixture
def with_views(lake):
    """Sparks before 4.2 have no views in catalogs."""
    if lake.spark.version.startswith(("4.0", "4.1")):
        pytest.skip("catalogs of this Spark have no views")


def test_a_view_of_duckdb_is_read(lake, rows):
    with lake.location.oracle() as duck:
        duck.sql(f"CREATE VIEW duck_{rows} AS SELECT id // 3 AS third FROM {rows} WHERE id > 5")
    assert sorted(lake.sql(f"SELECT * FROM lake.main.duck_{rows}")) == [(2,), (2,), (2,), (3,)]
    with pytest.raises(Exception, match="view"):
        lake.sql(f"INSERT INTO lake.main.duck_{rows} VALUES (1)")


def test_a_view_of_spark_is_read_by_both(lake, rows, with_views):
    view = f"v_{rows}"
    lake.sql(
        f"CREATE VIEW lake.main.{view} (n, high) COMMENT 'counted' AS "
        f"SELECT count(*) AS c, max(id) AS m FROM lake.main.{rows} WHERE id < 8"
    )
    assert lake.sql(f"SELECT n, high FROM lake.main.{view}") == [(8, 7)]
    with lake.location.oracle() as duck:
        assert duck.sql(f"SELECT n, high FROM {view}") == [(8, 7)]
        told = duck.sql(f"SELECT comment FROM duckdb_views() WHERE view_name = '{view}'")
    assert told == [("counted",)]
    assert view in [row[1] for row in lake.sql(f"SHOW VIEWS IN {lake.name}.main")]
    lake.sql(f"CREATE OR REPLACE VIEW lake.main.{view} AS SELECT id FROM lake.main.{rows}")
    assert lake.sql(f"SELECT count(*) FROM lake.main.{view}") == [(10,)]
    lake.sql(f"CREATE VIEW IF NOT EXISTS lake.main.{view} AS SELECT 1 AS one")
    assert lake.spark.table(f"{lake.name}.main.{view}").columns == ["id"]
    lake.sql(f"DROP VIEW lake.main.{view}")
    lake.sql(f"DROP VIEW IF EXISTS lake.main.{view}")
    with pytest.raises(Exception, match="NOT_FOUND"):
        lake.sql(f"SELECT * FROM lake.main.{view}")


def test_names_mean_what_they_meant_where_the_view_was_typed(lake, rows, with_views):
    lake.sql("CREATE NAMESPACE IF NOT EXISTS lake.other")
    lake.sql("USE lake.main")
    try:
        lake.sql(f"CREATE VIEW other.v_{rows} AS WITH c AS (SELECT id FROM {rows}) SELECT * FROM c")
    finally:
        lake.sql("USE spark_catalog.default")
    assert lake.sql(f"SELECT count(*) FROM lake.other.v_{rows}") == [(10,)]
    with lake.location.oracle() as duck:
        assert duck.sql(f"SELECT count(*) FROM other.v_{rows}") == [(10,)]


def test_what_duckdb_would_read_otherwise_is_refused(lake, rows, with_views):
    with pytest.raises(NotSupported, match="may mean something else"):
        lake.sql(f"CREATE VIEW lake.main.w AS SELECT id DIV 2 AS h FROM lake.main.{rows}")
    lake.spark.range(1).createOrReplaceTempView("elsewhere")
    lake.spark.sql("CREATE TABLE IF NOT EXISTS default.plain_table (a INT) USING parquet")
    with pytest.raises(NotSupported, match="its own lake"):
        lake.sql("CREATE VIEW lake.main.w AS SELECT a FROM spark_catalog.default.plain_table")
