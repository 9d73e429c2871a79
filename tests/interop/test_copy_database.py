"""A whole DuckDB database in a lake, by one statement and one snapshot, as DuckDB reads it."""

from __future__ import annotations

import duckdb
import pytest

import ducklake_spark
from support.rows import same_rows

pytestmark = [pytest.mark.interop]

OBJECTS = """
CREATE SCHEMA s2;
CREATE TYPE mood AS ENUM ('a', 'b');
CREATE SEQUENCE sq;
CREATE TABLE t(
    i INTEGER PRIMARY KEY, e mood, h HUGEINT, u UNION(a INTEGER, b VARCHAR), b BIT, arr INTEGER[3],
    n BIGNUM, j JSON, g INTEGER GENERATED ALWAYS AS (i + 1), d INTEGER DEFAULT 5,
    nn VARCHAR NOT NULL DEFAULT 'x', s STRUCT(a mood, iv INTERVAL), iv INTERVAL, tz TIMETZ, uu UUID,
    us UBIGINT, m MAP(VARCHAR, INTEGER), bl BLOB, tn TIMESTAMP_NS, tm TIME, z TIMESTAMPTZ);
CREATE TABLE s2.few(id INTEGER DEFAULT nextval('sq'), v VARIANT);
CREATE TABLE s2.small AS SELECT 1 AS one;
CREATE VIEW v AS SELECT i FROM t WHERE i < 5;
CREATE VIEW s2.whole AS SELECT count(*) AS n FROM source.main.t;
CREATE MACRO add(x, y := 2) AS x + y;
CREATE MACRO s2.above(a := 3) AS TABLE SELECT i FROM source.main.t WHERE i > a;
COMMENT ON TABLE t IS 'hello';
COMMENT ON COLUMN t.i IS 'number';
INSERT INTO t SELECT i, 'a', 17014118346046923173168730371588410572::HUGEINT, union_value(b := 'x'),
    '101'::BIT, [1, 2, 3], 5, '{"a":1}', 7, 'nn', {'a': 'b', 'iv': INTERVAL 1 DAY},
    -INTERVAL 3 MONTH, '12:00:00+03'::TIMETZ, '00000000-0000-0000-0000-000000000005',
    18446744073709551615, MAP {'k': 1}, 'ab'::BLOB, '2020-01-01 00:00:00.123456789',
    '12:34:56.5', '2020-01-01 00:00:00+02' FROM range(20) r(i);
"""


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "source.duckdb"
    newest = {"storage_compatibility_version": "latest"}  # older ones have no VARIANT
    with duckdb.connect(str(path), config=newest) as con:
        con.execute(OBJECTS)
    return path


def connect(location, **options):
    return ducklake_spark.connect(
        location.uri, alias="lake", data_path=location.data_path, **options
    )


def copy(location, source):
    """No Spark is needed: the driver alone can read the file."""
    with connect(location) as con:
        con.sql(f"ATTACH '{source}' AS db")
        before = con.lake("lake").latest().snapshot_id
        report = con.sql("COPY FROM DATABASE db TO lake")
        assert con.lake("lake").latest().snapshot_id == before + 1
        return {(row[0], row[2]): row[3:] for row in report._rows}


