"""Errors of DuckDB's binder: its words, our classes, the place in the user's text."""

from __future__ import annotations

import pytest

from ducklake_spark.binder.bind import bind_query
from ducklake_spark.binder.errors import Texts
from ducklake_spark.binder.mirror import BindSettings, Mirror, MirrorTable, Name
from ducklake_spark.errors import (
    ColumnNotFound,
    DuckLakeError,
    FunctionNotFound,
    InvalidInput,
    NotSupported,
    TableNotFound,
)


@pytest.fixture(scope="module")
def mirror():
    found = Mirror(BindSettings())
    columns = (("amount", "INTEGER"), ("name", "VARCHAR"))
    found.hold([MirrorTable(Name("lake", "main", "t"), columns)])
    found.stand_at(("lake", "main"))
    return found


@pytest.mark.parametrize(
    ("text", "kind", "words", "place"),
    [
        ("SELECT amout FROM t", ColumnNotFound, 'Referenced column "amout"', "amout"),
        ("SELECT 1,\n  t.amout\nFROM t", ColumnNotFound, '"amout"', "t.amout"),
        ("SELECT x.amount FROM t", TableNotFound, 'Referenced table "x"', "x.amount"),
        ("SELECT flor(amount) FROM t", FunctionNotFound, "flor does not exist", "flor"),
        ("SELECT 'é', flor(1)", FunctionNotFound, "flor does not exist", "flor"),
        ("FROM nowhere(1)", FunctionNotFound, "nowhere does not exist", "nowhere"),
        ("SELECT floor(name) FROM t", InvalidInput, "floor(VARCHAR)", "floor"),
        ("SELECT sum(amount) + amount FROM t", InvalidInput, "GROUP BY", "amount FROM"),
        ("SELECT amount::money FROM t", InvalidInput, "money does not exist", "money"),
        ("SELECT name > amount FROM t", InvalidInput, "Cannot compare", "> amount"),
    ],
)
def test_the_error_says_what_is_wrong_and_points_there(mirror, text, kind, words, place):
    with pytest.raises(DuckLakeError) as caught:
        bind_query(mirror, Texts(text, text))
    assert type(caught.value) is kind
    assert words in caught.value.message
    assert pointed(caught.value.message) == line_with(text, place)
    for foreign in ("Exception", "Candidate bindings"):
        assert foreign not in caught.value.message


def pointed(message):
    """The number of the line and what begins where the caret stands."""
    line, caret = message.splitlines()[-2:]
    return line.partition(":")[0], line[caret.index("^") :]


def line_with(text, place):
    at = text.index(place)
    number = text.count("\n", 0, at) + 1
    return f"LINE {number}", text[at:].split("\n")[0]


def test_names_that_are_near_are_the_hint(mirror):
    with pytest.raises(DuckLakeError) as caught:
        bind_query(mirror, Texts("SELECT amout FROM t", "SELECT amout FROM t"))
    assert caught.value.hint == 'there are "amount", "name".'


def test_the_place_is_that_of_the_users_text_when_another_was_bound(mirror):
    written = "SELECT amount, amout FROM u AT (VERSION => 3)"
    with pytest.raises(ColumnNotFound) as caught:
        bind_query(mirror, Texts(written, "SELECT amount, amout FROM lake.main.t AS u"))
    assert pointed(caught.value.message) == line_with(written, "amout FROM")


def test_a_place_in_a_long_line_is_shown_with_what_is_around_it(mirror):
    text = f"SELECT {'amount + ' * 40} amout FROM t"
    with pytest.raises(ColumnNotFound) as caught:
        bind_query(mirror, Texts(text, text))
    assert pointed(caught.value.message)[1].startswith("amout FROM t")
    assert max(map(len, caught.value.message.splitlines())) < 150


def test_a_function_that_would_open_a_file_is_refused(mirror):
    with pytest.raises(NotSupported, match="this way to read a file is not supported"):
        bind_query(mirror, Texts("FROM read_text('a')", "FROM read_text('a')"))
