"""Files that our tasks write, put in the place of the extension's own: DuckDB has to be content."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial

import pytest

from ducklake_spark.model.schema import Column, Schema
from support.carried import a_batch, a_schema, write
from support.lakes import make_location
from support.oracle import Oracle

pytestmark = pytest.mark.interop

UTC = dt.timezone.utc
BIG = 10**38 - 1

# DuckDB's type, the same values as DuckDB literals and as carriers. A NULL row is added to each.
CASES = {
    "BOOLEAN": (["true", "false"], [True, False]),
    "TINYINT": (["-128", "127"], [-128, 127]),
    "SMALLINT": (["-32768", "5"], [-32768, 5]),
    "INTEGER": (["-2147483648", "2147483647"], [-(2**31), 2**31 - 1]),
    "BIGINT": (["-9223372036854775808", "9"], [-(2**63), 9]),
    "HUGEINT": ([f"-{BIG}", "9", str(2**64)], [Decimal(-BIG), Decimal(9), Decimal(2**64)]),
    "UTINYINT": (["0", "255"], [0, 255]),
    "USMALLINT": (["0", "65535"], [0, 65535]),
    "UINTEGER": (["7", "4294967295"], [7, 2**32 - 1]),
    "UBIGINT": (["7", str(2**64 - 1)], [Decimal(7), Decimal(2**64 - 1)]),
    "UHUGEINT": (["7", str(BIG)], [Decimal(7), Decimal(BIG)]),
    "FLOAT": (["0.1", "-1.5", "'inf'", "16777216"], [0.1, -1.5, math.inf, 16_777_216.0]),
    "DOUBLE": (["1e300", "-0.1", "'-inf'", "1e-30"], [1e300, -0.1, -math.inf, 1e-30]),
    "DOUBLE -- negative zero": (["'-0.0'", "1"], [-0.0, 1.0]),
    "DOUBLE -- with NaN": (["1.0", "'nan'", "5"], [1.0, math.nan, 5.0]),
    "DECIMAL(4,2)": (["-1", "12.5"], [Decimal("-1"), Decimal("12.5")]),
    "DECIMAL(18,6)": (["-1", "12.5"], [Decimal("-1"), Decimal("12.5")]),
    "DECIMAL(38,10)": (["-1.5", "12345.6789"], [Decimal("-1.5"), Decimal("12345.6789")]),
    "DECIMAL(2,2)": (["0.25", "-0.5"], [Decimal("0.25"), Decimal("-0.5")]),
    "DATE": (["'0001-01-02'", "'9999-12-31'"], [dt.date(1, 1, 2), dt.date(9999, 12, 31)]),
    "TIME": (
        ["'00:00:00'", "'12:34:56.789'", "'24:00:00'"],
        ["00:00:00", "12:34:56.789", "24:00:00"],
    ),
    "TIME WITH TIME ZONE": (
        ["'12:34:56.7+02'", "'01:00:00-05:30'"],
        ["12:34:56.7+02", "01:00:00-05:30"],
    ),
    "TIMESTAMP": (
        ["'0001-01-01 00:00:00'", "'2024-01-02 03:04:05.678901'"],
        [dt.datetime(1, 1, 1), dt.datetime(2024, 1, 2, 3, 4, 5, 678_901)],
    ),
    "TIMESTAMP_S": (
        ["'1900-01-01 00:00:01'", "'2024-01-02 03:04:05'"],
        [dt.datetime(1900, 1, 1, 0, 0, 1), dt.datetime(2024, 1, 2, 3, 4, 5)],
    ),
    "TIMESTAMP_MS": (
        ["'1900-01-01 00:00:01.5'", "'2024-01-02 03:04:05.067'"],
        [dt.datetime(1900, 1, 1, 0, 0, 1, 500_000), dt.datetime(2024, 1, 2, 3, 4, 5, 67_000)],
    ),
    "TIMESTAMP_NS": (
        ["'1900-01-01 00:00:01.000000001'", "'2024-01-02 03:04:05.1'"],
        ["1900-01-01 00:00:01.000000001", "2024-01-02 03:04:05.1"],
    ),
    "TIMESTAMP WITH TIME ZONE": (
        ["'0001-01-01 00:00:00+00'", "'2024-01-02 05:04:05.5+02'"],
        [dt.datetime(1, 1, 1, tzinfo=UTC), dt.datetime(2024, 1, 2, 3, 4, 5, 500_000, UTC)],
    ),
    "INTERVAL": (
        ["'1 year 2 days 03:04:05.6'", "'-1 month'"],
        ["1 year 2 days 03:04:05.6", "-1 month"],
    ),
    "VARCHAR": (["''", "'é'", "'it''s'"], ["", "é", "it's"]),
    "BLOB": (["'\\x00\\xFFab'", "''"], [b"\x00\xffab", b""]),
    "UUID": (
        ["'f0000000-0000-0000-0000-000000000001'", "'10000000-0000-0000-0000-000000000000'"],
        ["f0000000-0000-0000-0000-000000000001", "10000000-0000-0000-0000-000000000000"],
    ),
    "JSON": (["'{\"a\": 1}'", "'[1]'"], ['{"a": 1}', "[1]"]),
    "INTEGER[]": (["[1, NULL]", "[]"], [[1, None], []]),
    "DOUBLE[][]": (["[[1.5], [], NULL, [NULL]]", "[]"], [[[1.5], [], None, [None]], []]),
    "STRUCT(a INTEGER, b VARCHAR[])": (
        ["{a: 1, b: ['x']}", "{a: NULL, b: NULL}"],
        [{"a": 1, "b": ["x"]}, {"a": None, "b": None}],
    ),
    "STRUCT(a UUID, t TIMESTAMP_NS)[]": (
        ["[{a: '10000000-0000-0000-0000-000000000000', t: '2024-01-02 03:04:05.1'}]"],
        [[{"a": "10000000-0000-0000-0000-000000000000", "t": "2024-01-02 03:04:05.1"}]],
    ),
    "MAP(VARCHAR, INTEGER)": (["MAP {'a': 1, 'b': NULL}", "MAP {}"], [[("a", 1), ("b", None)], []]),
}
# The extension stores the first ones otherwise and knows little about what it stored. Ours has no
# bounds beside a NaN, and one zero.
OTHER_BOUNDS = [
    "HUGEINT",
    "UHUGEINT",
    "TIME WITH TIME ZONE",
    "INTERVAL",
    "DOUBLE -- with NaN",
    "DOUBLE -- negative zero",
]
STATS = "column_id, value_count, null_count, min_value, max_value, contains_nan"


@dataclass(frozen=True)
class Swapped:
    """A lake with a table per case, whose files are ours, beside tables of DuckDB's memory."""

    oracle: Oracle
    tables: dict[str, str]  # by the name of the case
    ours: dict[str, list]  # statistics of our files
    theirs: dict[str, list]  # statistics that the extension had of its own

    def both(self, query: str, case: str) -> tuple[list, list]:
        """The answer from our file, and from memory; `@` stands for the table."""
        table = self.tables[case]
        places = (f"lake.main.{table}", f"memory.main.{table}")
        left, right = (self.oracle.sql(query.replace("@", place)) for place in places)
        return left, right


