"""ATTACH with each of its options, side by side with the extension. No JVM."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest
from duckdb_extensions import import_extension

import ducklake_spark
from ducklake_spark import Connection
from ducklake_spark.errors import (
    AlreadyExists,
    InvalidInput,
    LakeNotFound,
    NotALake,
    NotFound,
    ReadOnlyLake,
    SchemaNotFound,
    SnapshotNotFound,
    TransactionError,
    UnknownOption,
)
from support.lakes import LakeLocation

pytestmark = pytest.mark.interop


@pytest.fixture
def con() -> Iterator[Connection]:
    """A connection without any lake; the tests here never make it start Spark."""
    with ducklake_spark.connect() as connection:
        yield connection


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tables(con: Connection, source: str = "lake") -> list[str]:
    return [row[0] for row in con.sql(f"SHOW TABLES FROM {source}").collect()]


def setting(con: Connection, key: str, lake: str = "lake") -> str | None:
    return con.lake(lake).settings().get(key)


def make_lake_with_table(location: LakeLocation) -> None:
    """Snapshot 1 makes the table `a`, snapshot 2 the table `b`."""
    with ducklake_spark.connect(location.uri, alias="lake", data_path=location.data_path) as con:
        con.sql("CREATE TABLE a (i INTEGER)")
        con.sql("CREATE TABLE b (i INTEGER)")


def files_below(directory: Path) -> set[str]:
    return {str(p.relative_to(directory)) for p in directory.rglob("*") if p.is_file()}


def data_path_of_the_extension(catalog: str) -> str:
    import_extension("ducklake")
    with duckdb.connect() as duck:
        duck.execute("LOAD ducklake")
        duck.execute(f"ATTACH 'ducklake:{catalog}' AS lake")
        [(_, _, path)] = duck.execute("FROM ducklake_settings('lake')").fetchall()
    return path


# --- DATA_PATH -----------------------------------------------------------------------------------


def test_data_path_is_stored_when_the_lake_is_new(con: Connection, location: LakeLocation):
    con.sql(f"ATTACH '{location.uri}' AS lake (DATA_PATH '{location.data_path}')")
    assert setting(con, "data_path") == location.data_path
    con.sql("DETACH lake")
    with location.oracle() as duck:
        [(_, _, path)] = duck.sql("FROM ducklake_settings('lake')")
    assert path == location.data_path


def test_data_path_that_differs_is_refused(con: Connection, location: LakeLocation):
    make_lake_with_table(location)
    with pytest.raises(InvalidInput) as failure:
        con.sql(f"ATTACH '{location.uri}' AS lake (DATA_PATH 'elsewhere/')")
    assert "elsewhere/" in str(failure.value)
    assert location.data_path in str(failure.value)
    assert "OVERRIDE_DATA_PATH" in (failure.value.hint or "")
    assert con.lakes == {}
    with (
        pytest.raises(duckdb.Error, match="does not match"),
        location.oracle(data_path="elsewhere/"),
    ):
        pass


def test_data_path_is_overridden_for_the_session_only(
    con: Connection, location: LakeLocation, tmp_path: Path
):
    make_lake_with_table(location)
    other = f"{tmp_path}/other/"
    con.sql(
        f"ATTACH '{location.uri}' AS lake (DATA_PATH '{tmp_path}/other', OVERRIDE_DATA_PATH true)"
    )
    assert con.lake("lake").data_path == other
    assert setting(con, "data_path") == location.data_path


def test_data_path_lies_beside_a_duckdb_file_when_none_is_given(con: Connection, here: Path):
    con.sql("ATTACH 'ducklake:shop.ducklake' AS lake")
    ours = setting(con, "data_path")
    theirs = data_path_of_the_extension("theirs.ducklake")
    assert ours == theirs.replace("theirs", "shop") == f"{here}/shop.ducklake.files/"


@pytest.mark.parametrize("catalog_kind", ["sqlite", "postgres"], indirect=True)
def test_new_lake_elsewhere_needs_a_data_path(
    con: Connection, location: LakeLocation, tmp_path: Path
):
    before = files_below(tmp_path)
    with pytest.raises(InvalidInput, match="DATA_PATH"):
        con.sql(f"ATTACH '{location.uri}' AS lake")
    assert con.lakes == {}
    assert files_below(tmp_path) == before
    with location.database(create=False) as db:
        assert not db.has_table("ducklake_metadata")


def test_relative_paths_are_those_of_the_working_directory(con: Connection, here: Path):
    con.sql("ATTACH 'ducklake:sqlite:shop.sqlite' AS lake (DATA_PATH 'files')")
    assert setting(con, "data_path") == "files/"
    assert (here / "shop.sqlite").exists()
    con.sql("CREATE TABLE lake.t (i INTEGER)")
    assert con.table_version(("lake", "main", "t")).directory == f"{here}/files/main/t/"


# --- CREATE_IF_NOT_EXISTS and READ_ONLY ----------------------------------------------------------


@pytest.mark.parametrize("options", ["CREATE_IF_NOT_EXISTS false", "READ_ONLY"])
def test_no_lake_and_no_file_is_made_when_that_is_not_allowed(
    con: Connection, location: LakeLocation, tmp_path: Path, options: str
):
    before = files_below(tmp_path)
    with pytest.raises(NotALake) as failure:
        con.sql(f"ATTACH '{location.uri}' AS lake (DATA_PATH '{location.data_path}', {options})")
    assert str(location.url) in str(failure.value)
    assert failure.value.hint
    assert files_below(tmp_path) == before
    assert con.lakes == {}


def test_read_only_lake_shows_all_and_takes_no_change(
    con: Connection, location: LakeLocation, tmp_path: Path
):
    make_lake_with_table(location)
    before = files_below(tmp_path)
    con.sql(f"ATTACH '{location.uri}' AS lake (READ_ONLY)")
    con.sql("USE lake")
    assert tables(con) == ["a", "b"]
    for change in (
        "CREATE TABLE c (i INTEGER)",
        "CREATE SCHEMA s",
        "DROP TABLE a",
        "INSERT INTO a VALUES (1)",
        "CREATE VIEW v AS SELECT 1 AS x",
        "COMMENT ON TABLE a IS 'x'",
    ):
        with pytest.raises(ReadOnlyLake, match='"lake" is attached read-only'):
            con.sql(change)
    assert con.lake("lake").latest().snapshot_id == 2
    assert files_below(tmp_path) == before


def test_creating_in_a_file_opened_read_only_is_refused(con: Connection, here: Path):
    with pytest.raises(NotALake):
        con.sql("ATTACH 'ducklake:x.ducklake' (READ_ONLY, CREATE_IF_NOT_EXISTS true)")
    assert files_below(here) == set()


# --- where the metadata is -----------------------------------------------------------------------


@pytest.mark.parametrize("catalog_kind", ["duckdb", "postgres"], indirect=True)
def test_metadata_schema_is_read_by_duckdb_with_the_same_option(
    con: Connection, location: LakeLocation
):
    options = f"DATA_PATH '{location.data_path}', METADATA_SCHEMA 'meta data'"
    con.sql(f"ATTACH '{location.uri}' AS lake ({options})")
    con.sql("CREATE TABLE lake.mine (i INTEGER)")
    con.sql("DETACH lake")
    with location.oracle(metadata_schema="meta data") as duck:
        assert duck.sql("SELECT name FROM (SHOW TABLES)") == [("mine",)]
        duck.sql("CREATE TABLE theirs AS SELECT 1 AS i")
    con.sql(f"ATTACH '{location.uri}' AS lake (METADATA_SCHEMA 'meta data')")
    assert tables(con) == ["mine", "theirs"]


def test_metadata_path_wins_over_the_address(con: Connection, here: Path):
    con.sql("ATTACH 'ducklake:sqlite:a.sqlite' AS lake (METADATA_PATH 'b.sqlite', DATA_PATH 'd/')")
    assert files_below(here) == {"b.sqlite"}
    con.sql("CREATE TABLE lake.t (i INTEGER)")
    con.sql("DETACH lake")
    # The extension takes the option for DuckDB files only.
    with LakeLocation("sqlite", "ducklake:sqlite:b.sqlite", "d/").oracle() as duck:
        assert duck.sql("SELECT name FROM (SHOW TABLES)") == [("t",)]


@pytest.mark.parametrize("catalog_kind", ["postgres"], indirect=True)
def test_metadata_parameters_reach_the_driver(con: Connection, location: LakeLocation):
    con.sql(
        f"ATTACH '{location.uri}' AS lake (DATA_PATH '{location.data_path}', "
        "META_application_name 'night shift')"
    )
    assert con.lake("lake").db.fetch("SHOW application_name") == [("night shift",)]


@pytest.mark.parametrize("catalog_kind", ["sqlite"], indirect=True)
def test_busy_timeout_is_how_long_a_commit_waits_for_sqlite(
    con: Connection, location: LakeLocation
):
    make_lake_with_table(location)
    con.sql(f"ATTACH '{location.uri}' AS lake (BUSY_TIMEOUT 100)")
    blocker = sqlite3.connect(location.url.target, isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")
    try:
        started = time.monotonic()
        with pytest.raises(ConnectionError):
            con.sql("CREATE TABLE lake.c (i INTEGER)")
        assert time.monotonic() - started < 4
    finally:
        blocker.close()
    con.sql("CREATE TABLE lake.c (i INTEGER)")


# --- the past ------------------------------------------------------------------------------------


def test_snapshot_version_shows_the_past_and_takes_no_change(
    con: Connection, location: LakeLocation
):
    make_lake_with_table(location)
    con.sql(f"ATTACH '{location.uri}' AS lake (SNAPSHOT_VERSION 1)")
    assert tables(con) == ["a"]
    with pytest.raises(ReadOnlyLake, match="attached at snapshot 1") as failure:
        con.sql("CREATE TABLE lake.c (i INTEGER)")
    assert "SNAPSHOT_VERSION" in (failure.value.hint or "")


def test_snapshot_time_shows_the_past(con: Connection, location: LakeLocation):
    make_lake_with_table(location)
    with location.oracle() as duck:
        [(moment,)] = duck.sql(
            "SELECT snapshot_time::VARCHAR FROM ducklake_snapshots('lake') WHERE snapshot_id = 1"
        )
    con.sql(f"ATTACH '{location.uri}' AS lake (SNAPSHOT_TIME '{moment}')")
    assert tables(con) == ["a"]
    with pytest.raises(ReadOnlyLake):
        con.sql("DROP TABLE lake.a")


@pytest.mark.parametrize("catalog_kind", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("options", "word"), [("SNAPSHOT_VERSION 77", "77"), ("SNAPSHOT_TIME '2000-01-01'", "2000")]
)
def test_snapshot_that_is_not_there_is_named(
    con: Connection, location: LakeLocation, options: str, word: str
):
    make_lake_with_table(location)
    with pytest.raises(SnapshotNotFound, match=word):
        con.sql(f"ATTACH '{location.uri}' AS lake ({options})")
    assert con.lakes == {}


@pytest.mark.parametrize("catalog_kind", ["sqlite"], indirect=True)
def test_two_moments_are_refused(con: Connection, location: LakeLocation):
    make_lake_with_table(location)
    with pytest.raises(InvalidInput, match="not both"):
        con.sql(f"ATTACH '{location.uri}' (SNAPSHOT_VERSION 0, SNAPSHOT_TIME '2099-01-01')")


# --- other options -------------------------------------------------------------------------------


def test_data_inlining_row_limit_holds_for_the_session_only(
    con: Connection, location: LakeLocation
):
    con.sql(
        f"ATTACH '{location.uri}' AS lake "
        f"(DATA_PATH '{location.data_path}', DATA_INLINING_ROW_LIMIT 3)"
    )
    assert con.lake("lake").effective_inlining_limit(0) == 3
    assert setting(con, "data_inlining_row_limit") is None
    con.sql("DETACH lake")
    con.sql(f"ATTACH '{location.uri}' AS lake")
    assert con.lake("lake").effective_inlining_limit(0) == 10


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("DATA_PTH 'x'", ("DATA_PTH", "data_path")),
        ("QUITE_UNKNOWN 1", ("QUITE_UNKNOWN", "SNAPSHOT_TIME")),
        ("READ_ONLY 'maybe'", ("READ_ONLY", "maybe")),
        ("SNAPSHOT_VERSION 'x'", ("SNAPSHOT_VERSION", "x")),
        ("SNAPSHOT_TIME 'soon'", ("SNAPSHOT_TIME", "soon")),
        ("DATA_INLINING_ROW_LIMIT -5", ("DATA_INLINING_ROW_LIMIT", "-5")),
    ],
)
def test_option_that_does_not_exist_or_fit_is_refused(
    con: Connection, here: Path, options: str, words: tuple[str, ...]
):
    with pytest.raises(UnknownOption) as failure:
        con.sql(f"ATTACH 'ducklake:x.ducklake' ({options})")
    assert all(word in str(failure.value) for word in words)
    assert files_below(here) == set()


def test_options_are_keywords_in_python(location: LakeLocation):
    with ducklake_spark.connect(
        location.uri, alias="lake", data_path=location.data_path, data_inlining_row_limit=0
    ) as con:
        assert con.current == ("lake", "main")
        assert con.lake("lake").effective_inlining_limit(0) == 0
    with pytest.raises(UnknownOption, match="data_pth"):
        ducklake_spark.connect(location.uri, data_pth="x")


# --- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("ducklake:shop.ducklake", "shop"),
        ("ducklake:my shop.ducklake", "my shop"),
        ("ducklake:duckdb:shop.v1.db", "shop"),
        ("ducklake:sqlite:shop.sqlite", "shop"),
    ],
)
def test_lake_is_called_by_its_file_when_it_has_no_alias(
    con: Connection, here: Path, uri: str, name: str
):
    con.sql(f"ATTACH '{uri}' (DATA_PATH 'files/')")
    assert [row[0] for row in con.sql("SHOW DATABASES").collect()] == [name]


def test_name_that_is_taken_is_refused(con: Connection, here: Path):
    con.sql("ATTACH 'ducklake:a.ducklake' AS lake")
    con.sql("CREATE TABLE lake.t (i INTEGER)")
    with pytest.raises(AlreadyExists, match='"LAKE"'):
        con.sql("ATTACH 'ducklake:b.ducklake' AS LAKE")
    con.sql("ATTACH IF NOT EXISTS 'ducklake:b.ducklake' AS lake")
    assert tables(con) == ["t"]
    assert files_below(here) == {"a.ducklake", "a.ducklake.wal"}


def test_if_not_exists_knows_the_name_of_the_file(con: Connection, here: Path):
    con.sql("ATTACH 'ducklake:a.ducklake'")
    con.sql("ATTACH IF NOT EXISTS 'ducklake:a.ducklake'")
    assert list(con.lakes) == ["a"]


def test_or_replace_takes_the_other_lake(con: Connection, here: Path):
    con.sql("ATTACH 'ducklake:a.ducklake' AS lake")
    con.sql("CREATE TABLE lake.t (i INTEGER)")
    con.sql("ATTACH OR REPLACE 'ducklake:b.ducklake' AS lake")
    assert tables(con) == []
    con.sql("ATTACH OR REPLACE 'ducklake:a.ducklake' AS lake")
    assert tables(con) == ["t"]


def test_or_replace_keeps_the_old_lake_when_the_new_one_fails(con: Connection, here: Path):
    con.sql("ATTACH 'ducklake:a.ducklake' AS lake")
    with pytest.raises(NotALake):
        con.sql("ATTACH OR REPLACE 'ducklake:b.ducklake' AS lake (READ_ONLY)")
    assert tables(con) == []


def test_detached_lake_is_gone(con: Connection, here: Path):
    con.sql("ATTACH 'ducklake:a.ducklake' AS lake; USE lake")
    con.sql("DETACH lake")
    with pytest.raises(LakeNotFound, match='"lake"'):
        con.sql("SHOW TABLES FROM lake.main")
    with pytest.raises(InvalidInput, match="No lake is in use"):
        con.sql("SHOW TABLES")
    with pytest.raises(LakeNotFound, match='"lake"'):
        con.sql("DETACH lake")
    con.sql("DETACH DATABASE IF EXISTS lake")
    con.sql("ATTACH 'ducklake:a.ducklake' AS lake")


def test_lake_of_the_open_transaction_cannot_be_detached(con: Connection, here: Path):
    con.sql("ATTACH 'ducklake:a.ducklake' AS lake")
    con.sql("BEGIN; CREATE TABLE lake.t (i INTEGER)")
    with pytest.raises(TransactionError, match="open transaction"):
        con.sql("DETACH lake")
    con.sql("COMMIT; DETACH lake")


def test_use_takes_a_lake_a_schema_or_both(con: Connection, here: Path):
    con.sql("ATTACH 'ducklake:a.ducklake'; ATTACH 'ducklake:b.ducklake'")
    con.sql("USE a; CREATE SCHEMA s; CREATE TABLE s.t (i INTEGER)")
    con.sql("USE s")
    assert con.current == ("a", "s")
    assert [row[0] for row in con.sql("SHOW TABLES").collect()] == ["t"]
    con.sql("USE b")
    assert con.current == ("b", "main")
    con.sql("USE A.S")
    assert con.current == ("a", "s")
    con.sql("CREATE TABLE u (i INTEGER)")
    assert tables(con, "a.s") == ["t", "u"]
    with pytest.raises(SchemaNotFound, match='"nope"'):
        con.sql("USE nope")
    with pytest.raises(SchemaNotFound, match='"nope"'):
        con.sql("USE a.nope")
    with pytest.raises(LakeNotFound, match='"nope"'):
        con.sql("USE nope.main")
    assert con.current == ("a", "s")


def test_paths_with_blanks_quotes_and_umlauts_are_shared_with_duckdb(
    con: Connection, make_lake_location: Callable[[str, str], LakeLocation], tmp_path: Path
):
    folder = tmp_path / "mein Dörfli's 100% #1"
    folder.mkdir()
    location = LakeLocation(
        "sqlite", f"ducklake:sqlite:{folder}/lake ß.sqlite", f"{folder}/dätä dir/"
    )
    quoted = location.uri.replace("'", "''"), location.data_path.replace("'", "''")
    con.sql(f"ATTACH '{quoted[0]}' AS \"the lake\" (DATA_PATH '{quoted[1]}')")
    con.sql('CREATE TABLE "the lake".t (i INTEGER)')
    with location.oracle() as duck:
        duck.sql("INSERT INTO t SELECT i FROM range(100) s(i)")
        [(path,)] = duck.sql("SELECT data_file FROM ducklake_list_files('lake', 't')")
    ours = con.sql("CALL ducklake_list_files('the lake', 't')").collect()
    assert [row["data_file"] for row in ours] == [path]
    assert Path(path).exists()


def test_address_that_is_no_lake_is_refused(con: Connection):
    with pytest.raises(NotFound, match="begins with ducklake:"):
        con.sql("ATTACH 'plain.db'")
    with pytest.raises(InvalidInput, match="no metadata database"):
        con.sql("ATTACH 'ducklake:sqlite:'")
