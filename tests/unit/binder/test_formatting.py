"""Texts that the catalog keeps are those that DuckDB writes."""

from __future__ import annotations

import pytest

from ducklake_spark.binder.formatting import columns_of, format_expression, format_query
from ducklake_spark.errors import SqlSyntaxError


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("1+2", "(1 + 2)"),
        ("NOW()", "now()"),
        ("TRUE", "CAST('t' AS BOOLEAN)"),
        ("[1,2]", "main.list_value(1, 2)"),
        ("a <> 1", "(a != 1)"),
        ("a::INT", "CAST(a AS INTEGER)"),
        ("\"a b\" || 'it''s'", "(\"a b\" || 'it''s')"),
    ],
)
def test_an_expression_is_kept_as_duckdb_writes_it(typed: str, kept: str) -> None:
    assert format_expression(typed) == kept


def test_what_duckdb_cannot_read_is_an_error_with_its_place() -> None:
    with pytest.raises(SqlSyntaxError, match="syntax error"):
        format_expression("1 +")


def test_tables_of_a_query_can_be_renamed() -> None:
    def rename(tables):
        for table in tables:
            table["catalog_name"] = "other"

    text = format_query("SELECT a.b FROM x.y.a, (FROM x.y.c) AS d", rename)
    assert text == "SELECT a.b FROM other.y.a , (SELECT * FROM other.y.c) AS d"


def test_the_columns_of_an_expression() -> None:
    assert columns_of('t.a + "B c" + f(1)') == [["t", "a"], ["B c"]]