@pytest.fixture(scope="module")
def swapped(tmp_path_factory):
    directory = tmp_path_factory.mktemp("written")
    location = make_location("duckdb", directory)
    with location.oracle(data_inlining_row_limit=0) as oracle:
        lake = Swapped(oracle, {}, {}, {})
        for number, (case, (literals, values)) in enumerate(CASES.items()):
            lake.tables[case] = f"t{number}"
            swap(lake, case, case.partition(" --")[0], literals, values, directory / str(number))
        oracle.detach()
        oracle.attach(data_inlining_row_limit=0)
        yield lake


def meta(oracle, text: str, *values) -> list:
    """Ask the metadata database; `@` stands for the beginning of a table's name."""
    named = text.replace("@", "__ducklake_metadata_lake.ducklake_")
    return oracle.connection.execute(named, list(values)).fetchall()


def swap(lake: Swapped, case: str, sql_type: str, literals, values, directory) -> None:
    """Let DuckDB write the rows, keep its statistics, then put our file in place of its own."""
    oracle, table = lake.oracle, lake.tables[case]
    rows = ", ".join(f"(({literal})::{sql_type})" for literal in [*literals, "NULL"])
    # The extension refuses to write negative intervals.
    stored = "(NULL), (NULL), (NULL)" if sql_type == "INTERVAL" else rows
    for place, given in (("memory.main", rows), ("lake.main", stored)):
        oracle.sql(f"CREATE TABLE {place}.{table} (c {sql_type})")
        oracle.sql(f"INSERT INTO {place}.{table} VALUES {given}")
    [(table_id,)] = meta(oracle, "SELECT table_id FROM @table WHERE table_name = ?", table)
    lake.theirs[case] = meta(
        oracle,
        f"SELECT {STATS} FROM @file_column_stats WHERE table_id = ? ORDER BY column_id",
        table_id,
    )
    schema = with_ids(a_schema({"c": sql_type}), oracle, table_id)
    (file,) = write(directory, schema, a_batch(schema, c=[*values, None]))
    lake.ours[case] = [
        (s.column_id, s.value_count, s.null_count, s.min_value, s.max_value, s.contains_nan)
        for s in file.column_stats
    ]
    adopt(oracle, file, table_id)


