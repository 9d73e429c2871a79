"""What is kept of large tables: used as long as nobody changes them, and never longer."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from ducklake_spark.catalog_db.tables import SNAPSHOT_CHANGES
from ducklake_spark.errors import MissingDataFile
from ducklake_spark.model.predicate import And, Comparison, In, IsNull, Or
from ducklake_spark.operations.choose_files import LargeChoice
from ducklake_spark.operations.contents import load_contents
from ducklake_spark.operations.expire import expire_snapshots
from support.writing import Keeper, Writer, open_session


@pytest.fixture
def sessions(location, lower):
    """Two sessions on a lake in which three files are many; a DuckDB file allows for one."""
    lower(many_files=2)
    first = open_session(location)
    other = first if location.kind == "duckdb" else open_session(location)
    for table in ("t", "u"):
        Writer(first).create_table(table)
        for number in range(4):
            Writer(first).insert(10 * number, 10 * number + 5, table=table)
    yield first, other
    for session in {id(first): first, id(other): other}.values():
        session.close_lakes()


def look(session, table="t"):
    version = session.table_version(("lake", "main", table))
    assert version.is_newest
    return version, load_contents(version, lazily=True)


def chosen(session, predicate, table="t", found=None):
    """The ids of the files that may match, and how many statements asked for them."""
    version, contents = found or look(session, table)
    if contents.large is None:
        return [file.data_file_id for file in contents.files], 0
    choice = LargeChoice(
        *(version.lake, version.table, contents.large.plain, contents.large.groups),
        contents.files,
        known=contents.known,
    )
    version.lake.db.trace = []
    files = choice(predicate)
    statements, version.lake.db.trace = len(version.lake.db.trace), None
    return [file.data_file_id for file in files], statements


def asked(session):
    """The statements that `look` sends."""
    db = session.current_lake().db
    db.trace = []
    look(session)
    statements, db.trace = [sql for sql in db.trace if "ducklake_data_file" in sql], None
    return len(statements)


AT_25 = Comparison(1, "=", 25)


def test_commits_to_other_tables_leave_a_table_known(sessions):
    session, other = sessions
    assert len(chosen(session, AT_25)[0]) == 1
    for change in (
        lambda: Writer(other).insert(1, table="u"),
        lambda: Writer(other).insert_inlined(2, table="u"),
        lambda: Writer(other).delete(1, table="u"),
        lambda: Writer(other).create_table("v"),
    ):
        change()
        assert asked(session) == 0
        assert chosen(session, AT_25)[1] == 1
        assert chosen(session, Comparison(1, ">", 1000)) == ([], 1)


def test_a_commit_to_the_table_makes_it_unknown(sessions):
    session, other = sessions
    keeper = Keeper(other)
    for change in (
        lambda: Writer(other).insert(25, 26),
        lambda: Writer(other).insert_inlined(3),
        lambda: Writer(other).delete(10),
        lambda: Writer(other).delete(20, inline_limit=5),
        keeper.flush,
        keeper.merge,
    ):
        chosen(session, AT_25)
        change()
        assert asked(session) > 0


def test_an_expired_snapshot_says_nothing_of_what_it_changed(sessions):
    session, other = sessions
    chosen(session, AT_25)
    before = session.current_lake().latest().snapshot_id
    Writer(other).insert(25, 26)
    Writer(other).insert(1, table="u")
    expire_snapshots(other.current_lake(), versions=[before + 1])
    assert len(chosen(session, AT_25)[0]) == 2


def test_a_change_of_an_unknown_kind_may_be_one_of_the_table(sessions):
    session, _ = sessions
    chosen(session, AT_25)
    Writer(session).insert(1, table="u")
    db, name = session.current_lake().db, SNAPSHOT_CHANGES.name
    (newest,) = db.fetch(f"SELECT max(snapshot_id) FROM {db.table(name)}")[0]
    db.execute(
        f"UPDATE {db.table(name)} SET changes_made = 'sharpened_table:9' "
        f"WHERE snapshot_id = {newest}"
    )
    assert asked(session) > 0


def test_files_merged_after_a_look_are_missed_and_not_skipped(sessions):
    session, other = sessions
    chosen(session, AT_25)
    found = look(session)
    Keeper(other).merge()
    with pytest.raises(MissingDataFile, match="merged or expired"):
        chosen(session, AT_25, found=found)


def change(rng, writer, keeper, table):
    some = [rng.randrange(100) for _ in range(rng.choice([1, 3]))]
    match rng.randrange(6):
        case 0 | 1:
            writer.insert(*some, table=table)
        case 2:
            writer.insert_inlined(*some, table=table)
        case 3:
            writer.delete(*some, table=table, inline_limit=rng.choice([0, 5]))
        case 4:
            keeper.flush()
        case 5 if rng.random() < 0.3:
            keeper.merge()


def test_a_session_that_remembers_sees_what_a_new_one_sees(sessions, location):
    """Random commits to two tables; both sessions choose the same files for random filters."""
    session, other = sessions
    rng, keeper = random.Random(location.kind), Keeper(other)

    for _ in range(40):
        change(rng, Writer(other), keeper, rng.choice("tuuu"))
        low, high = sorted((rng.randrange(100), rng.randrange(100)))
        predicate = rng.choice(
            [
                And((IsNull(1, True), Comparison(1, ">=", low), Comparison(1, "<=", high))),
                Or((Comparison(1, "<", low), In(1, (high, low)))),
            ]
        )
        version, contents = look(session)
        fresh = load_contents(replace(version, is_newest=False), lazily=True)
        assert [file.data_file_id for file in contents.files] == [
            file.data_file_id for file in fresh.files
        ]
        assert contents.inlined == fresh.inlined
        assert sorted(contents.inlined_deletes) == sorted(fresh.inlined_deletes)
        if contents.large is not None:
            assert contents.large.groups.groups == fresh.large.groups.groups
        mine = chosen(session, predicate, found=(version, contents))[0]
        theirs = chosen(session, predicate, found=(version, fresh))[0]
        assert sorted(mine) == sorted(theirs)
