"""Functions on dates and moments."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from ducklake_spark.errors import NotSupported
from ducklake_spark.sql.rewrite_casts import INTEGERS, DType, known_type
from ducklake_spark.sql.trees import call, cast, number, text

_EPOCH = "1970-01-01 00:00:00"


def _minus(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.Paren(this=exp.Sub(this=left, expression=right))


def _times(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.Paren(this=exp.Mul(this=left, expression=right))


def _stamp(value: exp.Expr) -> exp.Expr:
    return cast(value, "TIMESTAMP")


def _day_of_week(value: exp.Expr) -> exp.Expr:
    """Sunday is 0 in DuckDB and 1 in Spark."""
    return _minus(call("dayofweek", value), number(1))


def _iso_day_of_week(value: exp.Expr) -> exp.Expr:
    """Monday is 1."""
    return exp.Paren(this=exp.Add(this=call("weekday", value), expression=number(1)))


def _fraction(value: exp.Expr, scale: int) -> exp.Expr:
    seconds = exp.Extract(this=exp.var("SECOND"), expression=_stamp(value))
    return cast(_times(seconds, number(scale)), "BIGINT")


def _century(value: exp.Expr) -> exp.Expr:
    return cast(call("ceil", exp.Div(this=call("year", value), expression=number(100))), "BIGINT")


_PARTS: dict[str, Callable[[exp.Expr], exp.Expr]] = {
    "year": lambda x: call("year", x),
    "quarter": lambda x: call("quarter", x),
    "month": lambda x: call("month", x),
    "week": lambda x: call("weekofyear", x),
    "day": lambda x: call("day", x),
    "doy": lambda x: call("dayofyear", x),
    "dow": _day_of_week,
    "isodow": _iso_day_of_week,
    "hour": lambda x: call("hour", x),
    "minute": lambda x: call("minute", x),
    "second": lambda x: call("second", x),
    "milliseconds": lambda x: _fraction(x, 1_000),
    "microseconds": lambda x: _fraction(x, 1_000_000),
    "epoch": lambda x: _epoch(x),  # noqa: PLW0108 - defined below
    "century": _century,
    "isoyear": lambda x: exp.Extract(this=exp.var("YEAROFWEEK"), expression=x),
}

_PART_NAMES = {
    "years": "year", "y": "year", "yr": "year", "yrs": "year",
    "quarters": "quarter", "months": "month", "mon": "month", "mons": "month",
    "weeks": "week", "w": "week", "weekofyear": "week",
    "days": "day", "d": "day", "dayofmonth": "day", "dayofyear": "doy",
    "dayofweek": "dow", "weekday": "dow",
    "hours": "hour", "h": "hour", "hr": "hour", "minutes": "minute", "m": "minute", "min": "minute",
    "seconds": "second", "s": "second", "sec": "second",
    "millisecond": "milliseconds", "ms": "milliseconds", "msec": "milliseconds",
    "microsecond": "microseconds", "us": "microseconds", "usec": "microseconds",
}  # fmt: skip


def part(name: exp.Expr, value: exp.Expr) -> exp.Expr:
    """``date_part('name', value)`` and ``extract(name FROM value)``."""
    word = str(name.name).lower()
    rewrite = _PARTS.get(_PART_NAMES.get(word, word))
    if rewrite is None or (isinstance(name, exp.Column)):
        raise NotSupported(f"The date part {word!r} is not supported.")
    if word in ("hour", "minute", "second", "hours", "minutes", "seconds") and _is_date(value):
        value = _stamp(value)
    return rewrite(value)


def _is_date(tree: exp.Expr) -> bool:
    return known_type(tree) is DType.DATE


def _micros(value: exp.Expr) -> exp.Expr:
    """Microseconds since 1970; a moment without a zone counts as UTC, whatever the session's is."""
    with_zone = call("unix_micros", cast(value.copy(), "TIMESTAMPTZ"))
    plain = call(
        "timestampdiff", exp.var("MICROSECOND"), _stamp(text(_EPOCH)), _stamp(value.copy())
    )
    kind = known_type(value)
    if kind is DType.TIMESTAMPTZ:
        return with_zone
    if kind is not None:
        return plain
    is_with_zone = exp.EQ(this=call("typeof", value), expression=text("timestamp"))
    return exp.If(this=is_with_zone, true=with_zone, false=plain)


def _epoch(value: exp.Expr) -> exp.Expr:
    micros = cast(_micros(value), "DOUBLE")
    return exp.Paren(this=exp.Div(this=micros, expression=exp.Literal.number("1000000.0D")))


def _from_unix(tree: exp.Expr) -> exp.Expr | None:
    """epoch_ms(x) both ways: of a moment, and of a number; to_timestamp(x) stays."""
    scale = tree.args.get("scale")
    if scale is None or str(scale.this) != "3":
        return None
    if known_type(tree.this) in INTEGERS:
        return call("timestampadd", exp.var("MILLISECOND"), tree.this, _stamp(text(_EPOCH)))
    return _whole(_micros(tree.this), 1_000)


