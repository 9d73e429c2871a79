"""The same histories with the maintenance of either engine: same catalogs, same past."""

from __future__ import annotations

from typing import Any

import pytest

from support import maintenance_histories as maintenance
from support.catalogs import catalog_differences
from support.rows import same_rows, sorted_rows
from support.writing import Keeper, open_session

pytestmark = pytest.mark.interop

# Where our catalog is deliberately another one.
DIFFERENT = {
    # A flush that drops tables of inlined rows makes a new schema version: sessions of DuckDB keep
    # a list of those tables for as long as it is the same. And bounds of columns with a changed
    # type stay known.
    "evolved": {"ducklake_snapshot", "ducklake_table_column_stats"},
}


def past_of(oracle) -> dict[int, list[Any]]:
    """The rows with their ids at every snapshot that has the table, as DuckDB sees them."""
    count = oracle.sql("SELECT max(snapshot_id) FROM lake.snapshots()")[0][0]
    return {
        version: sorted_rows(oracle.sql(f"SELECT rowid, * FROM t AT (VERSION => {version})"))
        for version in range(1, count + 1)
    }


def changes_of(oracle, until: int) -> list[Any]:
    """The change feed up to a snapshot."""
    return sorted_rows(oracle.sql(f"FROM lake.table_changes('t', 0, {until})"))


def outcome_in_duckdb(location, statement: str) -> list[tuple[Any, ...]]:
    """With one thread: which partition comes first decides what bounds the table has."""
    with location.oracle() as oracle:
        oracle.sql("SET threads = 1")
        return oracle.sql(statement)


def outcome_here(location, statement: str) -> tuple[tuple[Any, ...], ...]:
    """What our operations say; groups are rewritten in this process instead of a Spark task."""
    session = open_session(location)
    keeper = Keeper(session)
    try:
        match statement:
            case maintenance.FLUSH:
                return keeper.flush()
            case maintenance.MERGE:
                return keeper.merge()
            case _:
                return keeper.rewrite(0.01)
    finally:
        session.close_lakes()


@pytest.mark.parametrize("name", maintenance.HISTORIES)
def test_maintenance_leaves_the_same_catalog_as_duckdbs(make_lake_location, catalog_kind, name):
    theirs = make_lake_location(catalog_kind, "theirs")
    ours = make_lake_location(catalog_kind, "ours")
    for number, statement in enumerate(maintenance.HISTORIES[name]):
        expected = outcome_in_duckdb(theirs, statement)
        if statement not in maintenance.MAINTENANCE:
            outcome_in_duckdb(ours, statement)
            continue
        with ours.oracle() as oracle:
            before = past_of(oracle)
            changes = changes_of(oracle, max(before))
        assert same_rows(outcome_here(ours, statement), expected), (number, statement)
        with ours.oracle() as oracle:
            after = past_of(oracle)
            assert {version: after[version] for version in before} == before, (number, statement)
            assert after[max(after)] == before[max(before)], (number, statement)
            assert changes_of(oracle, max(before)) == changes, (number, statement)
        with ours.database() as left, theirs.database() as right:
            different = catalog_differences(left, right, any_file_ids=True)
        assert different.keys() <= DIFFERENT.get(name, set()), (number, statement, different)


def test_a_flush_widens_bounds_to_rows_that_only_older_snapshots_see(make_lake_location):
    location = make_lake_location("sqlite", "lake")
    with location.oracle() as oracle:
        for statement in (
            "CREATE TABLE t (id INTEGER, v VARCHAR)",
            "INSERT INTO t SELECT i, 'm' FROM range(20) r(i)",
            "INSERT INTO t VALUES (100, 'a')",
            "UPDATE t SET v = 'n' WHERE id = 100",
            "DELETE FROM t WHERE id < 15",
            maintenance.REWRITE,  # the bounds become exact
        ):
            oracle.sql(statement)
    session = open_session(location)
    Keeper(session).flush()
    db = session.current_lake().db
    bounds = db.fetch(
        "SELECT column_id, min_value, max_value FROM ducklake_table_column_stats ORDER BY column_id"
    )
    assert bounds == [(1, "15", "100"), (2, "a", "n")]
    session.close_lakes()
    with location.oracle() as oracle:
        assert oracle.sql("SELECT id FROM t AT (VERSION => 3) WHERE v = 'a'") == [(100,)]
