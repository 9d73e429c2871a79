"""Parts of dates and timestamps. DuckDB has no part of an infinite one: NULL."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ducklake_spark.translate.fragments import Fragment, literal_text, sql
from ducklake_spark.translate.functions.templates import (
    DATED,
    LOCAL,
    ZONED,
    first_of,
    has_types,
    in_utc,
    on,
    text_of,
)
from ducklake_spark.translate.rules import Call, Rule, Rules

_INFINITY: Final = "TIMESTAMP_NTZ'294247-01-10 04:00:54.775807'"
_MINUS_INFINITY: Final = "TIMESTAMP_NTZ'-290308-12-21 19:59:05.224193'"
FINITE: Final = {
    "DATE": "unix_date({0}) NOT IN (2147483647, -2147483647)",
    "TIMESTAMP": f"{{0}} NOT IN ({_INFINITY}, {_MINUS_INFINITY})",
}
"""Whether a date is none of DuckDB's infinities, which Spark takes for days far away."""

_PARTS: Final = {
    "year": "year({0})",
    "year of era": "if(year({0}) > 0, year({0}), 1 - year({0}))",
    "quarter": "quarter({0})",
    "month": "month({0})",
    "day": "day({0})",
    "dayofyear": "dayofyear({0})",
    "dayofweek": "dayofweek({0}) - 1",
    "isodow": "weekday({0}) + 1",
    "week": "weekofyear({0})",
    "isoyear": "extract(YEAROFWEEK FROM {0})",
}
_PARTS_OF_TIME: Final = {
    "hour": "hour({0})",
    "minute": "minute({0})",
    "second": "second({0})",
}
_NAMES_OF_PARTS: Final = {
    **{name: name for name in (*_PARTS, *_PARTS_OF_TIME)},
    "years": "year",
    "yr": "year",
    "yrs": "year",
    "y": "year",
    "quarters": "quarter",
    "months": "month",
    "mon": "month",
    "mons": "month",
    "days": "day",
    "d": "day",
    "dayofmonth": "day",
    "doy": "dayofyear",
    "dow": "dayofweek",
    "weekday": "dayofweek",
    "weeks": "week",
    "w": "week",
    "weekofyear": "week",
    "hours": "hour",
    "hr": "hour",
    "hrs": "hour",
    "h": "hour",
    "minutes": "minute",
    "min": "minute",
    "mins": "minute",
    "m": "minute",
    "seconds": "second",
    "sec": "second",
    "secs": "second",
    "s": "second",
}
_DAY_NAMES: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_TRUNCATED: Final = {
    "year": "YEAR",
    "years": "YEAR",
    "quarter": "QUARTER",
    "quarters": "QUARTER",
    "month": "MONTH",
    "months": "MONTH",
    "week": "WEEK",
    "weeks": "WEEK",
}
_TIME_TAKEN: Final = {
    "hour": "make_dt_interval(0, hour({0}))",
    "minute": "make_dt_interval(0, hour({0}), minute({0}))",
    "second": "make_dt_interval(0, hour({0}), minute({0}), second({0}))",
}
_DAY: Final = "CAST(CAST({0} AS DATE) AS TIMESTAMP_NTZ)"


def finite(call: Call, template: str, *, otherwise: str = "NULL", index: int = 0) -> Fragment:
    """A template of a date's argument, and something else for an infinite one."""
    test = FINITE[call.ids()[index]]
    return sql(f"if({test}, {template}, {otherwise})", call.arguments[index])


def as_timestamp(call: Call, template: str) -> Fragment:
    """A template that makes a TIMESTAMP of a date or timestamp; infinity stays infinity."""
    year = "DATE'1970-01-01'"
    infinity = (
        f"CASE WHEN {{0}} > {year} THEN {_INFINITY} WHEN {{0}} < {year} THEN {_MINUS_INFINITY} END"
    )
    return finite(call, template, otherwise=infinity if call.ids()[0] == "DATE" else "{0}")


def part(name: str) -> Rule:
    """A part that is a whole number."""

    def rule(call: Call) -> Fragment | None:
        if not has_types(call, DATED):
            return None
        is_midnight = name in _PARTS_OF_TIME and call.ids() == ("DATE",)
        found = "0" if is_midnight else (_PARTS | _PARTS_OF_TIME)[name]
        return finite(call, f"CAST({found} AS BIGINT)")

    return rule


