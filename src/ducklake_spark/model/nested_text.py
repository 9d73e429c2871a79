r"""Lists, maps and structs <-> the text that DuckDB casts.

Two dialects of text are read. DuckDB's own rendering quotes a string only where it must and
escapes with backslashes: ``[a, 'b,c', NULL]``, ``{k=1}``, ``{'a': 'x\'y'}``. The DuckLake extension
stores a struct, and structs inside it, as a SQL literal when the catalog has no nested types: every
string quoted, quotes doubled, backslashes plain, ``CAST('2020-01-01' AS DATE)`` for some types. We
write the first dialect with struct field names in double quotes: DuckDB casts it, the extension
never writes it, and so a text tells which of the two it is. Pure; driver and task.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from ducklake_spark.errors import InvalidValue
from ducklake_spark.model.nested_reader import NestedReader
from ducklake_spark.model.scalar_text import format_scalar
from ducklake_spark.model.types import (
    DataType,
    DecimalType,
    ListType,
    MapType,
    NestedType,
    ScalarType,
    StructType,
    format_sql_type,
)

_NO_QUOTES: Final = re.compile(r"true|false|-?\d*\.?\d+(?:e[+-]?\d+)?")
_CLOSING: Final = {"[": "]", "{": "}", "(": ")"}
_LETTERS: Final = frozenset({"varchar", "json", "blob", "uuid", "interval", "timetz"})


def parse_nested(text: str, kind: NestedType) -> Any:
    """A list, dict (map) or tuple (struct) from text of either dialect."""
    if isinstance(kind, StructType) and re.match(r"\s*\{\s*'", text):
        try:
            return NestedReader(text).read_all(kind, sql=True)
        except InvalidValue:
            pass  # not the extension's literal, so DuckDB's own rendering
    return NestedReader(text).read_all(kind, sql=False)


def format_nested(value: Any, kind: DataType) -> str:
    """Text that DuckDB casts to `kind`, and `parse_nested` reads back."""
    if value is None:
        return "NULL"
    match kind, value:
        case ListType(ScalarType("json")), list() | tuple():
            return f"[{', '.join(map(_json_element, value))}]"
        case ListType(element), list() | tuple():
            return f"[{', '.join(_part(item, element) for item in value)}]"
        case MapType(key, of), Mapping():
            if None in value:
                raise InvalidValue("A map has a NULL key, which DuckDB does not allow.")
            pairs = (f"{_part(k, key)}={_part(v, of)}" for k, v in value.items())
            return f"{{{', '.join(pairs)}}}"
        case StructType(fields), tuple() | list() | Mapping():
            items = zip(fields, _struct_items(value, kind), strict=True)
            return f"{{{', '.join(f'{_name(f.name)}: {_part(v, f.type)}' for f, v in items)}}}"
        case (ScalarType() | DecimalType()) as scalar, _:
            return _format_leaf(value, scalar)
        case _:
            raise InvalidValue(f"{value!r} is not a value for {format_sql_type(kind)}.")


def _part(value: Any, kind: DataType) -> str:
    """A value inside another one."""
    text = format_nested(value, kind)
    nested = not isinstance(kind, ScalarType | DecimalType)
    return f"'{_escape(text, chr(39))}'" if nested and _ends_early(text) else text


def _ends_early(text: str) -> bool:
    """Whether DuckDB takes a bracket inside a string for the end of this nested value.

    It counts brackets of a value inside another one without regard to quotes; in quotes itself,
    the value is taken as it is.
    """
    open_ones: list[str] = []
    for position, char in enumerate(text):
        if open_ones and char == open_ones[-1]:
            open_ones.pop()
            if not open_ones and position < len(text) - 1:
                return True
        elif char in _CLOSING:
            open_ones.append(_CLOSING[char])
    return False


def _struct_items(value: Any, kind: StructType) -> list[Any]:
    if isinstance(value, Mapping):
        unknown = set(value) - {field.name for field in kind.fields}
        if unknown:
            raise InvalidValue(
                f"{value!r} has no place in {format_sql_type(kind)}: extra {sorted(unknown)}."
            )
        return [value.get(field.name) for field in kind.fields]
    if len(value) != len(kind.fields):
        raise InvalidValue(
            f"{value!r} has not the {len(kind.fields)} parts of {format_sql_type(kind)}."
        )
    return list(value)


def _format_leaf(value: Any, kind: ScalarType | DecimalType) -> str:
    text = format_scalar(value, kind)
    letters = isinstance(kind, ScalarType) and kind.name in _LETTERS
    return text if not letters and _NO_QUOTES.fullmatch(text) else f"'{_escape(text, chr(39))}'"


def _name(name: str) -> str:
    return f'"{_escape(name, chr(34))}"'


def _escape(text: str, quote: str) -> str:
    return text.replace("\\", "\\\\").replace(quote, f"\\{quote}")


def _json_element(value: Any) -> str:
    # DuckDB casts the text of a JSON[] by its JSON reader, which has no NULL but JSON's own.
    if value is None:
        raise InvalidValue(
            "A list of JSON holds a NULL, which no text that DuckDB casts can say.",
            hint="write the row to a data file, or use the JSON value null.",
        )
    try:
        json.loads(value)
    except ValueError as error:
        raise InvalidValue(f"{value!r} is not JSON: {error}.") from error
    return str(value)
