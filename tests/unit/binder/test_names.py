"""Which names of a query are tables: CTEs where they hold, virtual columns, edits."""

from __future__ import annotations

import pytest

from ducklake_spark.binder.edits import rename
from ducklake_spark.binder.mirror import BindSettings, Mirror, Name
from ducklake_spark.binder.names import find_names, mentioned_virtual
from ducklake_spark.binder.trees import expect_query, parse_query, text_of
from ducklake_spark.errors import InvalidInput, NotSupported, SqlSyntaxError


@pytest.fixture(scope="module")
def mirror():
    return Mirror(BindSettings())


def tables(mirror, text):
    return [".".join(t.parts) for t in find_names(expect_query(mirror, text).node).tables]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FROM a, s.b JOIN l.s.c USING (x)", ["a", "s.b", "l.s.c"]),
        ("WITH a AS (FROM b) FROM a, c", ["b", "c"]),
        ("WITH a AS (FROM a) FROM a", ["a"]),
        ("WITH a AS (SELECT 1), b AS (FROM a, c) FROM b", ["c"]),
        ("SELECT (WITH a AS (SELECT 1) SELECT 1 FROM a) FROM a", ["a"]),
        ("WITH a AS (SELECT 1) SELECT (SELECT 1 FROM s.a) FROM A", ["s.a"]),
        ("WITH RECURSIVE r AS (FROM a UNION ALL FROM r, b) FROM r", ["a", "b"]),
        ("(FROM a) UNION (FROM b) EXCEPT (WITH b AS (FROM c) FROM b)", ["a", "b", "c"]),
        ("PIVOT a ON x IN (1, 2) USING sum(y)", ["a"]),
        ("FROM 'file.parquet' TABLESAMPLE 10%", ["file.parquet"]),
        ("VALUES (1), ((SELECT max(x) FROM a))", ["a"]),
        ("FROM range(3), generate_series(1, (SELECT max(x) FROM a))", ["a"]),
    ],
)
def test_tables_are_what_is_no_cte_there(mirror, text, expected):
    assert tables(mirror, text) == expected


def test_functions_calls_and_parameters_are_told_apart(mirror):
    text = "SELECT f(x), l.g(y), sum(z) OVER () FROM l.s.h(1, b := $2, c = 3) WHERE x = $n + ?"
    with pytest.raises(NotSupported):
        expect_query(mirror, text)  # named parameters and numbers
    names = find_names(expect_query(mirror, text.replace("$n", "$1")).node)
    assert [f.parts for f in names.functions] == [("l", "s", "h")]
    placed, named = names.functions[0].arguments
    assert (len(placed), set(named)) == (1, {"b", "c"})
    called = [c["function_name"] for c in names.calls]
    assert {"f", "g", "sum"} <= set(called)
    assert [p["identifier"] for p in names.parameters] == ["2", "1", "3"]


def test_the_moment_of_at_is_an_expression(mirror):
    (table,) = find_names(expect_query(mirror, "FROM a AT (VERSION => 3)").node).tables
    assert table.at is not None
    assert (table.at[0], table.at[1]["value"]["value"]) == ("version", 3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT rowid FROM t", {"rowid"}),
        (
            "SELECT * FROM t WHERE t.FILENAME = 'x' ORDER BY snapshot_id",
            {"filename", "snapshot_id"},
        ),
        ("SELECT other.rowid FROM t, u AS other", set()),
        ("SELECT * FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.x = t.rowid)", {"rowid"}),
        ("SELECT * FROM t, (SELECT rowid FROM u) x", set()),
    ],
)
def test_virtual_columns_are_those_that_the_own_select_mentions(mirror, text, expected):
    (table, *_) = find_names(expect_query(mirror, text).node).tables
    assert mentioned_virtual(table) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT s.t.a, t.b FROM s.t", "SELECT t.a, t.b FROM c.m.n AS t"),
        ("SELECT k.a FROM s.t AS k (a)", "SELECT k.a FROM c.m.n AS k(a)"),
        ("SELECT l.s.t.a.b FROM l.s.t", "SELECT t.a.b FROM c.m.n AS t"),
        ("SELECT a FROM t AT (VERSION => 1)", "SELECT a FROM c.m.n AS t"),
    ],
)
def test_a_renamed_table_is_called_as_before(mirror, text, expected):
    parsed = expect_query(mirror, text)
    (table,) = find_names(parsed.node).tables
    rename(table, Name("c", "m", "n"))
    assert text_of(mirror, parsed.tree) == expected


def test_no_star_shows_what_is_hidden(mirror):
    parsed = expect_query(mirror, "SELECT *, t.*, u.*, (SELECT count(*) FROM (FROM t)) FROM t, u")
    rename(find_names(parsed.node).tables[1], Name("c", "m", "n"), ["rowid"])
    text = text_of(mirror, parsed.tree)
    assert text.count("EXCLUDE") == 2, text


@pytest.mark.parametrize("text", ["SELECT t FROM t", "FROM t NATURAL JOIN u"])
def test_hidden_columns_are_refused_where_they_would_show(mirror, text):
    parsed = expect_query(mirror, text)
    with pytest.raises(NotSupported):
        rename(find_names(parsed.node).tables[0], Name("c", "m", "n"), ["rowid"])


def test_what_is_no_query_is_told_from_what_is_no_sql(mirror):
    assert parse_query(mirror, "INSERT INTO t VALUES (1)") is None
    with pytest.raises(SqlSyntaxError, match='near "t"'):
        parse_query(mirror, "SELECT 1\n frm t x")
    with pytest.raises(InvalidInput, match="several"):
        parse_query(mirror, "SELECT 1; SELECT 2")
