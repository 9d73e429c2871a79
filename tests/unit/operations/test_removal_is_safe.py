"""Nothing that a snapshot refers to is removed, whatever the schedule and the storage say."""

from __future__ import annotations

import datetime as dt
import os
import time
from pathlib import Path

import pytest

import ducklake_spark
from ducklake_spark.errors import DataFileError, InvalidInput, ReadOnlyLake, TransactionError
from ducklake_spark.operations.ages import moment_ago
from support.lakes import make_location
from support.writing import Writer, open_session, table_files

FAR = dt.datetime(2999, 1, 1, tzinfo=dt.timezone.utc)


@pytest.fixture
def place(tmp_path):
    location = make_location("sqlite", tmp_path)
    session = open_session(location)
    Writer(session).create_table("t")
    Writer(session).insert(1, 2)
    Writer(session).create_table("u")
    Writer(session).insert(3, table="u")
    session.close_lakes()
    return location


@pytest.fixture
def con(place):
    with ducklake_spark.connect(place.uri, alias="lake") as connection:
        yield connection


def scheduled(con) -> list[tuple]:
    db = con.current_lake().db
    return db.fetch(f"SELECT path FROM {db.table('ducklake_files_scheduled_for_deletion')}")


def expired_drop(con) -> None:
    con.sql("DROP TABLE u")
    con.expire_snapshots(older_than=FAR)


def test_files_go_from_catalog_to_schedule_to_nothing(con, place):
    before = set(table_files(place))
    expired_drop(con)
    assert set(table_files(place)) == before
    assert len(scheduled(con)) == 1
    (row,) = con.cleanup_old_files(cleanup_all=True).collect()
    assert before - set(table_files(place)) == {row.path}
    assert scheduled(con) == []


def test_young_files_stay_on_the_schedule(con, place):
    expired_drop(con)
    before = table_files(place)
    assert con.cleanup_old_files().collect() == []
    hour_ago = dt.datetime.now(dt.timezone.utc) - dt.timedelta(hours=1)
    assert con.cleanup_old_files(older_than=hour_ago).collect() == []
    assert table_files(place) == before and len(scheduled(con)) == 1
    con.sql("CALL lake.set_option('delete_older_than', '1 microsecond')")
    assert len(con.cleanup_old_files().collect()) == 1


def test_a_scheduled_file_that_a_table_still_has_stays(con, place):
    """As when the same file was added to two tables, and one of them is gone."""
    path = next(path for path in table_files(place) if "/u/" in path)
    db = con.current_lake().db
    db.execute(
        f"UPDATE {db.table('ducklake_data_file')} SET path = ?, path_is_relative = 0 "
        "WHERE table_id = 1",
        (path,),
    )
    expired_drop(con)
    assert con.cleanup_old_files(cleanup_all=True, dry_run=True).collect() == []
    assert len(scheduled(con)) == 1
    assert con.cleanup_old_files(cleanup_all=True).collect() == []
    assert Path(path).exists()
    assert scheduled(con) == [], "it is no file to be removed"


def test_cleanup_can_be_repeated_when_a_file_is_gone_already(con, place):
    expired_drop(con)
    next(Path(path) for path in table_files(place) if "/u/" in path).unlink()
    assert len(con.cleanup_old_files(cleanup_all=True).collect()) == 1
    assert scheduled(con) == []


def test_a_file_that_cannot_be_removed_stays_scheduled(con, place):
    expired_drop(con)
    path = next(Path(path) for path in table_files(place) if "/u/" in path)
    path.unlink()
    path.mkdir()
    with pytest.raises(DataFileError, match=r"1 files .* could not be removed"):
        con.cleanup_old_files(cleanup_all=True)
    assert len(scheduled(con)) == 1
    path.rmdir()
    con.cleanup_old_files(cleanup_all=True)
    assert scheduled(con) == []


def test_the_newest_snapshot_never_expires(con):
    latest = con.current_lake().latest().snapshot_id
    assert con.expire_snapshots(versions=[latest]).collect() == []
    con.expire_snapshots(older_than=FAR)
    assert [row.snapshot_id for row in con.sql("CALL lake.snapshots()").collect()] == [latest]
    assert con.expire_snapshots(older_than=FAR).collect() == []


def test_expire_does_nothing_unless_told(con):
    assert con.expire_snapshots().collect() == []
    con.sql("CALL lake.set_option('expire_older_than', '1 microsecond')")
    assert len(con.expire_snapshots(dry_run=True).collect()) == 4
    assert len(con.expire_snapshots().collect()) == 4


def stray(place, name: str, age: float = 0) -> Path:
    path = Path(place.data_path) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"stray")
    os.utime(path, (time.time() - age,) * 2)
    return path


def test_only_old_strays_are_orphans_unless_all_are_asked_for(con, place):
    old, young = stray(place, "main/t/old.parquet", 3 * 86400), stray(place, "main/young.parquet")
    known = table_files(place)
    (row,) = con.delete_orphaned_files().collect()
    assert row.path == str(old) and not old.exists() and young.exists()
    (row,) = con.delete_orphaned_files(cleanup_all=True).collect()
    assert row.path == str(young)
    assert sorted([*table_files(place), str(old), str(young)]) == known


