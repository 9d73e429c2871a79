"""A lake made by us is a lake made by the extension."""

from __future__ import annotations

import uuid

import pytest

from ducklake_spark.catalog_db.connection import Database
from ducklake_spark.catalog_db.initialize import check_version, create_lake, is_lake
from ducklake_spark.catalog_db.tables import TABLES
from support.lakes import LakeLocation

pytestmark = pytest.mark.interop

COLUMNS_OF = {
    "duckdb": (
        "SELECT column_name, data_type, is_nullable FROM information_schema.columns "
        "WHERE table_schema = 'main' AND table_name = ? ORDER BY ordinal_position"
    ),
    "postgres": (
        "SELECT column_name, data_type, is_nullable FROM information_schema.columns "
        "WHERE table_schema = 'public' AND table_name = ? ORDER BY ordinal_position"
    ),
    "sqlite": 'SELECT name, type, "notnull" FROM pragma_table_info(?) ORDER BY cid',
}
KEYS_OF = {
    "duckdb": (
        "SELECT table_name, CAST(constraint_column_names AS VARCHAR) FROM duckdb_constraints() "
        "WHERE constraint_type = 'PRIMARY KEY' ORDER BY ALL"
    ),
    "postgres": (
        "SELECT CAST(conrelid AS regclass)::varchar, pg_get_constraintdef(oid) FROM pg_constraint "
        "WHERE contype = 'p' AND connamespace = 'public'::regnamespace ORDER BY 1"
    ),
    "sqlite": (
        "SELECT m.name, i.name FROM sqlite_master m, pragma_table_info(m.name) i "
        "WHERE i.pk > 0 ORDER BY 1"
    ),
}
TABLES_OF = {
    "duckdb": "SELECT table_name FROM duckdb_tables() ORDER BY 1",
    "postgres": "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1",
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1",
}


def describe(db: Database) -> dict[str, object]:
    """The physical layout of a catalog."""
    layout: dict[str, object] = {
        name: db.fetch(COLUMNS_OF[db.kind], (name,)) for (name,) in db.fetch(TABLES_OF[db.kind])
    }
    return {**layout, "keys": db.fetch(KEYS_OF[db.kind])}


def rows_of(db: Database) -> dict[str, list[tuple]]:
    """All rows, without what differs between any two lakes."""
    rows = {table.name: db.select(table) for table in TABLES.values()}
    [(_, moment, *counters)] = rows["ducklake_snapshot"]
    assert moment.utcoffset().total_seconds() == 0
    [(schema_id, text, *rest)] = rows["ducklake_schema"]
    assert uuid.UUID(text).version == 4
    rows["ducklake_snapshot"] = [tuple(counters)]
    rows["ducklake_schema"] = [(schema_id, *rest)]
    rows["ducklake_metadata"] = [
        row for row in rows["ducklake_metadata"] if row[0] not in {"created_by", "data_path"}
    ]
    return rows


def test_new_lake_has_the_layout_and_rows_of_the_extension(catalog_kind, make_lake_location):
    ours, theirs = make_lake_location(catalog_kind, "ours"), make_lake_location(catalog_kind, "its")
    with theirs.oracle():
        pass
    with ours.database() as mine, theirs.database(create=False) as other:
        assert describe(mine) == describe(other)
        assert rows_of(mine) == rows_of(other)
        assert len(TABLES) == 28


def test_new_lake_stores_its_data_path_with_one_slash(location: LakeLocation):
    with location.database(create=False) as db:
        create_lake(db, location.data_path + "//")
        stored = db.fetch_one(
            f"SELECT value FROM {db.table('ducklake_metadata')} WHERE \"key\" = 'data_path'"
        )
    assert stored == (location.data_path,)


def test_duckdb_uses_a_lake_that_we_made(location: LakeLocation):
    with location.database():
        pass
    with location.oracle() as duck:
        duck.sql("CREATE TABLE t (id INTEGER, name VARCHAR)")
        duck.sql("INSERT INTO t VALUES (1, 'one')")
        duck.sql("INSERT INTO t SELECT i, 'n' || i FROM range(2, 100) s(i)")
        duck.sql("DELETE FROM t WHERE id > 50")
        assert duck.sql("SELECT count(*), sum(id) FROM t") == [(50, 1275)]
        assert duck.sql("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')") == [(4,)]


def test_duckdb_finds_an_encrypted_lake_when_we_made_it_so(location: LakeLocation):
    with location.database(create=False) as db:
        create_lake(db, location.data_path, encrypted=True)
    with location.oracle() as duck:
        duck.sql("CREATE TABLE t AS SELECT i FROM range(100) s(i)")
        keys = duck.sql("SELECT data_file_encryption_key FROM ducklake_list_files('lake', 't')")
    assert keys[0][0] is not None


def test_we_open_a_lake_that_duckdb_made(location: LakeLocation):
    with location.oracle() as duck:
        duck.sql("CREATE TABLE t (id INTEGER)")
        [(moment,)] = duck.sql("SELECT max(snapshot_time) FROM ducklake_snapshots('lake')")
    with location.database(create=False) as db:
        assert is_lake(db)
        check_version(db)
        [row] = db.select(TABLES["ducklake_snapshot"], "WHERE snapshot_id = ?", (1,))
        assert row == (1, moment, 1, 2, 0)
        [table] = db.select(TABLES["ducklake_table"], columns=("table_name", "path_is_relative"))
        assert table == ("t", True)


@pytest.mark.parametrize("catalog_kind", ["duckdb", "postgres"], indirect=True)
def test_metadata_schema_is_shared_with_duckdb(location: LakeLocation):
    with location.database(metadata_schema="meta data") as db:
        assert db.table("x") == '"meta data"."x"'
    with location.oracle(metadata_schema="meta data") as duck:
        duck.sql("CREATE TABLE t AS SELECT 1 AS a")
    with location.database(create=False, metadata_schema="meta data") as db:
        assert db.select(TABLES["ducklake_table"], columns=("table_name",)) == [("t",)]
    with location.database(create=False) as db:
        assert not is_lake(db)


@pytest.mark.parametrize("catalog_kind", ["sqlite"], indirect=True)
def test_sqlite_catalog_is_open_on_both_sides_at_once(location: LakeLocation):
    with location.database() as db, location.oracle() as duck:
        duck.sql("CREATE TABLE a (i INTEGER)")
        assert db.select(TABLES["ducklake_table"], columns=("table_name",)) == [("a",)]
        db.execute(f"UPDATE {db.table('ducklake_table')} SET table_name = ?", ("b",))
        assert db.fetch("PRAGMA journal_mode") == [("delete",)]
        duck.sql("CREATE TABLE c (i INTEGER)")
        assert len(db.select(TABLES["ducklake_table"])) == 2