def part_in_utc(name: str) -> Rule:
    """The same, also with a time zone: before Christ such a year is that of its era."""
    plain, zoned = part(name), in_utc(part({"year": "year of era"}.get(name, name)))
    return lambda call: zoned(call) if ZONED in call.ids() else plain(call)


def date_part(call: Call) -> Fragment | None:
    """``date_part`` and ``extract`` of a constant part."""
    name = _NAMES_OF_PARTS.get((text_of(call, 0) or "").lower())
    if not name or len(call.arguments) != 2:
        return None
    return part_in_utc(name)(_without_first(call))


def date_trunc(call: Call) -> Fragment | None:
    """``date_trunc`` to a constant unit; Spark's own goes through the zone of the session."""
    dated = _without_first(call)
    if not has_types(dated, DATED) or call.type.id != "TIMESTAMP":
        return None
    is_date = dated.ids() == ("DATE",)
    template = _truncation((text_of(call, 0) or "").lower(), is_date=is_date)
    if template is None:
        return None
    return as_timestamp(dated, template)


def _truncation(name: str, *, is_date: bool) -> str | None:
    unit = _NAMES_OF_PARTS.get(name, name)
    if name in _TRUNCATED:
        return f"CAST(trunc({{0}}, '{_TRUNCATED[name]}') AS TIMESTAMP_NTZ)"
    if unit == "day":
        return _DAY
    return None if is_date or unit not in _TIME_TAKEN else f"({_DAY} + {_TIME_TAKEN[unit]})"


def _without_first(call: Call) -> Call:
    return replace(call, arguments=call.arguments[1:], types=call.types[1:], nodes=call.nodes[1:])


def last_day(call: Call) -> Fragment | None:
    """The last day of the month."""
    return finite(call, "last_day(CAST({0} AS DATE))") if has_types(call, DATED) else None


def _listed(names: tuple[str, ...]) -> str:
    return f"array({', '.join(map(literal_text, names))})"


def _named(names: tuple[str, ...], number: str) -> Rule:
    """The English name of a day or month."""
    listed = _listed(names)

    def rule(call: Call) -> Fragment | None:
        if not has_types(call, DATED):
            return None
        return finite(call, f"element_at({listed}, {number})")

    return rule


def date_diff(call: Call) -> Fragment | None:
    """How many boundaries of a constant unit lie between two dates or timestamps."""
    unit = _NAMES_OF_PARTS.get((text_of(call, 0) or "").lower(), "")
    kind = call.ids()[-1]
    template = _DIFFERENCES.get(unit) or (_DIFFERENCES_OF_TIME.get(unit) if kind in LOCAL else None)
    if template is None or not has_types(call, {"VARCHAR"}, {kind}, {kind}) or kind not in DATED:
        return None
    tests = " AND ".join(FINITE[kind].replace("{0}", place) for place in ("{0}", "{1}"))
    return sql(f"if({tests}, {template}, NULL)", *call.arguments[1:])


def _difference(template: str) -> str:
    """What a template makes of the second date, less what it makes of the first."""
    return f"(({template.format('{1}')}) - ({template.format('{0}')}))"


_DAYS: Final = "CAST(unix_date(CAST({0} AS DATE)) AS BIGINT)"
_DIFFERENCES: Final = {
    "year": _difference("CAST(year({0}) AS BIGINT)"),
    "month": _difference("year({0}) * 12L + month({0})"),
    "day": _difference(_DAYS),
}
_DIFFERENCES_OF_TIME: Final = {
    "hour": _difference(f"{_DAYS} * 24 + hour({{0}})"),
    "minute": _difference(f"{_DAYS} * 1440 + hour({{0}}) * 60 + minute({{0}})"),
}
_DIFFERENCES_OF_TIME["second"] = _difference(
    f"{_DAYS} * 86400 + hour({{0}}) * 3600 + minute({{0}}) * 60 + second({{0}})"
)
_EPOCH: Final = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"
_SECONDS: Final = f"CAST(CAST({{0}} - {_EPOCH} AS INTERVAL SECOND) AS DECIMAL(20,6))"
_MICROS: Final = f"CAST({_SECONDS} * 1000000 AS BIGINT)"


