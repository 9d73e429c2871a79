"""Bounds of the files of large tables in memory, so that the catalog is not asked to compare them.

Some bytes for each file and column, kept for as long as nobody changes the table. What is left out
here is what `plan.prune` leaves out by the same bounds; it has the last word. Driver.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from ducklake_spark.catalog.bound_lists import BoundLists, load_bound_lists
from ducklake_spark.catalog.plain_files import PlainFiles, PlainGroups
from ducklake_spark.catalog.remembered import Remembered
from ducklake_spark.errors import InvalidValue
from ducklake_spark.limits import limits
from ducklake_spark.model.literals import format_stat, from_python
from ducklake_spark.model.predicate import And, Comparison, In, Or, Predicate
from ducklake_spark.model.types import DataType, DecimalType, ScalarType
from ducklake_spark.plan.bounds import FileStats
from ducklake_spark.plan.totals import EXACT_INTEGERS

_WHOLE, _DAY = "^-?[0-9]+$", "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_NUMBER: Final = "^-?[0-9]+([.][0-9]+)?$"
_MOMENT: Final = "^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?"


@dataclass(frozen=True)
class FileBounds:
    """The statistics of one column, in the order of `ids`; NULL is unknown.

    Bounds are numbers in the comparable form of `model.literals`.
    """

    ids: Any
    low: Any
    high: Any
    values: Any
    nulls: Any

    def stats(self, place: int, kind: DataType) -> FileStats | None:
        """The row of the catalog for the file at a place, if it has one."""
        row = [column[place].as_py() for column in (self.values, self.nulls, self.low, self.high)]
        if all(value is None for value in row):
            return None
        return FileStats(*row[:2], *(format_stat(bound, kind) for bound in row[2:]))


def stats_of(
    bounds: Mapping[int, FileBounds], place: int, kinds: Mapping[int, DataType]
) -> dict[int, FileStats]:
    """What is known of the file at a place, by column."""
    found = {i: each.stats(place, kinds[i]) for i, each in bounds.items()}
    return {i: stats for i, stats in found.items() if stats is not None}


def find_bounds(
    memory: Remembered,
    plain: PlainFiles,
    groups: PlainGroups,
    kinds: Mapping[int, DataType],
) -> dict[int, FileBounds] | None:
    """The bounds of some columns for all plain files, at most by one statement.

    None when a column has bounds that are not comparable as numbers, when there are too many, or
    when something was committed since the files were counted.
    """
    if not kinds or groups.ids is None or groups.files > limits().bounds_files:
        return None
    if not all(_form(kind) for kind in kinds.values()):
        return None
    known: dict[int, Any] = {i: memory.bounds.get((plain.table_id, i)) for i in kinds}
    missing = [i for i, found in known.items() if found is None or found[0] is not groups.ids]
    if missing:
        most = limits().bounds_files
        lists, latest = load_bound_lists(plain.db, plain.table_id, missing, most=most)
        if latest != groups.latest:
            return None
        ids = _to_integers(groups.ids)
        for column_id in missing:
            found = lists.get(column_id)
            made = None if found is None else _to_bounds(ids, found, kinds[column_id])
            known[column_id] = (groups.ids, made)
            memory.bounds.put((plain.table_id, column_id), known[column_id])
    bounds = {i: found[1] for i, found in known.items() if found is not None}
    return bounds if all(bounds.values()) else None


def places_of(
    predicate: Predicate, bounds: Mapping[int, FileBounds], kinds: Mapping[int, DataType]
) -> list[int] | None:
    """The places of the files that may match; None if all may."""
    mask = _may(predicate, bounds, kinds)
    return None if mask is None else pc.indices_nonzero(mask).to_pylist()


def _form(kind: DataType) -> tuple[str, Any] | None:
    """The form of a bound's text, and the Arrow type that it is read as."""
    if isinstance(kind, DecimalType):
        return _NUMBER, pa.decimal128(kind.precision, kind.scale)
    name = kind.name if isinstance(kind, ScalarType) else ""
    if name in EXACT_INTEGERS:
        return _WHOLE, pa.uint64() if name == "uint64" else pa.int64()
    match name:
        case "date":
            return _DAY, pa.date32()
        case "timestamp" | "timestamp_s" | "timestamp_ms":
            return _MOMENT + "$", pa.timestamp("us")
        case "timestamptz":
            return _MOMENT + "[+]00$", pa.timestamp("us", "UTC")
        case _:
            return None