def _whole(micros: exp.Expr, scale: int) -> exp.Expr:
    return exp.Paren(this=exp.IntDiv(this=micros, expression=number(scale)))


def _trunc(tree: exp.Expr) -> exp.Expr | None:
    """A date becomes a moment in DuckDB; only a moment known to have a zone keeps it."""
    unit = tree.args.get("unit")
    word = str(unit.name if unit is not None else "").upper()
    if not word or isinstance(unit, exp.Column):
        raise NotSupported("date_trunc() needs a unit that is written out.")
    value = tree.this
    kind = known_type(value)
    if kind is DType.TIMESTAMPTZ:
        return call("date_trunc", text(word), value)
    return _stamp(call("date_trunc", text(word), value))


def _difference(tree: exp.Expr) -> exp.Expr | None:
    """``date_diff(unit, a, b)``: how many borders of the unit lie between."""
    unit = tree.args.get("unit")
    return boundaries(unit if unit is not None else exp.var("DAY"), tree.expression, tree.this)


def boundaries(unit: exp.Expr, start: exp.Expr, end: exp.Expr) -> exp.Expr:
    """The number of borders of `unit` from `start` to `end`."""
    word = str(unit.name).lower()
    word = _PART_NAMES.get(word, word)
    if word in ("year", "quarter", "month"):
        return cast(_minus(_months(word, end), _months(word, start)), "BIGINT")
    days = call("datediff", end.copy(), start.copy())
    if word == "day":
        return cast(days, "BIGINT")
    if word == "week":
        return exp.Paren(this=exp.IntDiv(this=days, expression=number(7)))
    if word in ("hour", "minute", "second"):
        both = [call("date_trunc", text(word.upper()), _stamp(x)) for x in (start, end)]
        return call("timestampdiff", exp.var(word.upper()), *both)
    if word in ("milliseconds", "microseconds"):
        name = word[:-1].upper()
        return call("timestampdiff", exp.var(name), _stamp(start), _stamp(end))
    raise NotSupported(f"date_diff() with the unit {word!r} is not supported.")


def _months(word: str, value: exp.Expr) -> exp.Expr:
    year = call("year", value)
    if word == "year":
        return year
    many, name = (4, "quarter") if word == "quarter" else (12, "month")
    return exp.Paren(
        this=exp.Add(this=_times(year, number(many)), expression=call(name, value.copy()))
    )


def _complete(unit: exp.Expr, start: exp.Expr, end: exp.Expr) -> exp.Expr:
    """``date_sub(unit, a, b)``: how many whole units lie between."""
    word = str(unit.name).lower()
    word = _PART_NAMES.get(word, word).upper().removesuffix("S")
    return call("timestampdiff", exp.var(word), _stamp(start), _stamp(end))


def _now(*_: exp.Expr) -> exp.Expr:
    return call("current_timestamp")


def _days_function(unit: str) -> Callable[[exp.Expr], exp.Expr]:
    def rewrite(amount: exp.Expr) -> exp.Expr:
        one = exp.Interval(this=text("1"), unit=exp.var(unit))
        return _times(exp.Paren(this=amount), one)

    return rewrite


BY_KIND: dict[type[exp.Expr], Callable[[exp.Expr], exp.Expr | None]] = {
    exp.DayOfWeek: lambda tree: _day_of_week(tree.this),
    exp.DayOfWeekIso: lambda tree: _iso_day_of_week(tree.this),
    exp.Week: lambda tree: call("weekofyear", tree.this),
    exp.WeekOfYear: lambda tree: call("weekofyear", tree.this),
    exp.Extract: lambda tree: part(tree.this, tree.expression),
    exp.TimeToUnix: lambda tree: _epoch(tree.this),
    exp.UnixToTime: _from_unix,
    exp.TimestampTrunc: _trunc,
    exp.DateTrunc: _trunc,
    exp.DateDiff: _difference,
    exp.Monthname: lambda tree: call("date_format", tree.this, text("MMMM")),
    exp.Dayname: lambda tree: call("date_format", tree.this, text("EEEE")),
    exp.ToDays: lambda tree: _days_function("DAY")(tree.this),
}

BY_NAME: dict[str, Callable[..., exp.Expr]] = {
    "date_part": part,
    "datepart": part,
    "weekday": _day_of_week,
    "isoyear": lambda x: exp.Extract(this=exp.var("YEAROFWEEK"), expression=x),
    "epoch_us": _micros,
    "epoch_ns": lambda x: _times(_micros(x), number(1000)),
    "century": _century,
    "date_sub": _complete,
    "datesub": _complete,
    "now": _now,
    "get_current_timestamp": _now,
    "transaction_timestamp": _now,
    "to_years": _days_function("YEAR"),
    "to_months": _days_function("MONTH"),
    "to_weeks": _days_function("WEEK"),
    "to_hours": _days_function("HOUR"),
    "to_minutes": _days_function("MINUTE"),
    "to_seconds": _days_function("SECOND"),
}
