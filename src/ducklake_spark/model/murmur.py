"""The hash behind bucket partitions."""

from __future__ import annotations

from typing import Final

_MASK: Final = 0xFFFFFFFF


def murmur3(data: bytes) -> int:
    """Murmur3 (x86, 32 bits, seed 0) as a signed number.

    >>> murmur3(b"iceberg")
    1210000089
    """
    state = 0
    blocks = len(data) // 4 * 4
    for start in range(0, blocks, 4):
        state ^= _scramble(int.from_bytes(data[start : start + 4], "little"))
        state = (_rotate(state, 13) * 5 + 0xE6546B64) & _MASK
    state ^= _scramble(int.from_bytes(data[blocks:], "little"))
    state ^= len(data)
    state = (state ^ state >> 16) * 0x85EBCA6B & _MASK
    state = (state ^ state >> 13) * 0xC2B2AE35 & _MASK
    state ^= state >> 16
    return state - 2**32 if state >= 2**31 else state


def _rotate(word: int, bits: int) -> int:
    return (word << bits | word >> 32 - bits) & _MASK


def _scramble(word: int) -> int:
    return _rotate(word * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK
