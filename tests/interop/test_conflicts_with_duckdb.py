"""DuckDB is the other writer: two writers end as two DuckDBs do, in outcome and in catalog."""

from __future__ import annotations

import pytest

from ducklake_spark.errors import TransactionConflict
from support.catalogs import catalog_differences
from support.invariants import check_catalog
from support.lakes import make_location
from support.oracle import Oracle
from support.writing import Writer, open_session

pytestmark = pytest.mark.interop

SETUP = """
    BEGIN;
    CREATE SCHEMA {s}; CREATE TABLE {s}.t (id BIGINT, name VARCHAR);
    CREATE VIEW {s}.v AS SELECT 1 AS one; CREATE MACRO {s}.m() AS 1;
    INSERT INTO {s}.t VALUES (1, 'n1');
    COMMIT
"""

# Ours and DuckDB's words for the same.
ACTIONS = {
    "insert": (lambda w: w.insert(7, 8), "INSERT INTO {s}.t VALUES (7, 'n7'), (8, 'n8')"),
    "create table": (lambda w: w.create_table("n"), "CREATE TABLE {s}.n (id BIGINT, name VARCHAR)"),
    "drop table": (lambda w: w.drop_table("t"), "DROP TABLE {s}.t"),
    "replace table": (
        lambda w: w.create_table("t", or_replace=True),
        "CREATE OR REPLACE TABLE {s}.t (id BIGINT, name VARCHAR)",
    ),
    "create schema": (lambda w: w.create_schema(f"{w.schema}_r"), "CREATE SCHEMA {s}_r"),
    "drop schema": (lambda w: w.drop_schema(w.schema), "DROP SCHEMA {s} CASCADE"),
    "drop view": (lambda w: w.drop_view("v"), "DROP VIEW {s}.v"),
    "drop macro": (lambda w: w.drop_macro("m"), "DROP MACRO {s}.m"),
    "comment": (lambda w: w.comment("t", "c"), "COMMENT ON TABLE {s}.t IS 'c'"),
}
# mine, theirs
PAIRS = [
    ("insert", "insert"),
    ("insert", "comment"),
    ("insert", "drop table"),
    ("insert", "replace table"),
    ("comment", "insert"),
    ("comment", "comment"),
    ("create table", "create table"),
    ("create table", "drop schema"),
    ("create schema", "create schema"),
    ("drop schema", "create table"),
    ("drop table", "insert"),
    ("drop table", "drop table"),
    ("replace table", "replace table"),
    ("drop view", "drop view"),
    ("drop macro", "drop macro"),
    ("drop view", "insert"),
]


class Ours:
    """A writer that is this package."""

    def __init__(self, location) -> None:
        self.session = open_session(location, data_inlining_row_limit=0)

    def begin(self) -> None:
        self.session.begin()

    def do(self, action: str, schema: str) -> None:
        ACTIONS[action][0](Writer(self.session, schema))

    def is_refused(self) -> bool:
        try:
            self.session.commit()
        except TransactionConflict:
            return True
        return False

    def close(self) -> None:
        self.session.close_lakes()


class DuckDB:
    """A writer that is DuckDB; it writes a file for every insert."""

    def __init__(self, location) -> None:
        self.oracle = Oracle(location, data_inlining_row_limit=0)

    def begin(self) -> None:
        self.oracle.sql("BEGIN")

    def do(self, action: str, schema: str) -> None:
        self.oracle.sql(ACTIONS[action][1].format(s=schema))

    def set_up(self, schema: str) -> None:
        self.oracle.sql(SETUP.format(s=schema))

    def is_refused(self) -> bool:
        import duckdb

        try:
            self.oracle.sql("COMMIT")
        except duckdb.TransactionException:
            return True
        return False

    def close(self) -> None:
        self.oracle.close()


def outcomes(location, mine_is: type, theirs_is: type) -> dict[tuple[str, str], bool]:
    """For every pair, whether mine is refused when theirs is committed first."""
    refused = {}
    setup = DuckDB(location)
    for number, _ in enumerate(PAIRS):
        setup.set_up(f"s{number}")
    setup.close()
    mine, theirs = mine_is(location), theirs_is(location)
    for number, pair in enumerate(PAIRS):
        mine.begin()
        mine.do(pair[0], f"s{number}")
        theirs.do(pair[1], f"s{number}")
        refused[pair] = mine.is_refused()
    mine.close()
    theirs.close()
    return refused


@pytest.fixture(scope="module")
def reference(tmp_path_factory, postgres_server):
    """What two DuckDBs do to each other, and the lake that they leave."""
    directory = tmp_path_factory.mktemp("reference")
    location = make_location("postgres", directory, postgres_server.make_database())
    return outcomes(location, DuckDB, DuckDB), location


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_we_are_refused_after_a_commit_of_duckdb_as_duckdb_is(make_lake_location, kind, reference):
    location = make_lake_location(kind, "lake")
    assert outcomes(location, Ours, DuckDB) == reference[0]
    assert set(reference[0].values()) == {True, False}
    with location.database(create=False) as db, reference[1].database(create=False) as expected:
        check_catalog(db)
        assert catalog_differences(db, expected) == {}


def test_duckdb_is_refused_after_our_commit_as_after_its_own(make_lake_location, reference):
    """On PostgreSQL only: on SQLite DuckDB's open transaction keeps others from committing."""
    location = make_lake_location("postgres", "lake")
    assert outcomes(location, DuckDB, Ours) == reference[0]
    with location.database(create=False) as db, reference[1].database(create=False) as expected:
        check_catalog(db)
        assert catalog_differences(db, expected) == {}
