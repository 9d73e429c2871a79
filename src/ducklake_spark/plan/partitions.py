"""What the partition values of a file rule out. Pure.

Only values of a spec are used for the files that were written under that very spec. A column's
type may have grown since, which changes neither calendar fields nor order, but does change hashes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from ducklake_spark.errors import InvalidValue
from ducklake_spark.model.civil import days_from_civil
from ducklake_spark.model.literals import format_text, from_python
from ducklake_spark.model.number_text import FLOATS, INTEGERS, unscaled
from ducklake_spark.model.partition import (
    CALENDAR,
    Transform,
    bucket_of,
    calendar_part,
    hash_input,
)
from ducklake_spark.model.predicate import Comparison, In
from ducklake_spark.model.temporal import TIMESTAMPS
from ducklake_spark.model.types import DataType, DecimalType, ScalarType
from ducklake_spark.plan.bounds import Bounds, Condition, exact_bounds

_DAY: Final = 86_400_000_000
_NUMBER: Final = re.compile(r"-?\d{1,9}\Z")


@dataclass(frozen=True, slots=True)
class PartitionKey:
    """One key of a file: the transform of a column and the text it gave."""

    transform: Transform
    value: str | None


def partition_bounds(keys: Sequence[PartitionKey], kind: DataType) -> Iterator[Bounds]:
    """Bounds of a column from the keys over it."""
    for key in keys:
        if key.transform.name == "identity":
            yield exact_bounds(key.value, kind)
        elif key.transform.name == "bucket" and key.value is None:
            yield Bounds(has_values=False)
        elif key.value is not None:
            yield Bounds(has_nulls=False)
    fields = {key.transform.name: key.value for key in keys if key.transform.name in CALENDAR}
    span = _calendar_span(fields, kind)
    if span is not None:
        yield Bounds(span[0], span[1] - 1, has_nulls=False)


def may_have_key(condition: Condition, key: PartitionKey, *, same_type: bool = False) -> bool:
    """Whether a value that an equality asks for can have given the text of the key.

    With `same_type` the column had its present type when the file was written.
    """
    values = _equals(condition)
    if values is None or key.value is None or key.transform.name == "identity":
        return True
    try:
        return any(
            key.value in _texts(value, condition.kind, key.transform, same_type=same_type)
            for value in values
        )
    except InvalidValue:
        return True


def _equals(condition: Condition) -> tuple[Any, ...] | None:
    match condition.leaf:
        case Comparison(_, "=", value):
            return (value,)
        case In(_, values):
            return values
        case _:
            return None


def _texts(value: Any, kind: DataType, transform: Transform, *, same_type: bool) -> set[str]:
    """The texts that a value has under a transform, now or when its column was narrower."""
    if transform.buckets is not None:
        inputs = _hash_inputs(value, kind)  # refuses what cannot be told
        if same_type and isinstance(kind, ScalarType) and kind.name in INTEGERS:
            inputs = {hash_input(int(from_python(value, kind)), kind)}
        return {str(bucket_of(data, transform.buckets)) for data in inputs}
    comparable = from_python(value, kind)  # refuses text in a spelling of its own
    if kind == ScalarType("timestamptz"):
        raise InvalidValue("The fields of a timestamptz are those of the zone of its writer.")
    part = calendar_part(comparable, kind, transform.name)
    return {str(part)}


def _hash_inputs(value: Any, kind: DataType) -> set[bytes]:
    """What may have been hashed for a value: types that a column can have grown out of count."""
    comparable = from_python(value, kind)
    if isinstance(kind, DecimalType):
        return {hash_input(comparable, kind), *_decimal_inputs(comparable, kind.scale)}
    name = kind.name if isinstance(kind, ScalarType) else ""
    if name in FLOATS or name == "timestamptz":
        raise InvalidValue("What was hashed cannot be told: another type, or another time zone.")
    if name in INTEGERS:
        return set(_integer_inputs(int(comparable)))
    if name in TIMESTAMPS:
        return set(_moment_inputs(comparable, 1000 if name == "timestamp_ns" else 1))
    if name == "uuid" and format_text(value, kind) != value:
        raise InvalidValue("A text that is no uuid in its own spelling equals none.")
    return {hash_input(comparable, kind)}


def _integer_inputs(number: int) -> Iterator[bytes]:
    """Signed types hash eight bytes, unsigned and wide ones the text."""
    yield str(number).encode()
    if -(2**63) <= number < 2**63:
        yield hash_input(number, ScalarType("int64"))


def _decimal_inputs(value: int | Decimal, scale: int) -> Iterator[bytes]:
    for digits in range(scale + 1):
        number = unscaled(value, digits)
        if number is not None:
            yield from _integer_inputs(number)
            yield format(Decimal(value), f".{digits}f").encode()


def _moment_inputs(ordinal: int, unit: int) -> Iterator[bytes]:
    """Each type hashes its count of its own unit: days to nanoseconds."""
    for step in (1, unit, 1000 * unit, 1_000_000 * unit, _DAY * unit):
        if ordinal % step == 0:
            yield hash_input(ordinal // step, ScalarType("int64"))


def _calendar_span(fields: dict[str, str | None], kind: DataType) -> tuple[int, int] | None:
    """The first moment of a period and the first one behind it, when its year is known."""
    name = kind.name if isinstance(kind, ScalarType) else ""
    numbers = {part: int(text) for part, text in fields.items() if text and _NUMBER.match(text)}
    if name == "time" and "hour" in numbers:
        return numbers["hour"] * _DAY // 24, (numbers["hour"] + 1) * _DAY // 24
    # The fields of a timestamptz are those of its writer's zone, its years those of an era.
    if "year" not in numbers or (name != "date" and name not in TIMESTAMPS - {"timestamptz"}):
        return None
    first, last = _days(numbers)
    if name == "date":
        return first, last
    start, end = first * _DAY, last * _DAY
    if "hour" in numbers and last - first == 1:
        start += numbers["hour"] * _DAY // 24
        end = start + _DAY // 24
    if name == "timestamp_ns":
        return start * 1000 - 999, end * 1000  # before 1970 the fields are those of a moment later
    return start, end


def _days(numbers: dict[str, int]) -> tuple[int, int]:
    year, month, day = numbers["year"], numbers.get("month"), numbers.get("day")
    if month is None:
        return days_from_civil(year, 1, 1), days_from_civil(year + 1, 1, 1)
    if day is not None:
        first = days_from_civil(year, month, day)
        return first, first + 1
    following = (year + 1, 1) if month == 12 else (year, month + 1)
    return days_from_civil(year, month, 1), days_from_civil(*following, 1)
