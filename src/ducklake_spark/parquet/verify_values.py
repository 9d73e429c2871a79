"""Hold the values of a file against its statistics and partition values. Task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from ducklake_spark.errors import DuckLakeError
from ducklake_spark.model.bound_text import is_float, lower_bound, upper_bound
from ducklake_spark.model.findings import LeafClaim, PartitionClaim
from ducklake_spark.model.number_text import INTEGERS
from ducklake_spark.model.partition import CALENDAR, partition_value
from ducklake_spark.model.types import DataType, DecimalType, ScalarType, parse_type
from ducklake_spark.parquet.decode import field_id
from ducklake_spark.parquet.statistics import child_slots
from ducklake_spark.plan.bounds import has_order

# The extension keeps no counts of these.
_UNCOUNTED: Final = frozenset({"timetz", "interval", "variant", "geometry"})
_MICROS: Final = {"s": 1_000_000, "ms": 1000, "us": 1}


@dataclass(frozen=True, slots=True)
class Node:
    """A field of a file, at any depth, and the way to it."""

    number: int | None  # its field id
    names: tuple[str, ...]
    index: int  # of the column
    steps: tuple[int, ...]  # which child to take, level by level
    top_id: int | None


@dataclass(frozen=True)
class Nodes:
    """The fields of a file, found by id or by name."""

    every: tuple[Node, ...]
    by_name: bool

    def find(self, column_id: int, source: tuple[str, ...]) -> Node | None:
        """The field of a column."""
        if not self.by_name:
            return next((node for node in self.every if node.number == column_id), None)
        wanted = tuple(name.lower() for name in source)
        return next((n for n in self.every if tuple(map(str.lower, n.names)) == wanted), None)


def find_nodes(fields: list[Any], *, by_name: bool) -> Nodes:
    """All fields of a file."""
    nodes: list[Node] = []

    def walk(field: Any, names: tuple[str, ...], index: int, steps: tuple[int, ...]) -> None:
        number = field_id(field)
        top = nodes_top if steps else number
        nodes.append(Node(number, names, index, steps, top))
        for step, child in enumerate(_children(field.type)):
            walk(child, (*names, child.name), index, (*steps, step))

    for index, field in enumerate(fields):
        nodes_top = field_id(field)
        walk(field, (field.name,), index, ())
    return Nodes(tuple(nodes), by_name)


def _children(kind: Any) -> list[Any]:
    if pa.types.is_struct(kind):
        return [kind.field(i) for i in range(kind.num_fields)]
    if pa.types.is_map(kind):
        return [kind.key_field, kind.item_field]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [kind.value_field]
    return []


def _values(batch: Any, node: Node) -> Any:
    values = batch.column(node.index)
    for step in node.steps:
        values = child_slots(values, step)
    if isinstance(values.type, pa.BaseExtensionType):
        values = values.storage
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


class LeafCheck:
    """Collects the counts and bounds of one leaf, and compares them with what is claimed."""

    def __init__(self, claim: LeafClaim, nodes: Nodes) -> None:
        self.claim = claim
        self.kind = parse_type(claim.type_name)
        self.node = nodes.find(claim.column_id, claim.source)
        self.missing = nodes.by_name and bool(claim.source) and self.node is None
        self.values = self.nulls = 0
        self.has_nan = False
        self.low: Any = None
        self.high: Any = None

    def add(self, batch: Any) -> None:
        """Take in the rows of a batch."""
        if self.node is None:
            return
        values = _values(batch, self.node)
        self.values += len(values) - values.null_count
        self.nulls += values.null_count
        if pa.types.is_floating(values.type):
            nan = pc.fill_null(pc.is_nan(values), False)
            self.has_nan = self.has_nan or bool(pc.any(nan).as_py())
            values = values.filter(pc.invert(nan))
        to_value = _reader(values.type, self.kind)
        if to_value is None or not has_order(self.kind):
            return
        ends = pc.min_max(_as_integers(values)).as_py()
        if ends["min"] is not None:
            low, high = to_value(ends["min"]), to_value(ends["max"])
            self.low = low if self.low is None else min(self.low, low)
            self.high = high if self.high is None else max(self.high, high)

    def problems(self, *, live: bool) -> Iterator[tuple[str, str]]:
        """Names of checks, and what is wrong."""
        claim, name = self.claim, f'column "{self.claim.name}"'
        if self.missing:
            yield "name-mapping", f"{name} should be {'.'.join(claim.source)}, which it lacks."
        if self.node is None:
            return
        yield from self._count_problems(name)
        if is_float(self.kind) and self.has_nan and claim.contains_nan is False:
            yield "statistics", f"{name} holds NaN, and the statistics deny it."
        yield from self._outside(name, "the file", claim.low, claim.high, self.kind)
        if live and self._same_order():
            kind = parse_type(claim.current_type)
            if not is_float(kind) or claim.table_contains_nan is False:
                low, high = claim.table_low, claim.table_high
                yield from self._outside(name, "the table", low, high, kind)

    def _count_problems(self, name: str) -> Iterator[tuple[str, str]]:
        claim = self.claim
        if claim.nested or claim.type_name.lower() in _UNCOUNTED:
            return
        for what, found, said in (
            ("values", self.values, claim.value_count),
            ("NULLs", self.nulls, claim.null_count),
        ):
            if said is not None and found != said:
                yield "statistics", f"{name} has {found} {what}, the statistics say {said}."
        if self.nulls and claim.table_contains_null is False:
            yield "table-statistics", f"{name} has NULLs, the statistics of the table deny it."

    def _same_order(self) -> bool:
        old, new = self.claim.type_name.lower(), self.claim.current_type.lower()
        return bool(new) and (old == new or (old in INTEGERS and new in INTEGERS))

    def _outside(
        self, name: str, whose: str, low: str | None, high: str | None, kind: DataType
    ) -> Iterator[tuple[str, str]]:
        check = "statistics" if whose == "the file" else "table-statistics"
        if self.low is None:
            return
        least, greatest = lower_bound(low, kind), upper_bound(high, kind)
        if least is not None and self.low < least:
            yield (
                check,
                f"{name} has a value below {low!r}, the least by the statistics of {whose}.",
            )
        if greatest is not None and self.high > greatest:
            yield (
                check,
                (f"{name} has a value above {high!r}, the greatest by the statistics of {whose}."),
            )


class PartitionCheck:
    """Whether all rows of a file have the partition value that is claimed."""

    def __init__(self, claim: PartitionClaim, nodes: Nodes) -> None:
        self.claim = claim
        self.kind = parse_type(claim.type_name)
        self.node = None if nodes.by_name else nodes.find(claim.column_id, ())
        self.wrong: str | None = None
        # These fields are those of the writer's time zone, which nothing records.
        zoned = claim.type_name.lower() == "timestamptz" and claim.transform.lower() in CALENDAR
        if zoned:
            self.node = None

    def add(self, batch: Any) -> None:
        """Take in the rows of a batch."""
        if self.node is None or self.wrong is not None:
            return
        values = _values(batch, self.node)
        to_value = _reader(values.type, self.kind)
        if to_value is None:
            return
        for value in pc.unique(_as_integers(values)).to_pylist():
            try:
                carrier = None if value is None else to_value(value)
                text = partition_value(carrier, self.kind, self.claim.transform)
            except DuckLakeError:
                continue
            if not self._is_claimed(text):
                self.wrong = "NULL" if text is None else repr(text)
                return

    def _is_claimed(self, text: str | None) -> bool:
        """Whether it is the value of the catalog; -0.0 and 0.0 are one value and one partition."""
        if text == self.claim.value:
            return True
        return is_float(self.kind) and {text, self.claim.value} == {"0.0", "-0.0"}

    def problems(self, *, live: bool) -> Iterator[tuple[str, str]]:
        """Names of checks, and what is wrong."""
        if self.wrong is not None:
            said = "NULL" if self.claim.value is None else repr(self.claim.value)
            what = f'{self.claim.transform} of column "{self.claim.name}"'
            yield "partition-values", f"{what} is {self.wrong} in a row, {said} in the catalog."


def _as_integers(values: Any) -> Any:
    """Moments as their numbers: Python's own end at the year 9999."""
    kind = values.type
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return values.cast(pa.int32())
    if pa.types.is_timestamp(kind) or pa.types.is_time64(kind):
        return values.cast(pa.int64())
    return values


