"""The registry of functions: other names, regular expressions, and its page in the reference."""

from __future__ import annotations

import duckdb
import pytest

from ducklake_spark.binder.types import VARCHAR
from ducklake_spark.translate.fragments import Fragment
from ducklake_spark.translate.functions import ALIASES, SCALARS
from ducklake_spark.translate.functions.letters import letters
from ducklake_spark.translate.functions.regex import java_pattern
from ducklake_spark.translate.rules import Call
from support.function_reference import PAGE, page

TWICE_REGISTERED = {  # which DuckDB does not call aliases
    "datepart": "date_part",
    "datetrunc": "date_trunc",
    "datediff": "date_diff",
}


def test_other_names_are_those_of_duckdb() -> None:
    rows = duckdb.execute(
        "SELECT DISTINCT function_name, alias_of FROM duckdb_functions()"
        " WHERE function_type = 'scalar' AND alias_of IS NOT NULL"
    ).fetchall()
    expected = {alias: name for alias, name in rows if name in SCALARS}
    assert expected | TWICE_REGISTERED == ALIASES


def test_the_page_says_what_the_registry_says() -> None:
    """`python -m support.function_reference` writes it anew."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_a_call_with_something_beside_its_arguments_is_left_to_duckdb() -> None:
    plain = Call("trim", (Fragment(("s",)),), (VARCHAR,), VARCHAR)
    bound = Call("trim", plain.arguments, plain.types, VARCHAR, bind_data={"unheard_of": 1})
    assert SCALARS["trim"](plain) is not None
    assert SCALARS["trim"](bound) is None


@pytest.mark.parametrize("name", ["lower", "upper"])
def test_every_letter_is_folded_as_duckdb_does(name: str) -> None:
    codes = [code for code in range(0x80, 0x110000) if not 0xD800 <= code < 0xE000]
    query = f"SELECT c, ord({name}(chr(c))), length({name}(chr(c))) FROM (SELECT unnest(?) AS c)"
    rows = duckdb.execute(query, [codes]).fetchall()
    assert {length for _, _, length in rows} == {1}
    assert letters(name) == {code: other for code, other, _ in rows if code != other}


@pytest.mark.parametrize(
    "pattern",
    [
        *("(a|b)*", "(a*)*", r"\bword", "(?i)a", "(?=a)", r"(a)\1", "a**", "a++", "[[:alpha:]]"),
        *(r"\pL", "[a&&b]", "a{2000}", "(", "[a", "a{,3}", "^*", r"\Qa\E", "x*+"),
    ],
)
def test_patterns_that_java_may_read_otherwise_are_left_to_duckdb(pattern: str) -> None:
    assert java_pattern(pattern) is None


def test_a_pattern_of_java_ends_where_that_of_re2_does() -> None:
    found = java_pattern(r"^https?://(?:www\.)?([^/]+)/.*$")
    assert found is not None
    assert found.flagged == r"(?d)^https?://(?:www\.)?([^/]+)/.*\z"
    assert (found.groups, found.starts_at_front, found.can_be_empty) == (1, True, False)
