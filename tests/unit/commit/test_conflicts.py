from __future__ import annotations

import itertools

import pytest

from ducklake_spark.commit.change_log import Kind, LoggedChange, format_changes, parse_changes
from ducklake_spark.commit.conflicts import CONFLICTS, STRICTER, Intent, check_conflicts, phrase
from ducklake_spark.errors import TransactionConflict

# The matrix of the documentation and of experiments with the extension: mine -> theirs, both over
# one table. "X" conflicts, "." does not, "!" conflicts here only: the reference loses a delete.
TABLE_MATRIX = """
                       ins iin del ide alt drp mrg rwr flu
inserted_into_table     .   .   X   X   X   X   .   .   .
inlined_insert          .   .   X   X   X   X   .   .   .
deleted_from_table      X   X   F   !   X   X   X   X   .
inlined_delete          X   X   !   X   X   X   !   !   X
inline_flush            .   .   .   X   .   X   .   .   X
merge_adjacent          .   .   X   !   .   X   X   X   .
rewrite_delete          .   .   X   !   .   X   X   X   .
altered_table           .   .   .   .   X   X   .   .   .
dropped_table           .   .   .   .   .   X   .   .   .
"""
SHORT = {
    "ins": Kind.INSERTED_INTO_TABLE,
    "iin": Kind.INLINED_INSERT,
    "del": Kind.DELETED_FROM_TABLE,
    "ide": Kind.INLINED_DELETE,
    "alt": Kind.ALTERED_TABLE,
    "drp": Kind.DROPPED_TABLE,
    "mrg": Kind.MERGE_ADJACENT,
    "rwr": Kind.REWRITE_DELETE,
    "flu": Kind.INLINE_FLUSH,
}


def cells():
    header, *rows = TABLE_MATRIX.strip().splitlines()
    for row in rows:
        mine, *marks = row.split()
        for theirs, mark in zip(header.split(), marks, strict=True):
            yield Kind(mine), SHORT[theirs], mark


def conflicts(mine: Intent, *theirs: LoggedChange, **options) -> str | None:
    try:
        check_conflicts(mine, theirs, **options)
    except TransactionConflict as error:
        return str(error)
    return None


def doing(kind: Kind, target, **options) -> Intent:
    return Intent((LoggedChange(kind, target),), **options)


@pytest.mark.parametrize(("mine", "theirs", "mark"), list(cells()))
def test_conflict_over_one_table(mine, theirs, mark):
    message = conflicts(doing(mine, 7), LoggedChange(theirs, 7), deleted_files={1})
    assert (message is not None) == (mark in "X!")
    assert bool(STRICTER.get(mine, {}).get(theirs)) == (mark == "!")
    assert (theirs in CONFLICTS[mine]) == (mark == "X")


@pytest.mark.parametrize(("mine", "theirs", "mark"), list(cells()))
def test_no_conflict_over_different_tables(mine, theirs, mark):
    assert conflicts(doing(mine, 7), LoggedChange(theirs, 8)) is None


def test_every_cell_of_the_data_is_in_the_matrix_above_or_about_something_else():
    listed = {(mine, theirs) for mine, theirs, mark in cells() if mark in "X!"}
    data = {
        (mine, theirs)
        for matrix in (CONFLICTS, STRICTER)
        for mine, row in matrix.items()
        for theirs in row
    }
    others = {(m, t) for m, t in data - listed if t is not Kind.COMPACTED_TABLE}
    assert {(mine.value, theirs.value) for mine, theirs in others} == {
        ("dropped_schema", "dropped_schema"),
        ("dropped_view", "dropped_view"),
        ("dropped_scalar_macro", "dropped_scalar_macro"),
        ("dropped_table_macro", "dropped_table_macro"),
        ("altered_view", "altered_view"),
        ("altered_view", "dropped_view"),
    }


@pytest.mark.parametrize(
    ("mine", "theirs"), [pair for pair in itertools.product(Kind, Kind) if phrase(*pair)]
)
def test_the_message_names_both_sides(mine, theirs):
    reason = phrase(mine, theirs)
    message = conflicts(doing(mine, 7, names={7: "main.t"}), LoggedChange(theirs, 7))
    assert message.startswith("Transaction conflict - attempting to ")
    assert 'with index "7" (main.t) - but another transaction has ' + reason in message


