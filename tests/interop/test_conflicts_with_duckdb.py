"""DuckDB is the other writer: two writers end as two DuckDBs do, in outcome and in catalog."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from ducklake_spark.errors import TransactionConflict
from support.catalogs import catalog_differences
from support.invariants import check_catalog
from support.oracle import Oracle
from support.writing import Writer, open_session

pytestmark = pytest.mark.interop

SETUP = """
    CREATE SCHEMA s; CREATE TABLE s.t (id BIGINT, name VARCHAR);
    CREATE VIEW s.v AS SELECT 1 AS one; CREATE MACRO s.m() AS 1;
    INSERT INTO s.t VALUES (1, 'n1')
"""

# Ours and DuckDB's words for the same.
ACTIONS = {
    "insert": (lambda w: w.insert(7, 8), "INSERT INTO s.t VALUES (7, 'n7'), (8, 'n8')"),
    "create table": (lambda w: w.create_table("n"), "CREATE TABLE s.n (id BIGINT, name VARCHAR)"),
    "drop table": (lambda w: w.drop_table("t"), "DROP TABLE s.t"),
    "replace table": (
        lambda w: w.create_table("t", or_replace=True),
        "CREATE OR REPLACE TABLE s.t (id BIGINT, name VARCHAR)",
    ),
    "create schema": (lambda w: w.create_schema("r"), "CREATE SCHEMA r"),
    "drop schema": (lambda w: w.drop_schema("s"), "DROP SCHEMA s CASCADE"),
    "drop view": (lambda w: w.drop_view("v"), "DROP VIEW s.v"),
    "drop macro": (lambda w: w.drop_macro("m"), "DROP MACRO s.m"),
    "comment": (lambda w: w.comment("t", "c"), "COMMENT ON TABLE s.t IS 'c'"),
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


@contextmanager
def duckdb(location):
    """A DuckDB that writes files for every row."""
    oracle = Oracle(location, data_inlining_row_limit=0)
    try:
        yield oracle
    finally:
        oracle.close()


def reference_outcome(location, mine: str, theirs: str) -> bool:
    """Whether DuckDB refuses to commit `mine` after another DuckDB has done `theirs`."""
    import duckdb as driver

    with duckdb(location) as one, duckdb(location) as other:
        one.sql(SETUP)
        one.sql("BEGIN")
        one.sql(ACTIONS[mine][1])
        other.sql(ACTIONS[theirs][1])
        try:
            one.sql("COMMIT")
        except driver.TransactionException:
            return True
    return False


def our_outcome(location, mine: str, theirs: str) -> bool:
    """Whether we refuse to commit `mine` after DuckDB has done `theirs`."""
    with duckdb(location) as other:
        other.sql(SETUP)
        session = open_session(location, data_inlining_row_limit=0)
        session.begin()
        ACTIONS[mine][0](Writer(session, "s"))
        other.sql(ACTIONS[theirs][1])
        try:
            session.commit()
        except TransactionConflict:
            return True
        finally:
            session.close_lakes()
    return False


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
@pytest.mark.parametrize(("mine", "theirs"), PAIRS)
def test_we_and_duckdb_are_refused_the_same(make_lake_location, kind, mine, theirs):
    ours, reference = make_lake_location(kind, "ours"), make_lake_location("postgres", "theirs")
    refused = our_outcome(ours, mine, theirs)
    assert refused == reference_outcome(reference, mine, theirs)
    with ours.database(create=False) as db, reference.database(create=False) as expected:
        check_catalog(db)
        assert catalog_differences(db, expected) == {}


@pytest.mark.parametrize(("mine", "theirs"), PAIRS)
def test_duckdb_is_refused_after_our_commit_as_after_its_own(make_lake_location, mine, theirs):
    """On SQLite DuckDB's open transaction would keep ours from committing."""
    import duckdb as driver

    ours, reference = make_lake_location("postgres", "a"), make_lake_location("postgres", "b")
    refused = False
    with duckdb(ours) as one:
        one.sql(SETUP)
        one.sql("BEGIN")
        one.sql(ACTIONS[mine][1])
        session = open_session(ours, data_inlining_row_limit=0)
        ACTIONS[theirs][0](Writer(session, "s"))
        session.close_lakes()
        try:
            one.sql("COMMIT")
        except driver.TransactionException:
            refused = True
    assert refused == reference_outcome(reference, mine, theirs)
    with ours.database(create=False) as db, reference.database(create=False) as expected:
        assert catalog_differences(db, expected) == {}
