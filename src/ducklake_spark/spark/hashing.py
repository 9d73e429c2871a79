"""The hash behind bucket partitions, as Spark expressions that the JVM compiles. Driver.

Spark has the same hash for numbers. For bytes it treats what is left behind the last whole word in
a way of its own: only the whole words are hashed by it, its last step is undone, and the rest is
added as the standard says. Products are taken in halves, because Spark refuses overflows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from ducklake_spark.bridge.columns import murmur3_with_seed_0

_MASK: Final = 0xFFFFFFFF
_MIX_1, _MIX_2 = 0x85EBCA6B, 0xC2B2AE35
_SCRAMBLE_1, _SCRAMBLE_2 = 0xCC9E2D51, 0x1B873593


def murmur3_of_long(column: Column) -> Column:
    """Murmur3 (32 bits, seed 0) of the eight bytes of a BIGINT or DOUBLE, as a BIGINT >= 0."""
    return murmur3_with_seed_0(column).cast("long").bitwiseAND(F.lit(_MASK))


def murmur3_of_bytes(column: Column) -> Column:
    """Murmur3 (32 bits, seed 0) of a BINARY, as a BIGINT >= 0."""
    length = F.octet_length(column).cast("long")
    rest = length.bitwiseAND(F.lit(3))
    whole = length - rest
    words = F.substring(column, F.lit(1), whole.cast("int"))
    state = _unmix(murmur3_with_seed_0(words).cast("long").bitwiseAND(F.lit(_MASK))).bitwiseXOR(
        whole
    )
    tail = F.lit(0)
    for place in range(3):
        byte = F.substring(column, (whole + 1 + place).cast("int"), F.lit(1))
        number = F.conv(F.hex(byte), 16, 10).cast("long")
        tail = tail + F.when(rest > place, F.shiftleft(number, 8 * place)).otherwise(F.lit(0))
    return _mix(state.bitwiseXOR(_scramble(tail)).bitwiseXOR(length))


def _multiply(word: Column, factor: int) -> Column:
    low = word * F.lit(factor & 0xFFFF)
    high = F.shiftleft((word * F.lit(factor >> 16)).bitwiseAND(F.lit(0xFFFF)), 16)
    return (low + high).bitwiseAND(F.lit(_MASK))


def _xor_shifted(word: Column, bits: int) -> Column:
    return word.bitwiseXOR(F.shiftright(word, bits))


def _mix(word: Column) -> Column:
    """The last step of the hash."""
    word = _let(word, lambda w: _multiply(_xor_shifted(w, 16), _MIX_1))
    word = _let(word, lambda w: _multiply(_xor_shifted(w, 13), _MIX_2))
    return _let(word, lambda w: _xor_shifted(w, 16))


def _unmix(word: Column) -> Column:
    """The word that `_mix` made this one of."""
    word = _let(word, lambda w: _multiply(_xor_shifted(w, 16), pow(_MIX_2, -1, 2**32)))
    word = _let(word, lambda w: w.bitwiseXOR(F.shiftright(w, 13)).bitwiseXOR(F.shiftright(w, 26)))
    word = _let(word, lambda w: _multiply(w, pow(_MIX_1, -1, 2**32)))
    return _let(word, lambda w: _xor_shifted(w, 16))


def _let(value: Column, use: Callable[[Column], Column]) -> Column:
    """`use` of a value that is computed once: otherwise each use would repeat all before it."""
    return F.element_at(F.transform(F.array(value), use), 1)


def _scramble(word: Column) -> Column:
    word = _let(word, lambda w: _multiply(w, _SCRAMBLE_1))
    word = _let(
        word,
        lambda w: F.shiftleft(w, 15).bitwiseAND(F.lit(_MASK)).bitwiseOR(F.shiftright(w, 17)),
    )
    return _let(word, lambda w: _multiply(w, _SCRAMBLE_2))
