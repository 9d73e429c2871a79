"""Expire, cleanup and orphans do to a catalog and its storage what the extension does."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from ducklake_spark.operations.attach import AttachOptions, open_lake
from ducklake_spark.operations.cleanup import cleanup_old_files
from ducklake_spark.operations.expire import expire_snapshots
from ducklake_spark.operations.orphans import delete_orphaned_files
from support.catalogs import catalog_differences
from support.histories import TABLES, copy_lake, write_rich_history
from support.lakes import CATALOG_KINDS, make_location

pytestmark = pytest.mark.interop

FAR = dt.datetime(2999, 1, 1, tzinfo=dt.timezone.utc)


@pytest.fixture(scope="module", params=CATALOG_KINDS)
def rich_lake(request, tmp_path_factory):
    """A lake with a past in each kind of metadata database. It is copied, never changed."""
    directory = tmp_path_factory.mktemp(request.param)
    server = request.getfixturevalue("postgres_server") if request.param == "postgres" else None
    place = make_location(request.param, directory, server.make_database() if server else "")
    with place.oracle() as oracle:
        write_rich_history(oracle)
    return place


@pytest.fixture
def twins(rich_lake, tmp_path):
    """Two copies of a lake with a past."""
    return copy_lake(rich_lake, tmp_path / "one"), copy_lake(rich_lake, tmp_path / "two")


def database_tables(db) -> list[str]:
    query = {
        "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table'",
        "duckdb": "SELECT table_name FROM information_schema.tables",
        "postgres": "SELECT table_name FROM information_schema.tables "
        "WHERE table_schema = 'public'",
    }[db.kind]
    return sorted(row[0] for row in db.fetch(query))


def files_below(location) -> set[str]:
    """The files in the storage."""
    root = Path(location.data_path)
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def check_twins_are_equal(ours, theirs):
    with ours.database(create=False) as mine, theirs.database(create=False) as other:
        assert catalog_differences(mine, other) == {}
        assert database_tables(mine) == database_tables(other)
    assert files_below(ours) == files_below(theirs)
    with ours.oracle() as mine, theirs.oracle() as other:
        for table in TABLES:
            query = f"SELECT rowid, * FROM {table} ORDER BY ALL"
            assert mine.sql(query) == other.sql(query), table
        for (version,) in mine.sql("SELECT snapshot_id FROM lake.snapshots()"):
            query = f"SELECT count(*) FROM t AT (VERSION => {version})"
            assert outcome(mine, query) == outcome(other, query), version


def outcome(oracle, query):
    try:
        return oracle.sql(query)
    except Exception as error:
        return type(error)


def expire_in_both(ours, theirs, words: str, **options):
    lake = open_lake(ours.uri, "lake", AttachOptions())
    try:
        expired = expire_snapshots(lake, **options)
    finally:
        lake.close()
    with theirs.oracle() as oracle:
        expected = oracle.sql(
            f"SELECT snapshot_id, schema_version, changes, author, commit_message, "
            f"commit_extra_info FROM ducklake_expire_snapshots('lake', {words})"
        )
    assert [row[:1] + row[2:] for row in expired.rows] == expected
    return expired.rows


def test_expire_by_age_leaves_the_catalog_that_the_extension_leaves(twins):
    rows = expire_in_both(*twins, "older_than => TIMESTAMP '2999-01-01'", older_than=FAR)
    assert len(rows) > 40
    check_twins_are_equal(*twins)


def test_expire_by_number_leaves_the_catalog_that_the_extension_leaves(twins):
    latest = 10_000
    some = [1, 3, 4, 5, 8, 13, 14, 20, 21, 22, 23, 30, 31, 39, 40, 41, 42, 43, 50, 51, latest]
    expire_in_both(*twins, f"versions => {some}", versions=some)
    check_twins_are_equal(*twins)
    expire_in_both(*twins, f"versions => {list(range(60))}", versions=range(60))
    check_twins_are_equal(*twins)


def test_cleanup_removes_the_files_that_the_extension_removes(twins):
    ours, theirs = twins
    expire_in_both(ours, theirs, "older_than => TIMESTAMP '2999-01-01'", older_than=FAR)
    lake = open_lake(ours.uri, "lake", AttachOptions())
    planned = cleanup_old_files(lake, cleanup_all=True, dry_run=True)
    assert cleanup_old_files(lake).rows == (), "nothing is two days old"
    told = []
    removed = cleanup_old_files(lake, cleanup_all=True, progress=lambda *a: told.append(a))
    lake.close()
    assert removed == planned
    assert told == [(len(removed.rows), len(removed.rows))]
    assert not [path for (path,) in removed.rows if Path(path).exists()]
    with theirs.oracle() as oracle:
        expected = oracle.sql("FROM ducklake_cleanup_old_files('lake', cleanup_all => true)")
    assert len(removed.rows) == len(expected) > 10
    check_twins_are_equal(ours, theirs)


def test_orphans_are_the_files_that_the_extension_finds(twins):
    for place in twins:
        for name in ("main/t/stray.parquet", "stray.parquet", "main/t/deep/er/x.parquet", "a.csv"):
            stray = Path(place.data_path) / name
            stray.parent.mkdir(parents=True, exist_ok=True)
            stray.write_bytes(b"no lake knows me")
    ours, theirs = twins
    lake = open_lake(ours.uri, "lake", AttachOptions())
    assert delete_orphaned_files(lake).rows == (), "nothing is two days old"
    planned = delete_orphaned_files(lake, cleanup_all=True, dry_run=True)
    removed = delete_orphaned_files(lake, cleanup_all=True)
    assert delete_orphaned_files(lake, cleanup_all=True).rows == ()
    lake.close()
    assert removed == planned
    with theirs.oracle() as oracle:
        expected = oracle.sql("FROM ducklake_delete_orphaned_files('lake', cleanup_all => true)")
    short = {path.removeprefix(theirs.data_path) for (path,) in expected}
    assert {path.removeprefix(ours.data_path) for (path,) in removed.rows} == short
    assert len(short) == 3
    check_twins_are_equal(ours, theirs)
