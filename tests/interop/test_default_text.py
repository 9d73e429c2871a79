"""Defaults are stored in the words that the extension uses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from duckdb_extensions import import_extension

from ducklake_spark.sql.parse import parse
from ducklake_spark.sql.statements import CreateTable

pytestmark = pytest.mark.interop

DEFAULTS = [
    ("INTEGER", "42"),
    ("INTEGER", "-1"),
    ("INTEGER", "(7)"),
    ("INTEGER", "-(3)"),
    ("INTEGER", "1_000"),
    ("INTEGER", "5.7"),
    ("INTEGER", "'12'"),
    ("VARCHAR", "'it''s'"),
    ("VARCHAR", "''"),
    ("VARCHAR", "1.50"),
    ("DOUBLE", "1e10"),
    ("BOOLEAN", "true"),
    ("INTEGER", "'5'::INT"),
    ("DATE", "DATE '2020-01-01'"),
    ("TIMESTAMP", "TIMESTAMP '2020-01-01 00:00:00'"),
    ("INTEGER", "1+2"),
    ("BIGINT", "2*3+4"),
    ("INTEGER", "7 // 2"),
    ("INTEGER", "7 % 2"),
    ("INTEGER", "2^3"),
    ("TIMESTAMPTZ", "NOW()"),
    ("TIMESTAMPTZ", "current_timestamp"),
    ("DATE", "today()"),
    ("VARCHAR", "concat('a','b')"),
    ("VARCHAR", "'a' || 'b'"),
    ("UUID", "gen_random_uuid()"),
    ("VARCHAR", "upper('x')"),
    ("TIMESTAMP", "now()::TIMESTAMP"),
    ("TIMESTAMP", "now() - INTERVAL '1 day'"),
    ("DATE", "date_trunc('month', today())"),
    ("INTEGER", "coalesce(NULL, 1)"),
    ("INTEGER", "NULL"),
]


@pytest.fixture(scope="module")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    import_extension("ducklake")
    con = duckdb.connect()
    con.execute("LOAD ducklake")
    folder: Path = tmp_path_factory.mktemp("defaults")
    con.execute(f"ATTACH 'ducklake:{folder}/d.ducklake' AS d (DATA_PATH '{folder}/data/')")
    yield con
    con.close()


@pytest.mark.parametrize(("kind", "default"), DEFAULTS)
def test_default_has_the_text_of_the_extension(
    kind: str, default: str, extension: duckdb.DuckDBPyConnection
) -> None:
    extension.execute(f"CREATE OR REPLACE TABLE d.t (a {kind} DEFAULT {default})")
    (text, stored) = extension.execute(
        "SELECT default_value, default_value_type FROM __ducklake_metadata_d.ducklake_column "
        "WHERE end_snapshot IS NULL"
    ).fetchall()[0]

    (statement,) = parse(f"CREATE TABLE t (a {kind} DEFAULT {default})")
    assert isinstance(statement, CreateTable)
    ours = statement.columns[0].default

    # Quotes around the names of types mean nothing.
    expected = text.replace('"', "")
    assert (ours.text if ours else "NULL") == expected
    assert (ours.kind if ours else "literal") == stored
