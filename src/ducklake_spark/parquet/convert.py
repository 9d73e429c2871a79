"""From what Spark hands over to what a file stores, value by value and nothing changed. Task."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from ducklake_spark.errors import ColumnMismatch, InvalidValue
from ducklake_spark.model.intervals import normalize_interval, normalize_timetz
from ducklake_spark.model.schema import Column
from ducklake_spark.model.temporal import parse_ordinal
from ducklake_spark.model.types import ScalarType, format_sql_type
from ducklake_spark.parquet.arrow_schema import to_arrow_type

Converter = Callable[[Any], Any]
"""Takes an Arrow array of a carrier, gives the array that is written."""

_UUID: Final = r"^\{?[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}\}?$"


def build_converter(column: Column, label: str) -> Converter:
    """The conversion of one column; `label` names it in errors.

    Raises, when called: InvalidValue for a value that the column cannot hold as it is.
    """
    target = to_arrow_type(column)
    children = tuple(
        build_converter(child, _child_label(label, column, child)) for child in column.children
    )
    match column.type_name.lower():
        case "list":
            return partial(_convert_list, target, children, label)
        case "map":
            return partial(_convert_map, target, children, label)
        case "struct":
            return partial(_convert_struct, target, children, label)
        case _:
            return partial(_convert_scalar, target, column, label)


def _child_label(label: str, column: Column, child: Column) -> str:
    return f"{label}.{child.name}" if column.type_name.lower() == "struct" else f"{label}[]"


def _convert_scalar(target: Any, column: Column, label: str, array: Any) -> Any:
    kind = column.type
    convert = _SCALARS.get(kind.name, _cast) if isinstance(kind, ScalarType) else _cast
    try:
        return convert(array, target)
    except pa.ArrowNotImplementedError as error:
        raise ColumnMismatch(
            f'Cannot write values of Arrow type {array.type} to column "{label}" '
            f"of type {format_sql_type(kind)}."
        ) from error
    except (pa.ArrowInvalid, OverflowError, InvalidValue) as error:
        _raise_misfit(lambda part: convert(part, target), array, column, label, error)


def _raise_misfit(
    convert: Converter, array: Any, column: Column, label: str, error: Exception
) -> NoReturn:
    """Find the first value that does not fit, by halving, and name it."""
    while len(array) > 1:
        half = array.slice(0, len(array) // 2)
        array = half if _fails(convert, half) else array.slice(len(half))
    raise InvalidValue(
        f'Cannot write {_show(array)} to column "{label}": '
        f"it is not a value of type {format_sql_type(column.type)}."
    ) from error


def _show(array: Any) -> str:
    """The first value of an array for people to read."""
    try:
        text = str(array[0])
    except (ValueError, OverflowError):  # not UTF-8, or outside of Python's calendar
        return repr(array.cast(pa.binary())[0].as_py()[:200]) if _is_text(array) else str(array)
    return repr(text if len(text) <= 200 else f"{text[:200]}…")


def _fails(convert: Converter, array: Any) -> bool:
    try:
        convert(array)
    except (pa.ArrowInvalid, OverflowError, InvalidValue):
        return True
    return False


def _cast(array: Any, target: Any) -> Any:
    """The same values as `target`; what would change one is an error."""
    return array if array.type == target else array.cast(target)


def _to_text(array: Any, target: Any) -> Any:
    """Text, which Spark does not check to be UTF-8 while all readers of a file do."""
    text = _cast(array, target)
    text.validate(full=True)
    return text


def _to_timestamptz(array: Any, target: Any) -> Any:
    if pa.types.is_timestamp(array.type) and array.type.tz is None:
        raise pa.ArrowNotImplementedError("a timestamp without a zone is not a moment")
    return _cast(array, target)


def _to_timestamp(array: Any, target: Any) -> Any:
    if pa.types.is_timestamp(array.type) and array.type.tz is not None:
        raise pa.ArrowNotImplementedError("a moment is not a timestamp without a zone")
    return _cast(array, target)


def _to_seconds(array: Any, target: Any) -> Any:
    """Microseconds that are whole seconds: the cast to seconds refuses a fraction."""
    micros = _to_timestamp(array, target)
    micros.cast(pa.timestamp("s"))
    return micros


def _to_nanos(array: Any, target: Any) -> Any:
    if not _is_text(array):
        return _to_timestamp(array, target)
    try:
        return array.cast(target)
    except pa.ArrowInvalid:  # a form that Arrow does not read: infinity, a year before Christ
        return _by_distinct(partial(parse_ordinal, name="timestamp_ns"), array, pa.int64()).cast(
            target
        )


def _to_time(array: Any, target: Any) -> Any:
    if not _is_text(array):
        return _cast(array, target)
    return _by_distinct(partial(parse_ordinal, name="time"), array, pa.int64()).cast(target)


def _to_unsigned_128(array: Any, target: Any) -> Any:
    whole = _cast(array, target)
    least = pc.min(whole).as_py()
    if least is not None and least < 0:
        raise pa.ArrowInvalid("negative")
    return whole


def _to_uuid(array: Any, target: Any) -> Any:
    """16 bytes a value: the hexadecimal digits of all values are decoded in one go."""
    text = _compact(_cast(array, pa.string()))
    if not pc.all(pc.match_substring_regex(text, _UUID), min_count=0).as_py():
        raise pa.ArrowInvalid("not a uuid")
    digits = pc.replace_substring_regex(text.fill_null("0" * 32), "[-{}]", "")
    data = digits.buffers()[2].to_pybytes()[: 32 * len(digits)] if len(digits) else b""
    buffers = [text.buffers()[0], pa.py_buffer(bytes.fromhex(data.decode("ascii")))]
    stored = pa.Array.from_buffers(target.storage_type, len(text), buffers, text.null_count)
    return pa.ExtensionArray.from_storage(target, stored)


def _to_json(array: Any, target: Any) -> Any:
    text = _to_text(array, pa.string())
    for value in text.to_pylist():
        if value is not None:
            _check_json(value)
    return pa.ExtensionArray.from_storage(target, text)


def _check_json(text: str) -> None:
    try:
        # Numbers stay text: their size does not matter here.
        json.loads(text, parse_int=str, parse_float=str, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidValue(f"{text!r} is not JSON.") from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)  # NaN and Infinity are Python's, not JSON's


def _to_interval(array: Any, target: Any) -> Any:
    return _by_distinct(normalize_interval, array, target)


def _to_timetz(array: Any, target: Any) -> Any:
    return _by_distinct(normalize_timetz, array, target)


def _by_distinct(parse: Callable[[str], Any], array: Any, of: Any) -> Any:
    """Parse each distinct text once."""
    encoded = _cast(array, pa.string()).dictionary_encode()
    parsed = pa.array([parse(text) for text in encoded.dictionary.to_pylist()], of)
    return parsed.take(encoded.indices)


def _is_text(array: Any) -> bool:
    return bool(pa.types.is_string(array.type) or pa.types.is_large_string(array.type))


_SCALARS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "varchar": _to_text,
    "json": _to_json,
    "uuid": _to_uuid,
    "time": _to_time,
    "timetz": _to_timetz,
    "interval": _to_interval,
    "timestamp": _to_timestamp,
    "timestamp_s": _to_seconds,
    "timestamp_ms": _to_timestamp,
    "timestamp_ns": _to_nanos,
    "timestamptz": _to_timestamptz,
    "uint128": _to_unsigned_128,
}


def _convert_list(target: Any, children: tuple[Converter, ...], label: str, array: Any) -> Any:
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), target)
    _expect(pa.types.is_list(array.type), array, target, label)
    array = _compact(array)
    return _rewrap(target, array, 2, [children[0](array.values)])


def _convert_map(target: Any, children: tuple[Converter, ...], label: str, array: Any) -> Any:
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), target)
    _expect(pa.types.is_map(array.type), array, target, label)
    array = _compact(array)
    parts = [children[0](array.keys), children[1](array.items)]
    entries = pa.StructArray.from_arrays(parts, fields=[target.key_field, target.item_field])
    return _rewrap(target, array, 2, [entries])


def _convert_struct(target: Any, children: tuple[Converter, ...], label: str, array: Any) -> Any:
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), target)
    fits = pa.types.is_struct(array.type) and array.type.num_fields == len(children)
    _expect(fits, array, target, label)
    array = _compact(array)
    # Below a NULL a child may hold anything; flatten puts NULLs there.
    fields = array.flatten() if array.null_count else [array.field(i) for i in range(len(children))]
    parts = [convert(field) for convert, field in zip(children, fields, strict=True)]
    return _rewrap(target, array, 1, parts)


def _rewrap(target: Any, array: Any, own_buffers: int, parts: list[Any]) -> Any:
    """The array's own buffers (validity, offsets) over converted children: nothing is copied."""
    buffers = array.buffers()[:own_buffers]
    return pa.Array.from_buffers(target, len(array), buffers, array.null_count, 0, parts)


def _compact(array: Any) -> Any:
    """The array, starting at the first slot of its buffers."""
    return pa.concat_arrays([array, array.slice(0, 0)]) if array.offset else array


def _expect(fits: bool, array: Any, target: Any, label: str) -> None:
    if not fits:
        raise ColumnMismatch(
            f'Cannot write values of Arrow type {array.type} to column "{label}", '
            f"which holds {target}."
        )
