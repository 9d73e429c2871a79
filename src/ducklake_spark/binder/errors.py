"""What DuckDB says about a text becomes our errors: its words, and the place in the user's text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ducklake_spark.errors import (
    ColumnNotFound,
    DuckLakeError,
    FunctionNotFound,
    InvalidInput,
    InvalidValue,
    NotSupported,
    SchemaNotFound,
    SqlSyntaxError,
    TableNotFound,
)

_WIDEST: Final = 120
_TOKEN: Final = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\w+|\S""", re.DOTALL)
_INVISIBLE: Final = re.compile(r"\n*LINE \d+: .*\Z", re.DOTALL)

_KINDS_OF_ERRORS: Final = {"out of range": "Out of Range", "not implemented": "Not implemented"}
# Words that are no names where a value may stand.
_KEYWORDS: Final = frozenset(
    {
        *("anti", "asof", "at", "binary", "collation", "columns", "concurrently", "freeze"),
        *("generated", "glob", "map", "overlaps", "positional", "semi", "struct", "unpack"),
        *("verbose", "authorization"),
    }
)
_CANDIDATES: Final = re.compile(r"\s*Candidate (?:bindings|tables|Entries):[ :]*(.*)\Z", re.DOTALL)
_OWN: Final = "__ducklake"  # what names of ours begin with
_NO_COLUMN: Final = re.compile(r'Table ".*" does not have a column named')
_NO_TABLE: Final = re.compile(r'Referenced table ".*" not found')

# By the kind of error that DuckDB's JSON names; the subtype goes first.
_CLASSES: Final[Mapping[str, type[DuckLakeError]]] = {
    "COLUMN_NOT_FOUND": ColumnNotFound,
    "SYNTAX_ERROR": SqlSyntaxError,
    "parser": SqlSyntaxError,
    "syntax": SqlSyntaxError,
    "conversion": InvalidValue,
    "out of range": InvalidValue,
    "not implemented": NotSupported,
    "internal": NotSupported,
    "serialization": NotSupported,
}
_MISSING: Final[Mapping[str, type[DuckLakeError]]] = {
    "table": TableNotFound,
    "view": TableNotFound,
    "schema": SchemaNotFound,
    "function": FunctionNotFound,
}


@dataclass(frozen=True, slots=True)
class Source:
    """The user's text, parts of which stand in another that was made of them.

    Attributes:
        parts: of each where it begins in what was made and in the user's text, and its length.
    """

    text: str
    parts: tuple[tuple[int, int, int], ...]

    def place(self, at: int) -> int | None:
        """Where a place of what was made stands in the user's text; None for what is not his."""
        for made, own, length in self.parts:
            if made <= at <= made + length:
                return own + at - made
        return None


@dataclass(frozen=True, slots=True)
class Texts:
    """What was written, and what DuckDB was given for it.

    `source` is the user's text where what was written was made of parts of it.
    """

    written: str
    bound: str
    source: Source | None = None


def binding_error(document: Mapping[str, Any], texts: Texts) -> DuckLakeError:
    """The error for what `json_serialize_sql` or `json_serialize_plan` say went wrong."""
    message = str(document.get("error_message", "the text cannot be bound"))
    words, hint = _split_hint(message)
    position = document.get("position")
    words = f"{_kind_of_error(document)}{words}"
    place = "" if position is None else pointed_at(texts, int(position))
    kind = _class_of(document, message)
    if document.get("error_type") == "permission":  # the binder's DuckDB opens no file
        words, kind = (
            "Not implemented Error: this way to read a file is not supported.",
            NotSupported,
        )
        hint = "there are read_parquet, read_csv and read_json."
    if kind is SqlSyntaxError and position is not None:
        hint = hint or _hint_of_keyword(texts.bound, int(position))
    return kind(words + place, hint=hint)


def _kind_of_error(document: Mapping[str, Any]) -> str:
    """How DuckDB begins to tell an error of this kind."""
    kind = str(document.get("error_type") or "")
    named = _KINDS_OF_ERRORS.get(kind, kind.title())
    return f"{named} Error: " if named else ""


def _hint_of_keyword(text: str, position: int) -> str | None:
    """What to do where a word that DuckDB keeps for itself stands as a name."""
    before = text.encode()[:position].decode(errors="ignore").rstrip().rpartition(" ")[2]
    word = before.rpartition("(")[2].rpartition(",")[2]
    if word.lower() not in _KEYWORDS:
        return None
    return f'{word} is a keyword of DuckDB: as a name it is written "{word}", in quotes.'


def _class_of(document: Mapping[str, Any], message: str) -> type[DuckLakeError]:
    for key in (document.get("error_subtype"), document.get("error_type")):
        if key in _CLASSES:
            return _CLASSES[str(key)]
    if _NO_COLUMN.match(message):
        return ColumnNotFound
    if _NO_TABLE.match(message):
        return TableNotFound
    missing = re.match(r"(?:\w+ )*?(\w+)(?: Function)? with name \S+ does not exist", message)
    if missing is not None:
        kind = "function" if "Function with name" in message else missing[1].lower()
        return _MISSING.get(kind, InvalidInput)
    return InvalidInput


def _split_hint(message: str) -> tuple[str, str | None]:
    """DuckDB's words without the line that names what is near, which is the hint."""
    plain = _INVISIBLE.sub("", message).strip()
    words, _, near = plain.partition("\nDid you mean ")
    if near:
        return words, f"did you mean {near.strip()}"
    found = _CANDIDATES.search(plain)
    if found is None:
        return plain, None
    known = [name for name in found[1].strip().split(", ") if _OWN not in name]
    return plain[: found.start()].strip(), f"there are {', '.join(known)}." if known else None


def pointed_at(texts: Texts, position: int) -> str:
    """The line of the user's text with a caret below the place, in DuckDB's form; "" if unclear.

    >>> print(pointed_at(Texts("SELECT aa FROM t", "SELECT aa FROM t"), 7))
    <BLANKLINE>
    <BLANKLINE>
    LINE 1: SELECT aa FROM t
                   ^
    """
    at, text = _place_in_written(texts, position), texts.written
    if at is not None and texts.source is not None:
        at, text = texts.source.place(at), texts.source.text
    if at is None:
        return ""
    start = text.rfind("\n", 0, at) + 1
    line = text[start:].split("\n", 1)[0]
    number = text.count("\n", 0, at) + 1
    column = at - start
    cut = max(0, column - _WIDEST // 2) if len(line) > _WIDEST else 0
    shown = ("..." if cut else "") + line[cut : cut + _WIDEST]
    head = f"LINE {number}: "
    below = " " * (len(head) + column - cut + (3 if cut else 0))
    return f"\n\n{head}{shown}\n{below}^"


def _place_in_written(texts: Texts, position: int) -> int | None:
    """Where a place of the bound text stands in the user's: the same word, counted from before."""
    # DuckDB counts bytes.
    at = len(texts.bound.encode()[:position].decode(errors="ignore"))
    if texts.bound == texts.written:
        return at if at <= len(texts.written) else None
    word = _TOKEN.match(texts.bound, at)
    if word is None:
        return None
    here, there = (_places_of(word[0], text) for text in (texts.bound, texts.written))
    if at not in here or len(here) != len(there):
        return there[0] if len(there) == 1 else None
    return there[here.index(at)]


def _places_of(word: str, text: str) -> list[int]:
    plain = word.strip('"').lower()
    return [m.start() for m in _TOKEN.finditer(text) if m[0].strip('"').lower() == plain]
