"""What the text for Spark looks like: the shapes on which speed and exact answers depend."""

from __future__ import annotations

import pytest

from ducklake_spark.errors import NotSupported
from support.bound import connect_with, translate
from support.operator_queries import QUERIES, TABLES


@pytest.fixture(scope="module")
def tables():
    connection = connect_with(TABLES)
    yield connection
    connection.close()


@pytest.fixture
def text_of(tables):
    return lambda query: translate(tables, query).text


@pytest.mark.parametrize("query", QUERIES)
def test_every_operator_is_translated(text_of, query):
    assert text_of(query).startswith(("SELECT ", "WITH "))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a + 1 FROM t WHERE b > 1",
        "SELECT x FROM (SELECT a AS x, b FROM t WHERE a > 0) q WHERE b > 1 ORDER BY b",
        "SELECT t.a, u.c FROM t JOIN u ON t.a = u.a WHERE t.b > 1 AND u.c > 2 ORDER BY t.b LIMIT 3",
        "SELECT t.a, u.c, v.e FROM t, u, v WHERE t.a = u.a AND u.a = v.a",
        "SELECT t.a, u.c FROM t LEFT JOIN u ON t.a = u.a WHERE t.b > 1",
        "SELECT t.a FROM t, unnest(l) x(y), range(3) r(i)",
    ],
)
def test_projections_filters_and_joins_are_one_select(text_of, query):
    text = text_of(query)
    lateral = text.count("(SELECT explode(")
    assert text.count("SELECT") == 1 + lateral + ("row_number()" in text)


def test_the_sort_key_may_be_missing_in_the_result(text_of):
    expected = "SELECT q1.`a` AS `a` FROM `t` q1 ORDER BY q1.`b` ASC NULLS LAST LIMIT 2"
    assert text_of("SELECT a FROM t ORDER BY b LIMIT 2") == expected


def test_exists_is_a_predicate(text_of):
    text = text_of("SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a AND u.c > t.b)")
    assert text == (
        "SELECT q1.`a` AS `a` FROM `t` q1 WHERE EXISTS (SELECT 1 FROM `u` q3 "
        "WHERE (q3.`a` = q1.`a`) AND (q3.`c` > q1.`b`))"
    )


def test_not_in_is_a_predicate_also_below_not(text_of):
    expected = "WHERE (q1.`a` NOT IN (SELECT q2.`a` AS `c0` FROM `u` q2))"
    assert text_of("SELECT a FROM t WHERE a NOT IN (SELECT a FROM u)").endswith(expected)
    assert text_of("SELECT a FROM t WHERE NOT (a IN (SELECT a FROM u))").endswith(expected)


def test_in_as_a_value_knows_null(text_of):
    text = text_of("SELECT a IN (SELECT a FROM u) FROM t")
    assert "THEN true WHEN (q1.`a` NOT IN " in text
    assert "THEN false END" in text


def test_a_correlated_aggregate_is_a_left_join_with_groups(text_of):
    text = text_of("SELECT (SELECT max(c) FROM u WHERE u.a = t.a) FROM t")
    assert "LEFT JOIN (SELECT " in text
    assert "GROUP BY q3.`a`) q4 ON (q4.`h0` = q1.`a`)" in text
    assert "DISTINCT" not in text


def test_a_count_of_no_rows_is_computed_after_the_join(text_of):
    text = text_of("SELECT (SELECT count(*) FROM u WHERE u.a = t.a) FROM t")
    assert text.startswith("SELECT CASE WHEN (q4.`c0` IS NULL) THEN ")


def test_what_cannot_be_pulled_up_reads_the_distinct_keys(text_of):
    text = text_of("SELECT (SELECT max(c) FROM u WHERE u.a < t.a) FROM t WHERE b > 1")
    assert text.startswith("WITH l")
    assert "SELECT DISTINCT" in text
    assert text.index("> 1") < text.index("SELECT DISTINCT")


def test_a_filter_on_the_left_rows_goes_below_a_subquery(text_of):
    text = text_of("SELECT a FROM t WHERE b > 1 AND b > (SELECT max(c) FROM u WHERE u.a < t.a)")
    assert text.index("> 1") < text.index("SELECT DISTINCT")


def test_an_uncorrelated_scalar_subquery_is_one(text_of):
    text = text_of("SELECT a FROM t WHERE b > (SELECT min(c) FROM u)")
    assert "CROSS JOIN" not in text
    assert "WHERE (q1.`b` > (SELECT " in text


def test_a_value_is_not_taken_from_a_row_that_is_missing(text_of):
    text = text_of("SELECT x.one FROM t LEFT JOIN (SELECT 1 AS one, a FROM u) x ON t.a = x.a")
    assert "LEFT JOIN (SELECT 1 AS `c0`" in text


def test_grouping_sets_with_the_empty_one_have_a_further_row(text_of):
    assert "UNION ALL SELECT NULL, NULL" in text_of("SELECT count(*) FROM t GROUP BY ROLLUP (a)")
    text = text_of("SELECT a, s, count(*) FROM t GROUP BY GROUPING SETS ((a), (s))")
    assert "UNION ALL" not in text


def test_row_ids_are_read_where_somebody_asks(text_of):
    assert "rowid" not in text_of("SELECT count(*) FROM t LEFT JOIN u ON true")
    assert "`rowid`" in text_of("SELECT rowid FROM t")


def test_names_of_the_result_may_be_anything(tables):
    found = translate(tables, 'SELECT a AS "x`y", b AS "x`y" FROM t')
    assert "AS `x``y`, " in found.text
    assert found.names[:2] == ("x`y", "x`y")


def test_rows_that_may_differ_are_computed_once(text_of):
    text = text_of("WITH q AS (SELECT a FROM t LIMIT 3) SELECT * FROM q x, q y")
    assert "monotonically_increasing_id()" in text
    text = text_of("WITH q AS (SELECT row_number() OVER (ORDER BY a) FROM t) FROM q x, q y")
    assert "monotonically_increasing_id()" in text
    for stable in ("a", "rank() OVER (ORDER BY a)", "sum(b) OVER (PARTITION BY a)"):
        text = text_of(f"WITH q AS (SELECT {stable} FROM t) FROM q x, q y")
        assert "monotonically_increasing_id()" not in text


def test_an_aggregate_in_from_is_joined_and_an_exists_is_a_scalar_subquery(text_of):
    text = text_of("SELECT x.m, x.m + t.a FROM t, (SELECT max(c) AS m FROM u) x")
    assert "CROSS JOIN (SELECT max(" in text
    assert text.count("max(") == 1
    assert "CROSS JOIN" not in text_of("SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u)")


@pytest.mark.parametrize(
    ("query", "word"),
    [
        (
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT n + 1 FROM r "
            "WHERE n NOT IN (SELECT n FROM r WHERE n > 3)) FROM r",
            "over the rows of a recursive step",
        ),
        (
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION (WITH RECURSIVE s(m) AS "
            "(FROM r UNION SELECT m + 1 FROM s WHERE m < 2) FROM s)) FROM r",
            "A recursion over the rows of a recursive step",
        ),
        (
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT n + 1 FROM r FULL JOIN t ON n = a) "
            "FROM r",
            "A FULL JOIN that looks for the rows of a recursive step",
        ),
        ("SELECT 99999999999999999999999999999999999999::HUGEINT + 1", "more than 38 digits"),
        ("FROM t POSITIONAL JOIN u", "POSITIONAL"),
        ("FROM glob('*')", "glob"),
    ],
)
def test_what_is_not_served_is_refused_by_name(text_of, query, word):
    with pytest.raises(NotSupported, match=word):
        text_of(query)
