from __future__ import annotations

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ducklake_spark.commit.change_log import (
    Kind,
    LoggedChange,
    format_changes,
    parse_changes,
    to_map,
)
from ducklake_spark.errors import NotSupported

NAMED = {kind for kind in Kind if kind.value.startswith("created_")}
NAMES = st.text('ab",.:" é\n', min_size=1, max_size=6)


@st.composite
def logged(draw):
    kind = draw(st.sampled_from([kind for kind in Kind if kind is not Kind.COMPACTED_TABLE]))
    if kind is Kind.CREATED_SCHEMA:
        return LoggedChange(kind, (draw(NAMES),))
    if kind in NAMED:
        return LoggedChange(kind, (draw(NAMES), draw(NAMES)))
    return LoggedChange(kind, draw(st.integers(0, 2**40)))


@given(st.lists(logged(), max_size=6))
def test_what_is_written_is_read_back(changes):
    text = format_changes(changes)
    assert set(parse_changes(text)) == set(changes)
    assert format_changes(parse_changes(text)) == text


def test_kinds_are_written_in_the_order_of_the_extension_and_once():
    changes = [
        LoggedChange(Kind.INLINED_DELETE, 1),
        LoggedChange(Kind.INSERTED_INTO_TABLE, 2),
        LoggedChange(Kind.INSERTED_INTO_TABLE, 1),
        LoggedChange(Kind.INSERTED_INTO_TABLE, 2),
        LoggedChange(Kind.CREATED_VIEW, ("a", "v")),
        LoggedChange(Kind.CREATED_TABLE, ("a", "w")),
        LoggedChange(Kind.CREATED_TABLE, ("b", "t")),
        LoggedChange(Kind.DROPPED_TABLE, 9),
    ]
    assert format_changes(changes) == (
        'dropped_table:9,created_view:"a"."v",created_table:"a"."w",created_table:"b"."t",'
        "inserted_into_table:1,inserted_into_table:2,inlined_delete:1"
    )


def test_quoted_names_may_hold_commas_quotes_and_points():
    (change,) = parse_changes('created_table:"s1"."my ""tab"".x,y"')
    assert change == LoggedChange(Kind.CREATED_TABLE, ("s1", 'my "tab".x,y'))


def test_kinds_are_read_in_any_case_and_under_their_old_names():
    text = "Inserted_Into_Table:1,flushed_inlined:2,compacted_table:3"
    assert [change.kind for change in parse_changes(text)] == [
        Kind.INSERTED_INTO_TABLE,
        Kind.INLINE_FLUSH,
        Kind.COMPACTED_TABLE,
    ]


@pytest.mark.parametrize("text", ["forked_from:1", "inserted_into_table:x", "inlined_insert", '"'])
def test_what_is_not_understood_is_an_error(text):
    with pytest.raises(NotSupported):
        parse_changes(text)


@pytest.mark.interop
def test_the_map_is_what_duckdb_shows(tmp_path):
    import_extension = pytest.importorskip("duckdb_extensions").import_extension
    import_extension("ducklake")
    con = duckdb.connect()
    con.execute("LOAD ducklake")
    con.execute(f"ATTACH 'ducklake:{tmp_path}/m.ducklake' AS l (DATA_PATH '{tmp_path}/data/')")
    for statement in (
        'CREATE SCHEMA l."S, 1"',
        'CREATE TABLE l."S, 1"."My ""t""" (a INTEGER)',
        "CREATE TABLE l.t AS SELECT range AS a FROM range(20)",
        "CREATE VIEW l.v AS SELECT 1 AS x",
        "INSERT INTO l.t VALUES (1)",
        "DELETE FROM l.t WHERE a < 15",
        "DELETE FROM l.t WHERE a = 19",
        "ALTER TABLE l.t ADD COLUMN b INTEGER",
        "COMMENT ON VIEW l.v IS 'x'",
        "CREATE MACRO l.m(x) AS x + 1",
        "CREATE MACRO l.tm(x) AS TABLE SELECT x",
        "CALL ducklake_flush_inlined_data('l')",
        'CREATE TABLE l."select" (a INTEGER)',
        "DROP VIEW l.v",
        "DROP TABLE l.t",
    ):
        con.execute(statement)
    shown = con.execute("SELECT snapshot_id, changes FROM ducklake_snapshots('l')").fetchall()
    logs = con.execute(
        "SELECT snapshot_id, changes_made FROM __ducklake_metadata_l.ducklake_snapshot_changes"
    ).fetchall()
    theirs = dict(shown)
    assert len(logs) >= 15
    for snapshot_id, text in logs:
        assert to_map(parse_changes(text)) == theirs[snapshot_id], text
        assert format_changes(parse_changes(text)) == text
