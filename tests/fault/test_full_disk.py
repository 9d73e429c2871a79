"""A full disk is told in one sentence that says where, and takes nothing with it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

import ducklake_spark
from ducklake_spark.errors import CatalogFull, DataFileError, DuckLakeError
from support.disks import fill, small_disk, small_files
from support.invariants import check_catalog, committed_files
from support.lakes import LakeLocation
from support.writing import Writer, open_session, table_files


@contextmanager
def lake_on_a_small_disk(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[tuple[LakeLocation, Path]]:
    """A lake whose metadata database has little space, and that disk; the data is elsewhere."""
    data = f"{tmp_path}/data/"
    if kind != "postgres":
        word, size = ("sqlite:", "1m") if kind == "sqlite" else ("", "8m")
        with small_disk(tmp_path / "disk", size) as disk:
            yield LakeLocation(kind, f"ducklake:{word}{disk}/lake.db", data), disk
        return
    server = request.getfixturevalue("postgres_server")
    with psycopg.connect(server.conninfo(), autocommit=True) as connection:
        home = connection.execute("SHOW data_directory").fetchone()[0]
        owner = Path(home).stat().st_uid
        for folder in (tmp_path, *tmp_path.parents[:2]):
            folder.chmod(0o755)
        with small_disk(tmp_path / "disk", "24m", owner=owner) as disk:
            connection.execute(f"CREATE TABLESPACE small LOCATION '{disk}'")
            connection.execute("CREATE DATABASE full_lake TABLESPACE small")
            try:
                uri = f"ducklake:postgres:{server.conninfo('full_lake')}"
                yield LakeLocation(kind, uri, data), disk
            finally:
                connection.execute("DROP DATABASE full_lake WITH (FORCE)")
                connection.execute("DROP TABLESPACE small")


def append_until_full(writer: Writer) -> DuckLakeError:
    """The error of the first of many commits for which there is no space left."""
    for number in range(400):
        try:
            writer.create_table(f"t{number}_{secrets.token_hex(300)}"[:60])
            writer.insert(number)
        except DuckLakeError as error:  # noqa: PERF203 - that is the point
            return error
    pytest.fail("there was space for all of it")


@pytest.mark.parametrize("kind", ["duckdb", "sqlite", "postgres"])
def test_catalog_without_space_says_so_and_loses_nothing(kind, tmp_path, request):
    with lake_on_a_small_disk(kind, tmp_path, request) as (location, disk):
        session = open_session(location)
        writer = Writer(session)
        writer.create_table("t")
        writer.insert(1, 2)
        filler = fill(disk, but=16_384)
        error = append_until_full(writer)
        assert type(error) is CatalogFull
        assert str(location.url) in error.message
        assert "No space left" in error.message or "disk is full" in error.message
        assert "make room" in (error.hint or "")
        assert len(str(error).splitlines()) == 2
        before = session.current_lake().latest().snapshot_id
        filler.unlink()
        assert writer.count() >= 2
        rows = writer.count()
        writer.insert(3)
        session.close_lakes()
        again = open_session(location)
        assert again.current_lake().latest().snapshot_id == before + 1
        assert Writer(again).count() == rows + 1
        db = again.current_lake().db
        check_catalog(db)
        assert {path.split("/")[-1] for path in table_files(location)} == committed_files(db)
        again.close_lakes()


def test_duckdb_file_that_may_not_grow_says_so(tmp_path):
    location = LakeLocation("duckdb", f"ducklake:{tmp_path}/lake.ducklake", f"{tmp_path}/data/")
    session = open_session(location)
    writer = Writer(session)
    writer.create_table("t")
    writer.insert(1)
    wal = tmp_path / "lake.ducklake.wal"
    full = pytest.raises(CatalogFull, match=r"lake\.ducklake\.wal")
    with small_files(wal.stat().st_size + 100), full:
        writer.insert(2)
    assert len(table_files(location)) == 1
    writer.insert(3)
    assert writer.count() == 2
    session.close_lakes()


def test_data_file_that_may_not_grow_is_told_and_removed(tmp_path):
    location = LakeLocation("sqlite", f"ducklake:sqlite:{tmp_path}/l.sqlite", f"{tmp_path}/data/")
    session = open_session(location)
    writer = Writer(session)
    writer.create_table("t")
    with small_files(20_000), pytest.raises(DataFileError, match="that large") as failure:
        writer.insert(*(secrets.randbits(60) for _ in range(20_000)))
    assert f"{tmp_path}/data/" in failure.value.message
    assert len(str(failure.value).splitlines()) == 2
    assert table_files(location) == []
    writer.insert(1)
    assert writer.count() == 1
    session.close_lakes()


@pytest.mark.spark
@pytest.mark.parametrize("partitioned", [False, True])
def test_data_without_space_is_told_in_one_sentence_and_removed(tmp_path, spark, partitioned):
    with (
        small_disk(tmp_path / "disk", "3m") as disk,
        ducklake_spark.connect(
            f"ducklake:sqlite:{tmp_path}/lake.sqlite",
            spark=spark,
            alias="lake",
            data_path=f"{disk}/data/",
            data_inlining_row_limit=0,
        ) as con,
    ):
        con.sql("CREATE TABLE t (id BIGINT, part INTEGER)")
        if partitioned:
            con.sql("ALTER TABLE t SET PARTITIONED BY (part)")
        con.sql("INSERT INTO t VALUES (1, 1)")
        before = sorted(disk.rglob("*.parquet"))
        rows = spark.range(0, 2_000_000, 1, 2).selectExpr(
            "xxhash64(id) AS id", "CAST(id % 3 AS INT) AS part"
        )
        with pytest.raises(DataFileError, match="no space is left on its device") as failure:
            con.append("t", rows)
        text = str(failure.value)
        assert str(disk) in text
        assert len(text.splitlines()) == 2
        assert "Traceback" not in text
        assert sorted(disk.rglob("*.parquet")) == before
        con.sql("INSERT INTO t VALUES (2, 2)")
        assert con.table("t").count() == 2
