r"""Blobs as DuckDB writes them in text: plain characters and ``\xAB`` for any byte."""

from __future__ import annotations

from ducklake_spark.errors import InvalidValue


def blob_bytes(text: str) -> bytes:
    r"""The bytes that ``'text'::BLOB`` means.

    >>> blob_bytes(r"a\x00b")
    b'a\x00b'
    """
    found = bytearray()
    position = 0
    while position < len(text):
        char = text[position]
        if char == "\\":
            pair = text[position + 2 : position + 4]
            if text[position + 1 : position + 2] != "x" or not _is_hex(pair):
                raise _bad(text)
            found.append(int(pair, 16))
            position += 4
            continue
        if ord(char) > 127:
            raise _bad(text)
        found.append(ord(char))
        position += 1
    return bytes(found)


def _is_hex(pair: str) -> bool:
    return len(pair) == 2 and all(c in "0123456789abcdefABCDEF" for c in pair)


def _bad(text: str) -> InvalidValue:
    return InvalidValue(
        f"Cannot read {text!r} as a BLOB.",
        hint=r"bytes other than plain ASCII are written \xAB with two hexadecimal digits.",
    )
