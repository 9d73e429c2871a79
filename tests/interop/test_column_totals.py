"""What the catalog says of whole columns is what their rows say, whoever wrote them."""

from __future__ import annotations

import itertools

import pytest
from pyspark.sql import functions as F

import ducklake_spark
from ducklake_spark.model.literals import from_python
from ducklake_spark.operations.column_totals import find_totals
from ducklake_spark.plan.totals import is_bounded, is_counted
from support.walking.engines import Engines

pytestmark = [pytest.mark.spark, pytest.mark.interop]

TYPES = {
    "i8": ("TINYINT", "i % 100 - 128"),
    "i64": ("BIGINT", "9223372036854775807 - i"),
    "u8": ("UTINYINT", "i % 200 + 50"),
    "u32": ("UINTEGER", "4294967295 - i"),
    "u64": ("UBIGINT", "18446744073709551615 - i"),
    "n4": ("DECIMAL(4,2)", "(i % 199) / 2 - 49.5"),
    "n18": ("DECIMAL(18,3)", "i * 1000000 - 12345678.125"),
    "n38": ("DECIMAL(38,10)", "i * 12345678901234567 - 0.0000000001"),
    "day": ("DATE", "DATE '1969-12-01' + CAST(i AS INTEGER)"),
    "ts": ("TIMESTAMP", "TIMESTAMP '1969-12-31 23:59:59.5' + to_seconds(CAST(i AS BIGINT))"),
    "ts_s": ("TIMESTAMP_S", "TIMESTAMP '1969-12-31 23:59:59' + to_seconds(CAST(i AS BIGINT))"),
    "ts_ms": ("TIMESTAMP_MS", "TIMESTAMP '0001-01-01 00:00:00' + to_seconds(CAST(i AS BIGINT))"),
    "tz": ("TIMESTAMPTZ", "TIMESTAMPTZ '1969-12-31 23:59:59.5+00' - to_seconds(CAST(i AS BIGINT))"),
    "flag": ("BOOLEAN", "i % 3 > 0"),
    "none": ("INTEGER", "NULL"),
    "gaps": ("INTEGER", "CASE WHEN i % 3 = 0 THEN i END"),
    "text": ("VARCHAR", "'x' || i"),
    "real": ("DOUBLE", "i / 3"),
}  # fmt: skip


def insert(table, low, high, names=TYPES):
    given = ", ".join(f"CAST({TYPES[name][1]} AS {TYPES[name][0]})" for name in names)
    return f"INSERT INTO {table} SELECT {given} FROM range({low}, {high}) r(i)"


CREATE = "CREATE TABLE t ({})".format(", ".join(f"{k} {v[0]}" for k, v in TYPES.items()))
PLAIN = [CREATE, insert("t", 0, 30), insert("t", 100, 140), insert("t", 50, 53)]
DELETES = [
    *PLAIN,
    "DELETE FROM t WHERE i64 = 9223372036854775807",
    "DELETE FROM t WHERE day >= DATE '1970-02-20'",
    "UPDATE t SET gaps = 99999 WHERE text = 'x52'",
    "UPDATE t SET gaps = -5 WHERE day < DATE '1970-01-01'",
    "DELETE FROM t WHERE i64 < 9223372036854775780",
    "TRUNCATE t",
    insert("t", 3, 33),
]
MAINTAINED = [
    *PLAIN,
    insert("t", 200, 204),
    "DELETE FROM t WHERE text = 'x201'",
    "CALL ducklake_flush_inlined_data('lake')",
    "CALL ducklake_merge_adjacent_files('lake')",
    "DELETE FROM t WHERE day < DATE '1969-12-25'",
    "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.05)",
    insert("t", 300, 330),
    "CALL ducklake_merge_adjacent_files('lake')",
]
ALTERED = [
    "CREATE TABLE t (a TINYINT, b INTEGER, c INTEGER, f FLOAT)",
    "INSERT INTO t SELECT i, i, -i, i FROM range(20) r(i)",
    "INSERT INTO t VALUES (-7, -7, -7, -7)",
    "ALTER TABLE t ALTER COLUMN a SET DATA TYPE BIGINT",
    "INSERT INTO t SELECT i + 5000000000, i, -i, i FROM range(20) r(i)",
    "ALTER TABLE t DROP COLUMN c",
    "ALTER TABLE t ADD COLUMN c DATE",
    "INSERT INTO t SELECT i, i, i, DATE '2020-01-01' + CAST(i AS INTEGER) FROM range(20) r(i)",
    "ALTER TABLE t RENAME COLUMN b TO z",
    "ALTER TABLE t RENAME COLUMN a TO b",
    "ALTER TABLE t ADD COLUMN d INTEGER DEFAULT 1000",
    "INSERT INTO t SELECT i, i, i, NULL, i FROM range(20) r(i)",
    "ALTER TABLE t ALTER COLUMN f SET DATA TYPE DOUBLE",
]
HISTORIES = {"plain": PLAIN, "deletes": DELETES, "maintained": MAINTAINED, "altered": ALTERED}


