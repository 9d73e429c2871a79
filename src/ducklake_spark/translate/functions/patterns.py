"""LIKE and GLOB. DuckDB's ``~~`` has no escape character; Spark's LIKE always has one."""

from __future__ import annotations

from typing import Final

from ducklake_spark.translate.fragments import Fragment, literal_text, sql
from ducklake_spark.translate.functions.templates import TEXT, has_types, text_of
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


RULES: Final[Rules] = {
    "~~": _like(""),
    "!~~": _like("NOT "),
    "like_escape": _like_escape(""),
    "not_like_escape": _like_escape("NOT "),
}