def with_ids(schema: Schema, oracle, table_id: int) -> Schema:
    """The schema with the ids of the catalog, which both give parents first."""
    query = "SELECT column_id FROM @column WHERE table_id = ? ORDER BY column_id"
    given = (row[0] for row in meta(oracle, query, table_id))
    ids = {node.column_id: next(given) for c in schema.columns for node in c.walk()}

    def renumber(column: Column) -> Column:
        children = tuple(map(renumber, column.children))
        return replace(column, column_id=ids[column.column_id], children=children)

    return Schema(tuple(map(renumber, schema.columns)))


def adopt(oracle, file, table_id: int) -> None:
    """Tell the catalog of our file, and what we know about it."""
    ask = partial(meta, oracle)
    ask(
        "UPDATE @data_file SET path = ?, path_is_relative = false, file_size_bytes = ?, "
        "footer_size = ?, record_count = ? WHERE table_id = ?",
        *(file.path, file.file_size_bytes, file.footer_size, file.record_count, table_id),
    )
    ask("DELETE FROM @table_column_stats WHERE table_id = ?", table_id)
    for stats in file.column_stats:
        ask(
            "UPDATE @file_column_stats SET column_size_bytes = ?, value_count = ?, null_count = ?, "
            "min_value = ?, max_value = ?, contains_nan = ? WHERE table_id = ? AND column_id = ?",
            *(stats.column_size_bytes, stats.value_count, stats.null_count, stats.min_value),
            *(stats.max_value, stats.contains_nan, table_id, stats.column_id),
        )


@pytest.mark.parametrize("case", [case for case in CASES if case not in OTHER_BOUNDS])
def test_statistics_are_those_of_the_extension_for_the_same_rows(swapped, case):
    assert swapped.ours[case] == swapped.theirs[case]


@pytest.mark.parametrize("case", OTHER_BOUNDS)
def test_counts_are_right_where_the_extension_stores_otherwise(swapped, case):
    [(column_id, value_count, null_count, *_)] = swapped.ours[case]
    assert [row[0] for row in swapped.theirs[case]] == [column_id]
    assert (value_count, null_count) == (len(CASES[case][1]), 1)


@pytest.mark.parametrize("case", CASES)
def test_duckdb_reads_every_value_back(swapped, case):
    from_file, from_memory = swapped.both("SELECT c::VARCHAR FROM @ ORDER BY rowid", case)
    assert from_file == from_memory


@pytest.mark.parametrize("case", CASES)
def test_duckdb_finds_the_same_rows_by_our_statistics(swapped, case):
    sql_type = case.partition(" --")[0]
    conditions = [
        f"c {comparison} ({literal})::{sql_type}"
        for literal in CASES[case][0]
        for comparison in ("=", "<", ">=", ">")
    ]
    if sql_type in ("HUGEINT", "UHUGEINT"):  # bounds compared as text would lose rows here
        conditions += [f"c = {number}" for number in (2, 8, 11, 2**100)]
    for condition in [*conditions, "c IS NULL", "c IS NOT NULL"]:
        from_file, from_memory = swapped.both(f"SELECT count(*) FROM @ WHERE {condition}", case)
        assert from_file == from_memory, condition


@pytest.mark.parametrize(
    ("codec", "version"), [("zstd", "V2"), ("snappy", "V2"), ("gzip", "V1"), ("lz4", "V1")]
)
def test_duckdb_reads_many_row_groups_in_every_codec(swapped, tmp_path, codec, version):
    schema = a_schema({"c": "BIGINT", "s": "VARCHAR"})
    batches = [
        a_batch(schema, c=list(range(i, i + 700)), s=[f"{i}é"] * 700) for i in (0, 700, 1400)
    ]
    options = {"compression": codec, "parquet_version": version, "row_group_rows": 500}
    (file,) = write(tmp_path, schema, *batches, **options)
    query = f"SELECT count(c), min(c), max(c), min(s), max(s) FROM read_parquet('{file.path}')"
    assert swapped.oracle.sql(query) == [(2100, 0, 2099, "0é", "700é")]
