"""The reader behind `nested_text.parse_nested`. Pure; driver and task."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from ducklake_spark.errors import InvalidValue
from ducklake_spark.model.number_text import FLOATS, INTEGERS
from ducklake_spark.model.scalar_text import parse_scalar
from ducklake_spark.model.types import (
    DataType,
    ListType,
    MapType,
    NestedType,
    ScalarType,
    StructType,
    format_sql_type,
)

_CAST: Final = re.compile(r"CAST\('(.*?)' AS [A-Z_ ]+(?:\([\d, ]*\))?[A-Z ]*\)", re.DOTALL)
_CONCAT_PART: Final = re.compile(r"\s*(?:'((?:[^']|'')*)'|chr\((\d+)\))\s*([,)])", re.DOTALL)
_SQL_STRING: Final = re.compile(r"'((?:[^']|'')*)'", re.DOTALL)
_BARE: Final = INTEGERS | FLOATS | {"boolean"}
_BLANKS: Final = " \t\n\r\f\v"  # only these count as blank for DuckDB
_JSON: Final = ScalarType("json")
_TEXT: Final = ScalarType("varchar")


class NestedReader:
    """A cursor over one text. `sql` tells the extension's literal from DuckDB's rendering."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def read_all(self, kind: NestedType, *, sql: bool) -> Any:
        """The value of the whole text."""
        value = self._value(kind, sql, "")
        self._blank()
        if self.position != len(self.text):
            raise self._error(kind)
        return value

    def _value(self, kind: DataType, sql: bool, stops: str) -> Any:
        self._blank()
        if self._null(stops):
            return None
        if self._peek() in ("'", '"') and isinstance(kind, NestedType):
            return NestedReader(self._quoted(kind) or "").read_all(kind, sql=False)
        match kind:
            case ListType(ScalarType("json")):
                return self._json_list(kind)
            case ListType(element):
                return self._list(kind, element)
            case MapType():
                return self._map(kind)
            case StructType():
                return self._struct(kind, sql)
            case _:
                return parse_scalar(self._leaf(kind, sql, stops), kind)

    def _list(self, kind: DataType, element: DataType) -> list[Any]:
        return list(self._items(kind, "[", "]", lambda: self._value(element, False, ",]")))

    def _map(self, kind: MapType) -> dict[Any, Any]:
        def pair() -> tuple[Any, Any]:
            key = _hashable(self._value(kind.key, False, "="))
            self._expect("=", kind)
            return key, self._value(kind.value, False, ",}")

        return dict(self._items(kind, "{", "}", pair))

    def _struct(self, kind: StructType, sql: bool) -> tuple[Any, ...]:
        if self._peek() == "(":
            return self._unnamed(kind, sql)
        types = {field.name: field.type for field in kind.fields}
        folded = {name.lower(): name for name in types}

        def pair() -> tuple[str, Any]:
            self._blank()
            name = self._leaf(_TEXT, sql, ":")
            known = name if name in types else folded.get(name.lower())
            if known is None:
                raise self._error(kind)
            self._expect(":", kind)
            return known, self._value(types[known], sql, ",}")

        found = dict(self._items(kind, "{", "}", pair))
        return tuple(found.get(name) for name in types)

    def _unnamed(self, kind: StructType, sql: bool) -> tuple[Any, ...]:
        fields = iter(kind.fields)

        def part() -> Any:
            field = next(fields, None)
            if field is None:
                raise self._error(kind)
            return self._value(field.type, sql, ",)")

        found = list(self._items(kind, "(", ")", part))
        return (*found, *(None for _ in fields))

    def _items(
        self, kind: DataType, opens: str, ends: str, read: Callable[[], Any]
    ) -> Iterator[Any]:
        self._expect(opens, kind)
        self._blank()
        if self._peek() == ends:
            self.position += 1
            return
        while True:
            yield read()
            self._blank()
            if self._peek() == ",":
                self.position += 1
                continue
            self._expect(ends, kind)
            return

    def _json_list(self, kind: ListType) -> list[Any]:
        start = self.position
        try:
            return list(self._items(kind, "[", "]", self._json_text))
        except InvalidValue:
            self.position = start  # the extension's rendering: each element a quoted string
            return self._list(kind, kind.element)

    def _json_text(self) -> str | None:
        self._blank()
        if self.text.startswith("NULL", self.position):
            self.position += 4  # in capitals it is SQL's; JSON's own is a value
            return None
        start = self.position
        try:
            _, self.position = json.JSONDecoder().raw_decode(self.text, start)
        except ValueError:
            raise self._error(_JSON) from None
        return self.text[start : self.position]

    def _leaf(self, kind: DataType, sql: bool, stops: str) -> str:
        found = self._matched(_CAST)
        if found is None:
            found = self._concat()
        if found is None and not sql:
            found = self._quoted(kind)
        elif found is None and kind in (_TEXT, _JSON):
            found = self._sql_string()
        if found is not None:
            return found
        if kind == _JSON and not sql:
            return self._json_text() or "null"
        if sql and isinstance(kind, ScalarType) and kind.name not in _BARE:
            raise self._error(kind)  # a SQL literal quotes or casts everything else
        start = self.position
        while self.position < len(self.text) and self.text[self.position] not in stops:
            self.position += 1
        return self.text[start : self.position].rstrip(_BLANKS)

    def _sql_string(self) -> str | None:
        found = self._matched(_SQL_STRING)
        return None if found is None else found.replace("''", "'")

    def _matched(self, pattern: re.Pattern[str]) -> str | None:
        match = pattern.match(self.text, self.position)
        if match is None:
            return None
        self.position = match.end()
        return match[1]

    def _concat(self) -> str | None:
        if not self.text.startswith("CONCAT('", self.position):
            return None
        self.position += len("CONCAT(")
        parts: list[str] = []
        while match := _CONCAT_PART.match(self.text, self.position):
            parts.append(chr(int(match[2])) if match[2] else match[1].replace("''", "'"))
            self.position = match.end()
            if match[3] == ")":
                return "".join(parts)
        raise self._error(_TEXT)

    def _quoted(self, kind: DataType) -> str | None:
        quote = self._peek()
        if quote not in ("'", '"') or (quote == '"' and kind == _JSON):
            return None
        parts: list[str] = []
        self.position += 1
        while self.position < len(self.text):
            char = self.text[self.position]
            self.position += 1
            if char == "\\" and self.position < len(self.text):
                parts.append(self._take())
            elif char != quote:
                parts.append(char)
            elif self._peek() == quote:  # doubled, as a SQL literal does it
                parts.append(self._take())
            else:
                return "".join(parts)
        raise self._error(_TEXT)

    def _null(self, stops: str) -> bool:
        end = self.position + 4
        if self.text[self.position : end].upper() != "NULL":
            return False
        while end < len(self.text) and self.text[end] in _BLANKS:
            end += 1
        if end < len(self.text) and self.text[end] not in stops:
            return False
        self.position = end
        return True

    def _take(self) -> str:
        self.position += 1
        return self.text[self.position - 1]

    def _peek(self) -> str:
        return self.text[self.position : self.position + 1]

    def _blank(self) -> None:
        while self._peek() and self._peek() in _BLANKS:
            self.position += 1

    def _expect(self, char: str, kind: DataType) -> None:
        self._blank()
        if self._peek() != char:
            raise self._error(kind)
        self.position += 1

    def _error(self, kind: DataType) -> InvalidValue:
        wanted = format_sql_type(kind)
        return InvalidValue(
            f"Cannot read {self.text!r} as {wanted}: unexpected text at {self.position}."
        )


def _hashable(key: Any) -> Any:
    """Lists become tuples, which Spark takes for an array as well, so that a dict can hold them."""
    if isinstance(key, list | tuple):
        return tuple(_hashable(part) for part in key)
    return key
