"""ALTER TABLE in Spark's SQL."""

from __future__ import annotations

import pytest

from ducklake_spark.errors import DuckLakeError, NotSupported

pytestmark = [pytest.mark.spark, pytest.mark.interop]


@pytest.fixture
def altered(lake, table):
    """A table with a row, and a function that alters it: how many snapshots it took."""
    lake.sql(
        f"CREATE TABLE lake.main.{table} AS SELECT 1 AS id, 'a' AS name, "
        "named_struct('x', 1, 'inner', named_struct('y', 2)) AS s, "
        "array(named_struct('z', 3)) AS items, map('k', named_struct('v', 4)) AS m"
    )

    def alter(text):
        return lake.snapshots_of(lambda: lake.sql(f"ALTER TABLE lake.main.{table} {text}"))

    return alter


def test_columns_are_added_dropped_and_renamed_at_any_depth(lake, table, altered):
    added = (
        "ADD COLUMNS (n INT COMMENT 'a number', d STRING DEFAULT 'x', s.inner.w BIGINT, "
        "items.element.q DATE, m.value.r STRING)"
    )
    assert altered(added) == 1
    assert altered("RENAME COLUMN s.x TO first") == 1
    assert altered("RENAME COLUMN name TO `odd name`") == 1
    assert altered("DROP COLUMNS (s.inner.y, items.element.q)") == 1
    assert altered("DROP COLUMN IF EXISTS nope") == 0
    with lake.location.oracle() as duck:
        told = [row[:2] for row in duck.sql(f"DESCRIBE {table}")]
        row = duck.sql(f'SELECT id, "odd name", s.first, d, m FROM {table}')
    assert told == [
        ("id", "INTEGER"),
        ("odd name", "VARCHAR"),
        ("s", 'STRUCT("first" INTEGER, "inner" STRUCT(w BIGINT))'),
        ("items", "STRUCT(z INTEGER)[]"),
        ("m", "MAP(VARCHAR, STRUCT(v INTEGER, r VARCHAR))"),
        ("n", "INTEGER"),
        ("d", "VARCHAR"),
    ]
    assert row == [(1, "a", 1, "x", {"k": {"v": 4, "r": None}})]
    assert lake.sql(f"SELECT s.first, d, m['k'].v FROM lake.main.{table}") == [(1, "x", 4)]


def test_types_rules_and_comments_of_columns_change(lake, table, altered):
    assert altered("ALTER COLUMN id TYPE BIGINT") == 1
    assert altered("ALTER COLUMN id COMMENT 'the key'") == 1
    assert altered("ALTER COLUMN name SET DEFAULT 'nobody'") == 1
    told = lake.spark.catalog.listColumns(f"{lake.name}.main.{table}")
    assert [(c.name, c.dataType, c.description) for c in told][:2] == [
        ("id", "bigint", "the key"),
        ("name", "string", None),
    ]
    with lake.location.oracle() as duck:
        duck.sql(f"INSERT INTO {table} (id) VALUES (2)")
        assert duck.sql(f"SELECT name FROM {table} WHERE id = 2") == [("nobody",)]
    assert altered("ALTER COLUMN name DROP DEFAULT") == 1
    assert altered("ALTER COLUMN id COMMENT ''") == 1
    assert lake.spark.catalog.listColumns(f"{lake.name}.main.{table}")[0].description is None


def test_not_null_is_dropped(lake, table):
    lake.sql(f"CREATE TABLE lake.main.{table} (a INT NOT NULL)")
    lake.sql(f"ALTER TABLE lake.main.{table} ALTER COLUMN a DROP NOT NULL")
    assert lake.spark.catalog.listColumns(f"{lake.name}.main.{table}")[0].nullable


def test_several_changes_are_one_snapshot(lake, table, altered):
    text = "SET TBLPROPERTIES (comment = 'changed', sorted_by = 'id DESC, name')"
    assert altered(text) == 1
    told = dict(lake.sql(f"SHOW TBLPROPERTIES lake.main.{table}"))
    assert told["sorted_by"] == 'id DESC, "name"'
    assert lake.spark.catalog.getTable(f"{lake.name}.main.{table}").description == "changed"
    assert altered("CLUSTER BY (id)") == 1
    assert dict(lake.sql(f"SHOW TBLPROPERTIES lake.main.{table}"))["sorted_by"] == "id"
    assert altered("SET TBLPROPERTIES (partitioned_by = 'bucket(4, id), name')") == 1
    shown = lake.sql(f"SHOW CREATE TABLE lake.main.{table}")[0][0]
    assert "PARTITIONED BY (bucket(4, id), name)" in shown
    assert altered("UNSET TBLPROPERTIES (partitioned_by)") == 1
    assert altered("UNSET TBLPROPERTIES (comment)") == 1
    assert altered("CLUSTER BY NONE") == 1
    assert altered("SET TBLPROPERTIES (target_file_size = '10MB')") == 0  # has no history
    told = dict(lake.sql(f"SHOW TBLPROPERTIES lake.main.{table}"))
    assert "sorted_by" not in told
    assert lake.spark.catalog.getTable(f"{lake.name}.main.{table}").description is None
    assert told["target_file_size"] == "10000000"


def test_a_change_that_fails_takes_the_whole_statement_with_it(lake, table, altered):
    before = lake.last_snapshot()
    with pytest.raises(DuckLakeError):
        altered("ADD COLUMNS (ok INT, bad INT NOT NULL)")
    assert lake.last_snapshot() == before


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ADD COLUMN c INT FIRST", "order in which they came"),
        ("ALTER COLUMN name FIRST", "order in which they came"),
        ("ADD COLUMN c INT AFTER id", "order in which they came"),
        ("REPLACE COLUMNS (only INT)", "values would be gone"),
        ("UNSET TBLPROPERTIES (target_file_size)", "not be taken away"),
        ("SET LOCATION '/tmp/elsewhere'", "LOCATION"),
    ],
)
def test_what_a_lake_cannot_change_is_refused(lake, table, altered, text, reason):
    before = lake.last_snapshot()
    with pytest.raises(NotSupported, match=reason):
        altered(text)
    assert lake.last_snapshot() == before


def test_a_missing_column_is_told(lake, table, altered):
    with pytest.raises(Exception, match="UNRESOLVED_COLUMN"):
        altered("RENAME COLUMN nope TO other")
