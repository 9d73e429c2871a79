"""Names: how identifiers are quoted, and UUIDs that are made up."""

from __future__ import annotations

import re
import secrets
import time
import uuid
from typing import Final

from ducklake_spark.model.keywords import KEYWORDS

_BARE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]+")


def quote_identifier(name: str) -> str:
    """A name in double quotes, with its own quotes doubled.

    >>> quote_identifier('a"b')
    '"a""b"'
    """
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def quote_for_spark(name: str) -> str:
    """A name as Spark quotes it.

    >>> quote_for_spark("a`b.c")
    '`a``b.c`'
    """
    escaped = name.replace("`", "``")
    return f"`{escaped}`"


def quote_if_needed(name: str) -> str:
    """A name as DuckDB writes it: in quotes only if it could not stand without.

    >>> quote_if_needed("Orders"), quote_if_needed("select"), quote_if_needed("a b")
    ('Orders', '"select"', '"a b"')
    """
    if _BARE.fullmatch(name) and name.lower() not in KEYWORDS:
        return name
    return quote_identifier(name)


def is_plain_name(name: str) -> bool:
    """Whether a schema or table of that name has a directory of that name, and not of its UUID.

    >>> is_plain_name("my-table_1"), is_plain_name("täble")
    (True, False)
    """
    return _PLAIN.fullmatch(name) is not None


def make_uuid4() -> str:
    """A new random UUID as text, as views and the first schema have."""
    return str(uuid.uuid4())


def make_uuid7(tail: bytes | None = None, *, middle: int | None = None) -> str:
    """A new version 7 UUID as text, random but for its time and what is given.

    Args:
        tail: the last 6 bytes, for names that have to be recognised as a family.
        middle: the 26 bits between time and tail, for names made at the same moment by workers
            that must not meet.

    >>> make_uuid7(b"abcdef")[14], make_uuid7(b"abcdef")[-12:]
    ('7', '616263646566')
    """
    bits = secrets.randbits(26) if middle is None else middle & 0x3FFFFFF
    last = int.from_bytes(secrets.token_bytes(6) if tail is None else tail, "big")
    number = time.time_ns() // 1_000_000 << 80
    number |= 0x7 << 76 | bits >> 14 << 64  # version, and the upper 12 bits of the middle
    number |= 0b10 << 62 | (bits & 0x3FFF) << 48 | last  # variant, the lower 14 bits, the tail
    return str(uuid.UUID(int=number))


def split_name(name: str) -> tuple[str, ...]:
    """Parts of a dotted name; a part in double quotes may hold dots.

    >>> split_name('shop."odd.name"')
    ('shop', 'odd.name')
    """
    parts, current, quoted = [], "", False
    for char in name:
        if char == '"':
            quoted = not quoted
        elif char == "." and not quoted:
            parts.append(current)
            current = ""
        else:
            current += char
    return (*parts, current)
