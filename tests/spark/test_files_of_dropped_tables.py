"""A table that is made and dropped in one transaction leaves no file, however that ends."""

from __future__ import annotations

from pathlib import Path

import pytest

import ducklake_spark
from ducklake_spark.errors import TransactionConflict

pytestmark = pytest.mark.spark

ONE = pytest.mark.parametrize("catalog_kind", ["sqlite"], indirect=True)
CREATE = "CREATE TABLE x (id INTEGER)"
FILL = "INSERT INTO x SELECT range::INTEGER FROM range(30)"
DROP = "DROP TABLE x"
AGAIN = "CREATE OR REPLACE TABLE x AS SELECT range::INTEGER AS id FROM range(40)"
IN_SCHEMA = [
    "CREATE SCHEMA s",
    "CREATE TABLE s.x (id INTEGER)",
    "INSERT INTO s.x SELECT range::INTEGER FROM range(30)",
    "DELETE FROM s.x WHERE id < 15",
    "DROP SCHEMA s CASCADE",
]

# What a transaction does, and how many rows x has after it if there is one.
HISTORIES = {
    "dropped": ([CREATE, FILL, DROP], None),
    "made by a query": (["CREATE TABLE x AS SELECT range AS id FROM range(30)", DROP], None),
    "with other changes": ([CREATE, FILL, DROP, "INSERT INTO t VALUES (1)"], None),
    "with deletes": (
        [CREATE, FILL, "DELETE FROM x WHERE id < 5", "DELETE FROM x WHERE id < 15", DROP],
        None,
    ),
    "with updates": ([CREATE, FILL, "UPDATE x SET id = id + 1 WHERE id < 15", DROP], None),
    "partitioned": (
        [CREATE, "ALTER TABLE x SET PARTITIONED BY (bucket(3, id))", FILL, DROP],
        None,
    ),
    "renamed": ([CREATE, FILL, "ALTER TABLE x RENAME TO y", "DROP TABLE y"], None),
    "made again": ([CREATE, FILL, DROP, CREATE, FILL], 30),
    "replaced": ([CREATE, FILL, AGAIN, AGAIN], 40),
    "dropped with its schema": (IN_SCHEMA, None),
    "emptied": ([CREATE, FILL, "TRUNCATE x", FILL, "DELETE FROM x WHERE id >= 0"], 0),
}


def connect(spark, location):
    return ducklake_spark.connect(
        location.uri, spark=spark, alias="lake", data_path=location.data_path
    )


def unknown_files(location) -> set[str]:
    """Files that no row of the catalog names."""
    tables = ("data_file", "delete_file", "files_scheduled_for_deletion")
    with location.database() as db:
        known = {
            Path(row[0]).name
            for table in tables
            for row in db.fetch(f"SELECT path FROM ducklake_{table}")
        }
    found = {path.name for path in Path(location.data_path).rglob("*.parquet")}
    assert known <= found
    return found - known


@ONE
@pytest.mark.parametrize("name", HISTORIES)
def test_no_file_is_left_whether_it_is_committed_or_not(spark, location, name):
    statements, rows = HISTORIES[name]
    with connect(spark, location) as con:
        con.sql("CREATE TABLE t (id INTEGER)")
        for ending in ("ROLLBACK", "COMMIT"):
            con.sql("BEGIN")
            for statement in statements:
                con.sql(statement)
            assert unknown_files(location)  # they were written
            con.sql(ending)
            assert unknown_files(location) == set(), ending
        assert con.check().collect() == []
        if rows is not None:
            assert con.sql("SELECT count(*) FROM x").collect()[0][0] == rows


@ONE
@pytest.mark.parametrize("name", ["dropped", "made again", "dropped with its schema"])
def test_no_file_is_left_when_the_commit_is_refused(spark, location, name):
    with connect(spark, location) as con, connect(spark, location) as other:
        con.sql("CREATE TABLE t (id INTEGER)")
        con.sql("BEGIN")
        for statement in [*HISTORIES[name][0], "ALTER TABLE t ADD COLUMN b INTEGER"]:
            con.sql(statement)
        other.sql("ALTER TABLE t ADD COLUMN c INTEGER")
        with pytest.raises(TransactionConflict):
            con.sql("COMMIT")
        assert unknown_files(location) == set()
        assert con.check().collect() == []


@ONE
def test_no_file_is_left_when_the_connection_is_closed(spark, location):
    with connect(spark, location) as con:
        for statement in ["BEGIN", CREATE, FILL, DROP, CREATE, FILL]:
            con.sql(statement)
        assert len(unknown_files(location)) >= 2
    assert unknown_files(location) == set()


@ONE
@pytest.mark.parametrize("drop", ["DROP TABLE s.x", "DROP SCHEMA s CASCADE"])
def test_files_of_a_transaction_go_with_an_older_table_that_it_drops(spark, location, drop):
    with connect(spark, location) as con:
        for statement in IN_SCHEMA[:3]:
            con.sql(statement)
        con.sql("BEGIN")
        con.sql(IN_SCHEMA[2])
        con.sql("DELETE FROM s.x WHERE id < 15")
        con.sql(drop)
        con.sql("COMMIT")
        assert unknown_files(location) == set()
        assert con.check().collect() == []
        assert con.sql("SELECT count(*) FROM s.x AT (VERSION => 3)").collect()[0][0] == 30
