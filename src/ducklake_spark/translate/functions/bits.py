"""Operators on bits."""

from __future__ import annotations

from typing import Final

from ducklake_spark.translate.fragments import Fragment, sql
from ducklake_spark.translate.rules import Call, Rule, Rules

_SIGNED: Final = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64}
_UNSIGNED: Final = {"UTINYINT": 8, "USMALLINT": 16, "UINTEGER": 32}
_CARRIERS: Final = {"TINYINT": "TINYINT", "SMALLINT": "SMALLINT", "INTEGER": "INT"}
_CARRIERS_OF_UNSIGNED: Final = {"UTINYINT": "SMALLINT", "USMALLINT": "INT", "UINTEGER": "BIGINT"}
_WIDTHS: Final = _SIGNED | _UNSIGNED


def _of_two(template: str) -> Rule:
    def rule(call: Call) -> Fragment | None:
        fits = call.type.id in _WIDTHS and call.ids() == (call.type.id,) * 2
        return sql(template, *call.arguments) if fits else None

    return rule


def complement(call: Call) -> Fragment | None:
    """``~``: the carrier of an unsigned number has bits above those of its type."""
    kind = call.type.id
    if kind in _SIGNED:
        return sql("(~ {})", *call.arguments)
    if kind in _UNSIGNED:
        ones = 2 ** _UNSIGNED[kind] - 1
        return sql(f"CAST({ones}L - {{}} AS {_CARRIERS_OF_UNSIGNED[kind]})", *call.arguments)
    return None


def shift_right(call: Call) -> Fragment | None:
    """``>>``: zero where the distance is no place in the number."""
    kind = call.type.id
    if kind not in _SIGNED or call.ids() != (kind, kind):
        return None
    carrier = _CARRIERS.get(kind, "BIGINT")
    inside = f"{{1}} BETWEEN 0 AND {_SIGNED[kind] - 1}"
    moved = "shiftright({0}, CAST({1} AS INT))"
    return sql(
        f"CAST(CASE WHEN {inside} THEN {moved} WHEN {{0}} IS NOT NULL AND {{1}} IS NOT NULL"
        f" THEN 0 END AS {carrier})",
        *call.arguments,
    )


RULES: Final[Rules] = {
    "&": _of_two("({} & {})"),
    "|": _of_two("({} | {})"),
    "xor": _of_two("({} ^ {})"),
    "~": complement,
    ">>": shift_right,
}
