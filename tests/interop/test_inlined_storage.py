"""Values of every type go through inlined-data tables unchanged, in both directions."""

from __future__ import annotations

import pytest

from ducklake_spark.catalog_db.connection import Database
from ducklake_spark.catalog_db.statements import create_inlined_sql
from ducklake_spark.model.types import DataType, parse_sql_type
from support.lakes import LakeLocation

pytestmark = pytest.mark.interop

# DuckDB type -> literals that are stored.
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
    "HUGEINT": ["-170141183460469231731687303715884105728", "1"],
    "UHUGEINT": ["340282366920938463463374607431768211455", "0"],
    "FLOAT": ["0.1", "'-inf'", "'nan'", "3.4028235e38"],
    "DOUBLE": ["0.1", "1e-300", "'inf'", "'nan'", "0.30000000000000004"],
    "DECIMAL(38,10)": ["'-1234567890123456789012345678.0123456789'", "0"],
    "DATE": ["'2020-02-29'", "'0001-01-01'"],
    "TIME": ["'12:34:56.789012'", "'00:00:00'"],
    "TIMETZ": ["'12:34:56.7+02:30'", "'00:00:00-05'"],
    "TIMESTAMP": ["'2020-02-29 12:34:56.789012'", "'1969-12-31 23:59:59'"],
    "TIMESTAMP_S": ["'2020-02-29 12:34:56'"],
    "TIMESTAMP_MS": ["'2020-02-29 12:34:56.789'"],
    "TIMESTAMP_NS": ["'2020-02-29 12:34:56.789012345'"],
    "TIMESTAMPTZ": ["'2020-02-29 12:34:56.789012+05:30'"],
    "INTERVAL": [
        "'1 year 2 months 3 days 04:05:06.7'",
        "'-14 months 3 days -00:00:01'",
        "'30 hours'",
    ],
    "VARCHAR": ["'plain'", "''", "'it''s \"q\" \\ ü 🦆'", "'zero' || chr(0) || 'byte'"],
    "JSON": ["""'{"a": [1, null, "x''y"]}'"""],
    "BLOB": [r"'\x00\xFFab'", "''"],
    "UUID": ["'7a1f0c4e-3a4b-4c5d-8e9f-0a1b2c3d4e5f'"],
    "INTEGER[]": ["[1, NULL, 3]", "[]"],
    "STRUCT(a INTEGER, b VARCHAR)": ["{'a': 1, 'b': 'x, y'}", "{'a': NULL, 'b': NULL}"],
    "MAP(VARCHAR, INTEGER)": ["MAP {'k, 1': 1, 'l': NULL}", "MAP {}"],
}
TYPES: list[DataType] = [parse_sql_type(text) for text in VALUES]


def values_in_duckdb_text(duck, table: str) -> list[tuple]:
    """All columns as DuckDB's text, blobs as hexadecimal digits."""
    columns = ", ".join(
        f"hex(c{i})" if text == "BLOB" else f"CAST(c{i} AS VARCHAR)"
        for i, text in enumerate(VALUES)
    )
    return duck.sql(f"SELECT {columns} FROM {table} ORDER BY rowid")


def rows_of_literals() -> list[str]:
    depth = max(len(literals) for literals in VALUES.values())
    rows = [
        [f"CAST({literals[n] if n < len(literals) else 'NULL'} AS {kind})"
         for kind, literals in VALUES.items()]
        for n in range(depth)
    ]  # fmt: skip
    return [f"({', '.join(row)})" for row in rows]


def inlined_table(db: Database) -> str:
    return db.fetch("SELECT table_name FROM " + db.table("ducklake_inlined_data_tables"))[0][0]


def read_texts(db: Database, name: str) -> list[tuple]:
    columns = ", ".join(db.inlined_text(f"c{i}", kind) for i, kind in enumerate(TYPES))
    return db.fetch(f"SELECT {columns} FROM {db.table(name)} ORDER BY row_id")


def create_wide_table(duck, name: str) -> None:
    columns = ", ".join(f"c{i} {text}" for i, text in enumerate(VALUES))
    duck.sql(f"CREATE TABLE {name} ({columns})")


def test_inlined_values_read_the_same_when_duckdb_wrote_them(location: LakeLocation):
    with location.oracle() as duck:
        create_wide_table(duck, "t")
        for row in rows_of_literals():
            duck.sql(f"INSERT INTO t VALUES {row}")
        expected = values_in_duckdb_text(duck, "t")
    with location.database(create=False) as db:
        found = read_texts(db, inlined_table(db))
    with location.oracle() as duck:
        assert [back_in_duckdb(duck, row) for row in found] == expected


def back_in_duckdb(duck, texts: tuple) -> tuple:
    """Each text cast to its type and printed again."""
    out = []
    for text, kind in zip(texts, VALUES, strict=True):
        assert text is None or isinstance(text, str | int)
        if kind == "BLOB":
            out.append(text)
        else:
            sql = f"SELECT CAST(CAST($1 AS {kind}) AS VARCHAR)"
            out.append(
                duck.connection.execute(sql, [None if text is None else str(text)]).fetchone()[0]
            )
    return tuple(out)


def test_inlined_values_read_the_same_when_we_wrote_them(location: LakeLocation):
    with location.oracle() as duck:
        create_wide_table(duck, "t")
        # Kept in DuckDB itself: what the values look like without any catalog in between.
        duck.sql("CREATE TABLE memory.main.plain AS FROM t")
        for row in rows_of_literals():
            duck.sql(f"INSERT INTO memory.main.plain VALUES {row}")
        expected = values_in_duckdb_text(duck, "memory.main.plain")
    with location.database(create=False) as db:
        name = inlined_table(db)
        rows = [(n, 1, None, *texts) for n, texts in enumerate(expected)]
        db.run_batch(db.insert_inlined_statements(name, TYPES, rows))
        assert [tuple(map(text_or_none, row)) for row in read_texts(db, name)]
    with location.oracle() as duck:
        assert values_in_duckdb_text(duck, "t") == expected


def text_or_none(value):
    return None if value is None else str(value)


def test_inlined_table_has_the_types_of_the_extension(location: LakeLocation):
    with location.oracle() as duck:
        create_wide_table(duck, "t")
    with location.database(create=False) as db:
        theirs = inlined_table(db)
        columns = [(f"c{i}", kind) for i, kind in enumerate(TYPES)]
        db.execute(create_inlined_sql(db.table("ours"), columns, db.dialect))
        assert types_of(db, "ours") == types_of(db, theirs)


def types_of(db: Database, name: str) -> list[tuple]:
    if db.kind == "sqlite":
        return db.fetch("SELECT name, type FROM pragma_table_info(?) ORDER BY cid", (name,))
    return db.fetch(
        "SELECT column_name, data_type, numeric_precision, numeric_scale "
        "FROM information_schema.columns WHERE table_name = ? ORDER BY ordinal_position",
        (name,),
    )
