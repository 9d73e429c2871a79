"""Whatever the rows and the predicate: a file that holds a matching row is kept."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass, replace
from decimal import Decimal

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from ducklake_spark.model.entities import DataFile, PartitionField, PartitionSpec
from ducklake_spark.model.literals import format_stat, format_text, from_python
from ducklake_spark.model.number_text import to_float32
from ducklake_spark.model.partition import partition_value
from ducklake_spark.model.predicate import (
    And,
    Comparison,
    Constant,
    In,
    IsNull,
    Or,
    StartsWith,
    Unknown,
)
from ducklake_spark.model.types import DecimalType, ScalarType
from ducklake_spark.plan.prune import FileStats, prune

UTC = dt.timezone.utc
DAYS = st.integers(-3, 400).map(lambda d: dt.date(2023, 12, 30) + dt.timedelta(days=d))
MOMENTS = st.builds(
    lambda day, second, micro: dt.datetime.combine(day, dt.time()) + dt.timedelta(0, second, micro),
    DAYS,
    st.integers(0, 86_399),
    st.sampled_from([0, 1, 500_000]),
)
LONG = st.builds(
    lambda c, n, tail: c * n + tail,
    st.sampled_from("abé"),
    st.integers(200, 300),
    st.text("abc", max_size=2),
)
FLOATS = st.sampled_from([0.0, -0.0, 1.5, -1.5, 0.1, 1e300, math.inf, -math.inf, math.nan])
DOMAINS = {
    ScalarType("boolean"): st.booleans(),
    ScalarType("int32"): st.integers(-5, 5),
    ScalarType("uint64"): st.integers(0, 5).map(Decimal),
    ScalarType("int128"): st.sampled_from([-(10**30), 0, 10**30]).map(Decimal),
    ScalarType("float64"): FLOATS,
    ScalarType("float32"): FLOATS.map(to_float32),
    DecimalType(9, 2): st.integers(-500, 500).map(lambda n: Decimal(n) / 100),
    DecimalType(30, 2): st.integers(-500, 500).map(lambda n: Decimal(n) / 100),
    ScalarType("date"): DAYS,
    ScalarType("timestamp"): MOMENTS,
    ScalarType("timestamp_s"): MOMENTS.map(lambda m: m.replace(microsecond=0)),
    ScalarType("timestamptz"): MOMENTS.map(lambda m: m.replace(tzinfo=UTC)),
    ScalarType("timestamp_ns"): MOMENTS.map(lambda m: format_text(m, ScalarType("timestamp_ns"))),
    ScalarType("time"): MOMENTS.map(dt.datetime.time),
    ScalarType("varchar"): st.text("abé\U0001f600", max_size=3) | LONG,
    ScalarType("uuid"): st.uuids().map(str),
    ScalarType("blob"): st.binary(max_size=2),
    ScalarType("interval"): st.sampled_from(["1 month", "2 days"]),
}
CALENDAR_KINDS = {
    k
    for k in DOMAINS
    if k
    in (
        ScalarType("date"),
        *map(ScalarType, ("timestamp", "timestamp_s", "timestamptz", "timestamp_ns")),
    )
}
COLUMNS = (1, 2)


@dataclass(frozen=True)
class Case:
    kinds: dict
    files: dict  # file id -> rows
    stats: dict
    specs: dict  # file id -> the spec that it was written under
    partition_values: dict
    predicate: object


def key(value, kind):
    comparable = from_python(value, kind) if kind != ScalarType("interval") else value
    return (
        (math.isnan(comparable), 0 if math.isnan(comparable) else comparable)
        if isinstance(comparable, float)
        else comparable
    )


COMPARE = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def holds(predicate, row, kinds):
    """True, False or None: SQL's logic, written as plainly as possible."""
    match predicate:
        case Comparison(c, operator, value):
            return (
                None
                if row[c] is None
                else COMPARE[operator](key(row[c], kinds[c]), key(value, kinds[c]))
            )
        case In(c, values):
            return (
                None
                if row[c] is None
                else any(key(row[c], kinds[c]) == key(v, kinds[c]) for v in values)
            )
        case StartsWith(c, prefix):
            return None if row[c] is None else str(row[c]).startswith(prefix)
        case IsNull(c, negated):
            return (row[c] is None) != negated
        case And(parts):
            found = [holds(p, row, kinds) for p in parts]
            return False if False in found else None if None in found else True
        case Or(parts):
            found = [holds(p, row, kinds) for p in parts]
            return True if True in found else None if None in found else False
        case Constant(value):
            return value
        case Unknown():
            return True