@pytest.fixture
def engines(spark, location):
    both = Engines(spark, location)
    yield both
    both.close()


def take_turns(engines, history, turns):
    for text, engine in zip(history, itertools.cycle(turns), strict=False):
        if engine == "duckdb":
            engines.oracle.sql(text)
        else:
            engines.ours("a").sql(text)


def told_and_read(con, version):
    """By column, what the catalog tells (None: nothing) and what the rows say."""
    table = con.table_version(("lake", "main", "t"), version=version)
    columns = [column for column in table.table.schema.columns if is_counted(column.type)]
    bounded = {c.column_id: is_bounded(c.type, {c.type_name.lower()}) for c in columns}
    wanted = [F.count(F.lit(1))]
    for column in columns:
        wanted += [F.count(column.name), F.min(column.name), F.max(column.name)]
    rows, *values = con.table("t", version=version).agg(*wanted).collect()[0]
    found = {}
    for place, column in enumerate(columns):
        count, low, high = values[3 * place : 3 * place + 3]
        read = (rows, count)
        if bounded[column.column_id]:
            ends = [None if x is None else from_python(x, column.type) for x in (low, high)]
            read = (*read, *ends)
        totals = find_totals(table, {column.column_id: bounded[column.column_id]})
        told = None
        if totals is not None:
            each = totals.columns[column.column_id]
            told = (totals.rows, each.values, each.low, each.high)[: len(read)]
        found[column.name] = (told, read)
    return found


@pytest.mark.parametrize("history", HISTORIES)
@pytest.mark.parametrize("turns", [("duckdb",), ("spark",), ("spark", "duckdb")], ids="/".join)
@pytest.mark.parametrize("catalog_kind", ["sqlite"], indirect=True)
def test_every_snapshot_is_told_as_it_is_read(engines, history, turns, lower):
    take_turns(engines, HISTORIES[history], turns)
    told = set()
    last = engines.newest("a")
    for many, version in itertools.product((1000, 1), range(2, last + 1)):
        lower(many_files=many)
        engines.ours("a").current_lake().contents.many.clear()
        for name, (answer, read) in told_and_read(engines.ours("a"), version).items():
            assert answer in (None, read), (many, version, name)
            told |= {many} if answer is not None else set()
    assert told == {1000, 1}


@pytest.mark.parametrize("turns", [("duckdb",), ("spark",)], ids="/".join)
def test_all_exact_types_are_told_in_every_catalog(engines, turns, lower):
    take_turns(engines, PLAIN, turns)
    expected = {
        name: engines.oracle.sql(f"SELECT count(*), count({name}) FROM t")[0] for name in TYPES
    }
    # Beyond a number of files the database compares; SQLite has no unsigned numbers of 64 bits.
    wide = {"u64"} if engines.location.kind == "sqlite" else set()
    for many, untold in ((1000, set()), (1, {"n4", "n18", "n38", "flag"} | wide)):
        lower(many_files=many)
        engines.ours("a").current_lake().contents.many.clear()
        found = told_and_read(engines.ours("a"), engines.newest("a"))
        assert {name for name, (told, _) in found.items() if told is None} == untold
        for name, (told, read) in found.items():
            assert told in (None, read), name
            assert read[:2] == expected[name]


def test_files_that_others_made_are_read(spark, location, tmp_path):
    path = str(tmp_path / "foreign.parquet")
    spark.range(5).selectExpr("id AS a").coalesce(1).write.parquet(path)
    with ducklake_spark.connect(
        location.uri, spark=spark, alias="lake", data_path=location.data_path
    ) as con:
        con.sql("CREATE TABLE lake.t (a BIGINT)")
        con.sql(f"CALL ducklake_add_data_files('lake', 't', '{path}/*.parquet')")
        version = con.table_version(("lake", "main", "t"))
        assert find_totals(version, {1: True}) is None
        assert tuple(con.sql("SELECT min(a), max(a) FROM lake.t").collect()[0]) == (0, 4)