def test_tables_views_and_macros_arrive_in_one_snapshot(location, source):
    report = copy(location, source)
    assert report["table", "t"][:2] == ("copied", 20)
    assert "ENUM('a', 'b') is stored as VARCHAR" in report["table", "t"][2]
    assert "g: the default" in report["table", "t"][2]
    assert report["table", "few"][0] == "skipped"
    assert {kind for (kind, _), row in report.items() if row[0] == "skipped"} == {
        *("table", "sequence", "type", "constraint"),
    }
    with location.oracle() as oracle:
        assert oracle.sql("SELECT count(*), max(h), max(g) FROM t") == [
            (20, 17014118346046923173168730371588410572, 20)
        ]
        with duckdb.connect() as con:
            con.execute("SET TimeZone = 'UTC'")
            con.execute(f"ATTACH '{source}' AS source (READ_ONLY)")
            kept = "i, h, j, g, d, nn, iv, tz, uu, us, m, bl, tn, tm, z"
            cast = "e::VARCHAR, u::VARCHAR, b::VARCHAR, arr::INTEGER[], n::VARCHAR::INTEGER"
            expected = con.execute(f"SELECT {kept}, {cast} FROM source.t").fetchall()
        assert same_rows(oracle.sql(f"SELECT {kept}, e, u, b, arr, n FROM t"), expected)
        assert oracle.sql("FROM v ORDER BY i") == [(i,) for i in range(5)]
        assert oracle.sql("FROM s2.whole") == [(20,)]
        assert oracle.sql("SELECT add(1), add(1, 5)") == [(3, 6)]
        assert oracle.sql("FROM s2.above(a := 17) ORDER BY i") == [(18,), (19,)]
        assert oracle.sql("FROM s2.small") == [(1,)]
        assert oracle.sql("SELECT comment FROM duckdb_tables() WHERE table_name = 't'") == [
            ("hello",)
        ]
        oracle.sql("INSERT INTO t(i) VALUES (100)")
        assert oracle.sql("SELECT d, nn FROM t WHERE i = 100") == [(5, "x")]


@pytest.mark.parametrize("catalog_kind", ["sqlite"], indirect=True)
def test_nothing_is_copied_when_a_name_is_taken(location, source):
    with connect(location) as con:
        con.sql("CREATE SCHEMA s2")
        con.sql("CREATE TABLE s2.small(x INTEGER)")
        con.sql(f"ATTACH '{source}' AS db")
        with pytest.raises(ducklake_spark.errors.AlreadyExists, match="small"):
            con.sql("COPY FROM DATABASE db TO lake")
        assert not con.sql("SHOW TABLES")._rows
        con.sql("DETACH db")
        with pytest.raises(ducklake_spark.errors.LakeNotFound, match="db"):
            con.sql("COPY FROM DATABASE db TO lake")


@pytest.mark.parametrize("catalog_kind", ["sqlite"], indirect=True)
def test_only_database_files_that_exist_are_attached(location, tmp_path):
    (tmp_path / "text.db").write_text("no database at all")
    with connect(location) as con:
        with pytest.raises(ducklake_spark.errors.NotFound, match="no such file"):
            con.sql(f"ATTACH '{tmp_path}/missing.duckdb' AS db")
        with pytest.raises(ducklake_spark.errors.InvalidInput, match="no DuckDB database"):
            con.sql(f"ATTACH '{tmp_path}/text.db' AS db")
        with pytest.raises(ducklake_spark.errors.NotSupported, match="only lakes"):
            con.sql("ATTACH 'postgres:dbname=x' AS db")


@pytest.mark.spark
@pytest.mark.parametrize("catalog_kind", ["sqlite"], indirect=True)
def test_tables_of_the_file_stand_in_queries_and_lakes_are_copied_too(
    location, make_lake_location, source, spark
):
    other = make_lake_location("sqlite", "other")
    with connect(location, spark=spark) as con:
        con.sql(f"ATTACH '{source}' AS db")
        rows = con.sql("SELECT h, e, tz, tn, arr FROM db.main.t WHERE i = 3").collect()
        assert [tuple(row) for row in rows] == [
            (
                17014118346046923173168730371588410572,
                "a",
                "12:00:00+03",
                "2020-01-01 00:00:00.123456789",
                [1, 2, 3],
            )
        ]
        assert con.sql("SELECT * FROM db.s2.small").collect()[0][0] == 1
        con.sql("COPY FROM DATABASE db TO lake")
        con.sql(f"ATTACH '{other.uri}' AS copy (DATA_PATH '{other.data_path}')")
        con.sql("COPY FROM DATABASE lake TO copy")
        assert con.sql("SELECT * FROM copy.s2.whole").collect()[0][0] == 20
    with other.oracle() as oracle:
        assert oracle.sql("SELECT count(*), min(tz::VARCHAR) FROM t") == [(20, "12:00:00+03")]
        assert oracle.sql("FROM s2.above(a := 18)") == [(19,)]