def test_conflict_delete_delete_only_in_the_same_file():
    mine = doing(Kind.DELETED_FROM_TABLE, 7, delete_files=frozenset({3}))
    theirs = LoggedChange(Kind.DELETED_FROM_TABLE, 7)
    assert conflicts(mine, theirs, deleted_files={4}) is None
    assert 'delete from file with index "3"' in conflicts(mine, theirs, deleted_files={3, 4})
    assert "deleted from it" in conflicts(mine, theirs)  # which files is not known


def test_conflict_create_create_of_one_name_whatever_its_case_for_tables_and_views():
    for mine, theirs in itertools.product((Kind.CREATED_TABLE, Kind.CREATED_VIEW), repeat=2):
        message = conflicts(doing(mine, ("Main", "T")), LoggedChange(theirs, ("main", "t")))
        assert 'in schema "Main" - but another transaction has created a' in message
        assert conflicts(doing(mine, ("main", "t")), LoggedChange(theirs, ("main", "u"))) is None
        assert conflicts(doing(mine, ("main", "t")), LoggedChange(theirs, ("s", "t"))) is None


def test_a_macro_may_have_the_name_of_a_table_but_not_of_a_macro_of_its_kind():
    mine = doing(Kind.CREATED_SCALAR_MACRO, ("main", "m"))
    assert conflicts(mine, LoggedChange(Kind.CREATED_TABLE, ("main", "m"))) is None
    assert conflicts(mine, LoggedChange(Kind.CREATED_TABLE_MACRO, ("main", "m"))) is None
    assert conflicts(mine, LoggedChange(Kind.CREATED_SCALAR_MACRO, ("main", "m")))


def test_conflict_create_in_a_dropped_schema():
    theirs = LoggedChange(Kind.DROPPED_SCHEMA, 5)
    for kind in (Kind.CREATED_TABLE, Kind.CREATED_VIEW, Kind.CREATED_TABLE_MACRO):
        mine = doing(kind, ("s", "t"), schema_ids={"s": 5})
        assert "dropped this schema" in conflicts(mine, theirs)
        assert conflicts(doing(kind, ("s", "t"), schema_ids={"s": 6}), theirs) is None


def test_conflict_drop_schema_create_in_it():
    mine = doing(Kind.DROPPED_SCHEMA, 5, schema_names={5: "S"})
    assert "created an entry" in conflicts(mine, LoggedChange(Kind.CREATED_TABLE, ("s", "t")))
    assert "created an entry" in conflicts(mine, LoggedChange(Kind.CREATED_TABLE_MACRO, ("s", "m")))
    assert conflicts(mine, LoggedChange(Kind.CREATED_TABLE, ("r", "t"))) is None


def test_conflict_create_schema_create_schema():
    mine = doing(Kind.CREATED_SCHEMA, ("s",))
    assert 'schema with name "s"' in conflicts(mine, LoggedChange(Kind.CREATED_SCHEMA, ("S",)))
    assert conflicts(mine, LoggedChange(Kind.CREATED_SCHEMA, ("r",))) is None


def test_conflict_rename_drop():
    mine = Intent((LoggedChange(Kind.CREATED_TABLE, ("main", "new")),), renamed=frozenset({7}))
    assert "dropped it" in conflicts(mine, LoggedChange(Kind.DROPPED_TABLE, 7))
    assert conflicts(mine, LoggedChange(Kind.DROPPED_TABLE, 8)) is None


def test_conflict_rename_alter():
    """The place for small inserts that comes with a name has the columns of before."""
    mine = Intent((LoggedChange(Kind.CREATED_TABLE, ("main", "new")),), renamed=frozenset({7}))
    assert "altered it" in conflicts(mine, LoggedChange(Kind.ALTERED_TABLE, 7))
    assert conflicts(mine, LoggedChange(Kind.ALTERED_TABLE, 8)) is None


def test_the_change_logs_of_several_snapshots_are_read_as_one():
    mine = doing(Kind.INSERTED_INTO_TABLE, 7)
    check_conflicts(mine, 'created_table:"main"."a,b",inlined_insert:7,,altered_table:8')
    with pytest.raises(TransactionConflict, match="altered it"):
        check_conflicts(mine, "inlined_insert:3,altered_table:7")


def test_nothing_conflicts_when_nobody_committed():
    check_conflicts(doing(Kind.DROPPED_TABLE, 7), "")
    assert format_changes(parse_changes("")) is None
