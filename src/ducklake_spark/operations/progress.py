"""How far a long call has come: a callback, or a bar for people at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

Progress = Callable[[int, int], None]
"""Called with how many of how many steps are done."""

_WIDTH: Final = 30


def progress_for(callback: Progress | None, title: str) -> Progress | None:
    """The callback that was given; else a bar when somebody is watching, else none."""
    if callback is not None:
        return callback
    return _bar(title) if sys.stderr.isatty() else None


def _bar(title: str) -> Progress:
    def draw(done: int, total: int) -> None:
        filled = _WIDTH * done // max(total, 1)
        line = f"\r{title} [{'#' * filled}{'.' * (_WIDTH - filled)}] {done}/{total}"
        sys.stderr.write(line + ("\n" if done >= total else ""))
        sys.stderr.flush()

    return draw
