"""spark.catalog, SHOW and DESCRIBE over a lake."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def shop(lake):
    """A lake with two schemas, tables of odd names, rules and comments."""
    lake.sql("CREATE NAMESPACE lake.shop")
    lake.sql("CREATE NAMESPACE lake.`odd schema`")
    lake.sql(
        "CREATE TABLE lake.shop.Orders (Id BIGINT NOT NULL COMMENT 'the key', "
        "state STRING DEFAULT 'new', at TIMESTAMP_NTZ) COMMENT 'all orders' "
        "PARTITIONED BY (months(at)) TBLPROPERTIES (target_file_size = '1MB')"
    )
    lake.sql("CREATE TABLE lake.`odd schema`.`odd.table` (`odd column` INT, `a.b` INT)")
    return lake


def test_the_catalog_api_knows_schemas_tables_and_columns(shop):
    catalog, name = shop.spark.catalog, shop.name
    catalog.setCurrentCatalog(name)
    try:
        assert catalog.currentCatalog() == name and catalog.currentDatabase() == "main"
        names = {found.name.strip("`") for found in catalog.listDatabases()}
        assert {"main", "shop", "odd schema"} <= names
        catalog.setCurrentDatabase("shop")
        assert [found.name for found in catalog.listTables()] == ["Orders"]
        assert catalog.tableExists("orders") and not catalog.tableExists("order")
        assert catalog.databaseExists("shop") and not catalog.databaseExists("shops")
        assert shop.spark.table("ORDERS").columns == ["Id", "state", "at"]
    finally:
        catalog.setCurrentCatalog("spark_catalog")
    told = catalog.getTable(f"{name}.shop.orders")
    assert (told.catalog, told.namespace, told.description) == (name, ["shop"], "all orders")
    columns = catalog.listColumns(f"{name}.shop.orders")
    assert [(c.name, c.dataType, c.nullable, c.description) for c in columns] == [
        ("Id", "bigint", False, "the key"),
        ("state", "string", True, None),
        ("at", "timestamp_ntz", True, None),
    ]
    assert name in {found.name for found in catalog.listCatalogs()}


def test_use_and_show(shop):
    shop.sql("USE lake.shop")
    try:
        assert [row[1] for row in shop.sql("SHOW TABLES")] == ["Orders"]
        assert shop.sql("SHOW TABLES LIKE 'nothing*'") == []
        assert [row[0] for row in shop.sql("SHOW COLUMNS IN orders")] == ["Id", "state", "at"]
        assert shop.sql("SELECT count(*) FROM orders") == [(0,)]
        assert ("target_file_size", "1000000") in shop.sql("SHOW TBLPROPERTIES orders")
        assert (shop.name,) in shop.sql("SHOW CATALOGS")
    finally:
        shop.sql("USE spark_catalog.default")


def test_describe_shows_types_rules_and_partitions(shop):
    told = [row[:2] for row in shop.sql("DESCRIBE EXTENDED lake.shop.orders")]
    assert ("Id", "bigint") in told
    assert 'partitioned_by=year("at"), month("at")' in dict(told)["Table Properties"]
    assert ("Comment", "all orders") in told and ("Provider", "ducklake") in told
    text = shop.sql("SHOW CREATE TABLE lake.shop.orders")[0][0]
    for part in ("Id BIGINT NOT NULL COMMENT 'the key'", "DEFAULT", "USING ducklake", "all orders"):
        assert part in text
    assert ("Namespace Name", "shop") in shop.sql("DESCRIBE NAMESPACE lake.shop")


def test_odd_names(shop):
    place = "lake.`odd schema`.`odd.table`"
    shop.sql(f"CREATE OR REPLACE TABLE {place} AS SELECT 1 AS `odd column`, 2 AS `a.b`")
    assert shop.sql(f"SELECT `odd column`, `a.b` FROM {place}") == [(1, 2)]
    shop.sql(f"ALTER TABLE {place} RENAME COLUMN `a.b` TO `c``d`")
    assert [row[0] for row in shop.sql(f"SHOW COLUMNS IN {place}")] == ["odd column", "c`d"]
    assert shop.sql(f"SELECT `c``d` FROM {place}") == [(2,)]


def test_a_name_without_a_schema_is_in_main(shop):
    shop.sql("CREATE TABLE lake.plain AS SELECT 1 AS a")
    assert (
        shop.sql("SELECT * FROM lake.main.plain") == [(1,)] == shop.sql("SELECT * FROM lake.plain")
    )


def test_functions_are_found_and_missed_while_a_lake_is_the_current_catalog(lake):
    spark = lake.spark
    before = lake.sql("SHOW USER FUNCTIONS")
    spark.catalog.setCurrentCatalog(lake.name)
    try:
        assert spark.catalog.functionExists("upper") and not spark.catalog.functionExists("nosuch")
        assert lake.sql("SHOW FUNCTIONS LIKE 'upp*'") == [("upper",)]
        assert lake.sql("SHOW USER FUNCTIONS") == before
        with pytest.raises(AnalysisException, match="UNRESOLVED_ROUTINE"):
            lake.sql("SELECT nosuch(1)")
    finally:
        spark.catalog.setCurrentCatalog("spark_catalog")


def test_the_tables_of_a_lake_without_a_schema_are_those_of_main(lake):
    lake.sql("CREATE TABLE lake.main.listed (id INT)")
    found = lake.spark.sql(f"SHOW TABLES IN {lake.name}").collect()
    assert ("main", "listed", False) in [tuple(row) for row in found]
