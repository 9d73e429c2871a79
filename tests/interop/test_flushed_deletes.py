"""Delete files of a flush hold deletes of several snapshots, and the catalog does not say so."""

from __future__ import annotations

import itertools

import pytest

import ducklake_spark

pytestmark = [pytest.mark.spark, pytest.mark.interop]

LOCAL = pytest.mark.parametrize("catalog_kind", ["duckdb", "sqlite"], indirect=True)
FLUSH = "CALL ducklake_flush_inlined_data('lake')"
BEFORE = ["CREATE TABLE t (id INTEGER)", "INSERT INTO t VALUES (1), (2), (3)"]
DELETES = ["DELETE FROM t WHERE id = 1", "DELETE FROM t WHERE id = 2"]
SEEN = {2: [1, 2, 3], 3: [2, 3], 4: [3], 5: [3]}  # the rows of each version


def connect(location, spark):
    return ducklake_spark.connect(
        location.uri, spark=spark, alias="lake", data_path=location.data_path
    )


def make(location, spark, who: str) -> None:
    """A lake whose deletes were flushed, by us or by DuckDB."""
    if who == "duckdb":
        with location.oracle() as oracle:
            for statement in [*BEFORE, *DELETES, FLUSH]:
                oracle.sql(statement)
        return
    with connect(location, spark) as con:
        for statement in [*BEFORE, *DELETES, FLUSH]:
            con.sql(statement)


def ids(con, version: int | None = None) -> list[int]:
    at = "" if version is None else f" AT (VERSION => {version})"
    return sorted(row[0] for row in con.sql(f"SELECT id FROM t{at}").collect())


def count(con, version: int) -> int:
    return con.sql(f"SELECT count(*) FROM t AT (VERSION => {version})").collect()[0][0]


@LOCAL
@pytest.mark.parametrize("who", ["us", "duckdb"])
def test_versions_are_right_in_whatever_order_they_are_read(
    spark, make_lake_location, catalog_kind, who
):
    for number, order in enumerate(itertools.permutations((3, 4, 5))):
        location = make_lake_location(catalog_kind, f"lake{number}")
        make(location, spark, who)
        with connect(location, spark) as con:
            for version in (*order, 2, *order):
                assert ids(con, version) == SEEN[version], (order, version)
                assert count(con, version) == len(SEEN[version]), (order, version)
            assert ids(con) == [3]
            assert con.sql("SELECT count(*) FROM t").collect()[0][0] == 1


@LOCAL
@pytest.mark.parametrize("who", ["us", "duckdb"])
def test_an_update_after_a_look_at_the_past_brings_no_row_back(spark, location, who):
    make(location, spark, who)
    with connect(location, spark) as con:
        assert ids(con, 3) == [2, 3]
        assert con.sql("DELETE FROM t WHERE id = 2").collect()[0][0] == 0
        assert con.sql("UPDATE t SET id = id + 10").collect()[0][0] == 1
        assert ids(con) == [13]
        assert con.check().collect() == []
    with location.oracle() as oracle:
        assert oracle.sql("FROM t") == [(13,)]
        for version, expected in SEEN.items():
            found = oracle.sql(f"SELECT id FROM t AT (VERSION => {version}) ORDER BY id")
            assert [row[0] for row in found] == expected


@LOCAL
@pytest.mark.parametrize("who", ["us", "duckdb"])
def test_what_one_connection_reads_changes_nothing_for_another(spark, location, who):
    make(location, spark, who)
    with connect(location, spark) as first:
        assert ids(first, 3) == [2, 3]
    with connect(location, spark) as second:
        assert ids(second) == [3]
        assert second.sql("DELETE FROM t WHERE id < 3").collect()[0][0] == 0
        assert second.sql("MERGE INTO t USING (SELECT 2 AS id) s ON t.id = s.id "
                          "WHEN MATCHED THEN UPDATE SET id = 20").collect()[0][0] == 0  # fmt: skip
        assert second.check().collect() == []
    with connect(location, spark) as third:
        assert [ids(third, version) for version in SEEN] == [*SEEN.values()]
    with location.oracle() as oracle:
        assert oracle.sql("FROM t") == [(3,)]


@LOCAL
@pytest.mark.parametrize("who", ["us", "duckdb"])
def test_deletes_on_top_of_flushed_ones_keep_the_snapshots_of_both(spark, location, who):
    rows = "INSERT INTO t SELECT range::INTEGER FROM range(4, 34)"
    with location.oracle() as oracle:
        for statement in [*BEFORE, rows, *DELETES]:
            oracle.sql(statement)
        if who == "duckdb":
            oracle.sql(FLUSH)
    with connect(location, spark) as con:
        if who == "us":
            con.sql(FLUSH)
        assert len(ids(con, 4)) == 32
        con.sql("DELETE FROM t WHERE id = 3")
        con.sql("DELETE FROM t WHERE id BETWEEN 10 AND 30")
        con.sql(FLUSH)
        found = {version: ids(con, version) for version in range(2, 10)}
        assert con.check().collect() == []
    with location.oracle() as oracle:
        for version, expected in found.items():
            seen = oracle.sql(f"SELECT id FROM t AT (VERSION => {version}) ORDER BY id")
            assert [row[0] for row in seen] == expected, version
    assert [len(found[version]) for version in range(2, 10)] == [3, 33, 32, 31, 31, 30, 9, 9]


def test_bits_are_sent_once_for_all_snapshots_that_see_the_same(spark, make_lake_location):
    from ducklake_spark.spark import deletes

    location = make_lake_location("sqlite", "lake")
    make(location, spark, "us")
    with connect(location, spark) as con:
        assert ids(con) == [3]
        con.sql("CREATE TABLE other (i INTEGER)")
        before = set(deletes._sent.keys())
        assert ids(con) == [3]
        assert set(deletes._sent.keys()) == before