def _reader(stored: Any, kind: DataType) -> Callable[[Any], Any] | None:
    """From what a file holds to the comparable form of `model.literals`; None: not compared."""
    if isinstance(kind, DecimalType):
        return _as_it_is if pa.types.is_decimal(stored) else None
    name = kind.name if isinstance(kind, ScalarType) else ""
    if pa.types.is_timestamp(stored):
        return _moment_reader(stored.unit, name)
    if name == "uuid":
        return _uuid_text if pa.types.is_fixed_size_binary(stored) else None
    if name in ("varchar", "json"):
        return _as_it_is if pa.types.is_string(stored) or pa.types.is_large_string(stored) else None
    fits = _FITTING.get(name)
    if name in INTEGERS:
        fits = pa.types.is_integer
    if name == "time":
        return _time_reader(stored) if pa.types.is_time64(stored) else None
    return _as_it_is if fits is not None and fits(stored) else None


_FITTING: Final[dict[str, Callable[[Any], bool]]] = {
    "boolean": pa.types.is_boolean,
    "date": pa.types.is_date32,
    "float32": pa.types.is_float32,
    "float64": pa.types.is_float64,
}


def _moment_reader(unit: str, name: str) -> Callable[[Any], Any] | None:
    if not name.startswith("timestamp"):
        return None
    if name == "timestamp_ns":
        return {"ns": _as_it_is, "us": lambda n: n * 1000}.get(unit)
    step = _MICROS.get(unit)
    return None if step is None else lambda n: n * step


def _time_reader(stored: Any) -> Callable[[Any], Any]:
    return _as_it_is if stored.unit == "us" else lambda n: n // 1000


def _as_it_is(value: Any) -> Any:
    return value


def _uuid_text(value: bytes) -> str:
    digits = value.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
