"""Arrow arrays as they come from a file to arrays of the carrier types.

Runs in tasks. What a file holds is seen from the file: the same column may be DOUBLE or DECIMAL,
TIME or text, depending on who wrote it and when.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from ducklake_spark.errors import CorruptDataFile, NotSupported
from ducklake_spark.model import intervals, temporal
from ducklake_spark.model.literals import parse_text
from ducklake_spark.model.schema import Column

_FIELD_ID: Final = b"PARQUET:field_id"


class Decoder:
    """Turns arrays of one branch's files into carriers.

    Args:
        by_name: fields of structs are found by the names in `stored`, and not by field id.
        time_zone: the session's, in which a timestamp becomes a timestamptz.
    """

    def __init__(self, *, by_name: bool, time_zone: str) -> None:
        self.by_name = by_name
        self.time_zone = time_zone

    def find(self, fields: list[Any], stored: Column) -> int | None:
        """The index of the field that holds `stored`, or None."""
        for index, field in enumerate(fields):
            if self.by_name:
                if field.name.lower() == stored.name.lower():
                    return index
            elif field_id(field) == stored.column_id:
                return index
        return None

    def decode(self, array: Any, stored: Column, column: Column, target: Any) -> Any:
        """The carrier, of Arrow type `target`, of `column` from the array found for `stored`."""
        if isinstance(array.type, pa.BaseExtensionType):
            array = array.storage
        match column.type_name.lower():
            case "list":
                return self._list(array, stored, column, target)
            case "map":
                return self._map(array, stored, column, target)
            case "struct":
                return self._struct(array, stored, column, target)
            case name:
                decoded = self._scalar(array, name)
        return decoded if decoded.type == target else _cast(decoded, target)

    def _list(self, array: Any, stored: Column, column: Column, target: Any) -> Any:
        _expect(pa.types.is_list(array.type), array, column)
        array = _compact(array)
        element = self.decode(
            array.values, stored.children[0], column.children[0], target.value_type
        )
        return _rewrap(target, array, 2, [element])

    def _map(self, array: Any, stored: Column, column: Column, target: Any) -> Any:
        _expect(pa.types.is_map(array.type), array, column)
        array = _compact(array)
        (old_key, old_item), (key, item) = stored.children, column.children
        parts = [
            self.decode(array.keys, old_key, key, target.key_type),
            self.decode(array.items, old_item, item, target.item_type),
        ]
        entries = pa.StructArray.from_arrays(parts, fields=[target.key_field, target.item_field])
        return _rewrap(target, array, 2, [entries])

    def _struct(self, array: Any, stored: Column, column: Column, target: Any) -> Any:
        _expect(pa.types.is_struct(array.type), array, column)
        array = _compact(array)
        found = [array.type.field(i) for i in range(array.type.num_fields)]
        values = array.flatten()
        old = {child.column_id: child for child in stored.children}
        parts = []
        for index, child in enumerate(column.children):
            kind = target.field(index).type
            known = old.get(child.column_id)
            at = None if known is None else self.find(found, known)
            if known is None or at is None:
                parts.append(absent(child, len(array), kind))
            else:
                parts.append(self.decode(values[at], known, child, kind))
        return _rewrap(target, array, 1, parts)

    def _scalar(self, array: Any, name: str) -> Any:
        if name == "timestamptz" and _is_local_time(array.type):
            local = _cast(array, pa.timestamp("us"))
            return pc.assume_timezone(local, self.time_zone)
        decode = _DECODERS.get(name)
        return array if decode is None else decode(array)


def field_id(field: Any) -> int | None:
    """The Parquet field id of an Arrow field, or None."""
    text = (field.metadata or {}).get(_FIELD_ID)
    return None if text is None else int(text)


def absent(column: Column, length: int, target: Any) -> Any:
    """What rows of a file without the column show."""
    if column.initial_default is None:
        return pa.nulls(length, target)
    value = parse_text(column.initial_default, column.type)
    return pa.array([value], type=target).take(pa.array([0] * length, pa.int64()))


def _compact(array: Any) -> Any:
    """The array, starting at the first slot of its buffers."""
    return pa.concat_arrays([array, array.slice(0, 0)]) if array.offset else array


def _rewrap(target: Any, array: Any, own_buffers: int, parts: list[Any]) -> Any:
    """The array's own buffers (validity, offsets) over decoded children."""
    buffers = array.buffers()[:own_buffers]
    return pa.Array.from_buffers(target, len(array), buffers, array.null_count, 0, parts)


def _expect(fits: bool, array: Any, column: Column) -> None:
    if not fits:
        raise CorruptDataFile(
            f'The column "{column.name}" should be a {column.type_name}, '
            f"but a file has {array.type} for it."
        )


