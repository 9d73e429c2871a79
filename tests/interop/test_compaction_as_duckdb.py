"""The same histories with the maintenance of either engine: same catalogs, same past."""

from __future__ import annotations

from typing import Any

import pytest

import ducklake_spark
from support.catalogs import catalog_differences
from support.maintenance_histories import HISTORIES, MAINTENANCE
from support.rows import same_rows, sorted_rows

pytestmark = [pytest.mark.spark, pytest.mark.interop]


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
    with location.oracle() as oracle:
        return oracle.sql(statement)


def outcome_here(spark, location, statement: str) -> list[tuple[Any, ...]]:
    con = ducklake_spark.connect(location.uri, spark=spark, alias="lake")
    try:
        return [tuple(row) for row in con.sql(statement).collect()]
    finally:
        con.close()


@pytest.mark.parametrize("name", HISTORIES)
def test_maintenance_leaves_the_same_catalog_as_duckdbs(
    spark, make_lake_location, catalog_kind, name
):
    theirs = make_lake_location(catalog_kind, "theirs")
    ours = make_lake_location(catalog_kind, "ours")
    for number, statement in enumerate(HISTORIES[name]):
        expected = outcome_in_duckdb(theirs, statement)
        if statement not in MAINTENANCE:
            outcome_in_duckdb(ours, statement)
            continue
        with ours.oracle() as oracle:
            before = past_of(oracle)
            changes = changes_of(oracle, max(before))
        assert same_rows(outcome_here(spark, ours, statement), expected), (number, statement)
        with ours.oracle() as oracle:
            after = past_of(oracle)
            assert {version: after[version] for version in before} == before, (number, statement)
            assert after[max(after)] == before[max(before)], (number, statement)
            assert changes_of(oracle, max(before)) == changes, (number, statement)
        with ours.database() as left, theirs.database() as right:
            assert catalog_differences(left, right, any_file_ids=True) == {}, (number, statement)
