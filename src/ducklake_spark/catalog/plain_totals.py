"""Totals of columns over the plain files of a large table, by the metadata database. Driver.

The least text of many is the least value only if all of them have one form whose order is that of
the values. That is so for whole numbers, which databases hold without rounding, and for days and
moments of four-digit years: what begins a fraction of a second, or an offset of zero, sorts as it
should. One text of another form, and the files have to be read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ducklake_spark.catalog.exclude import text_forms
from ducklake_spark.catalog.plain_files import PlainFiles, PlainGroups
from ducklake_spark.catalog_db.statements import Statement
from ducklake_spark.model.literals import parse_stat
from ducklake_spark.model.types import DataType, ScalarType
from ducklake_spark.plan.totals import EXACT_INTEGERS, ColumnTotals


@dataclass(frozen=True, slots=True)
class _Ordered:
    """Whether a text ``{0}`` has a form, and what of it has the order of the values."""

    form: str
    key: str


_WHOLE: Final = {
    "sqlite": _Ordered("CAST(CAST({0} AS INTEGER) AS TEXT) = {0}", "CAST({0} AS INTEGER)"),
    "duckdb": _Ordered("regexp_full_match({0}, '-?[0-9]{1,30}')", "TRY_CAST({0} AS HUGEINT)"),
    "postgres": _Ordered("{0} ~ '^-?[0-9]+$' AND length({0}) < 30", "CAST({0} AS NUMERIC)"),
}


def load_plain_totals(
    plain: PlainFiles,
    groups: PlainGroups,
    kinds: Mapping[int, DataType],
    asked: Mapping[int, bool],
) -> dict[int, ColumnTotals] | None:
    """The totals of columns by one statement; None when the database cannot tell them.

    Args:
        plain: the files.
        groups: how many there were when they were counted. If anything was committed since,
            nothing is told.
        kinds: the types of the columns, by id.
        asked: the columns, and whether their bounds are wanted.
    """
    queries = []
    for column_id, bounded in asked.items():
        ordered = _ordered(plain, kinds[column_id]) if bounded else None
        if bounded and ordered is None:
            return None
        queries.append(_query(plain, column_id, ordered))
    if not queries:
        return {}
    rows = plain.db.fetch(
        " UNION ALL ".join(query.sql for query in queries),
        tuple(value for query in queries for value in query.params),
    )
    totals: dict[int, ColumnTotals] = {}
    for column_id, latest, *row in rows:
        found = _read(row, groups.files, kinds[column_id], bounded=asked[column_id])
        if found is None or latest != groups.latest:
            return None
        totals[column_id] = found
    return totals


def _ordered(plain: PlainFiles, kind: DataType) -> _Ordered | None:
    forms = text_forms(plain.db)
    if forms is None or not isinstance(kind, ScalarType):
        return None
    if kind.name in EXACT_INTEGERS:
        return _WHOLE[plain.db.kind]
    form = {
        "date": forms.day,
        "timestamp": forms.moment,
        "timestamp_s": forms.moment,
        "timestamp_ms": forms.moment,
        "timestamptz": forms.utc,
    }.get(kind.name)
    return None if form is None else _Ordered(form, "{0}" + forms.bytewise)


def _query(plain: PlainFiles, column_id: int, ordered: _Ordered | None) -> Statement:
    """Its columns: the id, the newest snapshot, files, those counted, values, those with bounds."""
    source, which = plain.source(column_id), plain.condition()
    snapshots = plain.db.table("ducklake_snapshot")
    bounds = "0, NULL, NULL"
    if ordered is not None:
        low, high = ("(" + _of(ordered.form, f"s.{name}") + ")" for name in _BOUNDS)
        least, greatest = (
            f"CASE WHEN s.value_count > 0 AND {form} THEN {_of(ordered.key, f's.{name}')} END"
            for form, name in zip((low, high), _BOUNDS, strict=True)
        )
        bounds = (
            f"count(CASE WHEN s.value_count = 0 OR ({low} AND {high}) THEN 1 END), "
            f"CAST(min({least}) AS VARCHAR), CAST(max({greatest}) AS VARCHAR)"
        )
    counted = "s.value_count >= 0 AND s.null_count >= 0 AND s.value_count + s.null_count"
    return Statement(
        f"SELECT {int(column_id)}, (SELECT max(snapshot_id) FROM {snapshots}), count(*), "
        f"count(CASE WHEN {counted} = d.record_count THEN 1 END), sum(s.value_count), "
        f"{bounds} {source.sql} AND {which.sql}",
        (*source.params, *which.params),
    )


_BOUNDS: Final = ("min_value", "max_value")


def _of(form: str, column: str) -> str:
    return form.replace("{0}", column)  # patterns have braces of their own


def _read(row: Sequence[Any], files: int, kind: DataType, *, bounded: bool) -> ColumnTotals | None:
    found, counted, values, with_bounds, low_text, high_text = row
    if found != files or counted != files:
        return None
    if not bounded or not values:
        return ColumnTotals(int(values or 0))
    low, high = parse_stat(low_text, kind), parse_stat(high_text, kind)
    if with_bounds != files or low is None or high is None:
        return None
    return ColumnTotals(int(values), low, high)