def _to_bounds(ids: Any, lists: BoundLists, kind: DataType) -> FileBounds | None:
    """The lists in the order of `ids`, or None if a bound has another form than its type."""
    try:
        found = _to_integers(lists.ids)
        bounds = [_to_numbers(text, kind) for text in (lists.lows, lists.highs)]
        counts = [_to_integers(text) for text in (lists.values, lists.nulls)]
    except pa.ArrowException:
        return None
    columns = [*bounds, *counts]
    if any(column is None or len(column) != lists.count for column in (found, *columns)):
        return None
    if not found.equals(ids):
        places = pc.index_in(ids, value_set=found)
        columns = [column.take(places) for column in columns]
    return FileBounds(ids, *columns)


def _to_texts(array: str) -> Any:
    """The entries of a list's text; wrong ones if commas, quotes and the like are in them.

    No bound of a form that is looked for here has such characters.
    """
    bare = array[1:-1].replace('"', "").replace(", ", ",")
    if not bare:
        return pa.array([], pa.string())
    texts = pc.split_pattern(pa.array([bare], pa.large_string()), ",").flatten()
    if "null" not in bare:
        return texts
    return pc.if_else(pc.equal(texts, "null"), pa.scalar(None, texts.type), texts)


def _to_integers(array: str) -> Any:
    return pc.cast(_to_texts(array), pa.int64())


def _to_numbers(array: str, kind: DataType) -> Any:
    form = _form(kind)
    if form is None:
        return None
    shape, to = form
    texts = _to_texts(array)
    if not pc.all(pc.match_substring_regex(texts, shape), min_count=0).as_py():
        return None
    numbers = pc.cast(texts, to)
    if pa.types.is_date32(to):
        return numbers.cast(pa.int32()).cast(pa.int64())
    return numbers.cast(pa.int64()) if pa.types.is_timestamp(to) else numbers


def _may(
    predicate: Predicate, bounds: Mapping[int, FileBounds], kinds: Mapping[int, DataType]
) -> Any:
    """Which files may match, as an array of booleans; None where all may."""
    match predicate:
        case And(parts):
            known = [m for part in parts if (m := _may(part, bounds, kinds)) is not None]
            return _joined(known, pc.and_)
        case Or(parts):
            masks = [_may(part, bounds, kinds) for part in parts]
            return None if any(mask is None for mask in masks) else _joined(masks, pc.or_)
        case Comparison(column_id, operator, value):
            return _compare(bounds[column_id], operator, value, kinds[column_id])
        case In(column_id, values) if 0 < len(values) <= limits().values_per_filter:
            masks = [_compare(bounds[column_id], "=", v, kinds[column_id]) for v in values]
            return None if any(mask is None for mask in masks) else _joined(masks, pc.or_)
        case _:
            return None


def _joined(masks: list[Any], word: Any) -> Any:
    found = masks[0] if masks else None
    for mask in masks[1:]:
        found = word(found, mask)
    return found


def _key(value: Any, kind: DataType) -> Any:
    number = from_python(value, kind)
    if isinstance(kind, DecimalType):
        return pa.scalar(Decimal(number))
    if number != int(number):
        raise InvalidValue(f"{number} is no whole number.")
    return pa.scalar(int(number), pa.uint64() if kind == ScalarType("uint64") else pa.int64())


def _compare(bounds: FileBounds, operator: str, value: Any, kind: DataType) -> Any:
    try:
        key = _key(value, kind)
        match operator:
            case "=":
                mask = pc.and_(
                    pc.less_equal(bounds.low, key).fill_null(True),
                    pc.greater_equal(bounds.high, key).fill_null(True),
                )
            case "<":
                mask = pc.less(bounds.low, key)
            case "<=":
                mask = pc.less_equal(bounds.low, key)
            case ">":
                mask = pc.greater(bounds.high, key)
            case ">=":
                mask = pc.greater_equal(bounds.high, key)
            case _:
                return None
    except (InvalidValue, OverflowError, pa.ArrowException):
        return None
    return mask.fill_null(True)