def test_orphans_end_in_parquet_or_are_deletion_vectors(con, place):
    stray(place, "lake.sqlite")
    stray(place, "x.puffin")
    vector = stray(place, "main/t/ducklake-0193-ab-delete.puffin")
    assert [row.path for row in con.delete_orphaned_files(cleanup_all=True).collect()] == [
        str(vector)
    ]


def test_links_do_not_lead_out_of_the_data_path(con, place, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious.parquet").write_bytes(b"mine")
    (Path(place.data_path) / "link").symlink_to(outside)
    assert con.delete_orphaned_files(cleanup_all=True).collect() == []
    assert (outside / "precious.parquet").exists()


def test_a_file_known_by_another_spelling_is_no_orphan(con, place, tmp_path):
    """The catalog has the path behind a link; the storage lists the path through it."""
    path = next(path for path in table_files(place) if "/u/" in path)
    (tmp_path / "alias").symlink_to(Path(path).parent)
    db = con.current_lake().db
    db.execute(
        f"UPDATE {db.table('ducklake_data_file')} SET path = ?, path_is_relative = 0 "
        "WHERE table_id = 2",
        (f"{tmp_path}/alias/{Path(path).name}",),
    )
    assert con.delete_orphaned_files(cleanup_all=True).collect() == []


def test_files_of_another_attached_lake_are_no_orphans(con, place, tmp_path):
    other = f"ducklake:sqlite:{tmp_path}/other.sqlite"
    con.attach(other, "other", data_path=f"{place.data_path}main/")
    con.use("other")
    Writer(con).create_table("v")
    Writer(con).insert(9, table="v")
    con.use("lake")
    assert con.delete_orphaned_files(cleanup_all=True).collect() == []
    con.detach("other")
    assert len(con.delete_orphaned_files(cleanup_all=True, dry_run=True).collect()) == 1


def test_files_of_another_schema_of_the_metadata_database_are_no_orphans(tmp_path):
    uri, data = f"ducklake:{tmp_path}/two.ducklake", f"{tmp_path}/data/"
    with ducklake_spark.connect(uri, alias="lake", data_path=data, metadata_schema="b") as con:
        Writer(con).create_table("v")
        Writer(con).insert(9, table="v")
    with ducklake_spark.connect(uri, alias="lake", data_path=data, metadata_schema="a") as con:
        assert con.delete_orphaned_files(cleanup_all=True).collect() == []
        con.current_lake().db.execute("DROP SCHEMA b CASCADE")
        assert len(con.delete_orphaned_files(cleanup_all=True).collect()) == 1


@pytest.mark.parametrize("function", ["cleanup_old_files", "delete_orphaned_files"])
def test_age_limits_must_be_clear(con, function):
    with pytest.raises(InvalidInput, match="either cleanup_all OR older_than must be specified"):
        getattr(con, function)(cleanup_all=True, older_than=FAR)
    con.sql("CALL lake.set_option('delete_older_than', '')")
    with pytest.raises(InvalidInput, match="either cleanup_all OR older_than must be specified"):
        con.sql(f"CALL ducklake_{function}('lake')")
    with pytest.raises(InvalidInput, match="older_than cannot be NULL"):
        con.sql(f"CALL ducklake_{function}('lake', older_than => NULL)")
    with pytest.raises(InvalidInput, match="has no argument 'versions'"):
        con.sql(f"CALL ducklake_{function}('lake', versions => [1])")


def test_expire_takes_one_criterion(con):
    with pytest.raises(InvalidInput, match="cannot specify both 'versions' and 'older_than'"):
        con.expire_snapshots(versions=[1], older_than=FAR)
    with pytest.raises(InvalidInput, match="a list of snapshot numbers"):
        con.sql("CALL ducklake_expire_snapshots('lake', versions => 'all')")


@pytest.mark.parametrize("call", ["expire_snapshots", "cleanup_old_files", "delete_orphaned_files"])
def test_a_lake_attached_for_reading_is_only_looked_at(place, call):
    words = {"older_than": FAR}
    with ducklake_spark.connect(place.uri, alias="lake", read_only=True) as con:
        getattr(con, call)(**words, dry_run=True)
        with pytest.raises(ReadOnlyLake):
            getattr(con, call)(**words)


def test_removal_inside_a_transaction_is_refused(con):
    con.begin()
    assert len(con.expire_snapshots(older_than=FAR, dry_run=True).collect()) == 4
    for call in (con.expire_snapshots, con.cleanup_old_files, con.delete_orphaned_files):
        with pytest.raises(TransactionError, match="inside a transaction"):
            call(older_than=FAR)


def test_months_go_by_the_calendar():
    march = dt.datetime(2024, 3, 31, 12, tzinfo=dt.timezone.utc)
    assert moment_ago("1 month", march) == dt.datetime(2024, 2, 29, 12, tzinfo=dt.timezone.utc)
    assert moment_ago("1 week", march) == march - dt.timedelta(days=7)
    with pytest.raises(InvalidInput, match="Failed to parse interval"):
        moment_ago("pedro")