_PIECES: Final = {
    "Y": "if(year({0}) BETWEEN 0 AND 9999, lpad(CAST(year({0}) AS STRING), 4, '0'),"
    " CAST(year({0}) AS STRING))",
    **{
        letter: f"lpad(CAST({name}({{0}}) AS STRING), {width}, '0')"
        for letter, name, width in (
            ("m", "month", 2),
            ("d", "day", 2),
            ("j", "dayofyear", 3),
            ("H", "hour", 2),
            ("M", "minute", 2),
            ("S", "second", 2),
        )
    },
    "B": f"element_at({_listed(_MONTHS)}, month({{0}}))",
    "A": f"element_at({_listed(_DAY_NAMES)}, dayofweek({{0}}))",
    "b": f"left(element_at({_listed(_MONTHS)}, month({{0}})), 3)",
    "a": f"left(element_at({_listed(_DAY_NAMES)}, dayofweek({{0}})), 3)",
    "%": "'%'",
}


def format_date(call: Call) -> Fragment | None:
    """``strftime`` with a constant format of common parts, in any order of the arguments."""
    turned = call.ids()[0] == "VARCHAR"
    pattern = text_of(call, 0 if turned else 1)
    dated = (
        _without_first(call)
        if turned
        else replace(call, arguments=call.arguments[:1], types=call.types[:1], nodes=call.nodes[:1])
    )
    if pattern is None or len(call.arguments) != 2 or not has_types(dated, DATED):
        return None
    parts = _pieces_of(pattern, is_date=dated.ids() == ("DATE",))
    if not parts:
        return None
    infinity = (
        "CASE WHEN {0} > DATE'1970-01-01' THEN 'infinity' WHEN {0} IS NOT NULL THEN '-infinity' END"
    )
    return finite(dated, f"concat({', '.join(parts)})", otherwise=infinity)


def _pieces_of(pattern: str, *, is_date: bool) -> list[str] | None:
    """Spark SQL of each character and part; None for a part that is not known."""
    found: list[str] = []
    rest = iter(pattern)
    for char in rest:
        letter = next(rest, "") if char == "%" else ""
        if char == "%" and letter not in _PIECES:
            return None
        if is_date and letter in ("H", "M", "S") and letter:
            found.append("'00'")
        else:
            text = literal_text(char).replace("{", "{{").replace("}", "}}")
            found.append(_PIECES[letter] if letter else text)
    return found


def _since_1970(of_date: str, of_timestamp: str) -> Rule:
    """A count since 1970 in some unit."""

    def rule(call: Call) -> Fragment | None:
        if not has_types(call, DATED):
            return None
        return finite(call, of_date if call.ids() == ("DATE",) else of_timestamp)

    return rule


def date_of_days(call: Call) -> Fragment | None:
    """``make_date`` of days since 1970."""
    return on("date_from_unix_date({})", {"INTEGER"})(call)


_RULES: Final[Rules] = {
    **{name: part(name) for name in (*_PARTS, *_PARTS_OF_TIME)},
    "dayofmonth": part("day"),
    "weekday": part("dayofweek"),
    "weekofyear": part("week"),
    "date_trunc": date_trunc,
    "date_diff": date_diff,
    "last_day": last_day,
    "dayname": _named(_DAY_NAMES, "dayofweek({0})"),
    "monthname": _named(_MONTHS, "month({0})"),
    "make_date": date_of_days,
    "epoch_us": _since_1970("unix_date({0}) * 86400000000L", _MICROS),
    "epoch_ms": first_of(
        _since_1970("unix_date({0}) * 86400000L", f"({_MICROS} DIV 1000)"),
        on(f"({_EPOCH} + INTERVAL '0.001' SECOND * {{}})", {"BIGINT"}),
    ),
    "strftime": format_date,
}
_NAMED_PARTS: Final = {
    **{name: name for name in (*_PARTS, *_PARTS_OF_TIME) if " " not in name},
    "dayofmonth": "day",
    "weekday": "dayofweek",
    "weekofyear": "week",
}
RULES: Final[Rules] = {
    **{name: in_utc(rule) for name, rule in _RULES.items()},
    **{name: part_in_utc(known) for name, known in _NAMED_PARTS.items()},
    "date_part": date_part,
    # With a time zone DuckDB adds the fraction in another order.
    "epoch": _since_1970("unix_date({0}) * 86400D", f"CAST({_MICROS} AS DOUBLE) / 1000000D"),
}
