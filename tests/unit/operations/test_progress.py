"""How far a call has come: told to a callback, drawn for a terminal, else kept quiet."""

from __future__ import annotations

import io
import sys

from ducklake_spark.operations.progress import progress_for


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_callback_is_told_the_numbers():
    told = []
    progress = progress_for(lambda done, total: told.append((done, total)), "Merging")
    assert progress is not None
    progress(1, 2)
    assert told == [(1, 2)]


def test_a_bar_is_drawn_in_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    progress = progress_for(None, "Merging")
    assert progress is not None
    progress(1, 2)
    progress(2, 2)
    drawn = sys.stderr.getvalue()
    assert "\rMerging [###############...............] 1/2" in drawn
    assert drawn.endswith("2/2\n")


def test_nothing_is_drawn_into_a_file(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert progress_for(None, "Merging") is None
