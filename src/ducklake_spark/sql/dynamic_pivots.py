"""PIVOT without a list of values: where a text lacks them, and how they are put in. Pure.

DuckDB runs such a query as two: one asks for the values, and the other is written with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from ducklake_spark.sql.composed import Composed
from ducklake_spark.sql.dialect import DuckLake

_WORDS: Final = ("PIVOT", "PIVOT_WIDER")
_ENDS: Final = frozenset(
    {"USING", "GROUP", "GROUP BY", "ORDER", "ORDER BY", "LIMIT", "OFFSET", "UNION", "EXCEPT"}
)
_OPENING: Final = frozenset("([{")
_CLOSING: Final = frozenset(")]}")


@dataclass(frozen=True, slots=True)
class MissingValues:
    """An expression of ON without IN.

    Attributes:
        start: where it begins in the text.
        end: where it ends.
        question: a query for its values, as text and in order.
    """

    start: int
    end: int
    question: str


def find_missing_values(text: str) -> list[MissingValues]:
    """The expressions without values of the innermost such PIVOT of a text; none if all have some.

    >>> [each.question for each in find_missing_values("PIVOT t ON a, b IN (1) USING sum(c)")]
    ['SELECT DISTINCT CAST(a AS VARCHAR) FROM t WHERE CAST(a AS VARCHAR) IS NOT NULL ORDER BY 1']
    """
    try:
        tokens = DuckLake().tokenize(text)
    except TokenError:
        return []
    for place in reversed(range(len(tokens))):
        if _word(tokens[place]) in _WORDS and _is_statement(tokens, place):
            found = _missing(text, tokens, place)
            if found:
                return found
    return []


def put_values(
    query: Composed, missing: Sequence[MissingValues], values: Sequence[Sequence[str]]
) -> Composed:
    """The query with lists of values, each column of which is compared as text."""
    text, end, places = "", 0, []
    for each, known in zip(missing, values, strict=True):
        item = query.text[each.start : each.end]
        quoted = ", ".join("'" + value.replace("'", "''") + "'" for value in known)
        places.append((len(text), end, each.start - end))
        text += query.text[end : each.start] + f"CAST({item} AS VARCHAR) IN ({quoted})"
        end = each.end
    places.append((len(text), end, len(query.text) - end))
    text += query.text[end:]
    if len(query.places) != 1:
        return Composed(text, params=query.params)
    first = query.places[0][1]
    own = tuple((made, first + start, length) for made, start, length in places)
    return Composed(text, query.written, own, query.params)


def _missing(text: str, tokens: Sequence[Token], place: int) -> list[MissingValues]:
    on = _next(tokens, place + 1, {"ON"})
    if on is None:
        return []
    source = text[tokens[place + 1].start : tokens[on - 1].end + 1]
    before = text[: tokens[place].start] if _is_with(tokens, place) else ""
    found: list[MissingValues] = []
    start = on + 1
    while True:
        end = _next(tokens, start, {",", *_ENDS}, or_end=True)
        if end is None or end == start:
            return found
        if _next(tokens[:end], start, {"IN"}) is None:
            first, last = tokens[start].start, tokens[end - 1].end + 1
            shown = f"CAST({text[first:last]} AS VARCHAR)"
            rows = f"FROM {source} WHERE {shown} IS NOT NULL ORDER BY 1"
            question = f"{before}SELECT DISTINCT {shown} {rows}"
            found.append(MissingValues(first, last, question))
        if end == len(tokens) or _word(tokens[end]) != ",":
            return found
        start = end + 1


def _is_statement(tokens: Sequence[Token], place: int) -> bool:
    """Whether a PIVOT begins a query; that behind a table has FOR in its parentheses."""
    if place and _word(tokens[place - 1]) not in ("(", ")", "AS"):
        return False
    return _next(tokens, place + 1, {"ON"}) is not None


def _is_with(tokens: Sequence[Token], place: int) -> bool:
    """Whether what stands before a PIVOT are its common table expressions."""
    depth = sum((_word(t) in _OPENING) - (_word(t) in _CLOSING) for t in tokens[:place])
    return place > 0 and depth == 0 and _word(tokens[0]) == "WITH"


def _next(
    tokens: Sequence[Token], start: int, words: set[str], *, or_end: bool = False
) -> int | None:
    """The next of these words outside of brackets, or where the brackets around end."""
    depth = 0
    for place in range(start, len(tokens)):
        word = _word(tokens[place])
        if depth == 0 and word in words:
            return place
        depth += (word in _OPENING) - (word in _CLOSING)
        if depth < 0:
            return place if or_end else None
    return len(tokens) if or_end else None


def _word(token: Token) -> str:
    quoted = token.token_type in (TokenType.IDENTIFIER, TokenType.STRING)
    return "" if quoted else token.text.upper()