@st.composite
def predicates(draw, kinds, depth=2):
    shape = draw(st.sampled_from(["leaf", "leaf", "and", "or"] if depth else ["leaf"]))
    if shape != "leaf":
        parts = tuple(draw(st.lists(predicates(kinds, depth - 1), max_size=3)))
        return And(parts) if shape == "and" else Or(parts)
    column = draw(st.sampled_from(COLUMNS))
    values = DOMAINS[kinds[column]]
    what = draw(st.sampled_from(["compare"] * 5 + ["in", "null", "start", "constant", "unknown"]))
    match what:
        case "compare":
            return Comparison(column, draw(st.sampled_from(list(COMPARE))), draw(values))
        case "in":
            return In(column, tuple(draw(st.lists(values, max_size=3))))
        case "null":
            return IsNull(column, draw(st.booleans()))
        case "start" if kinds[column] == ScalarType("varchar"):
            return StartsWith(column, draw(st.text("abé", max_size=2)))
        case "constant":
            return Constant(draw(st.booleans()))
        case _:
            return Unknown()


def stats_of(values, kind, draw) -> FileStats:
    """Statistics as some writer would leave them: ours, the extension's, or with parts unknown."""
    known = [v for v in values if v is not None]
    has_nan = any(isinstance(v, float) and math.isnan(v) for v in known)
    floats = kind in (ScalarType("float32"), ScalarType("float64"))
    ordered = [] if has_nan else sorted(known, key=lambda v: key(v, kind))
    low = format_stat(ordered[0], kind, bound="min") if ordered else None
    high = format_stat(ordered[-1], kind, bound="max") if ordered else None
    if ordered and kind == ScalarType("varchar") and draw(st.booleans()):
        low, high = (cut(ordered[0]), cut(ordered[-1]))
    stats = FileStats(len(known), len(values) - len(known), low, high, has_nan if floats else None)
    if kind == ScalarType("interval"):
        stats = replace(stats, value_count=0, null_count=0)  # as the extension does
    unknown = draw(
        st.sets(
            st.sampled_from(
                ["value_count", "null_count", "min_value", "max_value", "contains_nan"]
            ),
            max_size=2,
        )
    )
    return replace(stats, **dict.fromkeys(unknown))


def cut(text):
    """The extension's plain cut at 256 bytes, which it does not make inside of a character."""
    raw = text.encode()
    return text if len(raw) <= 256 else raw[:256].decode() if raw.isascii() else None


@st.composite
def cases(draw):
    kinds = {c: draw(st.sampled_from(list(DOMAINS))) for c in COLUMNS}
    values, specs = {}, {}
    fields = st.lists(
        st.sampled_from(COLUMNS).flatmap(lambda c: transforms(c, kinds[c])), min_size=1, max_size=3
    )
    known = [None, *(PartitionSpec(9 + i, tuple(draw(fields))) for i in range(2))]
    rows = st.fixed_dictionaries({c: st.none() | DOMAINS[kinds[c]] for c in COLUMNS})
    files, stats = {}, {}
    for file_id in range(draw(st.integers(1, 4))):
        content = draw(st.lists(rows, min_size=1, max_size=4))
        spec = draw(st.sampled_from(known))
        if spec is not None:
            specs[file_id] = spec
            values[file_id] = keys_of(content[0], spec, kinds)
            content = [row for row in content if keys_of(row, spec, kinds) == values[file_id]]
        files[file_id] = content
        stats[file_id] = {
            c: stats_of([row[c] for row in content], kinds[c], draw)
            for c in COLUMNS
            if draw(st.integers(0, 5))
        }
    return Case(kinds, files, stats, specs, values, draw(predicates(kinds)))


def transforms(column, kind):
    names = ["identity", "bucket(3)"]
    if kind in CALENDAR_KINDS:
        names += ["year", "month", "day", "hour"]
    return st.sampled_from([PartitionField(column, name) for name in names])


def keys_of(row, spec, kinds):
    return tuple(
        partition_value(row[f.column_id], kinds[f.column_id], f.transform) for f in spec.fields
    )


def a_file(file_id, rows, spec):
    return DataFile(
        file_id,
        f"{file_id}.parquet",
        len(rows),
        1,
        None,
        0,
        1,
        partition_id=spec.partition_id if spec else None,
    )


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases())
def test_a_file_with_a_matching_row_is_never_excluded(case):
    files = [a_file(file_id, rows, case.specs.get(file_id)) for file_id, rows in case.files.items()]
    result = prune(
        files,
        case.predicate,
        case.kinds,
        case.stats,
        specs={spec.partition_id: spec for spec in case.specs.values()},
        partition_values=case.partition_values,
        same_types=True,
    )
    kept = {file.data_file_id for file in result.kept}
    for file_id, rows in case.files.items():
        if any(holds(case.predicate, row, case.kinds) for row in rows):
            assert file_id in kept
    assert len(kept) + sum(result.excluded.values()) == len(files)
    for reason in result.excluded:
        event(reason)
