"""LIKE and regular expressions.

DuckDB's ``~~`` has no escape character; Spark's LIKE always has one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ducklake_spark.translate.fragments import Fragment, literal_text, sql
from ducklake_spark.translate.functions.letters import folded, lower_text
from ducklake_spark.translate.functions.regex import JavaPattern, java_pattern
from ducklake_spark.translate.functions.templates import TEXT, has_types, number_of, text_of
from ducklake_spark.translate.rules import Call, Rule, Rules

_ESCAPES: Final = "~!#^|@"


def _like(negation: str) -> Rule:
    """``~~`` and ``!~~``."""

    def rule(call: Call) -> Fragment | None:
        if not has_types(call, TEXT, TEXT):
            return None
        pattern = text_of(call, 1)
        if pattern is None:
            escaped = r"replace({}, '\\', '\\\\')"
            return sql(f"({{}} {negation}LIKE {escaped})", *call.arguments)
        return _of_constant(call, pattern, negation)

    return rule


def _ilike(negation: str) -> Rule:
    """``~~*`` and ``!~~*`` of a constant pattern: LIKE of both in lower case."""

    def rule(call: Call) -> Fragment | None:
        pattern = text_of(call, 1)
        if not has_types(call, TEXT, TEXT) or pattern is None:
            return None
        lower = lower_text(pattern)
        literal = Fragment((literal_text(lower),))
        value = folded("lower", call.arguments[0])
        return _of_constant(replace(call, arguments=(value, literal)), lower, negation)

    return rule


def _of_constant(call: Call, pattern: str, negation: str) -> Fragment | None:
    if "\\" not in pattern:
        return sql(f"({{}} {negation}LIKE {{}})", *call.arguments)
    free = next((each for each in _ESCAPES if each not in pattern), None)
    if free is None:
        return None
    return sql(f"({{}} {negation}LIKE {{}} ESCAPE '{free}')", *call.arguments)


def _like_escape(negation: str) -> Rule:
    """LIKE with an ESCAPE, both constant, where every escape stands before what it can escape."""

    def rule(call: Call) -> Fragment | None:
        pattern, escape = text_of(call, 1), text_of(call, 2)
        if pattern is None or escape is None or len(escape) != 1 or escape in "%_":
            return None
        if not _is_well_escaped(pattern, escape):
            return None
        clause = f"ESCAPE {literal_text(escape)}"
        return sql(f"({{0}} {negation}LIKE {{1}} {clause})", *call.arguments)

    return rule


def _is_well_escaped(pattern: str, escape: str) -> bool:
    rest = iter(pattern)
    return all(next(rest, "") in ("%", "_", escape) for each in rest if each == escape)


def matches(call: Call) -> Fragment | None:
    """``regexp_matches`` of a constant pattern."""
    found = _pattern_of(call, 2)
    return None if found is None else _matching(call, found.flagged)


def full_match(call: Call) -> Fragment | None:
    """``regexp_full_match`` of a constant pattern."""
    found = _pattern_of(call, 2)
    if found is None:
        return None
    return _matching(call, f"{_FLAGS}^(?:{found.text})\\z")


def extract(call: Call) -> Fragment | None:
    """``regexp_extract`` of a constant pattern and group."""
    found = _pattern_of(call, len(call.arguments))
    group = number_of(call, 2) if len(call.arguments) > 2 else 0
    if found is None or len(call.arguments) > 3 or group is None or not 0 <= group <= found.groups:
        return None
    return sql(f"regexp_extract({{}}, {_literal(found.flagged)}, {group})", call.arguments[0])


def replaced(call: Call) -> Fragment | None:
    """``regexp_replace`` of a constant pattern: the first match, or all with the option g."""
    found, new = _pattern_of(call, len(call.arguments)), text_of(call, 2)
    options = text_of(call, 3) if len(call.arguments) == 4 else ""
    if found is None or new is None or options not in ("", "g") or found.groups > _MOST_GROUPS:
        return None
    if options == "g":
        if found.can_be_empty:
            return None
        return _replacing(call, found.flagged, _replacement(new, found.groups, 0))
    if found.starts_at_front:
        return _replacing(call, found.flagged, _replacement(new, found.groups, 0))
    # What is before the first match is matched too, so that there is no second one.
    pattern = f"{_FLAGS}^([\\s\\S]*?)({found.text})"
    return _replacing(call, pattern, _replacement(new, found.groups, 2), before="$1")


def _pattern_of(call: Call, arguments: int) -> JavaPattern | None:
    pattern = text_of(call, 1)
    if pattern is None or len(call.arguments) != arguments or call.ids()[0] != "VARCHAR":
        return None
    return java_pattern(pattern)


def _replacement(text: str, groups: int, shift: int) -> str | None:
    """RE2's replacement for Java; the whole match is group `shift`, its groups follow."""
    parts: list[str] = []
    rest = iter(text)
    for char in rest:
        if char != "\\":
            parts.append("\\$" if char == "$" else char)
            continue
        number = next(rest, "")
        if number == "\\":
            parts.append("\\\\")
        elif number.isdigit() and number.isascii() and int(number) <= groups:
            parts.append(f"${int(number) + shift}")
        else:
            return None
    return "".join(parts)


def _matching(call: Call, pattern: str) -> Fragment:
    return sql(f"({{}} RLIKE {_literal(pattern)})", call.arguments[0])


def _replacing(call: Call, pattern: str, new: str | None, *, before: str = "") -> Fragment | None:
    if new is None:
        return None
    template = f"regexp_replace({{}}, {_literal(pattern)}, {_literal(before + new)})"
    return sql(template, call.arguments[0])


def _literal(text: str) -> str:
    return literal_text(text).replace("{", "{{").replace("}", "}}")


_FLAGS: Final = "(?d)"
_MOST_GROUPS: Final = 7

RULES: Final[Rules] = {
    "~~": _like(""),
    "!~~": _like("NOT "),
    "~~*": _ilike(""),
    "!~~*": _ilike("NOT "),
    "like_escape": _like_escape(""),
    "not_like_escape": _like_escape("NOT "),
    "regexp_matches": matches,
    "regexp_full_match": full_match,
    "regexp_extract": extract,
    "regexp_replace": replaced,
}
