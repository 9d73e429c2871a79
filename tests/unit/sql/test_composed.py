"""Parts of the user's text stand in queries of ours as they were written, and are found again."""

from __future__ import annotations

import pytest
from sqlglot import exp

from ducklake_spark.binder.errors import Source
from ducklake_spark.sql.composed import compose, enclosed, set_ctes, verbatim, written_query
from ducklake_spark.sql.parse import parse, parse_expression
from ducklake_spark.sql.statements import CreateTable, Delete, Insert, Update


def place_of(made, word: str) -> str:
    """What stands in the user's text where a word of the query comes from."""
    at = Source(made.written, made.places).place(made.text.index(word))
    return made.written[at:][: len(word)]


def test_a_part_stays_as_it_was_written() -> None:
    text = "a  //  /* half */ 2 = [x FOR x IN l]"
    query = exp.select(exp.alias_(verbatim(parse_expression(text)), "v", quoted=True))

    made = compose(query)
    assert made.text == f'SELECT {text} AS "v"'
    assert place_of(made, "half") == "half"


def test_ctes_before_a_statement_stand_before_its_query() -> None:
    (s,) = parse("WITH c AS (SELECT 1 AS a) DELETE FROM t USING c AS d WHERE t.a  =  d.a")
    assert isinstance(s, Delete)
    query = exp.select("1").from_("t")
    query.set("joins", [exp.Join(this=verbatim(s.using))])
    query.set("where", exp.Where(this=verbatim(s.where)))
    set_ctes(query, s.ctes)

    made = compose(query)
    assert made.text == ("WITH c AS (SELECT 1 AS a) SELECT 1 FROM t, c AS d WHERE t.a  =  d.a")
    assert place_of(made, "d.a") == "d.a"


@pytest.mark.parametrize(
    "statement", ["DELETE FROM t USING {} WHERE x", "UPDATE t SET b = 1 FROM {} WHERE x"]
)
def test_several_sources_of_a_change_stand_side_by_side(statement: str) -> None:
    sources = "a  JOIN b USING (i), (VALUES (1), (2)) c(j), d"
    (s,) = parse(statement.format(sources))
    assert isinstance(s, Delete | Update)
    query = exp.select("1").from_("t")
    query.set("joins", [exp.Join(this=verbatim(s.using if isinstance(s, Delete) else s.source))])

    assert compose(query).text == f"SELECT 1 FROM t, {sources}"


def test_a_query_of_a_statement_is_its_text() -> None:
    (made,) = parse("CREATE TABLE u AS SELECT 1 + 1 AS a")
    assert isinstance(made, CreateTable)
    assert written_query(made.query).text == "SELECT 1 + 1 AS a"
    (s,) = parse("WITH c AS (SELECT 1 AS a) INSERT INTO t WITH d AS (FROM c) SELECT * FROM d")
    assert isinstance(s, Insert)
    around = enclosed(s.source, "SELECT * FROM (", ") AS q")
    assert around.text == (
        "SELECT * FROM (WITH c AS (SELECT 1 AS a) (WITH d AS (FROM c) SELECT * FROM d)) AS q"
    )
    assert place_of(around, "FROM c") == "FROM c"
