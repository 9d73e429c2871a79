"""The shortest history that still shows a difference, found by leaving out steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def shrink(
    items: Sequence[Item], fails: Callable[[Sequence[Item]], bool], *, seconds: float
) -> list[Item]:
    """Leave out parts as long as what is left still fails: large parts first, then small ones.

    >>> shrink(range(100), lambda left: {17, 61} <= set(left), seconds=60)
    [17, 61]

    Args:
        items: a list that fails.
        fails: tries a part of it.
        seconds: when this time is over, the best so far is given.
    """
    best, end = list(items), time.monotonic() + seconds
    size = max(len(best) // 2, 1)
    while time.monotonic() < end:
        first, shorter = 0, False
        while first < len(best) and time.monotonic() < end:
            left = best[:first] + best[first + size :]
            if left and fails(left):
                best, shorter = left, True
            else:
                first += size
        if size == 1 and not shorter:
            break
        size = max(size // 2, 1) if not shorter or size > 1 else 1
    return best