def _cast(array: Any, target: Any) -> Any:
    # An integer that becomes a float is rounded, as everywhere; nothing else may lose anything.
    rounding = pa.types.is_floating(target)
    try:
        return pc.cast(array, target, safe=not rounding)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise NotSupported(f"Cannot read values of Arrow type {array.type} as {target}.") from error


def _is_local_time(kind: Any) -> bool:
    return pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None)


def _by_value(convert: Callable[[Any], Any], array: Any, kind: Any) -> Any:
    values = [None if value is None else convert(value) for value in array.to_pylist()]
    return pa.array(values, type=kind)


def _decode_huge(array: Any) -> Any:
    if pa.types.is_floating(array.type):
        return _by_value(_whole, array, pa.decimal128(38, 0))
    return array


def _whole(value: float) -> Decimal:
    try:
        number = Decimal(int(value))
    except (OverflowError, ValueError) as error:
        raise CorruptDataFile(f"A file has {value} for a 128-bit integer.") from error
    if abs(number) >= 10**38:
        raise NotSupported(
            f"The 128-bit integer {number} has more digits than Spark's decimals.",
            hint="read the table with DuckDB, or cast the column to DOUBLE there.",
        )
    return number


def _decode_timetz(array: Any) -> Any:
    if pa.types.is_time(array.type):
        micros = _cast(_cast(array, pa.time64("us")), pa.int64())
        # The extension writes the clock as it is in UTC, without the offset.
        return _by_value(lambda value: intervals.format_timetz(value, 0), micros, pa.string())
    return array


def _decode_interval(array: Any) -> Any:
    if pa.types.is_fixed_size_binary(array.type):
        return _by_value(_interval_text, array, pa.string())
    return array


def _interval_text(value: bytes) -> str:
    months, days, millis = struct.unpack("<3I", value)
    return intervals.format_interval(months, days, millis * 1000)


def _decode_uuid(array: Any) -> Any:
    if pa.types.is_fixed_size_binary(array.type) or pa.types.is_binary(array.type):
        return _by_value(_uuid_text, array, pa.string())
    return array


def _uuid_text(value: bytes) -> str:
    digits = value.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _decode_time(array: Any) -> Any:
    if pa.types.is_time(array.type):
        micros = _cast(_cast(array, pa.time64("us")), pa.int64())
        return _by_value(temporal.format_time, micros, pa.string())
    return array


def _decode_nanos(array: Any) -> Any:
    if pa.types.is_date(array.type) or pa.types.is_timestamp(array.type):
        nanos = _cast(_cast(array, pa.timestamp("ns")), pa.int64())
        return _by_value(
            lambda value: temporal.format_ordinal(value, "timestamp_ns"), nanos, pa.string()
        )
    return array


def _decode_timestamp(unit: str, array: Any) -> Any:
    """A moment with the digits of its type: as DuckDB casts one that has more.

    Nanoseconds are cut towards 1970, milliseconds and seconds are rounded.
    """
    if not pa.types.is_timestamp(array.type):
        return array
    if array.type.tz is not None:  # marked as UTC by a writer that knew no other way
        array = array.cast(pa.timestamp(array.type.unit))
    if array.type.unit == "ns":
        micros = pc.divide(array.cast(pa.int64()), _PER["us"])
    elif _PER[array.type.unit] >= _PER[unit]:
        return array
    else:
        micros = _cast(array, pa.timestamp("us")).cast(pa.int64())
    if unit != "us":
        step = _PER[unit] // _PER["us"]
        half = pc.if_else(pc.less(micros, 0), -(step // 2), step // 2)
        micros = pc.multiply(pc.divide(pc.add(micros, half), step), step)
    return micros.cast(pa.timestamp("us"))


_PER: Final = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}


def _decode_json(array: Any) -> Any:
    if pa.types.is_boolean(array.type) or pa.types.is_integer(array.type):
        return _cast(array, pa.string())
    if not (pa.types.is_string(array.type) or pa.types.is_binary(array.type)):
        raise NotSupported(f"Cannot read values of Arrow type {array.type} as JSON.")
    return array


_DECODERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "int128": _decode_huge,
    "uint128": _decode_huge,
    "timetz": _decode_timetz,
    "interval": _decode_interval,
    "uuid": _decode_uuid,
    "time": _decode_time,
    "timestamp_ns": _decode_nanos,
    "json": _decode_json,
    "timestamp": functools.partial(_decode_timestamp, "us"),
    "timestamp_ms": functools.partial(_decode_timestamp, "ms"),
    "timestamp_s": functools.partial(_decode_timestamp, "s"),
}
