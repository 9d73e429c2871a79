"""Values without parts <-> DuckDB's text of them. Pure; driver and task."""

from __future__ import annotations

import datetime as dt
import re
import uuid
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

from ducklake_spark.errors import NotSupported
from ducklake_spark.model.intervals import normalize_interval, normalize_timetz
from ducklake_spark.model.number_text import (
    INTEGERS,
    format_decimal,
    format_float,
    parse_decimal,
    parse_float,
    parse_integer,
    to_integer,
    unreadable,
    wrong,
)
from ducklake_spark.model.temporal import (
    TEMPORALS,
    format_ordinal,
    from_ordinal,
    parse_ordinal,
    to_ordinal,
)
from ducklake_spark.model.types import DecimalType, ScalarType

_BOOLEANS: Final = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
_HEX_ESCAPE: Final = re.compile(rb"\\x([0-9A-Fa-f]{2})")
_PLAIN_BYTES: Final = frozenset(range(32, 127)) - frozenset(b"\\'\"")
_WIDE: Final = frozenset({"uint64", "int128", "uint128"})  # Spark carries them as decimals


def parse_scalar(text: str, kind: ScalarType | DecimalType) -> Any:
    """The Python value that Spark takes for the carrier of `kind`, from DuckDB's text."""
    if isinstance(kind, DecimalType):
        return parse_decimal(text, kind)
    name = kind.name
    if name in INTEGERS:
        number = parse_integer(text, name)
        return Decimal(number) if name in _WIDE else number
    if name in TEMPORALS:
        return from_ordinal(parse_ordinal(text, name), name)
    if name not in _PARSERS:
        raise NotSupported(f"Values of type {name} cannot be read from text.")
    return _PARSERS[name](text)


def format_scalar(value: Any, kind: ScalarType | DecimalType) -> str:
    """DuckDB's text of a Python value: the inverse of `parse_scalar`."""
    if isinstance(kind, DecimalType):
        return format_decimal(value, kind)
    name = kind.name
    if name in INTEGERS:
        return str(to_integer(value, name))
    if name in TEMPORALS:
        return format_ordinal(to_ordinal(value, name), name)
    classes, write = _FORMATTERS.get(name, ((), str))
    if not isinstance(value, classes) or (isinstance(value, bool) and name != "boolean"):
        raise wrong(value, name)
    return write(value)


def parse_boolean(text: str) -> bool:
    """``true``, ``t`` or ``1``, and their opposites.

    >>> parse_boolean("0")
    False
    """
    try:
        return _BOOLEANS[text.strip().lower()]
    except KeyError:
        raise unreadable(text, "boolean") from None


def parse_blob(text: str) -> bytes:
    r"""Bytes from DuckDB's text, in which ``\x00`` stands for a byte.

    >>> parse_blob(r"\x00ab")
    b'\x00ab'
    """
    return _HEX_ESCAPE.sub(lambda match: bytes.fromhex(match[1].decode()), text.encode())


def parse_hex(text: str) -> bytes:
    r"""Bytes from hex digits.

    >>> parse_hex("00FF")
    b'\x00\xff'
    """
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise unreadable(text, "blob in hex digits") from None


def format_blob(value: bytes) -> str:
    r"""DuckDB's text of bytes: plain ASCII as it is, the rest as ``\x00``.

    >>> format_blob(b"\x00ab")
    '\\x00ab'
    """
    return "".join(chr(b) if b in _PLAIN_BYTES else f"\\x{b:02X}" for b in value)


def format_uuid(value: Any) -> str:
    """Lower-case text with dashes, of a text, of 16 bytes or of a `uuid.UUID`."""
    if not isinstance(value, str | bytes | uuid.UUID):
        raise wrong(value, "uuid")
    try:
        if isinstance(value, bytes):
            return str(uuid.UUID(bytes=value))
        return str(uuid.UUID(str(value).strip()))
    except ValueError:
        raise unreadable(str(value), "uuid") from None


_PARSERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "varchar": str,
    "json": str,
    "boolean": parse_boolean,
    "float32": lambda text: parse_float(text, "float32"),
    "float64": lambda text: parse_float(text, "float64"),
    "blob": parse_blob,
    "uuid": format_uuid,
    "interval": normalize_interval,
    "timetz": normalize_timetz,
}

# The classes that a value may have, and what makes its text.
_FORMATTERS: Final[Mapping[str, tuple[tuple[type, ...], Callable[[Any], str]]]] = {
    "varchar": ((str,), str),
    "json": ((str,), str),
    "boolean": ((bool,), lambda value: "true" if value else "false"),
    "float32": ((int, float), lambda value: format_float(value, "float32")),
    "float64": ((int, float), lambda value: format_float(value, "float64")),
    "blob": ((bytes, bytearray, memoryview), lambda value: format_blob(bytes(value))),
    "uuid": ((str, bytes, uuid.UUID), format_uuid),
    "interval": ((str,), normalize_interval),
    "timetz": ((str, dt.time), lambda value: normalize_timetz(str(value))),
}
