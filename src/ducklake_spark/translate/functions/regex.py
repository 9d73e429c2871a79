r"""Regular expressions of RE2 that Java's engine matches in the very same way.

Only what can be seen to be equal is taken: characters, ``.``, classes, anchors, alternatives and
groups; repetition of single characters (of a group only ``?``), so that Java neither recurses nor
tries an exponential number of ways. ``$`` is the end of the text in RE2, and ``.`` anything but
``\n``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_FLAGS: Final = "(?d)"  # only \n ends a line
_PLAIN: Final = re.compile(r"[A-Za-z0-9 _\-/,:;=<>@&%!~\"'#]|[^\x00-\x7f]")
_CLASSES: Final = {"d": "[0-9]", "D": "[^0-9]", "w": "[0-9A-Za-z_]", "W": "[^0-9A-Za-z_]"}
_SPACES: Final = {"s": r"[\t\n\f\r ]", "S": r"[^\t\n\f\r ]"}
_CONTROLS: Final = {"n": r"\n", "t": r"\t", "r": r"\r", "f": r"\f"}
_ESCAPED: Final = frozenset(r".*+?()[]{}|^$\/-&%@!#:;,=<>'\"~_ ") - {"_", "<", ">", " "}
_REPEAT: Final = re.compile(r"(?:[*+?]|\{(\d{1,3})(?:(,)(\d{0,3}))?\})\??")
_IN_CLASS: Final = re.compile(r"[A-Za-z0-9 _/,:;=<>@%!~\"'#.*+?(){}|$]|[^\x00-\x7f]")
_MOST_REPEATS: Final = 1000


@dataclass(frozen=True, slots=True)
class JavaPattern:
    """A pattern of Java.

    Attributes:
        text: the pattern, without flags.
        groups: how many groups capture.
        starts_at_front: whether it matches at the start of a text only.
        can_be_empty: whether it may match the empty text.
    """

    text: str
    groups: int
    starts_at_front: bool
    can_be_empty: bool

    @property
    def flagged(self) -> str:
        """The pattern with the flags that it needs."""
        return _FLAGS + self.text


def java_pattern(pattern: str) -> JavaPattern | None:
    r"""The pattern of Java for one of RE2; None where they may differ.

    >>> java_pattern(r"^a\d+$").text
    '^a[0-9]+\\z'
    >>> java_pattern(r"(a|b)*") is None
    True
    """
    try:
        return _Reader(pattern).whole()
    except _UnknownError:
        return None


class _UnknownError(Exception):
    """Something that is not known to be equal."""


class _Reader:
    """Reads a pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._groups = 0

    def whole(self) -> JavaPattern:
        text, is_anchored, is_empty = self._alternatives()
        if self._at < len(self._pattern):
            raise _UnknownError
        return JavaPattern(text, self._groups, is_anchored, is_empty)

    def _alternatives(self) -> tuple[str, bool, bool]:
        """Alternatives, whether all start at the front, whether one may be empty."""
        found = [self._sequence()]
        while self._next() == "|":
            self._at += 1
            found.append(self._sequence())
        text = "|".join(text for text, _, _ in found)
        return text, all(a for _, a, _ in found), any(e for _, _, e in found)

    def _sequence(self) -> tuple[str, bool, bool]:
        parts: list[str] = []
        is_anchored, is_empty = False, True
        while self._next() not in ("", "|", ")"):
            is_first = not parts
            text, is_front, may_be_empty = self._piece()
            parts.append(text)
            is_anchored = is_anchored or (is_first and is_front)
            is_empty = is_empty and may_be_empty
        return "".join(parts), is_anchored, is_empty

    def _piece(self) -> tuple[str, bool, bool]:
        """An atom with its repetition: text, whether it is the front, whether it may be empty."""
        if self._next() in ("^", "$"):
            anchor = {"^": "^", "$": r"\z"}[self._take()]
            if _REPEAT.match(self._pattern, self._at):
                raise _UnknownError
            return anchor, anchor == "^", True
        if self._next() == "(":
            return self._group()
        atom = self._atom()
        repeat = self._repetition()
        return atom + repeat, False, repeat[:1] in ("*", "?") or repeat.startswith("{0")

    def _group(self) -> tuple[str, bool, bool]:
        self._take()
        opening = "("
        if self._next() == "?":
            if self._pattern[self._at : self._at + 2] != "?:":
                raise _UnknownError
            self._at += 2
            opening = "(?:"
        else:
            self._groups += 1
        inner, is_front, is_empty = self._alternatives()
        if self._next() != ")":
            raise _UnknownError
        self._take()
        repeat = self._repetition()
        if repeat not in ("", "?") or (repeat and is_empty):
            raise _UnknownError
        return f"{opening}{inner}){repeat}", is_front and not repeat, is_empty or bool(repeat)

    def _repetition(self) -> str:
        found = _REPEAT.match(self._pattern, self._at)
        if found is None:
            if self._next() == "{":
                raise _UnknownError
            return ""
        self._at = found.end()
        if _REPEAT.match(self._pattern, self._at) or self._next() in ("+", "*", "?"):
            raise _UnknownError
        least, most = found[1], found[3]
        if least and (int(least) > _MOST_REPEATS or (most and int(most) < int(least))):
            raise _UnknownError
        return found[0]

    def _atom(self) -> str:
        char = self._take()
        if char == ".":
            return "."
        if char == "[":
            return self._class()
        if char == "\\":
            return self._escape(_CLASSES | _SPACES | _CONTROLS)
        if _PLAIN.fullmatch(char):
            return char
        raise _UnknownError

    def _escape(self, known: dict[str, str]) -> str:
        char = self._take()
        if char in known:
            return known[char]
        if char in _ESCAPED:
            return "\\" + char
        raise _UnknownError

    def _class(self) -> str:
        parts = ["["]
        if self._next() == "^":
            parts.append(self._take())
        while self._next() != "]" or parts[-1] in ("[", "^"):
            first = self._member()
            if self._next() == "-" and self._pattern[self._at + 1 : self._at + 2] not in ("]", ""):
                self._take()
                last = self._member()
                if len(first) != 1 or len(last) != 1 or first > last:
                    raise _UnknownError
                parts.append(f"{first}-{last}")
            else:
                parts.append(first)
        self._take()
        return "".join(parts) + "]"

    def _member(self) -> str:
        char = self._take()
        if char == "\\":
            return self._escape({"d": "0-9", "w": "0-9A-Za-z_", "s": r"\t\n\f\r "} | _CONTROLS)
        if char == "-" and self._next() == "]":
            return r"\-"
        if _IN_CLASS.fullmatch(char):
            return char if char not in "(){}|$*+?." else "\\" + char
        raise _UnknownError

    def _next(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _take(self) -> str:
        char = self._next()
        if not char:
            raise _UnknownError
        self._at += 1
        return char
