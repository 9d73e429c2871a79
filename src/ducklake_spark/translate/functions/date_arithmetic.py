"""``+`` and ``-`` of dates, timestamps and constant intervals."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ducklake_spark.translate.fragments import Fragment, sql
from ducklake_spark.translate.functions.dates import FINITE, as_timestamp
from ducklake_spark.translate.functions.templates import DATED, DAYS, has_types, in_utc, interval_of
from ducklake_spark.translate.rules import Call, Rules

# Of the days that DuckDB can reach, those that stand for infinity are an error: the number in their
# place does not fit.
_MOVED: Final = (
    "date_from_unix_date(CAST(if({0} IN (2147483647, -2147483647), 2147483648L, {0}) AS INT))"
)
_WHOLE: Final = frozenset({"INTEGER"})
_INTERVALS: Final = frozenset({"INTERVAL"})
_MICROS_OF_A_DAY: Final = 86_400_000_000


def add(call: Call) -> Fragment | None:
    """A date and days, a date or timestamp and a constant interval, in any order."""
    if len(call.arguments) != 2:
        return None
    if call.ids()[0] in ("INTEGER", "INTERVAL") and call.ids()[1] in DATED:
        return _moved(_turned(call), "+")
    return _moved(call, "+")


def subtract(call: Call) -> Fragment | None:
    """Days between dates, and all that can be taken from a date or timestamp."""
    if has_types(call, DAYS, DAYS):
        return sql("(CAST(unix_date({}) AS BIGINT) - unix_date({}))", *call.arguments)
    return _moved(call, "-") if len(call.arguments) == 2 else None


def _moved(call: Call, operator: str) -> Fragment | None:
    if has_types(call, DAYS, _WHOLE):
        moved = _MOVED.format(f"(CAST(unix_date({{0}}) AS BIGINT) {operator} {{1}})")
        same = "WHEN {1} IS NOT NULL THEN {0}"
        template = f"CASE WHEN {FINITE['DATE']} THEN {moved} {same} END"
        return sql(template, *call.arguments)
    if not has_types(call, DATED, _INTERVALS) or call.type.id != "TIMESTAMP":
        return None
    interval = interval_of(call.nodes[1])
    return None if interval is None else _moved_by(call, operator, interval)


def _moved_by(call: Call, operator: str, interval: tuple[int, int, int]) -> Fragment:
    months, days, micros = (-each if operator == "-" else each for each in interval)
    more, micros = divmod(micros, _MICROS_OF_A_DAY)
    seconds = f"{micros // 1_000_000}.{micros % 1_000_000:06}"
    by_months = f" + make_ym_interval(0, {months})" if months else ""
    by_time = f" + make_dt_interval({days + more}, 0, 0, {seconds})"
    moved = f"(CAST({{0}} AS TIMESTAMP_NTZ){by_months}{by_time})"
    return as_timestamp(Call(call.name, call.arguments[:1], call.types[:1], call.type), moved)


def _turned(call: Call) -> Call:
    return replace(
        call,
        arguments=call.arguments[::-1],
        types=call.types[::-1],
        nodes=call.nodes[::-1],
    )


RULES: Final[Rules] = {"+": in_utc(add), "-": in_utc(subtract)}
