"""Values of every type: written by DuckDB, read and written again by us, compared by DuckDB."""

from __future__ import annotations

import pytest

import ducklake_spark

pytestmark = [pytest.mark.spark, pytest.mark.interop]

# Type -> literals; NULL is added to each. What Spark's types cannot hold is tested apart.
VALUES = {
    "BOOLEAN": ["true", "false"],
    "TINYINT": ["-128", "127"],
    "SMALLINT": ["-32768", "32767"],
    "INTEGER": ["-2147483648", "2147483647"],
    "BIGINT": ["-9223372036854775808", "9223372036854775807"],
    "UTINYINT": ["0", "255"],
    "USMALLINT": ["0", "65535"],
    "UINTEGER": ["0", "4294967295"],
    "UBIGINT": ["0", "18446744073709551615"],
    "HUGEINT": ["-9007199254740992", "1267650600228229401496703205376"],
    "UHUGEINT": ["0", "9007199254740992"],
    "FLOAT": ["1.5", "'-inf'", "'nan'", "3.4028235e38", "-0.0"],
    "DOUBLE": ["0.1", "'inf'", "'nan'", "1e-300", "1.7976931348623157e308"],
    "DECIMAL(4,1)": ["-999.9", "0"],
    "DECIMAL(18,6)": ["123456789012.345678", "-0.000001"],
    "DECIMAL(38,10)": ["'-1234567890123456789012345678.0123456789'", "0"],
    "DATE": ["'2020-02-29'", "'0001-01-01'", "'9999-12-31'", "'1969-12-31'"],
    "TIME": ["'12:34:56.789012'", "'00:00:00'", "'23:59:59.999999'"],
    "TIMETZ": ["'12:34:56.7+00'", "'00:00:00+00'"],
    "TIMESTAMP": ["'2020-02-29 12:34:56.789012'", "'1969-12-31 23:59:59'", "'0001-01-01'"],
    "TIMESTAMP_S": ["'2020-02-29 12:34:56'"],
    "TIMESTAMP_MS": ["'1969-12-31 23:59:59.999'"],
    "TIMESTAMP_NS": ["'2020-02-29 12:34:56.789012345'", "'1969-12-31 23:59:59.999999999'"],
    "TIMESTAMPTZ": ["'2020-02-29 12:34:56.789012+05:30'", "'1900-01-01 00:00:00+00'"],
    "INTERVAL": ["'1 year 2 months 3 days 04:05:06.7'", "'30 hours'"],
    "VARCHAR": ["'plain'", "''", "'it''s \"q\" \\ ü 🦆, [x]'", "repeat('long ', 100)"],
    "JSON": ["""'{"a": [1, null, "x"]}'"""],
    "BLOB": [r"'\x00\xFFab'::BLOB", "''::BLOB"],
    "UUID": ["'7a1f0c4e-3a4b-4c5d-8e9f-0a1b2c3d4e5f'", "'00000000-0000-0000-0000-000000000000'"],
    "INTEGER[]": ["[1, NULL, 3]", "[]"],
    "VARCHAR[][]": ["[['a', ''], NULL, []]", "[]"],
    "STRUCT(a INTEGER, b VARCHAR, c STRUCT(d UUID, e TIME))": [
        "{'a': 1, 'b': 'x, y', 'c': {'d': '7a1f0c4e-3a4b-4c5d-8e9f-0a1b2c3d4e5f', "
        "'e': '01:02:03'}}",
        "{'a': NULL, 'b': NULL, 'c': NULL}",
    ],
    "MAP(VARCHAR, INTEGER)": ["MAP {'k, 1': 1, 'l': NULL}", "MAP {}"],
    "MAP(INTEGER, STRUCT(x DOUBLE, y UTINYINT[]))": ["MAP {1: {'x': 1.5, 'y': [255, NULL]}}"],
}
ROWS = 1 + max(len(literals) for literals in VALUES.values())


# The extension cannot read back structs with such fields when it inlined them itself.
UNREADABLE = [kind for kind in VALUES if "STRUCT" in kind]


def columns(values: dict[str, list[str]]) -> str:
    return ", ".join(f"c{i} {kind}" for i, kind in enumerate(values))


def texts(values: dict[str, list[str]]) -> str:
    return ", ".join(f"CAST(c{i} AS VARCHAR)" for i in range(len(values)))


def rows(values: dict[str, list[str]]) -> str:
    """VALUES rows in which each column runs through its literals, and NULL."""
    cells = [[*literals, "NULL"] for literals in values.values()]
    return ", ".join(
        "(" + ", ".join(column[n % len(column)] for column in cells) + ")" for n in range(ROWS)
    )


@pytest.mark.parametrize("limit", [0, 100], ids=["files", "inlined"])
def test_every_value_survives_a_round_trip(spark, location, limit):
    skipped = UNREADABLE if limit and location.kind != "duckdb" else []
    values = {kind: literals for kind, literals in VALUES.items() if kind not in skipped}
    with location.oracle(data_inlining_row_limit=limit) as oracle:
        oracle.sql(f"CREATE TABLE theirs ({columns(values)})")
        oracle.sql(f"CREATE TABLE ours ({columns(values)})")
        oracle.sql(f"INSERT INTO theirs VALUES {rows(values)}")
    with ducklake_spark.connect(location.uri, spark=spark, alias="lake") as con:
        con.sql("INSERT INTO ours SELECT * FROM theirs")
        con.sql("CREATE TABLE copied AS SELECT * FROM theirs")
    with location.oracle() as oracle:
        expected = oracle.sql("SELECT * FROM theirs ORDER BY ALL")
        assert len(expected) == ROWS
        for name in ("ours", "copied"):
            types = oracle.sql(f"SELECT column_name, column_type FROM (DESCRIBE {name})")
            assert types == oracle.sql("SELECT column_name, column_type FROM (DESCRIBE theirs)")
            assert oracle.sql(f"SELECT {texts(values)} FROM {name} ORDER BY ALL") == oracle.sql(
                f"SELECT {texts(values)} FROM theirs ORDER BY ALL"
            )


def test_values_inserted_by_us_are_what_duckdb_would_have_inserted(spark, location):
    with ducklake_spark.connect(
        location.uri, spark=spark, alias="lake", data_path=location.data_path
    ) as con:
        con.sql(f"CREATE TABLE ours ({columns(VALUES)})")
        con.sql(f"INSERT INTO ours VALUES {rows(VALUES)}")
    with location.oracle(data_inlining_row_limit=0) as oracle:
        oracle.sql(f"CREATE TABLE theirs ({columns(VALUES)})")
        oracle.sql(f"INSERT INTO theirs VALUES {rows(VALUES)}")
        assert oracle.sql(f"SELECT {texts(VALUES)} FROM ours ORDER BY ALL") == oracle.sql(
            f"SELECT {texts(VALUES)} FROM theirs ORDER BY ALL"
        )
